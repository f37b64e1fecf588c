"""What policies and noise models are: frozen dataclasses whose methods are kernels.

A kernel is an ordinary method, written in the subset of Python that numba compiles. In compiled code ``self`` is a
NamedTuple of the fields annotated ``float``, ``int`` or ``bool``.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import fields
from typing import Any, TypeVar

import numba

from driftbandits._common.checks import is_ours, shown
from driftbandits._numba.digest import code_digest
from driftbandits.errors import InputError

OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy"}
"""Of everything that is compiled. With numpy's error model a division by zero gives inf or nan."""
NUMBERS: dict[str, type] = {"float": float, "int": int, "bool": bool}
KERNELS = ("select", "update", "settle", "draw")

F = TypeVar("F", bound=Callable[..., Any])


def compiling() -> bool:
    """Whether kernels are compiled at all: NUMBA_DISABLE_JIT=1 turns it off, for debuggers and coverage."""
    return not numba.config.DISABLE_JIT


def loop(function: F) -> F:
    """Compile a whole loop over arrays on its first call, and cache it on disk; ``.py_func`` is the plain function.

    It may call loops of its own file only: the cache notices when that file changes, and no other.
    """
    return numba.njit(cache=True, **OPTIONS)(function)  # type: ignore[no-any-return]


class Compiled:
    """Base of everything whose methods are kernels: policies and noise models. Subclasses are frozen dataclasses."""


def number_fields(owner: type) -> dict[str, str]:
    """The fields that kernels can read, by name: "float", "int" or "bool"."""
    kinds = {field.name: _type_name(field.type) for field in fields(owner)}
    return {name: kind for name, kind in kinds.items() if kind in NUMBERS}


def check_fields(thing: Any) -> None:
    """Raise InputError unless this is a frozen dataclass whose fields have the types that they are annotated with.

    Changes that kernels make to ``self`` would be lost, or shared by runs that are independent.
    """
    name, given = type(thing).__name__, getattr(thing, "__dataclass_params__", None)
    if given is None or not given.frozen:
        raise InputError(f"{name} must be a dataclass that is frozen: write @dataclass(frozen=True) above it")
    for field, kind in number_fields(type(thing)).items():
        made, value = NUMBERS[kind], getattr(thing, field)
        try:
            number: Any = made(value)
            fits = number == value or value != value
            fits = bool(fits) and (made is not int or -(1 << 63) <= number < 1 << 63)
        except (TypeError, ValueError, OverflowError):
            fits = False
        if not fits:
            raise InputError(f"{field} of {name} is annotated {kind} and must be one; got {shown(value)}")


def _type_name(annotation: Any) -> str:
    return annotation if isinstance(annotation, str) else getattr(annotation, "__name__", "")


def kernels_of(owner: type) -> dict[str, Any]:
    """The kernels of a class, by name."""
    return {name: getattr(owner, name) for name in KERNELS if hasattr(owner, name)}


def kernels_digest(owner: type) -> str:
    """A hash of all the code that the kernels of a class can reach, and of the constants that this code names."""
    return _digest_of_ours(owner) if is_ours(owner) else code_digest(kernels_of(owner).values())


@functools.cache
def _digest_of_ours(owner: type) -> str:
    return code_digest(kernels_of(owner).values())

"""The only file, with ``lowlevel``, that imports numba: how code written once runs compiled, interpreted and online.

A policy (or a noise model) is an ordinary frozen dataclass. Its kernels are ordinary methods, written in the part of
Python that numba knows. In compiled code ``self`` is a NamedTuple of the fields annotated ``float``, ``int`` or
``bool``; its class tells numba which methods to use, so one loop serves every policy, and the loop's machine code can
be cached on disk.

Two traps decide the shape of this file. A dispatcher that is passed in or closed over misses numba's disk cache in
every new process, so kernels are reached through ``overload`` instead. And ``overload`` alone would silently reuse old
machine code after a kernel was edited, so a digest of all the code a kernel can reach sits in a closure cell of the
cached function, where it is part of the cache's key.
"""

from __future__ import annotations

import functools
from collections import namedtuple
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import Any, ClassVar, TypeVar

import numba
import numpy as np
from numba.core import types
from numba.core.errors import NumbaError
from numba.extending import overload, register_jitable

from driftbandits.digest import code_digest
from driftbandits.errors import InputError
from driftbandits.lowlevel import borrow

_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "forceinline": True}
_ENTRY_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy"}
_NAMEDTUPLE: Any = namedtuple  # noqa: PYI024 - its fields are only known at run time
_NUMBERS = {"float": float, "int": int, "bool": bool}

F = TypeVar("F", bound=Callable[..., Any])


def kernel(function: F) -> F:
    """Let compiled kernels call ``function``, which stays a plain Python function for everyone else.

    >>> @kernel
    ... def double(x):
    ...     return 2 * x
    >>> double(4)
    8
    """
    return register_jitable(**_OPTIONS)(function)  # type: ignore[no-any-return]


def loop(function: F) -> F:
    """Compile a whole loop over arrays on its first call, and cache it on disk; ``.py_func`` is the plain function.

    It may call kernels of its own file only: the cache notices when that file changes, and no other.
    """
    return numba.njit(cache=True, **_ENTRY_OPTIONS)(function)  # type: ignore[no-any-return]


class Compiled:
    """Base of everything whose methods are kernels: policies and noise models. Subclasses are frozen dataclasses."""

    Numbers: ClassVar[Any]
    """The NamedTuple class that stands for ``self`` in compiled code."""

    @classmethod
    def _numbers_class(cls) -> Any:
        if "Numbers" not in cls.__dict__:
            if not is_dataclass(cls):
                raise InputError(f"{cls.__name__} must be a dataclass: write @dataclass(frozen=True) above it")
            names = [field.name for field in fields(cls) if _type_name(field.type) in _NUMBERS]
            made = _NAMEDTUPLE("Numbers", names)
            # Pickled by reference, so that numba's cache finds the same class in the next process.
            made.__module__, made.__qualname__, made.owner = cls.__module__, f"{cls.__qualname__}.Numbers", cls
            cls.Numbers = made
        return cls.Numbers

    def compiled(self) -> Any:
        """This object as compiled code sees it."""
        made = self._numbers_class()
        kinds = {field.name: _NUMBERS.get(_type_name(field.type)) for field in fields(self)}  # type: ignore[arg-type]
        return made(*[kind(getattr(self, name)) for name, kind in kinds.items() if kind])


def _type_name(annotation: Any) -> str:
    return annotation if isinstance(annotation, str) else getattr(annotation, "__name__", "")


# The generic verbs. In Python they call the method; in compiled code they become it.


def select(policy: Any, state: Any, rng: np.random.Generator) -> int:
    """The arm that ``policy`` pulls next."""
    return policy.select(state, rng)  # type: ignore[no-any-return]


def update(policy: Any, state: Any, arm: int, reward: float) -> None:
    """Tell ``policy`` the reward of a pull."""
    policy.update(state, arm, reward)


def draw(noise: Any, mean: float, rng: np.random.Generator) -> float:
    """One reward with the given mean."""
    return noise.draw(mean, rng)  # type: ignore[no-any-return]


def event_count(state: Any) -> int:
    """How many events (tests passed, changes detected) the State has seen; 0 for policies that have none."""
    return state.event[0].count if hasattr(state, "event") else 0


def note_event(state: Any, log: Any, at: int) -> None:
    """Copy the State's last event to ``log[at]``."""
    if hasattr(state, "event"):
        log[at] = state.event[0]


@functools.cache
def _method(owner: type, name: str) -> Any:
    return register_jitable(**_OPTIONS)(getattr(owner, name))


@overload(select, strict=False, jit_options=_OPTIONS)
def _select(policy: Any, state: Any, rng: Any) -> Any:
    method = _method(policy.instance_class.owner, "select")
    return lambda policy, state, rng: method(policy, state, rng)


@overload(update, strict=False, jit_options=_OPTIONS)
def _update(policy: Any, state: Any, arm: Any, reward: Any) -> Any:
    method = _method(policy.instance_class.owner, "update")
    return lambda policy, state, arm, reward: method(policy, state, arm, reward)


@overload(draw, strict=False, jit_options=_OPTIONS)
def _draw(noise: Any, mean: Any, rng: Any) -> Any:
    method = _method(noise.instance_class.owner, "draw")
    return lambda noise, mean, rng: method(noise, mean, rng)


def _has_events(state: Any) -> bool:
    return isinstance(state, types.BaseNamedTuple) and "event" in state.fields


@overload(event_count, strict=False, jit_options=_OPTIONS)
def _event_count(state: Any) -> Any:
    if _has_events(state):
        return lambda state: state.event[0].count
    return lambda state: 0


@overload(note_event, strict=False, jit_options=_OPTIONS)
def _note_event(state: Any, log: Any, at: Any) -> Any:
    if _has_events(state):

        def impl(state: Any, log: Any, at: Any) -> None:
            log[at] = state.event[0]

        return impl
    return lambda state, log, at: None


def borrowed(state: Any) -> Any:
    """In Python, the State itself."""
    return state


@overload(borrowed, strict=False, jit_options=_OPTIONS)
def _overloaded_borrowed(state: Any) -> Any:
    return lambda state: borrow(state)


# Entry points: compiled loops, the only functions that numba caches on disk.


@functools.cache
def _dispatcher(maker: Callable[[str], Any], owners: tuple[type, ...]) -> Any:
    kernels = [
        getattr(owner, name) for owner in owners for name in ("select", "update", "draw") if hasattr(owner, name)
    ]
    function = maker(code_digest([*kernels, maker, select, update, draw]))
    # A cache file of its own for each set of classes: a user's module that has since vanished can't spoil others.
    function.__qualname__ = function.__name__ + "".join(f"-{owner.__module__}.{owner.__qualname__}" for owner in owners)
    importable = all(owner.__module__ != "__main__" and "<locals>" not in owner.__qualname__ for owner in owners)
    return numba.njit(cache=importable, **_ENTRY_OPTIONS)(function)


def entry(maker: Callable[[str], Any], owners: tuple[type, ...], arguments: tuple[Any, ...]) -> Callable[..., Any]:
    """The loop that ``maker`` (of ``loops``) makes, compiled for arguments of the types of ``arguments``.

    ``owners`` are the classes whose kernels it may reach: the policy's, and for ``advance`` the noise's. What comes
    back is the C function itself. It does not look at the types of what it is given, since for record arrays that look
    takes longer than the work; the caller must pass the same types again.
    """
    dispatcher = _dispatcher(maker, owners)
    types_given = tuple(numba.typeof(argument) for argument in arguments)
    try:
        try:
            return dispatcher.compile(types_given)  # type: ignore[no-any-return]
        except (AttributeError, ImportError):
            # The cache on disk names a State's class that has since been renamed or moved: begin it anew.
            dispatcher._cache.flush()
            return dispatcher.compile(types_given)  # type: ignore[no-any-return]
    except NumbaError as error:
        raise InputError(
            f"{owners[0].__name__} cannot be compiled: its kernels use something numba does not know. "
            f"Change that, or drop the base class Policy to run it as plain Python. numba says:\n{_short(error)}"
        ) from None


def _short(error: Exception) -> str:
    """numba's message without the types it spells out over and over."""
    lines = [line for line in str(error).splitlines() if line.strip() and len(line) < 160]
    return "\n".join(lines[:16])

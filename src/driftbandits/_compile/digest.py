"""A digest of everything a kernel's machine code depends on, so that edited kernels are never served from a cache."""

from __future__ import annotations

import dis
import enum
import functools
import hashlib
import types
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).parent
MACHINERY = ("entries.py", "kernels.py", "loops.py", "lowlevel.py", "sfc64.py")
FOREIGN = ("numpy", "math", "numba")


@dataclass(frozen=True)
class Jitted:
    """A function that somebody compiles with numba himself, and how."""

    function: types.FunctionType = field(repr=False)
    options: str


def code_digest(roots: Iterable[Any]) -> str:
    """Hash the byte code of these functions, of all they can reach, and the constants they name.

    >>> def one():
    ...     return helper() + 1
    >>> def helper():
    ...     return 1
    >>> one.__globals__["helper"] = helper
    >>> before = code_digest([one])
    >>> def helper():
    ...     return 2
    >>> one.__globals__["helper"] = helper
    >>> code_digest([one]) == before
    False
    """
    sha = hashlib.sha256()
    for item in reached(roots):
        if isinstance(item, types.FunctionType):
            parts = [part for code in _codes(item.__code__) for part in (code.co_code, _told(code))]
        elif isinstance(item, np.ndarray):
            parts = [f"{item.dtype} {item.shape}".encode(), item.tobytes()]
        else:
            parts = [repr(item).encode()]
        for part in parts:
            sha.update(b"%d " % len(part) + part)  # with its length, so that 1 and 23 are not 12 and 3
    return sha.hexdigest()


def _told(code: types.CodeType) -> bytes:
    constants = [value for value in code.co_consts if not hasattr(value, "co_code")]
    return repr((constants, code.co_names, code.co_varnames)).encode()


def reached(roots: Iterable[Any]) -> Iterator[Any]:
    """These functions, all that they can reach, each once, and the constants at every place that names them.

    In place of what can't be told by itself stands a text: of a function that was reached before, of how many values a
    tuple has.
    """
    seen: dict[Any, int] = {}
    todo = list(roots)
    while todo:
        item = todo.pop(0)
        if hasattr(item, "targetoptions"):
            yield Jitted(item.py_func, str(sorted(item.targetoptions.items())))
        item = getattr(item, "py_func", item)  # what numba.njit has wrapped
        if isinstance(item, types.FunctionType):
            if item in seen:
                yield f"function {seen[item]}"
            else:
                seen[item] = len(seen)
                yield item
                for code in _codes(item.__code__):
                    todo += _named(item.__globals__, code)
                todo += [cell.cell_contents for cell in item.__closure__ or ()]
                todo += item.__defaults__ or ()
                todo += (item.__kwdefaults__ or {}).values()
        elif isinstance(item, tuple):
            yield f"tuple {getattr(item, '_fields', len(item))}"
            todo += item
        elif isinstance(item, enum.EnumMeta):
            todo += [item.__members__[name].value for name in item.__members__]
        elif isinstance(item, (np.ndarray, int, float, complex, str, bytes, enum.Enum, np.generic, np.dtype)):
            yield item


@functools.cache
def machinery_digest() -> str:
    """A hash of the files that turn kernels into machine code, and of numpy, whose memory they know."""
    sha = hashlib.sha256(np.__version__.encode())
    for name in MACHINERY:
        sha.update((HERE / name).read_bytes())
    return sha.hexdigest()


def _codes(code: Any) -> Iterator[Any]:
    yield code
    for constant in code.co_consts:
        if hasattr(constant, "co_code"):
            yield from _codes(constant)


@functools.cache
def _globals(code: types.CodeType) -> tuple[str, ...]:
    """The global names of a function; ``co_names`` holds those of attributes too, such as a State's columns."""
    return tuple(step.argval for step in dis.get_instructions(code) if step.opname == "LOAD_GLOBAL")


def _named(namespace: dict[str, Any], code: types.CodeType) -> list[Any]:
    """What its names mean, also through modules, as in ``lab.helpers.bonus``; not through numpy, math and numba."""
    found: list[Any] = []
    spaces, known = [namespace], {id(namespace)}
    for space in spaces:
        names = _globals(code) if space is namespace else code.co_names
        held = [space[name] for name in names if name in space]
        found += held
        for module in held:
            own = isinstance(module, types.ModuleType) and module.__name__.split(".")[0] not in FOREIGN
            if own and id(vars(module)) not in known:
                known.add(id(vars(module)))
                spaces.append(vars(module))
    return found

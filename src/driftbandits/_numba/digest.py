"""A digest of everything a kernel's machine code depends on, so that edited kernels are never served from a cache."""

from __future__ import annotations

import dis
import enum
import functools
import hashlib
import types
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numba
import numpy as np

HERE = Path(__file__).parent
FOREIGN = ("numpy", "math", "numba")


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
            parts = [part for code in codes(item.__code__) for part in (code.co_code, _told(code))]
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

    A function that was reached before is replaced by a text, and so is the length of a tuple.
    """
    seen: dict[Any, int] = {}
    todo = list(roots)
    while todo:
        item = todo.pop(0)
        item = getattr(item, "py_func", item)  # what numba.njit has wrapped
        if isinstance(item, types.FunctionType):
            if item in seen:
                yield f"function {seen[item]}"
            else:
                seen[item] = len(seen)
                yield item
                for code in codes(item.__code__):
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
    """A hash of this subpackage, and of the libraries that turn kernels into machine code."""
    sha = hashlib.sha256(f"{np.__version__} {numba.__version__}".encode())
    for file in sorted(HERE.glob("*.py")):
        sha.update(file.read_bytes())
    return sha.hexdigest()


def codes(code: Any) -> Iterator[Any]:
    """A function's code, and that of the functions written inside it."""
    yield code
    for constant in code.co_consts:
        if hasattr(constant, "co_code"):
            yield from codes(constant)


@functools.cache
def global_names(code: types.CodeType) -> tuple[str, ...]:
    """The global names of a function; ``co_names`` holds those of attributes too, such as a State's columns."""
    return tuple(step.argval for step in dis.get_instructions(code) if step.opname == "LOAD_GLOBAL")


def is_foreign(module: Any) -> bool:
    """Whether a module, or the name of one, is of numpy, math or numba, whose functions numba knows."""
    return str(getattr(module, "__name__", module)).split(".")[0] in FOREIGN


def _named(namespace: dict[str, Any], code: types.CodeType) -> list[Any]:
    """The values of its names, also through modules and classes, as in ``lab.helpers.bonus``."""
    found: list[Any] = []
    spaces, known = [namespace], {id(namespace)}
    for space in spaces:
        names = global_names(code) if space is namespace else code.co_names
        held = [space[name] for name in names if name in space]
        found += held
        for each in held:
            if has_stand_in(each) and id(each) not in known:
                known.add(id(each))
                spaces.append(attributes(each, code.co_names))
    return found


def has_stand_in(value: Any) -> bool:
    """Whether it is a module or a class that numba knows nothing of: kernels reach functions and constants in it."""
    if isinstance(value, types.ModuleType):
        return not is_foreign(value)
    if not isinstance(value, type) or isinstance(value, enum.EnumMeta) or issubclass(value, (BaseException, tuple)):
        return False
    return not is_foreign(value.__module__) and value.__module__ != "builtins"


def attributes(thing: Any, names: Iterable[str]) -> dict[str, Any]:
    """Those of these names that a module or a class has; of a class also what it inherits."""
    return {name: getattr(thing, name) for name in names if hasattr(thing, name)}

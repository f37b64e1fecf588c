"""A digest of everything a kernel's machine code depends on, so that edited kernels are never served from a cache."""

from __future__ import annotations

import functools
import hashlib
import types
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).parent
MACHINERY = ("kernels.py", "loops.py", "lowlevel.py", "sfc64.py")
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
            for code in _codes(item.__code__):
                constants = [value for value in code.co_consts if not hasattr(value, "co_code")]
                sha.update(code.co_code + repr((constants, code.co_names, code.co_varnames)).encode())
        elif isinstance(item, np.ndarray):
            sha.update(item.tobytes())
        else:
            sha.update(repr(item).encode())
    return sha.hexdigest()


def reached(roots: Iterable[Any]) -> Iterator[Any]:
    """These functions, all that they can reach, each once, and the constants at every place that names them."""
    seen: set[Any] = set()
    todo = list(roots)
    while todo:
        item = todo.pop(0)
        item = getattr(item, "py_func", item)  # what numba.njit has wrapped
        if isinstance(item, types.FunctionType):
            if item not in seen:
                seen.add(item)
                yield item
                for code in _codes(item.__code__):
                    todo += _named(item.__globals__, code.co_names)
                todo += [cell.cell_contents for cell in item.__closure__ or ()]
                todo += item.__defaults__ or ()
        elif isinstance(item, tuple):
            todo += item
        elif isinstance(item, (np.ndarray, int, float, str, np.generic, np.dtype)):
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


def _named(namespace: dict[str, Any], names: tuple[str, ...]) -> list[Any]:
    """What these names mean, also through modules, as in ``lab.helpers.bonus``; not through numpy, math and numba."""
    found: list[Any] = []
    spaces, known = [namespace], {id(namespace)}
    for space in spaces:
        held = [space[name] for name in names if name in space]
        found += held
        for module in held:
            own = isinstance(module, types.ModuleType) and module.__name__.split(".")[0] not in FOREIGN
            if own and id(vars(module)) not in known:
                known.add(id(vars(module)))
                spaces.append(vars(module))
    return found

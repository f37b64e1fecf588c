"""A digest of everything a kernel's machine code depends on, so that edited kernels are never served from a cache."""

from __future__ import annotations

import hashlib
import types
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

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
    seen: set[int] = set()
    todo = list(roots)
    while todo:
        item = todo.pop(0)
        if id(item) in seen:
            continue
        seen.add(id(item))
        if isinstance(item, types.FunctionType):
            for code in _codes(item.__code__):
                constants = [value for value in code.co_consts if not hasattr(value, "co_code")]
                sha.update(code.co_code + repr((constants, code.co_names, code.co_varnames)).encode())
                todo += [item.__globals__[name] for name in code.co_names if name in item.__globals__]
                todo += _members(item.__globals__, code.co_names)
            todo += [cell.cell_contents for cell in item.__closure__ or ()]
        elif isinstance(item, (int, float, str, tuple, np.dtype)):
            sha.update(repr(item).encode())
        elif isinstance(item, np.ndarray):
            sha.update(item.tobytes())
    return sha.hexdigest()


def _codes(code: Any) -> Iterator[Any]:
    yield code
    for constant in code.co_consts:
        if hasattr(constant, "co_code"):
            yield from _codes(constant)


def _members(namespace: dict[str, Any], names: tuple[str, ...]) -> list[Any]:
    """What is reached through a module, as in ``helpers.bonus``; not through numpy, math and numba."""
    modules = [namespace[name] for name in names if isinstance(namespace.get(name), types.ModuleType)]
    own = [module for module in modules if module.__name__.split(".")[0] not in FOREIGN]
    return [getattr(module, name) for module in own for name in names if hasattr(module, name)]

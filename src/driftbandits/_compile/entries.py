"""Entry points: loops around a policy's kernels, compiled, the only functions of policies that numba caches on disk.

One that was compiled is found again by all that it depends on, without asking numba.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import FunctionType
from typing import Any

import numba
import numpy as np

from driftbandits._compile.digest import Jitted, code_digest, machinery_digest, reached
from driftbandits._compile.kernels import ENTRY_OPTIONS, kernels_digest, kernels_of
from driftbandits._compile.lowlevel import forget_machine_code, layouts_known
from driftbandits.errors import PolicyError


@functools.cache
def _dispatcher(maker: Callable[[str], Any], owners: tuple[type, ...], digest: str, checked: bool) -> Any:
    function = maker(digest)
    # A cache file of its own for each set of classes: a user's module that has since vanished can't spoil others.
    function.__qualname__ = function.__name__ + "".join(f"-{owner.__module__}.{owner.__qualname__}" for owner in owners)
    importable = all(owner.__module__ != "__main__" and "<locals>" not in owner.__qualname__ for owner in owners)
    try:
        return numba.njit(cache=importable, boundscheck=checked, **ENTRY_OPTIONS)(function)
    except RuntimeError:  # no folder may be written, as in a read-only container: compiled for this process alone
        return numba.njit(boundscheck=checked, **ENTRY_OPTIONS)(function)


UNCHECKED = frozenset({"as_strided", "carray", "farray"})
"""Ways to memory that numba does not check even when it is told to check indices; ``lowlevel`` refuses ``flat``."""


def _refuse_unchecked(owners: tuple[type, ...]) -> None:
    """What numba.njit compiles is not checked with its caller, and may write anywhere; nor are some of its arrays."""
    for owner in owners:
        for item in reached(kernels_of(owner)):
            if isinstance(item, Jitted):
                raise PolicyError(
                    f"{owner.__name__} calls {item.function.__name__}, which numba.njit compiles without a check of "
                    f"its indices: write @driftbandits.kernel above it in place of @numba.njit{_begins(item.function)}"
                )
            unsafe = UNCHECKED.intersection(item.__code__.co_names) if isinstance(item, FunctionType) else ()
            if unsafe:
                raise PolicyError(
                    f"{owner.__name__}: {item.__qualname__} uses {min(unsafe)}, whose indices numba can't check; "
                    f"write it with array elements, as in array[index]{_begins(item)}"
                )


def _begins(function: FunctionType) -> str:
    return f"\n  {function.__code__.co_filename}, line {function.__code__.co_firstlineno}"


def entry(
    maker: Callable[[str], Any], owners: tuple[type, ...], arguments: tuple[Any, ...], checked: bool
) -> Callable[..., Any]:
    """The loop that ``maker`` (of ``loops``) makes, compiled for arguments of the types of ``arguments``.

    ``owners`` are the classes whose kernels it may reach: the policy's, and for ``advance`` the noise's. If ``checked``
    every index is compared with the length of its array, and IndexError raised. What comes back is the C function
    itself. It does not look at the types of what it is given, since for record arrays that look takes longer than the
    work; the caller must pass the same types again.
    """
    digests = tuple(kernels_digest(owner) for owner in owners)
    key = (maker, owners, digests, checked, layouts_known(), *map(_form, arguments))
    found = _entries.get(key)
    if found is None:
        found = _entries[key] = _compiled_entry(maker, owners, digests, arguments, checked)
    return found


_entries: dict[Any, Callable[..., Any]] = {}
"""By all that they depend on. To ask numba for the types of a State takes longer than a hundred steps."""


def _form(argument: Any) -> Any:
    """What numba's type of an argument depends on."""
    if isinstance(argument, tuple):
        return type(argument), *map(_form, argument)
    if isinstance(argument, np.ndarray):
        return type(argument), argument.dtype, argument.ndim, argument.flags.num
    return type(argument)


def _compiled_entry(
    maker: Callable[[str], Any],
    owners: tuple[type, ...],
    digests: tuple[str, ...],
    arguments: tuple[Any, ...],
    checked: bool,
) -> Callable[..., Any]:
    if checked:
        _refuse_unchecked(owners)
    # Machine code knows the fields of a policy and of a State by their places, which an edit may change.
    places = str([getattr(argument, "_fields", ()) for argument in arguments])
    digest = code_digest([maker, machinery_digest(), *digests, places, str(checked), str(layouts_known())])
    dispatcher = _dispatcher(maker, owners, digest, checked)
    types_given = tuple(numba.typeof(argument) for argument in arguments)
    try:
        return dispatcher.compile(types_given) or dispatcher  # type: ignore[no-any-return]
    except numba.core.errors.NumbaError:
        # numba remembers what failed: a helper that has since been marked with @kernel would be refused for ever.
        forget_machine_code()
        dispatcher._compiler._failed_cache.clear()
        raise
    except Exception:  # whatever reading it may raise
        # The cache on disk is damaged, or names a State's class that has since been renamed or moved: start a new one.
        dispatcher._cache.flush()
        return dispatcher.compile(types_given) or dispatcher  # type: ignore[no-any-return]

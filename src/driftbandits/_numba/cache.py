"""The cache on disk: one folder for each entry, named by a digest of all that its machine code depends on.

numba caches the function in ``<folder>/entry.py``. Of its globals numba's cache knows nothing; the folder's name stands
for them. So code that was edited is in another folder, and an old one is never used by mistake.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import FunctionType
from typing import Any

import numba

from driftbandits._numba.compiled import OPTIONS

KEPT_DAYS = 30
"""Folders that no process has used for so long are removed when another one is made; one takes about 110 KB."""
SIGNATURE = "int64(int64[::1], float64[::1])"
HEAD = "# A compiled loop of driftbandits; docs/compiled-core.md explains it.\n"


def root() -> Path:
    """The folder of all entries."""
    if given := os.environ.get("NUMBA_CACHE_DIR"):
        return Path(given) / "driftbandits"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "driftbandits"


def compiled(digest: str, name: str, source: str, fill: Callable[[], tuple[dict[str, Any], bool]]) -> Any:
    """The function ``name`` of ``source``, compiled; ``fill`` makes its globals, which the cache spares.

    ``fill`` also says whether they can be cached. If not, or without a folder that can be written, as in a read-only
    container, it is compiled for this process alone.
    """
    try:
        file, known = _written(root() / digest, HEAD + source)
    except OSError:
        return _njit(_function(name, source, "<entry>", fill()[0]), cache=False)
    if known:
        try:
            return _njit(_function(name, HEAD + source, str(file), {}), cache=True)
        except numba.errors.NumbaError:  # it was made for another processor
            pass
        except Exception:  # it is damaged: whatever reading it may raise
            remove(file.parent)
            if file.exists():  # it may not be removed
                return _njit(_function(name, HEAD + source, str(file), fill()[0]), cache=False)
            return compiled(digest, name, source, fill)
    space, can_be_cached = fill()
    if not can_be_cached:
        remove(file.parent)
    return _njit(_function(name, HEAD + source, str(file), space), cache=can_be_cached)


def _njit(function: Any, cache: bool) -> Any:
    return numba.njit(SIGNATURE, cache=cache, **OPTIONS)(function)


def _function(name: str, source: str, file: str, space: dict[str, Any]) -> FunctionType:
    space["__name__"] = __name__  # of a module that numba can import
    exec(compile(source, file, "exec"), space)
    return space[name]  # type: ignore[no-any-return]


def _written(folder: Path, source: str) -> tuple[Path, bool]:
    """The file of an entry, and whether it was there. Its time is 0, which numba compares: two may write it at once."""
    file = folder / "entry.py"
    if file.exists():
        with suppress(OSError):
            os.utime(folder)
        return file, True
    folder.mkdir(parents=True, exist_ok=True)
    draft = folder / f"{os.getpid()}.tmp"
    draft.write_text(source, encoding="utf-8")
    os.utime(draft, (0, 0))
    draft.replace(file)
    purge(time.time() - KEPT_DAYS * 86_400)
    return file, False


def purge(before: float) -> None:
    """Remove the entries that no process has used since."""
    for folder in root().iterdir():
        with suppress(OSError):
            if folder.stat().st_mtime < before:
                remove(folder)


def remove(folder: Path) -> None:
    """Remove an entry, and what numba keeps of it elsewhere if NUMBA_CACHE_DIR says so."""
    for each in (folder, *folder.parent.parent.glob(f"{folder.name}_*")):
        shutil.rmtree(each, ignore_errors=True)

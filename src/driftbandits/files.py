"""Files are written whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from driftbandits.errors import InputError


@contextmanager
def written_whole(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary path beside ``path`` that takes its place when the block ends well, and vanishes when it does not."""
    temporary = _file_beside(Path(path))
    try:
        yield temporary
        temporary.chmod(0o666 & ~_umask())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def check_writable(path: str | os.PathLike[str]) -> None:
    """Raise InputError now if ``path`` could not be written later, after hours of work. Leaves no file behind."""
    _file_beside(Path(path)).unlink()


def _file_beside(target: Path) -> Path:
    if target.is_dir():
        raise InputError(f"cannot write {target}: it is a directory. Choose another place.")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.stem}-", suffix=f"{target.suffix}.tmp")
    except OSError as error:
        raise InputError(f"cannot write {target}: {error.strerror}. Choose another place.") from error
    os.close(handle)
    return Path(name)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask

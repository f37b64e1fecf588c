"""Files are written completely or not at all, and are on disk once their name exists."""

from __future__ import annotations

import errno
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from driftbandits._common.checks import check_path
from driftbandits.errors import InputError

UNSYNCABLE = (errno.EACCES, errno.EINVAL, errno.ENOTSUP)
"""What is said of folders that this system, or this user, cannot sync: then names come to disk in their own time."""


UNDER_WAY = ".tmp"
"""Ends the names of files that are not yet whole; they begin with a dot."""


@contextmanager
def written_whole(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary path beside ``path`` that takes its place when the block ends well, and vanishes when it does not.

    Its bytes are on disk before it takes the place, and its name after: when the power fails, the file is the old one
    or the new one, and once the block has ended the new one.
    """
    target = check_path("the file", path)
    with _file_beside(target) as temporary:
        yield temporary
        with temporary.open("r+b") as file:
            os.fsync(file.fileno())
        temporary.replace(target)
        _sync_folder(target.parent)


def check_writable(path: str | os.PathLike[str]) -> None:
    """Raise InputError now if ``path`` could not be written later, after hours of work. Leaves no file behind."""
    with _file_beside(check_path("the file", path)):
        pass


def remove_leftovers(*folders: Path) -> None:
    """Remove what processes left behind that were killed while they wrote. None may be writing there now."""
    for folder in folders:
        for leftover in folder.glob(f".*{UNDER_WAY}"):
            leftover.unlink()


@contextmanager
def _file_beside(target: Path) -> Iterator[Path]:
    """A new, empty file with the rights that any new file of this process gets; in the end it is gone.

    Its name is known before it is made: Ctrl-C may come at any moment.
    """
    made = target.parent / f".{target.stem}-{secrets.token_hex(8)}{target.suffix}{UNDER_WAY}"
    try:
        _make(made, target)
        yield made
    finally:
        with suppress(OSError):  # it took its place, or was never made
            made.unlink()


def _make(made: Path, target: Path) -> None:
    try:
        if target.is_dir():
            raise IsADirectoryError(errno.EISDIR, "it is a directory")
        target.parent.mkdir(parents=True, exist_ok=True)
        os.close(os.open(made, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
    except OSError as error:
        raise InputError(f"cannot write {target}: {error.strerror}; choose another place") from error


def _sync_folder(folder: Path) -> None:
    if not hasattr(os, "O_DIRECTORY"):  # Windows cannot
        return
    try:
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
    except OSError as error:
        if error.errno not in UNSYNCABLE:
            raise

"""Files written whole: the old one or the new one, on disk, with the rights of any other, and nothing left over."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from driftbandits._common.files import check_writable, remove_leftovers, written_whole
from driftbandits.errors import InputError


@pytest.fixture
def path(tmp_path: Path) -> Iterator[Path]:
    """An old file, beside which nothing is left in the end."""
    path = tmp_path / "file.txt"
    path.write_text("old")
    yield path
    assert list(tmp_path.iterdir()) == [path]


def test_bytes_are_on_disk_before_the_name_and_the_name_before_the_end(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[str, str]] = []

    def noted(handle: int) -> None:
        what = os.fstat(handle)
        seen.append(("folder" if stat.S_ISDIR(what.st_mode) else f"{what.st_size} bytes", path.read_text()))

    monkeypatch.setattr(os, "fsync", noted)
    with written_whole(path) as temporary:
        temporary.write_text("newer")
    assert seen == [("5 bytes", "old"), ("folder", "newer")]


def write(path: Path) -> None:
    with written_whole(path) as temporary:
        temporary.write_text("new")


def test_a_block_that_fails_leaves_the_old_file(path: Path) -> None:
    with pytest.raises(ZeroDivisionError), written_whole(path) as temporary:
        temporary.write_text(str(1 / 0))
    assert path.read_text() == "old"


def test_bytes_that_cannot_be_synced_leave_the_old_file(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        write(path)
    assert path.read_text() == "old"


def test_a_folder_that_cannot_be_synced_is_no_failure_but_a_broken_disk_is(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = errno.EINVAL

    def refuses_folders(handle: int) -> None:
        if stat.S_ISDIR(os.fstat(handle).st_mode):
            raise OSError(said, os.strerror(said))

    monkeypatch.setattr(os, "fsync", refuses_folders)
    write(path)
    assert path.read_text() == "new"
    said = errno.EIO
    with pytest.raises(OSError, match=os.strerror(errno.EIO)):
        write(path)


def test_rights_are_those_of_any_new_file_and_no_other_thread_notices(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, set_mask = os.umask(0o007), os.umask
    try:
        monkeypatch.setattr(os, "umask", None)  # it is the whole process's: nobody may change it, however briefly
        write(path)
        assert stat.S_IMODE(path.stat().st_mode) == 0o660
    finally:
        set_mask(before)


def test_places_that_cannot_be_written(path: Path) -> None:
    for place in (Path(), path.parent, path / "below" / "file.txt", path.parent / ("x" * 300)):
        with pytest.raises(InputError, match="cannot write"):
            check_writable(place)
        with pytest.raises(InputError, match="cannot write"), written_whole(place):
            pass
    check_writable(path)
    assert path.read_text() == "old"


def test_what_killed_processes_left_is_removed_and_nothing_else(path: Path, tmp_path: Path) -> None:
    killed = written_whole(path)  # its block never ends
    left = killed.__enter__()
    assert left.exists()
    remove_leftovers(tmp_path, tmp_path / "no such folder")
    assert not left.exists()


@pytest.mark.parametrize("write", [check_writable, lambda path: written_whole(path).__enter__()])
def test_ctrl_c_just_after_a_file_was_made_leaves_none(
    write: Callable[[Path], Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(handle: int) -> None:
        close(handle)
        raise KeyboardInterrupt

    close = os.close
    with monkeypatch.context() as patched:
        patched.setattr(os, "close", interrupted)
        with pytest.raises(KeyboardInterrupt):
            write(tmp_path / "new" / "runs.parquet")
    assert (tmp_path / "new").is_dir()
    assert not list((tmp_path / "new").iterdir())

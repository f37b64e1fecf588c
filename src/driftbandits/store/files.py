"""SQLite's files, watched: what goes to one that has lost its name is lost at the next crash, and SQLite is silent.

A commit goes to the file that ends in ``-wal``, the log, and from there to the database itself at a checkpoint. Locks
are in the one that ends in ``-shm``. While a connection is open these three stay what they are. So each commit is
followed by a look at their names, and at the first bytes of the log: some microseconds, beside a sync to disk. A log
that was damaged in any other way is found when it is read.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from contextlib import suppress
from typing import Any

from driftbandits.store.errors import StoreUnavailableError

BESIDE = ("-wal", "-shm")
MAGIC = (b"\x37\x7f\x06\x82", b"\x37\x7f\x06\x83")
"""How a log begins."""
GONE = "the file was deleted, moved or replaced while it was open: stop the service, and put the file back"
GONE_BESIDE = (
    "the file that ends in {} was deleted, moved, replaced or emptied while it was open: stop the service, start it "
    "again without that file, and run driftbandits store check"
)
Identity = tuple[int, int] | None


class Files:
    """Which files they were when the first of this process's connections was opened."""

    def __init__(self, path: str) -> None:
        self._path = path
        with suppress(OSError):  # SQLite will say what is wrong
            # A new file is for its owner alone: it holds what people did, and who may ask. The others follow it.
            os.close(os.open(path, os.O_CREAT | os.O_EXCL, 0o600))
        self._main = _identity(path)
        self._beside: tuple[Identity, ...] = ()
        self._open = set[int]()
        self._turn = threading.Lock()
        self.harmed = False
        """Whether the last look found that something is wrong: look again before the next commit."""

    def about_to_open(self, *_: Any) -> None:
        """SQLite would make new, empty files in the place of those that are gone."""
        with self._turn:
            self._check_names(self._look())

    def opened(self, connection: Any, _: Any) -> None:
        """What the first connection has open is what all others must have."""
        connection.execute("SELECT 1 FROM sqlite_master").fetchone()  # opens them
        with self._turn:
            found = self._look()
            self._check_names(found)
            self._beside = found
            self._open.add(id(connection))

    def about_to_close(self, connection: Any, _: Any) -> None:
        """With the last connection SQLite removes two of the files."""
        with self._turn:
            self._open.discard(id(connection))

    def check(self, connection: Any) -> None:
        """After a commit on this connection: StoreUnavailableError if it may be lost. Acknowledge nothing then."""
        self.harmed = True
        found = self._look()
        try:
            self._check_names(found)
        except StoreUnavailableError:
            if _identity(self._path) == self._main and found[0] is None and found[1:] == self._beside[1:]:
                with suppress(sqlite3.Error):  # a checkpoint brings what was acknowledged before into the database
                    connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
            raise
        begin = self._first_bytes()
        if begin not in MAGIC:
            # A checkpoint may have emptied it, with all of it in the database. If it was none, this one fails.
            try:
                whole = not begin and not connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()[0][0]
            except sqlite3.Error:
                whole = False
            if not whole:
                raise self._gone(GONE_BESIDE.format(BESIDE[0]))
        self.harmed = False

    def _look(self) -> tuple[Identity, ...]:
        return tuple([_identity(self._path + each) for each in BESIDE])

    def _check_names(self, found: tuple[Identity, ...]) -> None:
        if _identity(self._path) != self._main:
            raise self._gone(GONE)
        if self._open and found != self._beside:
            wrong = next(name for name, now, was in zip(BESIDE, found, self._beside, strict=True) if now != was)
            raise self._gone(GONE_BESIDE.format(wrong))

    def _first_bytes(self) -> bytes | None:
        try:
            file = os.open(self._path + BESIDE[0], os.O_RDONLY)
        except OSError:
            return None
        try:
            return os.read(file, len(MAGIC[0]))
        finally:
            os.close(file)

    def _gone(self, words: str) -> StoreUnavailableError:
        gone = StoreUnavailableError(f"sqlite:///{self._path}: {words}")
        gone.reason = words
        return gone


def _identity(path: str) -> Identity:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino

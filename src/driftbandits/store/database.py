"""A database behind a URL: connections that are durable, transactions, and errors in plain words."""

from __future__ import annotations

import math
import os
import shutil
import tempfile
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, DisconnectionError, InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from driftbandits._common.extras import needs
from driftbandits.errors import InputError
from driftbandits.store.errors import DamagedStoreError, StoreError, StoreUnavailableError, UnusableStoreError
from driftbandits.store.migrate import migrate

PATIENCE = 10.0
"""Seconds to wait for a server to answer, or for a locked file."""

IDLE = 1.0
"""Seconds after which a connection is tried before it is used; to try it every time would cost a round trip."""

STATEMENTS = 512
"""That an SQLite connection keeps for when they come again: inserts alone have 79 sizes of three kinds (``lines``)."""

GONE = "the file was deleted, moved or replaced while it was open: stop the service, and put the file back"
EXAMPLES = 'a Store\'s URL looks like "sqlite:///file.db" or "postgresql://user:password@host/name"'


class Database:
    """Opens the database, and brings its tables up to date. ``clock`` tells the time to all who write to it."""

    def __init__(self, url: str, existing: bool) -> None:
        parsed = _parsed(url)
        self.url = parsed.render_as_string(hide_password=True)
        self.clock = time.time
        self._path: str | None = None
        self._file: tuple[str, tuple[int, int] | None] | None = None
        """SQLite's file, and which file that was when it was opened."""
        self._errors: tuple[type[Exception], ...] = (DBAPIError, PoolTimeoutError)
        self._away: tuple[type[Exception], ...] = (OperationalError, InterfaceError, PoolTimeoutError)
        with self._plain_words():
            self.engine = self._connect(parsed, existing)
            driver = self.engine.dialect.loaded_dbapi  # while rows are copied in, it raises its own
            self._errors += (driver.Error,)
            self._away += (driver.OperationalError, driver.InterfaceError)
            weakref.finalize(self, self.engine.dispose)
            self._writes = self.engine.execution_options(writes=True)
            self.is_postgres = self.engine.dialect.name == "postgresql"
            migrate(self.engine)
            if self._path is not None:
                self._file = self._path, _identity(self._path)

    def close(self) -> None:
        """Close all connections, as happens by itself when the Store is no longer used."""
        self.engine.dispose()

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A connection that sees one state of the database."""
        with self._plain_words(), self.engine.connect() as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """One transaction: on disk when the block has ended, or not at all."""
        with self._plain_words():
            with self._writes.begin() as connection:
                yield connection
            self._check_file()

    @contextmanager
    def alone(self) -> Iterator[Any]:
        """The driver's own connection without a transaction, for statements that cannot be part of one."""
        with self._plain_words():
            borrowed = self.engine.raw_connection()
            driver: Any = borrowed.driver_connection
            try:
                if self.is_postgres:
                    driver.autocommit = True
                yield driver
            finally:
                borrowed.invalidate()
                borrowed.close()

    def try_to_write(self) -> None:
        """One commit."""
        with self.writing() as connection:
            connection.exec_driver_sql("UPDATE alembic_version SET version_num = version_num")

    def _check_file(self) -> None:
        """What goes to a file that has lost its name is lost, and SQLite does not notice: acknowledge nothing."""
        if self._file is None:
            return
        path, identity = self._file
        if _identity(path) != identity:
            gone = StoreUnavailableError(f"{self.url}: {GONE}")
            gone.reason = GONE
            raise gone

    def _connect(self, url: URL, existing: bool) -> Engine:
        if url.drivername == "sqlite":
            return self._sqlite(url, existing)
        connect_args: dict[str, Any] = {} if "connect_timeout" in url.query else {"connect_timeout": int(PATIENCE)}
        with needs("postgres", "PostgreSQL"):
            engine = create_engine(
                url.set(drivername="postgresql+psycopg"),
                isolation_level="READ COMMITTED",
                pool_size=10,
                connect_args=connect_args,
            )
        event.listen(engine, "connect", _postgres_is_durable)
        event.listen(engine, "checkout", _still_there)
        return engine

    def _sqlite(self, url: URL, existing: bool) -> Engine:
        """SQLite in a file: WAL, so that readers need not wait; and synced to disk at every commit."""
        lasting = url.database not in (None, "", ":memory:")
        if not lasting:
            folder = tempfile.mkdtemp(prefix="driftbandits-")
            weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
            url = url.set(database=str(Path(folder) / "store.db"))
        elif existing and not Path(str(url.database)).exists():
            raise InputError(f"there is no file {url.database}: name the one that holds the Store")
        if not url.query:
            self._path = str(url.database)
            _make_private(self._path)
        engine = create_engine(url, connect_args={"timeout": PATIENCE, "cached_statements": STATEMENTS})

        @event.listens_for(engine, "do_connect")
        def not_anew(*_: Any) -> None:
            self._check_file()  # SQLite would make a new, empty file in place of the one that is gone

        @event.listens_for(engine, "connect")
        def set_up(connection: Any, _: Any) -> None:
            connection.isolation_level = None  # transactions begin below, not where the driver thinks fit
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute(f"PRAGMA synchronous = {'FULL' if lasting else 'OFF'}")

        @event.listens_for(engine, "begin")
        def begin(connection: Connection) -> None:
            writes = connection.get_execution_options().get("writes")
            # Writers take the lock at once: a transaction that began by reading cannot wait for it, only give up.
            connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

        return engine

    @contextmanager
    def _plain_words(self) -> Iterator[None]:
        try:
            yield
        except self._errors as error:
            said = " ".join(str(getattr(error, "orig", error)).split())
            unnamed = StoreUnavailableError if isinstance(error, self._away) else StoreError, said
            known = next((found for part, found in WORDS.items() if part in said), None)
            kind, words = known or unnamed
            plain = kind(f"{self.url}: {words}")
            plain.reason = words if known else None
            raise plain from error


def _make_private(path: str) -> None:
    """A new file is for its owner alone: it holds what people did, and who may ask. SQLite's other files follow it."""
    with suppress(OSError):  # SQLite will say what is wrong
        os.close(os.open(path, os.O_CREAT | os.O_EXCL, 0o600))


def _identity(path: str) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _parsed(url: str) -> URL:
    try:
        parsed = make_url(url)
        known = parsed.drivername in ("sqlite", "postgresql", "postgres", "postgresql+psycopg")
    except (ArgumentError, ValueError):
        raise InputError(f"{EXAMPLES}; got {url!r}") from None
    if not known:
        raise InputError(f"{EXAMPLES}; got {parsed.render_as_string(hide_password=True)!r}")
    return parsed


def _postgres_is_durable(connection: Any, _: Any) -> None:
    """A server may be set up to acknowledge before a commit is on its disk; ours may not."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'"
        )
    connection.commit()


def _still_there(connection: Any, record: Any, _: Any) -> None:
    """A connection that was idle may be to a server that has gone: then the pool opens another."""
    now = time.monotonic()
    if now - record.info.get("used", -math.inf) > IDLE:
        try:
            with connection.cursor() as cursor:
                cursor.execute("SELECT 1")
            connection.rollback()
        except Exception as error:
            raise DisconnectionError from error
    record.info["used"] = now


WORDS: dict[str, tuple[type[StoreError], str]] = {
    "unable to open database file": (
        UnusableStoreError,
        "cannot be opened: does the folder exist, and may you write there?",
    ),
    "readonly database": (UnusableStoreError, "is read-only: a Store must be able to write"),
    "not a database": (UnusableStoreError, "is not an SQLite database: name another file"),
    "database is locked": (
        StoreUnavailableError,
        f"has been locked by another program for {PATIENCE:.0f} seconds: let it finish, or stop it",
    ),
    "disk is full": (StoreUnavailableError, "the disk is full: nothing was written. Make room, and try again"),
    "malformed": (
        DamagedStoreError,
        "the file is damaged, so part of it cannot be read: stop the service, and restore a backup",
    ),
    "disk I/O error": (StoreUnavailableError, "the disk failed or is full: nothing was written"),
}
"""What SQLite says, and in plain words."""

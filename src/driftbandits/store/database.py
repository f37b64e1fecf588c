"""A database behind a URL: connections that are durable, transactions, and errors in plain words."""

from __future__ import annotations

import math
import shutil
import sqlite3
import tempfile
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, DisconnectionError, InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from driftbandits._common.extras import needs
from driftbandits.errors import InputError
from driftbandits.store.errors import (
    DamagedStoreError,
    LockedError,
    StoreError,
    StoreUnavailableError,
    UnusableStoreError,
)
from driftbandits.store.files import Files
from driftbandits.store.migrate import migrate

PATIENCE = 2.0
"""Seconds to wait for a lock that another transaction has: a commit may wait for another one, and both within 5 s."""

SLICE = 0.05
"""Seconds for which SQLite waits in one go. In a long wait it tries seldom, and beside busy writers in vain."""

FROZEN = 10.0
"""Seconds after which PostgreSQL ends a transaction whose client is silent: it may be frozen, and have locks."""

SILENT = 2.0
"""Seconds of silence after which a client's transaction may be ended by whoever may take over from that client."""

CONNECT = 3.0
"""Seconds to wait for a connection, and for what was sent to be received by the other machine."""

IDLE = 1.0
"""Seconds after which a connection is tried before it is used; to try it every time would cost a round trip."""

POOL = 10
"""Connections that are kept; there may be twice as many at a time."""

STATEMENTS = 512
"""That an SQLite connection keeps for when they come again: inserts alone have 79 sizes of three kinds (``lines``)."""

EXAMPLES = 'a Store\'s URL looks like "sqlite:///file.db" or "postgresql://user:password@host/name"'


class Database:
    """Opens the database, and brings its tables up to date. ``clock`` tells the time to all who write to it."""

    def __init__(self, url: str, existing: bool) -> None:
        parsed = _parsed(url)
        self.url = parsed.render_as_string(hide_password=True)
        self.clock = time.time
        self._files: Files | None = None
        self._turn = _Turn()
        self._errors: tuple[type[Exception], ...] = (DBAPIError, PoolTimeoutError)
        self._away: tuple[type[Exception], ...] = (OperationalError, InterfaceError, PoolTimeoutError)
        with self._plain_words():
            self.engine = self._connect(parsed, existing)
            driver = self.engine.dialect.loaded_dbapi  # while rows are copied in, it raises its own
            self._errors += (driver.Error,)
            self._away += (driver.OperationalError, driver.InterfaceError)
            weakref.finalize(self, self.engine.dispose)
            self.is_postgres = self.engine.dialect.name == "postgresql"
            self._writes = self.engine.execution_options(writes=True)
            migrate(self.engine)

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
        with self._plain_words(), self._writes.connect() as connection:
            if self._files is not None and self._files.harmed:
                self._files.check(connection.connection.driver_connection)
            with connection.begin():
                yield connection
            if self._files is not None:  # while the connection is open: after the last one SQLite removes two
                self._files.check(connection.connection.driver_connection)

    @contextmanager
    def alone(self) -> Iterator[Any]:
        """The driver's own connection without a transaction, for statements that cannot be part of one."""
        with self._plain_words():
            borrowed = self.engine.raw_connection()
            driver: Any = borrowed.driver_connection
            try:
                if self.is_postgres:
                    driver.autocommit = True
                    driver.execute("SET lock_timeout = 0")  # for as long as it takes: others wait, and not for nothing
                yield driver
            finally:
                borrowed.invalidate()
                borrowed.close()

    def try_to_write(self) -> None:
        """One commit. On PostgreSQL it is one message: whoever freezes then leaves no lock for others to wait for."""
        statement = "UPDATE alembic_version SET version_num = version_num"
        if self.is_postgres:
            with self._plain_words(), self.engine.connect() as connection:
                connection.execution_options(isolation_level="AUTOCOMMIT").exec_driver_sql(statement)
        else:
            with self.writing() as connection:
                connection.exec_driver_sql(statement)

    def _connect(self, url: URL, existing: bool) -> Engine:
        if url.drivername == "sqlite":
            return self._sqlite(url, existing)
        connect_args = {name: value for name, value in CLIENT.items() if name not in url.query}
        with needs("postgres", "PostgreSQL"):
            engine = create_engine(
                url.set(drivername="postgresql+psycopg"),
                isolation_level="READ COMMITTED",
                pool_size=POOL,
                connect_args=connect_args,
            )
        event.listen(engine, "connect", _set_up_postgres)
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
            self._files = Files(str(url.database))
        engine = create_engine(
            url,
            pool_size=POOL,
            connect_args={"timeout": PATIENCE, "cached_statements": STATEMENTS},
        )

        @event.listens_for(engine, "connect")
        def set_up(connection: Any, _: Any) -> None:
            connection.isolation_level = None  # transactions begin below, not where the driver thinks fit
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute(f"PRAGMA synchronous = {'FULL' if lasting else 'OFF'}")

        if self._files is not None:
            event.listen(engine, "do_connect", self._files.about_to_open)
            event.listen(engine, "connect", self._files.opened)
            event.listen(engine, "close", self._files.about_to_close)

        @event.listens_for(engine, "begin")
        def begin(connection: Connection) -> None:
            if not connection.get_execution_options().get("writes"):
                connection.exec_driver_sql("BEGIN")
                return
            # Writers take the lock at once: a transaction that began by reading cannot wait for it, only give up.
            driver: Any = connection.connection.driver_connection
            driver.execute(f"PRAGMA busy_timeout = {1000 * SLICE:.0f}")
            try:
                patience = connection.get_execution_options().get("patience", PATIENCE)
                self._turn.wait_for(lambda: driver.execute("BEGIN IMMEDIATE"), patience)
            finally:
                driver.execute(f"PRAGMA busy_timeout = {1000 * PATIENCE:.0f}")

        return engine

    @contextmanager
    def _plain_words(self) -> Iterator[None]:
        try:
            yield
        except self._errors as error:
            said = " ".join(str(getattr(error, "orig", error)).split())
            unnamed = StoreUnavailableError if isinstance(error, self._away) else StoreError, said
            state = getattr(getattr(error, "orig", error), "sqlstate", None) or ""  # its words are in any language
            known = STATES.get(state) or next((found for part, found in WORDS.items() if part in said), None)
            kind, words = known or unnamed
            plain = kind(f"{self.url}: {words}")
            plain.reason = words if known else None
            raise plain from error


class _Turn:
    """Waits for SQLite's one write lock. If nobody here got it for long enough, all who wait are told so at once.

    Else those who come one after the other would wait for it one after the other.
    """

    def __init__(self) -> None:
        self._since, self._failed = math.inf, -math.inf
        """Since when nobody has got it who tried, and when the last one failed."""

    def wait_for(self, take: Callable[[], Any], patience: float) -> None:
        """Try again and again; SQLite itself does so for a ``SLICE``."""
        while True:
            try:
                take()
                self._since = math.inf
                return
            except sqlite3.OperationalError as error:
                now = time.monotonic()
                if "locked" not in str(error):
                    raise
                if now - self._failed > patience:  # that was another time
                    self._since = math.inf
                self._since, self._failed = min(self._since, now), now
                if now - self._since >= patience:
                    raise


def _parsed(url: str) -> URL:
    try:
        parsed = make_url(url)
        known = parsed.drivername in ("sqlite", "postgresql", "postgres", "postgresql+psycopg")
    except (ArgumentError, ValueError):
        raise InputError(f"{EXAMPLES}; got {url!r}") from None
    if not known:
        raise InputError(f"{EXAMPLES}; got {parsed.render_as_string(hide_password=True)!r}")
    return parsed


def _set_up_postgres(connection: Any, _: Any) -> None:
    """A server may be set up to acknowledge before a commit is on its disk; ours may not. Nor does it wait for ever."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'"
        )
        cursor.execute("SELECT set_config(n, v, false) FROM unnest(%s::text[], %s::text[]) AS u(n, v)", SERVER)
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


def _settings(seconds: dict[str, float], counts: dict[str, int]) -> tuple[list[str], list[str]]:
    return [*seconds, *counts], [*(f"{1000 * each:.0f}ms" for each in seconds.values()), *map(str, counts.values())]


CLIENT = {
    "connect_timeout": int(CONNECT),
    "tcp_user_timeout": int(1000 * CONNECT),
    "keepalives_idle": 5,
    "keepalives_interval": 1,
    "keepalives_count": 3,
}
"""What libpq is told, unless the URL says otherwise: a server that cannot be reached is given up."""
SERVER = _settings(
    {"lock_timeout": PATIENCE, "idle_in_transaction_session_timeout": FROZEN},
    {"tcp_keepalives_idle": 5, "tcp_keepalives_interval": 1, "tcp_keepalives_count": 3},
)
"""What the server is told: clients that are silent or cannot be reached keep no locks. Statements may take long."""

STATES: dict[str, tuple[type[StoreError], str]] = {
    "55P03": (
        LockedError,
        f"another transaction has locked what is to be written: try again; a frozen one is ended in {FROZEN:.0f} "
        "seconds or less",
    ),
    "25P03": (
        StoreUnavailableError,
        f"this process was silent for {FROZEN:.0f} seconds in a transaction: nothing was written. Try again",
    ),
    "57P01": (StoreUnavailableError, "the database ended this connection, and nothing is acknowledged: try again"),
}
"""What PostgreSQL's codes mean, in plain words."""
WORDS: dict[str, tuple[type[StoreError], str]] = {
    "unable to open database file": (
        UnusableStoreError,
        "cannot be opened: does the folder exist, and may you write there?",
    ),
    "readonly database": (UnusableStoreError, "is read-only: a Store must be able to write"),
    "not a database": (UnusableStoreError, "is not an SQLite database: name another file"),
    "database is locked": (
        LockedError,
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

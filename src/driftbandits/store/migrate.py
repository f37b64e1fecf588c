"""Updates a database's tables step by step, from any version; safe when two processes try at once."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import Connection, Engine, inspect, text

from driftbandits._common.extras import needs
from driftbandits.errors import InputError
from driftbandits.store.schema import REVISION

MIGRATIONS = Path(__file__).parent / "migrations"
PATIENCE = 600.0
"""Seconds to wait for another process that migrates an SQLite file."""
TURN = 5_873_209_214
"""Of PostgreSQL's advisory lock: one process migrates, the others wait and then find it done."""


def migrate(engine: Engine) -> None:
    """Apply the migrations that are missing. A database of a newer version is refused, and one of before the first."""
    with engine.connect() as connection:
        if _revision(connection) == REVISION:
            return
    # SQLite: the write lock is ours. Another process may have it, and migrate a large database.
    with engine.execution_options(writes=True, patience=PATIENCE).begin() as connection:
        if engine.dialect.name == "postgresql":
            connection.execute(text("SET LOCAL lock_timeout = 0"))  # its limit is that of silence
            connection.execute(text(f"SELECT pg_advisory_xact_lock({TURN})"))
        if _revision(connection) < REVISION:
            _upgrade(connection)


def _revision(connection: Connection) -> str:
    """The last migration applied; an empty database has none."""
    if not inspect(connection).has_table("alembic_version"):
        return ""
    found = str(connection.execute(text("SELECT version_num FROM alembic_version")).scalar() or "")
    if found.isdigit():  # as migrations were called until the first release; ours begin with a letter
        raise InputError(
            f"the database was written before the first release of driftbandits (schema {found}), and cannot be read: "
            "name a new one. Logs of the old one are exported by the version that wrote it: driftbandits export ID FILE"
        )
    if found > REVISION:
        raise InputError(
            f"the database is of a newer version (schema {found}; this driftbandits knows {REVISION}): "
            "pip install --upgrade driftbandits"
        )
    return found


def _upgrade(connection: Connection) -> None:
    with needs("serve", "a Store"):
        from alembic.config import Config
        from alembic.runtime.environment import EnvironmentContext
        from alembic.script import ScriptDirectory

    script = ScriptDirectory(MIGRATIONS, version_locations=[MIGRATIONS])
    environment = EnvironmentContext(Config(), script, fn=lambda revision, _: script._upgrade_revs("head", revision))
    environment.configure(connection=connection)
    with environment:
        environment.run_migrations()

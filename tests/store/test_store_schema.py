"""Tables and migrations: what the code knows is what a database has, old, new or opened by many at once."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import create_engine, text

import driftbandits as db
import postgres
from driftbandits.store import database
from driftbandits.store.migrate import TURN
from driftbandits.store.salvage import salvage
from driftbandits.store.schema import REVISION, metadata
from waiting import PATIENCE, wait_until

# Schema


def test_migrations_make_the_tables_that_the_code_knows(tmp_path: Path) -> None:
    from alembic.script import ScriptDirectory

    from driftbandits.store.migrate import MIGRATIONS

    assert ScriptDirectory(MIGRATIONS, version_locations=[MIGRATIONS]).get_current_head() == REVISION
    db.Store(f"sqlite:///{tmp_path / 'migrated.db'}").close()
    made = create_engine(f"sqlite:///{tmp_path / 'made.db'}")
    metadata.create_all(made)
    made.dispose()
    migrated, created = (_tables(tmp_path / name) for name in ("migrated.db", "made.db"))
    assert migrated.pop("alembic_version")
    assert migrated == created


def _tables(path: Path) -> dict[str, object]:
    """Columns by name, for migrations add them at the end; and indexes with what they hold."""
    connection = sqlite3.connect(path)
    found: dict[str, object] = {}
    for kind, name, sql in connection.execute("SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL"):
        columns = {column[1]: column[2:] for column in connection.execute(f"PRAGMA table_info({name})")}
        found[name] = columns if kind == "table" else " ".join(sql.split())
    connection.close()
    return found


def test_migrations_make_the_tables_that_the_code_knows_on_postgres() -> None:
    from alembic.autogenerate import compare_metadata
    from alembic.migration import MigrationContext

    found = []
    with postgres.database() as url, postgres.database() as other:
        db.Store(url).close()
        made = create_engine(other.replace("postgresql", "postgresql+psycopg"))
        metadata.create_all(made)
        for engine in (made, create_engine(url.replace("postgresql", "postgresql+psycopg"))):
            with engine.connect() as connection:
                assert compare_metadata(MigrationContext.configure(connection), metadata) == []
                rows = connection.execute(text("SELECT indexdef FROM pg_indexes WHERE schemaname = 'public'")).scalars()
                found.append({row for row in rows if "alembic" not in row})
            engine.dispose()
    assert found[0] == found[1]
    assert len(found[0]) >= 8


def test_many_may_open_a_new_database_at_once_on_sqlite_and_postgres(tmp_path: Path) -> None:
    program = """
import sys, driftbandits as db
for url in sys.argv[1:]:
    sys.stdin.read(1)
    print(len(db.Store(url).experiments.all()), flush=True)
"""
    with postgres.database() as url:
        urls = [f"sqlite:///{tmp_path / 'store.db'}", url]
        pipes: Any = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        opening = [subprocess.Popen([sys.executable, "-c", program, *urls], **pipes) for _ in range(3)]
        for _ in urls:
            for process in opening:
                assert process.stdin
                process.stdin.write(b"!")
                process.stdin.flush()
            for process in opening:
                assert process.stdout
                if process.stdout.readline() != b"0\n":
                    raise AssertionError(process.communicate()[1].decode())
        for process in opening:
            process.communicate()


def test_who_opens_a_new_file_waits_while_another_makes_its_tables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For longer than for any other lock."""
    monkeypatch.setattr(database, "PATIENCE", 0.05)
    opened: list[int] = []
    other = sqlite3.connect(tmp_path / "store.db", isolation_level=None, check_same_thread=False)
    other.execute("PRAGMA journal_mode = WAL")
    other.execute("BEGIN IMMEDIATE")
    url = f"sqlite:///{tmp_path / 'store.db'}"
    opening = threading.Thread(target=lambda: opened.append(len(db.Store(url).experiments.all())), daemon=True)
    opening.start()
    opening.join(1.0)
    assert opening.is_alive()
    other.close()
    opening.join(PATIENCE)
    assert opened == [0]


def test_who_opens_a_new_postgres_waits_while_another_makes_its_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that open it at once seldom meet; here they must. For longer than for any other lock."""
    monkeypatch.setattr(database, "SERVER", (["lock_timeout"], ["50ms"]))
    opened: list[int] = []
    with postgres.database() as url:
        engine = create_engine(url.replace("postgresql", "postgresql+psycopg", 1))
        opening = threading.Thread(target=lambda: opened.append(len(db.Store(url).experiments.all())), daemon=True)
        with engine.connect() as connection:
            connection.execute(text(f"SELECT pg_advisory_xact_lock({TURN})"))
            opening.start()
            waiting = text("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted")
            wait_until(lambda: connection.execute(waiting).scalar() or not opening.is_alive(), "the other to wait")
            opening.join(0.5)
            assert opening.is_alive()
        opening.join(PATIENCE)
        engine.dispose()
    assert opened == [0]


def test_a_database_of_a_newer_version_is_refused(url: str) -> None:
    store = db.Store(url)
    with store.database.writing() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = 'r9999'"))
    with pytest.raises(db.InputError, match=r"newer version \(schema r9999.*pip install --upgrade"):
        db.Store(url)


@pytest.mark.parametrize("schema", ["0001", "0009"])
def test_a_database_of_before_the_first_release_is_refused(url: str, schema: str) -> None:
    """Nothing was released: it is not read, and not changed either."""
    store = db.Store(url)
    store.create("button", arms=["a", "b"])
    version = text("SELECT version_num FROM alembic_version")
    with store.database.writing() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = :schema"), {"schema": schema})
    refused = rf"before the first release of driftbandits \(schema {schema}\).*: name a new one.*driftbandits export"
    for _ in range(2):
        with pytest.raises(db.InputError, match=refused):
            db.Store(url)
    with store.database.reading() as connection:
        assert connection.execute(version).scalar_one() == schema
    assert [each.id for each in store.experiments.all()] == ["button"]


def test_a_damaged_file_of_before_the_first_release_is_not_salvaged(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with db.Store(f"sqlite:///{path}") as store, store.database.writing() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '0009'"))
    with pytest.raises(db.InputError, match=r"another version \(schema 0009, not r0001\)"):
        salvage(path, tmp_path / "new.db")
    assert not (tmp_path / "new.db").exists()

"""Migrations are never changed, and every file that a version ever wrote is brought up to date and gone on with.

``old_stores.zip`` holds files that the versions of then wrote, named after their schema: 0001 was once changed in
place, so there are two of each before 0003. ``continues`` says what such a file must still be able to do. From 0007 on
there are units in them too, from 0008 on with late rewards, and from 0009 on a view.
"""

from __future__ import annotations

import hashlib
import sqlite3
import zipfile
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import create_engine, text

import driftbandits as db
import postgres
from driftbandits.live.decisions import Asked
from driftbandits.store.migrate import MIGRATIONS
from driftbandits.store.schema import REVISION

FIRST = ("0001-propensities", "0001-explore", "0002-propensities", "0002-explore")
OLD = (*FIRST, "0003", "0004", "0005", "0006", "0007", "0008", "0009")
DIGESTS = {
    "r0001.py": "791b99254cbd3640",
    "r0002.py": "cb02ceac56ecf778",
    "r0003.py": "d8764577c88f721c",
    "r0004.py": "1744b02f20f43980",
    "r0005.py": "d7bd20c94f6e0893",
    "r0006.py": "4be04307f84ddcdf",
    "r0007.py": "20dbde56b1c14807",
    "r0008.py": "a0b312c859e1d5fb",
    "r0009.py": "4e3a293ca342aa1c",
}
FIRST_EXPLORE = (
    "ALTER TABLE experiments DROP COLUMN propensities",
    "ALTER TABLE experiments ADD COLUMN explore DOUBLE PRECISION NOT NULL",
)


def test_no_migration_is_changed() -> None:
    found = {path.name: hashlib.sha256(path.read_bytes()).hexdigest()[:16] for path in MIGRATIONS.glob("r*.py")}
    assert found == DIGESTS, "a migration that was released stays as it is: write a new one"
    assert f"r{REVISION}.py" in DIGESTS
    assert {name[:4] for name in OLD} == {name[1:5] for name in DIGESTS}, "and a file that it wrote goes into the zip"


def old_store(name: str, folder: Path) -> Path:
    with zipfile.ZipFile(Path(__file__).with_name("old_stores.zip")) as archive:
        return Path(archive.extract(f"{name}.db", folder))


def continues(url: str) -> None:
    """Everything is still there, and the experiment goes on."""
    store = db.Store(url, existing=True)
    experiment = store.experiments.get("button")
    assert (experiment.arms, experiment.last_seq) == (["red", "green", "blue"], 105)
    log = list(store.history.events("button"))
    assert len(log) == 105
    with store.open("button") as session:
        decision = session.ask()
        assert decision.id == "button-61"
        session.tell(decision.id, 0.5)
        assert session.explain("button-7").step == 7
    assert list(store.history.events("button"))[:105] == log
    if any(experiment.id == "visitors" for experiment in store.experiments.all()):
        visitors_continue(store)
    store.close()
    db.Store(url).close()


def visitors_continue(store: db.Store) -> None:
    """Units get the arm that they had, unless it is off since; who is held out stays so; and one can be erased."""
    log = [event for event in store.history.events("visitors") if isinstance(event, Asked)]
    with store.open("visitors") as durable:
        session = durable.writer.session
        assert (session.available, session.holdout) == (["red", "green", "gold"], (0.2, "red"))
        assert (session.open, session.late) == (10, store.experiments.get("visitors").late)
        had = [session.arms[event.arm] for event in log]
        again = durable.ask_many(20, [f"user-{number}" for number in range(20)])
        assert all(one.arm == arm for one, arm in zip(again, had, strict=True) if arm != "blue")
        assert "blue" in had
        assert [event.note and event.note.metadata for event in log] == [f'{{"n":{number}}}' for number in range(20)]
        assert durable.erase("user-3") == 2
        durable.tell_many(dict.fromkeys(again, 0.5))
    now = [event for event in store.history.events("visitors") if isinstance(event, Asked)]
    assert [event.step for event in now if event.note and event.note.unit is None] == [4, 24]
    assert store.maintenance.check() == []


@pytest.mark.parametrize("name", OLD)
def test_old_files_are_brought_up_to_date(tmp_path: Path, name: str) -> None:
    path = old_store(name, tmp_path)
    with sqlite3.connect(path) as connection:
        assert connection.execute("SELECT version_num FROM alembic_version").fetchall() == [(name[:4],)]
    continues(f"sqlite:///{path}")


@pytest.mark.parametrize("name", OLD)
def test_old_databases_are_brought_up_to_date(tmp_path: Path, name: str) -> None:
    """The same rows in the tables that the same migrations once made in PostgreSQL."""
    from alembic.config import Config
    from alembic.runtime.environment import EnvironmentContext
    from alembic.script import ScriptDirectory

    script = ScriptDirectory(MIGRATIONS, version_locations=[MIGRATIONS])
    with postgres.database() as url:
        engine = create_engine(url.replace("postgresql", "postgresql+psycopg"))
        with engine.begin() as connection:
            environment = EnvironmentContext(
                Config(), script, fn=lambda revision, _: script._upgrade_revs(name[:4], revision)
            )
            environment.configure(connection=connection)
            with environment:
                environment.run_migrations()
            for statement in FIRST_EXPLORE if name.endswith("explore") else ():
                connection.execute(text(statement))
            _copy(old_store(name, tmp_path), connection)
        engine.dispose()
        continues(url)


def _copy(path: Path, connection: Any) -> None:
    with sqlite3.connect(path) as old:
        old.row_factory = sqlite3.Row
        tables = [row[0] for row in old.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        for table in tables:
            rows = [dict(row) for row in old.execute(f"SELECT * FROM {table}")]
            if not rows or table == "alembic_version":
                continue
            for row in rows:
                row |= {name: bool(row[name]) for name in ("propensities", "whole", "late") if name in row}
            names = ", ".join(rows[0])
            values = ", ".join(f":{column}" for column in rows[0])
            connection.execute(text(f"INSERT INTO {table} ({names}) VALUES ({values})"), rows)

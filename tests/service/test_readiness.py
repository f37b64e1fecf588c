"""Ready means that it can write, on time; a wrong clock does not stop time. On SQLite and PostgreSQL."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from driftbandits.service.core import probe as core_probe
from driftbandits.store import Store, StoreError
from driftbandits.store.database import Database
from driftbandits.store.writers import Writers
from in_process import ARMS, Gated, ask, serving


def test_readiness_is_a_write_with_a_deadline(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(core_probe, "FRESH", 0.0)
    with serving(url) as running:
        assert running.http.get("/readyz").status_code == running.http.head("/readyz").status_code == 200
        assert running.http.head("/healthz").status_code == 200
        plain = Database.try_to_write

        def fails(_: Database) -> None:
            error = StoreError("postgresql://secret@host: full")
            error.reason = "the disk is full"
            raise error

        monkeypatch.setattr(Database, "try_to_write", fails)
        refused = running.http.get("/readyz")
        assert (refused.status_code, refused.json()["message"]) == (503, "the store: the disk is full")
        monkeypatch.setattr(Database, "try_to_write", plain)
        monkeypatch.setattr(core_probe, "DEADLINE", 0.05)
        frozen = Gated(monkeypatch, Database, "try_to_write")
        refused = running.http.get("/readyz")
        assert (refused.status_code, "has not responded" in refused.json()["message"]) == (503, True)
        assert running.http.get("/healthz").status_code == 200
        frozen.go_on.set()
        monkeypatch.setattr(core_probe, "DEADLINE", 60)
        assert running.http.get("/readyz").status_code == 200


def test_a_store_that_cannot_be_written_is_not_ready(url: str) -> None:
    with serving(url) as running:
        with running.service.store.database.writing() as connection:
            connection.exec_driver_sql("DROP TABLE alembic_version")
        assert running.http.get("/readyz").status_code == 503


def test_a_file_deleted_under_the_service_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with serving(f"sqlite:///{path}") as running:
        at = running.create()
        ask(running, at)
        path.rename(tmp_path / "moved.db")
        refused = running.http.post(f"{at}/ask")
        assert (refused.status_code, "was deleted" in refused.json()["message"]) == (503, True)
        assert running.http.get("/readyz").status_code == 503
        assert not path.exists()  # nor is a new one made


def test_a_damaged_file_is_said_to_be_damaged(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    store = Store(f"sqlite:///{path}")
    store.create("button", arms=ARMS)
    with store.open("button") as session:
        session.ask_many(20_000)
    store.close()
    with open(path, "r+b") as file:
        size = file.seek(0, 2)
        file.seek(100_000)  # behind the schema
        file.write(b"\xff" * (size - 200_000))
    with serving(f"sqlite:///{path}") as running:
        refused = running.http.get("/v1/experiments/button/export")
        assert (refused.status_code, "damaged" in refused.json()["message"]) == (503, True)


def test_what_fails_at_every_request_is_logged_rarely(monkeypatch: pytest.MonkeyPatch) -> None:
    from structlog.testing import capture_logs

    from driftbandits.service.core import logs

    monkeypatch.setattr(logs, "_said", {})
    with serving() as running:
        path = running.create()
        ask(running, path)

        def fails(*_: Any) -> None:
            raise StoreError("the disk is full")

        monkeypatch.setattr(Writers, "append", fails)
        with capture_logs() as said:
            for _ in range(20):
                assert running.http.post(f"{path}/ask").status_code == 503
        assert 1 <= len([line for line in said if line["log_level"] in ("warning", "error")]) <= 3


@pytest.mark.parametrize("wrong", [86_400.0, -86_400.0])
def test_one_start_with_a_wrong_clock_does_not_stop_time(
    url: str, wrong: float, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    import time

    true_time = time.time
    with serving(url) as running:
        path = running.create(timeout=3600)
        ask(running, path)
    monkeypatch.setattr(time, "time", lambda: true_time() + wrong)
    with serving(url) as running:
        late = running.http.post(f"{path}/ask").json()
    monkeypatch.setattr(time, "time", true_time)
    with serving(url) as running:
        found = running.http.post(f"{path}/ask").json()
        assert abs(found["due"] - true_time() - 3600) < 600
        said = "a clock was wrong, and time was set back" if wrong > 0 else "time goes on from"
        (record,) = (record for record in caplog.records if record.name == "driftbandits.store")
        assert said in record.getMessage()
        session = running.held().session
        waiting = session.waiting()
        assert [event.step for event in waiting] == ([2, 3] if wrong > 0 else [1, 2, 3])  # a day seemed to have passed
        due = [event.due or 0 for event in waiting]
        assert due == sorted(due)
        assert abs(due[-2] - true_time() - 3600) < 600, late

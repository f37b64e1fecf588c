"""Every error has a name: wrong input is told from a database that is away, and both from a bug."""

from __future__ import annotations

import importlib
import inspect
import json
import pkgutil
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import driftbandits as db
from commands import driftbandits
from driftbandits.live.decisions import Asked
from driftbandits.store import Store, StoreError, StoreUnavailableError, UnusableStoreError
from driftbandits.store.experiments import Experiments
from in_process import serving
from ports import free_port


def test_all_errors_have_one_base() -> None:
    names = [each.name for each in pkgutil.walk_packages(db.__path__, "driftbandits.")]
    modules = [importlib.import_module(name) for name in names if name != "driftbandits.__main__"]
    raised = {
        each
        for module in modules
        for _, each in inspect.getmembers(module, inspect.isclass)
        if issubclass(each, Exception) and not issubclass(each, Warning) and each.__module__.startswith("driftbandits.")
    }
    assert {"StoreUnavailableError", "RefusedError", "UnavailableError", "NoTokenError", "Unfinished"} <= {
        each.__name__ for each in raised
    }
    assert [each for each in raised if not issubclass(each, db.DriftbanditsError)] == []


def nowhere() -> str:
    """The URL of a server that does not answer."""
    return f"postgresql://me:secret@127.0.0.1:{free_port()}/x"


def test_a_database_that_is_away_is_no_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(StoreUnavailableError) as away:
        Store(nowhere())
    store = Store(f"sqlite:///{tmp_path / 'store.db'}")
    store.create("x", arms=["a", "b"])
    monkeypatch.setattr("driftbandits.store.database.PATIENCE", 0.1)
    other = sqlite3.connect(tmp_path / "store.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreUnavailableError, match="locked") as locked:
        Store(store.url).writers.acquire("x")
    other.close()
    for caught in (away, locked):
        assert not isinstance(caught.value, ValueError)


def test_what_can_never_be_a_store_is_input(tmp_path: Path) -> None:
    (tmp_path / "text.db").write_text("this is no database, whatever its name says " * 100)
    for path in (tmp_path / "text.db", tmp_path / "nowhere" / "store.db"):
        with pytest.raises(UnusableStoreError) as caught:
            Store(f"sqlite:///{path}")
        assert isinstance(caught.value, db.InputError)


def test_what_the_database_refuses_is_neither() -> None:
    store = Store("sqlite://")
    store.create("x", arms=["a", "b"])
    writer = store.writers.acquire("x")
    with pytest.raises(StoreError, match="UNIQUE") as caught:
        store.writers.append([(writer, [Asked(1, 0, 1.0, None, None)] * 2)])
    assert type(caught.value) is StoreError


def in_a_process(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "driftbandits", *words]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, timeout=300)


@pytest.mark.parametrize(
    ("words", "run"),
    [
        (["experiments"], driftbandits),
        (["export", "x", "x.csv"], in_a_process),  # which says nothing more when it ends, either
        (["token", "list"], driftbandits),
        (["serve"], driftbandits),
    ],
)
def test_commands_say_in_one_line_that_the_database_is_away(words: list[str], run: Any, tmp_path: Path) -> None:
    done = run(*words, "--store", nowhere(), cwd=tmp_path)
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1
    assert "refused" in done.stderr
    assert "secret" not in done.stderr


def test_the_service_answers_503_and_the_dashboard_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*_: Any) -> None:
        raise StoreUnavailableError("the server does not answer")

    with serving() as running:
        for verb in ("all", "get"):
            monkeypatch.setattr(Experiments, verb, away)
        for method, path in (("GET", ""), ("GET", "/button"), ("POST", "/button/ask"), ("POST", "/button/pause")):
            response = running.http.request(method, f"/v1/experiments{path}")
            assert (response.status_code, response.json()["error"]) == (503, "store")
            assert response.headers["retry-after"] == "1"
        with running.http.stream("GET", "/v1/live") as stream:
            lines = list(stream.iter_lines())
        assert lines[0] == "event: refusal"
        assert json.loads(lines[1].removeprefix("data: "))["error"] == "store"
        monkeypatch.undo()

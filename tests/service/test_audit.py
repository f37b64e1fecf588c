"""What is done and who did it are written together: whenever a service dies, one is not there without the other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from driftbandits.cli.main import app
from driftbandits.errors import InputError
from driftbandits.service.dashboard.timeline import timeline
from driftbandits.store import AuditEntry, Store, StoreUnavailableError, audit
from in_process import ARMS, Running, ask, serving, tell

VERBS: list[tuple[str, str, Any, str]] = [
    ("POST", "", {"id": "other", "arms": ARMS}, "created"),
    ("PATCH", "/button", {"timeout": 60}, "changed"),
    ("PATCH", "/button", {"title": "Another", "drift": 0.1, "keep": 3600}, "changed"),
    ("PATCH", "/button", {"keep": None}, "changed"),
    ("POST", "/button/arms", {"arm": "green"}, "changed arms"),
    ("PATCH", "/button/arms", {"arm": "blue", "status": "off"}, "changed arms"),
    ("PUT", "/button/force", {"arm": "red"}, "changed arms"),
    ("PUT", "/button/holdout", {"share": 0.1, "arm": "red"}, "changed arms"),
    ("POST", "/button/correct", {"corrections": [{"id": "button-1", "reward": 0.0}]}, "corrected"),
    ("POST", "/button/erase", {"unit": "user-17"}, "erased"),
    ("POST", "/button/pause", None, "paused"),
    ("POST", "/button/resume", None, "running"),
    ("POST", "/button/archive", None, "archived"),
    ("DELETE", "/button?confirm=button", None, "deleted"),
]


def dies(*_: object) -> Any:
    raise StoreUnavailableError("the service died here")


@pytest.fixture
def running(url: str) -> Any:
    with serving(url) as started:
        path = started.create(timeout=None, keep=86_400)
        tell(started, path, ask(started, path, 2)[0], 1.0)
        started.http.post(f"{path}/ask", json={"unit": "user-17"})
        yield started


def state(running: Running) -> Any:
    store = running.service.store
    rows = [{**vars(each), "epoch": 0, "lease_until": 0} for each in store.experiments.all()]
    return rows, [list(store.history.events(row["id"])) for row in rows], notes(store)


def notes(store: Store) -> int:
    with store.database.reading() as connection:
        return int(connection.exec_driver_sql("SELECT count(*) FROM notes WHERE unit IS NOT NULL").scalar_one())


def test_nothing_is_done_that_is_not_written_down(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    for method, path, body, did in VERBS:
        before, deeds = state(running), running.service.store.audit.entries()
        with monkeypatch.context() as broken:
            broken.setattr(audit, "insert", dies)
            refused = running.http.request(method, f"/v1/experiments{path}", json=body)
        assert refused.status_code == 503, (path, refused.text)
        assert state(running) == before, f"{method} {path} was done, and nobody wrote down by whom"
        again = running.http.request(method, f"/v1/experiments{path}", json=body)
        assert again.status_code in (200, 201, 204), (path, again.text)
        assert state(running) != before or did == "running"
        assert [deed.did for deed in running.service.store.audit.entries()] == [*(deed.did for deed in deeds), did]


def test_a_creation_that_is_sent_again_is_written_down_once(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    def create() -> int:
        headers = {"Idempotency-Key": "once"}
        return running.http.post("/v1/experiments", json={"id": "other", "arms": ARMS}, headers=headers).status_code

    with monkeypatch.context() as broken:
        broken.setattr(audit, "insert", dies)
        assert create() == 503
    assert [create(), create()] == [201, 201]
    assert [deed.did for deed in running.service.store.audit.entries() if deed.experiment == "other"] == ["created"]


def test_a_change_of_both_kinds_is_written_down_in_its_two_parts(running: Running) -> None:
    assert running.http.patch("/v1/experiments/button", json={"timeout": 60, "title": "New"}).status_code == 200
    assert [deed.details for deed in running.service.store.audit.entries()[1:]] == [{"timeout": 60.0}, {"title": "New"}]


@pytest.mark.parametrize(
    ("words", "did"),
    [
        ("token create shop", "token created"),
        ("token revoke old", "token revoked"),
        ("store keep button 90d", "changed"),
        ("store erase user-17", "erased"),
        ("store delete button --confirm button", "deleted"),
    ],
)
def test_commands_do_nothing_that_is_not_written_down(
    words: str, did: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DRIFTBANDITS_STORE", f"sqlite:///{tmp_path / 'store.db'}")
    store = Store(f"sqlite:///{tmp_path / 'store.db'}")
    store.tokens.add("old", "read")
    with store.open("button", arms=ARMS) as session:
        session.ask(unit="user-17")

    def seen() -> Any:
        return store.tokens.all(), [(each.id, each.keep) for each in store.experiments.all()], notes(store)

    before = seen()
    with monkeypatch.context() as broken:
        broken.setattr(audit, "insert", dies)
        with pytest.raises((SystemExit, StoreUnavailableError)):
            app(words.split(), result_action="return_value")
    assert seen() == before
    with store.database.writing() as connection:  # as if that process had ended
        connection.exec_driver_sql("UPDATE writers SET holder = NULL")
    app(words.split(), result_action="return_value")
    assert seen() != before
    assert [deed.did for deed in store.audit.entries()] == [did]
    store.close()


@pytest.mark.parametrize("words", ["store delete button", "store delete button --confirm butto"])
def test_a_deletion_that_is_not_confirmed_deletes_nothing(
    words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DRIFTBANDITS_STORE", f"sqlite:///{tmp_path / 'store.db'}")
    store = Store(f"sqlite:///{tmp_path / 'store.db'}")
    with store.open("button", arms=ARMS) as session:
        session.ask()
    with pytest.raises((SystemExit, InputError)) as refused:
        app(words.split(), result_action="return_value")
    assert "add --confirm button" in capsys.readouterr().err + str(refused.value)
    assert [each.id for each in store.experiments.all()] == ["button"]
    assert store.audit.entries() == []
    store.close()


def test_the_timeline_of_an_id_that_is_used_again_begins_anew() -> None:
    with Store("sqlite://") as store:
        for who in ("me", "you"):
            store.create("button", arms=["a", "b"], audit=AuditEntry(who, "created", "button"))
            assert [entry["who"] for entry in timeline(store, "button", [], with_names=True)] == [who]
            if who == "me":
                store.writers.delete(store.writers.acquire("button"), AuditEntry(who, "deleted", "button"))

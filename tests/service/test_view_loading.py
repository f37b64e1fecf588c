"""What the dashboard remembers, across restarts: all of it after a stop, and after a kill all that the log tells."""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import update

import driftbandits as db
from driftbandits.client import Client, RemoteSession
from driftbandits.service.dashboard import loading
from driftbandits.service.dashboard.loading import open_view
from driftbandits.service.dashboard.view_json import view_json
from driftbandits.service.dashboard.view_snapshots import pack_view
from driftbandits.service.dashboard.views import View
from driftbandits.store import Store, StoreError
from driftbandits.store.schema import views
from driftbandits.store.views import SavedView, Views
from in_process import serving
from serving import Process
from waiting import PATIENCE

SNOOZE: dict[str, Any] = {"policy": "SnoozeItTight", "policy_settings": {"horizon": 1000, "drift": 1e-3}}


def play(session: RemoteSession, steps: int) -> None:
    for step in range(steps):
        decision = session.ask()
        if step % 50:
            session.tell(decision.id, 0.9 if decision.arm == "good" else 0.1)


def test_a_stop_loses_nothing(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'view.db'}"
    with serving(url) as running, Client(running.url, patience=PATIENCE) as client:
        play(client.open("button", arms=["good", "bad"], **SNOOZE), 500)
        before = view_json(running.held().view)[0]
    assert before["snoozes"]
    store = Store(url)
    after = view_json(open_view(store, store.writers.acquire("button")))[0]
    store.close()
    for found in (before, after):
        del found["arms"][0]["until"], found["arms"][1]["until"]  # it depends on when the policy was looked at last
    assert after["rows"]["share"] == before["rows"]["share"]
    assert after["snoozes"][-1] == before["snoozes"][-1]
    assert after["counts"] == before["counts"]
    assert after["rows"]["mean"] == before["rows"]["mean"]
    assert after["since"] == 0


def test_a_kill_loses_no_more_than_what_the_policy_thought(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'view.db'}"
    service = Process(url)
    service.wait()
    with Client(service.url, patience=PATIENCE) as client:
        play(client.open("button", arms=["good", "bad"], **SNOOZE), 200)
    service.kill()
    store = Store(url)
    found = view_json(open_view(store, store.writers.acquire("button")))[0]
    store.close()
    assert (found["since"], found["step"]) == (0, 200)
    assert found["counts"] == {"told": 196, "late": 0, "settled": 0, "pending": 4}
    assert sum(arm["asks"] for arm in found["arms"]) == 200


@pytest.fixture
def store() -> Any:
    store = Store("sqlite://")
    store.create("button", policy=db.AutoTS(), arms=["good", "bad"])
    yield store
    store.close()


def grow(store: Store, writer: Any, steps: int) -> None:
    for _ in range(steps):
        writer.session.tell(writer.session.ask().id, 0.5)
    events, writer.session.journal = writer.session.journal, []
    store.writers.append([(writer, events)])


def test_the_events_since_are_read_from_the_log(store: Store) -> None:
    writer = store.writers.acquire("button")
    grow(store, writer, 100)
    view = open_view(store, writer)
    store.writers.save_view(writer, SavedView(view.seq, pack_view(view), None))
    grow(store, writer, 60)
    found = open_view(store, writer)
    found.take_in()
    assert (found.since, found.step, found.seq) == (0, 160, 320)
    assert found.rows(found.whole).sums[:, 0].sum() == 160


def test_too_far_behind_a_new_picture_begins(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading, "MOST_BEHIND", 50)
    writer = store.writers.acquire("button")
    grow(store, writer, 100)
    assert open_view(store, writer).since == 100


@pytest.mark.parametrize("data", [b"damaged", zlib.compress(b"of another version")])
def test_a_view_that_cannot_be_read_is_made_again(store: Store, data: bytes) -> None:
    writer = store.writers.acquire("button")
    grow(store, writer, 100)
    view = open_view(store, writer)
    store.writers.save_view(writer, SavedView(view.seq, pack_view(view), None))
    with store.database.writing() as connection:
        connection.execute(update(views).values(data=data))
    assert open_view(store, writer).step == 100


def test_one_who_was_taken_over_keeps_nothing(store: Store) -> None:
    old = store.writers.acquire("button")
    grow(store, old, 10)
    store.writers.release(old)
    new = store.writers.acquire("button")
    store.writers.save_view(old, SavedView(20, pack_view(View(old.session)), None))
    assert store.views.find("button") is None
    store.writers.save_view(new, SavedView(20, pack_view(View(new.session)), None))
    assert store.views.find("button") is not None


def test_when_the_store_fails_meanwhile_the_next_one_gets_it(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving() as running:
        running.create()
        fine = Views.find

        def fails(*_: Any) -> None:
            raise StoreError("away")

        monkeypatch.setattr(Views, "find", fails)
        assert running.http.post("/v1/experiments/button/ask").status_code == 503
        monkeypatch.setattr(Views, "find", fine)
        assert running.http.post("/v1/experiments/button/ask").status_code == 200

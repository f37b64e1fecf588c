"""A durable session writes what it did, whatever ends a call, and starts from the log where it could not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import driftbandits as db
from clock import Clock
from driftbandits.live.decisions import Outcome, Settled
from driftbandits.store import StoreError
from driftbandits.store.writers import Writers


@pytest.fixture
def store() -> db.Store:
    return db.Store("sqlite://")


def kinds(store: db.Store) -> list[str]:
    return [type(event).__name__ for event in store.history.events("x")]


def test_a_refusal_writes_what_was_settled_on_the_way(store: db.Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two Decisions' time is up; then the third, which waits, and three more are one too many."""
    monkeypatch.setattr("driftbandits.live.session.MOST_OPEN", 3)
    clock = Clock()
    with store.open("x", arms=["a", "b"], timeout=10, default_reward=0.25) as session:
        session.writer.session.clock = clock
        session.ask_many(2)
        clock.now += 5
        session.ask()
        clock.now += 6
        with pytest.raises(db.InputError, match="1 Decisions wait"):
            session.ask_many(3)
        assert kinds(store) == ["Asked"] * 3 + ["Settled"] * 2
        assert isinstance(settled := store.history.reward("x", 1), Settled)
        assert (settled.reward, settled.time) == (0.25, clock.now)
        assert session.writer.session.clock is clock  # memory is what the log holds: it need not be read again
        assert session.ask_many(2)[0].step == 4


def test_work_that_fails_halfway_leaves_nothing_behind(store: db.Store, monkeypatch: pytest.MonkeyPatch) -> None:
    with store.open("x", arms=["a", "b"]) as session:
        session.ask()
        ask_many = db.Session.ask_many

        def broken(self: db.Session, *what: Any) -> Any:
            ask_many(self, *what)
            raise KeyboardInterrupt

        with monkeypatch.context() as patched:
            patched.setattr(db.Session, "ask_many", broken)
            with pytest.raises(KeyboardInterrupt):
                session.ask()
        assert session.tell("x-1", 0.5) is Outcome.NEW
        assert session.ask().step == 2
    assert kinds(store) == ["Asked", "Told", "Asked"]


def test_only_an_error_makes_it_read_the_log_again(store: db.Store, monkeypatch: pytest.MonkeyPatch) -> None:
    with store.open("x", arms=["a", "b"]) as session:
        memory = session.writer.session
        session.tell(session.ask().id, 0.5)
        with pytest.raises(db.InputError):
            session.tell("x-9", 0.5)
        assert session.settle() == []
        assert session.writer.session is memory

        def fails(*_: object) -> None:
            raise StoreError("the disk is on fire")

        with monkeypatch.context() as patched:
            patched.setattr(Writers, "append", fails)
            with pytest.raises(StoreError):
                session.ask()
        assert session.ask().step == 2
        assert session.writer.session is not memory


def test_a_snapshot_that_fails_is_no_failure(store: db.Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """The log alone is enough; it is tried again after as many events."""
    monkeypatch.setattr("driftbandits.store.writers.SNAPSHOT_EVERY", 10)
    tried = []

    def fails(_: object, writer: Any, taken: Any) -> None:
        tried.append(taken.seq)
        raise StoreError("the disk is on fire")

    monkeypatch.setattr(Writers, "save_snapshot", fails)
    with store.open("x", arms=["a", "b"]) as session:
        for _ in range(13):
            session.tell(session.ask().id, 0.5)
    assert tried == [10, 20]


def test_a_closed_session_does_nothing_more(tmp_path: Path) -> None:
    store = db.Store(f"sqlite:///{tmp_path / 'store.db'}")
    session = store.open("x", arms=["a", "b"])
    session.close()
    session.close()
    with pytest.raises(db.InputError, match="closed: open it again"):
        session.ask()
    with store.open("x") as again:
        assert again.ask().step == 1
    assert kinds(store) == ["Asked"]
    store.close()

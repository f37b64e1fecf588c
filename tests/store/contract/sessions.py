"""A durable session."""

from __future__ import annotations

import secrets
import time

from driftbandits.errors import InputError
from driftbandits.live.decisions import Asked, ConflictError, ExpiredError, Outcome, Settled
from stores import ARMS, StoreTests, fails, fold, refused


class SessionTests(StoreTests):
    """A durable session."""

    def test_a_durable_session(self) -> None:
        store = self.store()
        name = f"contract-{secrets.token_hex(6)}"
        with store.open(name, arms=ARMS) as session:
            first, second = session.ask_many(2)
            assert session.tell(first.id, 1.0) is Outcome.NEW
            assert store.experiments.get(name).last_seq == 3
            refused(InputError, "written by", lambda: self.store().open(name))
        refused(InputError, "closed", session.ask)
        with self.store().open(name, arms=ARMS) as session:
            assert session.tell(first.id, 1.0) is Outcome.AGAIN
            refused(ConflictError, first.id, lambda: session.tell(first.id, 0.0))
            assert session.tell_many([(second.id, 0.5), ("nobody-1", 1.0)]) == [Outcome.NEW, Outcome.UNKNOWN]
            assert session.explain(first).step == 1
        refused(InputError, "was created with arms", lambda: store.open(name, arms=["red", "green"]))
        store.experiments.set_status(name, "paused")
        with store.open(name) as session:
            refused(InputError, "paused", session.ask)

    def test_what_is_due_is_settled_on_disk(self) -> None:
        store = self.store()
        name = self.new(store, timeout=1e-3, default_reward=0.25)
        with store.open(name) as session:
            decision = session.ask()
            time.sleep(2e-3)
            refused(ExpiredError, decision.id, lambda: session.tell(decision.id, 1.0))
            assert session.settle() == []
            assert [type(event) for event in store.history.events(name)] == [Asked, Settled]

    def test_a_durable_session_survives_what_could_not_be_written(self) -> None:
        store = self.store()
        name = self.new(store)
        with store.open(name) as session:
            first = session.ask()
            good, store.writers.append = store.writers.append, fails  # type: ignore[method-assign, assignment]
            refused(OSError, "", session.ask)
            refused(OSError, "", lambda: session.tell(first.id, 0.5))
            store.writers.append = good  # type: ignore[method-assign]
            second = session.ask()
            assert (second.step, session.tell(first.id, 0.75)) == (2, Outcome.NEW)
        assert fold(store, name).snapshot() == self.store().writers.acquire(name).session.snapshot()

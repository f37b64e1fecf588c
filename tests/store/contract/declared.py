"""What is declared of experiments, and what is refused."""

from __future__ import annotations

import time
from functools import partial

from driftbandits.errors import InputError
from driftbandits.live.decisions import ExpiredError
from driftbandits.policies import RoundRobin
from stores import ARMS, StoreTests, fold, refused


class Declarations(StoreTests):
    """What is declared of experiments, and what is refused."""

    def test_what_was_declared_is_there(self) -> None:
        store = self.store()
        name = self.new(
            store,
            policy=RoundRobin(),
            seed=2**64 - 1,
            timeout=2.5,
            default_reward=1,
            explore=0.05,
            title="Größe",
            drift=1e-5,
        )
        found = self.store().experiments.get(name)
        assert (found.id, found.title, found.arms, found.seed) == (name, "Größe", ARMS, 2**64 - 1)
        assert (found.timeout, found.default_reward, found.explore, found.drift) == (2.5, 1.0, 0.05, 1e-5)
        assert (found.status, found.last_seq, found.holder) == ("running", 0, None)
        assert found.session().policy == RoundRobin()
        assert name in [each.id for each in store.experiments.all()]
        store.experiments.set_status(name, "archived")
        assert self.store().experiments.get(name).status == "archived"

    def test_lists_go_on_where_they_stopped(self) -> None:
        store = self.store()
        names = sorted(self.new(store) for _ in range(3))
        first = store.experiments.all(after=names[0], limit=1)
        assert len(first) == 1
        assert names[0] < first[0].id <= names[1]

    def test_refusals(self) -> None:
        store = self.store()
        name = self.new(store)
        refused(InputError, "already", lambda: store.create(name, arms=ARMS))
        refused(InputError, "different names", lambda: store.create("x", arms=["red", "red"]))
        refused(InputError, "an id has", lambda: store.create("a/b", arms=ARMS))
        refused(InputError, "drift", lambda: store.create("x", arms=ARMS, drift=2))
        refused(InputError, "status must be", lambda: store.experiments.set_status(name, "asleep"))
        for verb in (store.experiments.get, store.writers.acquire, store.history.events, store.open):
            refused(InputError, "no experiment", partial(verb, "nobody-knows-me"))
        refused(InputError, "no experiment", lambda: store.experiments.set_status("nobody-knows-me", "paused"))

    def test_what_is_declared_can_change(self) -> None:
        store = self.store()
        name = self.new(store)
        with store.open(name) as session:
            forgotten = session.ask()
            session.change(timeout=1e-3, default_reward=0.25, reward_range=(0, 1))
            time.sleep(2e-3)
            assert [event.reward for event in session.settle()] == [0.25]
            session.change(timeout=None)
            refused(InputError, "between 0 and 1", lambda: session.tell(session.ask().id, 5000))
            assert session.ask().due is None
            refused(InputError, "default_reward must be in reward_range", lambda: session.change(default_reward=2))
        found = self.store().experiments.get(name)
        assert (found.timeout, found.default_reward, found.reward_range) == (None, 0.25, (0.0, 1.0))
        assert found.session().default_reward is None  # before its first event
        writer = self.store().writers.acquire(name)
        assert writer.session.snapshot() == fold(store, name).snapshot()
        assert (writer.session.timeout, writer.session.seq) == (None, writer.seq)
        refused(ExpiredError, "settled", lambda: writer.session.tell(forgotten.id, 1))

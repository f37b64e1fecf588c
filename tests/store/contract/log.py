"""Events come back as they were, corrected and explained; snapshots change nothing."""

from __future__ import annotations

from driftbandits.errors import InputError
from driftbandits.live.decisions import Asked, Event, Outcome, Settled, Told
from driftbandits.policies import AutoTS
from stores import StoreTests, fold, journal, refused


class LogTests(StoreTests):
    """Events come back as they were, corrected and explained; snapshots change nothing."""

    def test_events_come_back_as_they_were(self) -> None:
        store = self.store()
        writer = store.writers.acquire(self.new(store))
        told: list[Event] = [
            Asked(1, 1, 1e9 + 0.1, None, None),
            Asked(2, 0, 1e9 + 0.2, 1e9 + 5, 0.07),
            Told(2, 1 / 3, 1e9 + 0.3),
            Settled(1, None, 1e9 + 6),
            Asked(3, 0, 1e9 + 7, None, 1.0),
            Settled(3, -1e100, 1e9 + 8),
        ]
        store.writers.append([(writer, told)])
        name = writer.experiment.id
        assert list(store.history.events(name)) == told
        assert [type(event) for event in store.history.events(name)] == [type(event) for event in told]
        assert list(store.history.events(name, after=2, until=4)) == told[2:4]
        assert list(store.history.events(name, after=6)) == []
        assert [store.history.reward(name, step) for step in (1, 2, 4)] == [told[3], told[2], None]
        asked = [(2, 1 / 3), (2, 0.0), (1, 0.0), (3, -1e100), (4, 0.0)]
        assert store.history.outcomes(name, asked) == ["again", "conflict", "expired", "expired", "unknown"]

    def test_a_reward_can_be_corrected_and_retracted(self) -> None:
        store = self.store()
        writer = store.writers.acquire(self.new(store, policy=AutoTS()))
        name = writer.experiment.id
        wrong = {5: 5000.0, 12: -3.0}
        for step in range(1, 31):
            writer.session.tell(writer.session.ask().id, wrong.get(step, step % 3 / 2))
            store.writers.append([(writer, journal(writer))])
            if step % 4 == 0:
                store.writers.save_snapshot(writer)
        left_open = writer.session.ask()
        store.writers.append([(writer, journal(writer))])
        before = store.history.explain(name, 20)
        writer = store.writers.correct(writer, [(5, 1.0), (12, None)])
        rewards = [
            event.reward for event in store.history.amended(name, 0, writer.seq) if isinstance(event, Told | Settled)
        ]
        assert rewards == [None if step == 12 else 1.0 if step == 5 else step % 3 / 2 for step in range(1, 31)]
        assert writer.session.snapshot() == fold(store, name).snapshot()
        assert writer.session.learnt == 29
        assert store.history.explain(name, 20) == before  # what it knew then
        assert store.history.outcomes(name, [(5, 1.0), (5, 5000.0), (12, 1.0)]) == ["again", "conflict", "expired"]
        estimates = [arm.estimate for arm in writer.session.explain(left_open).arms]
        assert all(estimate is not None and 0 <= estimate <= 1 for estimate in estimates)
        writer = store.writers.correct(writer, [(12, 0.5)])  # and once more
        again = self.store()
        again.database.clock = lambda: store.database.clock() + 100
        taken = again.writers.acquire(name)
        assert taken.session.snapshot() == fold(store, name).snapshot() == writer.session.snapshot()
        again.writers.release(taken)
        refused(InputError, "no reward that could be corrected", lambda: store.writers.correct(writer, [(31, 1.0)]))
        refused(InputError, "no reward that could be corrected", lambda: store.writers.correct(writer, [(99, 1.0)]))
        with store.open(name) as durable:
            refused(InputError, "no Decision", lambda: durable.correct("nonsense", 1.0))
            durable.correct(f"{name}-30", 0.25)
            assert durable.tell(f"{name}-30", 0.25) is Outcome.AGAIN
        by_day = store.history.corrections_by_day(name, 10)
        assert sum(count for count, _ in by_day) == 4
        assert [last for _, last in by_day] == sorted(last for _, last in by_day)

    def test_every_decision_can_be_explained(self) -> None:
        store = self.store()
        writer = store.writers.acquire(self.new(store, policy=AutoTS()))
        explained = {}
        for _ in range(8):
            last = self.pairs(store, writer, 4)[-1]
            explained[last.step] = writer.session.explain(last)
            store.writers.save_snapshot(writer)
        name = writer.experiment.id
        for step, why in explained.items():
            assert self.store().history.explain(name, step) == why
        refused(InputError, "no Decision", lambda: store.history.explain(name, 33))

    def test_a_snapshot_shortens_the_fold_and_changes_nothing(self) -> None:
        store = self.store()
        writer = store.writers.acquire(self.new(store))
        for _ in range(4):
            self.pairs(store, writer, 3)
            store.writers.save_snapshot(writer)
        self.pairs(store, writer, 2)
        loaded = store.writers.reload(writer)
        assert loaded.saved == 24
        assert loaded.session.snapshot() == writer.session.snapshot()
        assert fold(store, writer.experiment.id).snapshot() == writer.session.snapshot()

    def test_a_snapshot_ahead_of_the_log_is_refused(self) -> None:
        store = self.store()
        writer = store.writers.acquire(self.new(store))
        writer.session.ask()
        ahead = writer.snapshot()
        refused(InputError, "", lambda: store.writers.save_snapshot(writer, ahead))
        store.writers.append([(writer, journal(writer))])
        writer.session.ask()
        store.writers.save_snapshot(writer, ahead)
        assert store.writers.reload(writer).session.step == 1

"""Old events are erased, and nothing that was learnt is."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from driftbandits.errors import InputError
from driftbandits.live.decisions import TooOldError
from driftbandits.policies import AutoTS
from stores import StoreTests, journal, refused

if TYPE_CHECKING:
    from driftbandits.store import Store, Writer

DAY = 86_400.0


class RetentionTests(StoreTests):
    """Old events are erased, and nothing that was learnt is."""

    def test_what_is_past_retention_is_erased_and_what_was_learnt_stays(self) -> None:
        import polars as pl

        store = self.store()
        start = (
            self.store().database.clock() - 30 * DAY
        )  # in the past: a log of times to come would be taken for a wrong clock
        store.database.clock = lambda: start
        writer = store.writers.acquire(self.new(store, policy=AutoTS(), keep=5 * DAY))
        name = writer.experiment.id
        left_open = self.days(store, writer, start, range(10))
        writer = store.writers.correct(
            writer, [(3, 0.25)]
        )  # which will be erased; the last snapshots know the wrong reward
        writer.session.clock = lambda: start + 10 * DAY
        before = writer.session.snapshot()
        assert store.history.explain(name, 38).learnt == 35
        store.database.clock = lambda: start + 10 * DAY
        with tempfile.TemporaryDirectory() as archive:
            pruned = store.retention.prune(name, archive)
            assert pruned.archive is not None
            archived = pl.read_parquet(pruned.archive)
            assert list(Path(archive).iterdir()) == [pruned.archive]
        assert archived["step"].to_list() == [step for step in range(1, 21) if step != 4]
        assert archived.filter(step=3)["reward"].item() == 0.25
        assert (pruned.decisions, pruned.events) == (19, 39)
        found = store.experiments.get(name)
        assert (found.keep, found.folded) == (5 * DAY, 39)
        assert list(store.history.events(name)) == list(store.history.events(name, 39))
        assert store.retention.prune(name) == (0, 0, None, 0.0)  # there is no more

        # Nothing that was learnt is lost, whoever goes on, with snapshots or without.
        writer = store.writers.reload(writer)
        assert writer.session.snapshot() == before
        session = store.sessions.start(store.experiments.get(name))
        for event in store.history.amended(name, 0, found.last_seq):
            session.apply(event)
        assert session.snapshot() == before
        assert [wrong for wrong in store.maintenance.check() if name in wrong] == []

        # What is erased is refused in plain words; what is kept is as it was.
        refused(TooOldError, "past retention", lambda: store.history.explain(name, 3))
        refused(TooOldError, "past retention", lambda: store.writers.correct(writer, [(5, 1.0)]))
        refused(TooOldError, "past retention", lambda: store.writers.correct(writer, [(3, 1.0)]))
        refused(InputError, "no Decision", lambda: store.history.explain(name, 99))
        assert store.history.outcomes(name, [(5, 1.0), (39, 39 % 7 / 7)]) == ["expired", "again"]
        assert writer.session.tell(left_open, 1.0) == "new"
        store.writers.append([(writer, journal(writer))])
        writer = store.writers.correct(writer, [(30, 0.125)])
        with tempfile.TemporaryDirectory() as folder:
            store.history.export(name, f"{folder}/kept.parquet")
            kept = pl.read_parquet(f"{folder}/kept.parquet")
        assert kept["step"].to_list() == [4, *range(21, 41)]
        assert kept.filter(step=30)["reward"].item() == 0.125
        refused(TooOldError, "past retention", lambda: store.history.explain(name, 38))  # it knew the wrong reward of 3
        self.agree(store, writer)

    def test_retention_goes_on_day_after_day(self) -> None:
        store = self.store()
        start = (
            self.store().database.clock() - 30 * DAY
        )  # in the past: a log of times to come would be taken for a wrong clock
        store.database.clock = lambda: start
        writer = store.writers.acquire(self.new(store, policy=AutoTS()))
        name = writer.experiment.id
        for day in range(12):
            self.days(store, writer, start, [day])
            store.database.clock = lambda day=day: start + day * DAY  # type: ignore[misc]
            if day == 4:
                assert store.retention.prune(name) == (0, 0, None, 0.0)  # kept for ever
                store.experiments.update(name, keep=2.5 * DAY)
            store.retention.prune(name)
            store.writers.save_snapshot(writer)
            if day % 3 == 2:
                writer = store.writers.correct(writer, [(writer.session.step - 1, 0.5)])
        assert store.experiments.get(name).folded == 9 * 8 - 1 + 2  # of nine days, one open, two corrections
        self.agree(store, writer)
        refused(InputError, "keep must be", lambda: store.experiments.update(name, keep=0))
        store.experiments.update(name, keep=None)
        assert store.experiments.get(name).keep is None

    def days(self, store: Store, writer: Writer, start: float, days: range | list[int]) -> str:
        """Four Decisions a day, all told but one of the first day, whose id is returned."""
        left_open = ""
        for day in days:
            writer.session.clock = lambda day=day: start + day * DAY  # type: ignore[misc]
            for decision in writer.session.ask_many(4):
                if decision.step == 4:
                    left_open = decision.id
                else:
                    writer.session.tell(decision.id, decision.step % 7 / 7)
            store.writers.append([(writer, journal(writer))])
            if day % 2:
                store.writers.save_snapshot(writer)
        return left_open

    def agree(self, store: Store, writer: Writer) -> None:
        """Memory, the log with snapshots and the log without are the same Session."""
        name, seq = writer.experiment.id, writer.seq
        session = store.sessions.start(store.experiments.get(name))
        for event in store.history.amended(name, 0, seq):
            session.apply(event)
        assert session.snapshot() == writer.session.snapshot() == store.writers.reload(writer).session.snapshot()
        assert [wrong for wrong in store.maintenance.check() if name in wrong] == []

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
        start = self.store().clock() - 30 * DAY  # in the past: a log of times to come would be taken for a wrong clock
        store.clock = lambda: start
        writer = store.acquire(self.new(store, policy=AutoTS(), keep=5 * DAY))
        name = writer.experiment.id
        left_open = self.days(store, writer, start, range(10))
        writer = store.correct(writer, [(3, 0.25)])  # which will be erased; the last snapshots know the wrong reward
        writer.session.clock = lambda: start + 10 * DAY
        before = writer.session.snapshot()
        assert store.explain(name, 38).learnt == 35
        store.clock = lambda: start + 10 * DAY
        with tempfile.TemporaryDirectory() as archive:
            pruned = store.prune(name, archive)
            assert pruned.archive is not None
            archived = pl.read_parquet(pruned.archive)
            assert list(Path(archive).iterdir()) == [pruned.archive]
        assert archived["step"].to_list() == [step for step in range(1, 21) if step != 4]
        assert archived.filter(step=3)["reward"].item() == 0.25
        assert (pruned.decisions, pruned.events) == (19, 39)
        found = store.experiment(name)
        assert (found.keep, found.folded) == (5 * DAY, 39)
        assert list(store.events(name)) == list(store.events(name, 39))
        assert store.prune(name) == (0, 0, None, 0.0)  # there is no more

        # Nothing that was learnt is lost, whoever goes on, with snapshots or without.
        writer = store.reload(writer)
        assert writer.session.snapshot() == before
        session = store.start(name)
        for event in store.amended(name, 0, found.last_seq):
            session.apply(event)
        assert session.snapshot() == before
        assert [wrong for wrong in store.check() if name in wrong] == []

        # What is erased is refused in plain words; what is kept is as it was.
        refused(TooOldError, "past retention", lambda: store.explain(name, 3))
        refused(TooOldError, "past retention", lambda: store.correct(writer, [(5, 1.0)]))
        refused(TooOldError, "past retention", lambda: store.correct(writer, [(3, 1.0)]))
        refused(InputError, "no Decision", lambda: store.explain(name, 99))
        assert store.outcomes(name, [(5, 1.0), (39, 39 % 7 / 7)]) == ["expired", "again"]
        assert writer.session.tell(left_open, 1.0) == "new"
        store.append([(writer, journal(writer))])
        writer = store.correct(writer, [(30, 0.125)])
        with tempfile.TemporaryDirectory() as folder:
            store.export(name, f"{folder}/kept.parquet")
            kept = pl.read_parquet(f"{folder}/kept.parquet")
        assert kept["step"].to_list() == [4, *range(21, 41)]
        assert kept.filter(step=30)["reward"].item() == 0.125
        refused(TooOldError, "past retention", lambda: store.explain(name, 38))  # it knew the wrong reward of 3
        self.agree(store, writer)

    def test_retention_goes_on_day_after_day(self) -> None:
        store = self.store()
        start = self.store().clock() - 30 * DAY  # in the past: a log of times to come would be taken for a wrong clock
        store.clock = lambda: start
        writer = store.acquire(self.new(store, policy=AutoTS()))
        name = writer.experiment.id
        for day in range(12):
            self.days(store, writer, start, [day])
            store.clock = lambda day=day: start + day * DAY  # type: ignore[misc]
            if day == 4:
                assert store.prune(name) == (0, 0, None, 0.0)  # kept for ever
                store.describe(name, keep=2.5 * DAY)
            store.prune(name)
            store.snapshot(writer)
            if day % 3 == 2:
                writer = store.correct(writer, [(writer.session.step - 1, 0.5)])
        assert store.experiment(name).folded == 9 * 8 - 1 + 2  # of nine days, one open, two corrections
        self.agree(store, writer)
        refused(InputError, "keep must be", lambda: store.describe(name, keep=0))
        store.describe(name, keep=None)
        assert store.experiment(name).keep is None

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
            store.append([(writer, journal(writer))])
            if day % 2:
                store.snapshot(writer)
        return left_open

    def agree(self, store: Store, writer: Writer) -> None:
        """Memory, the log with snapshots and the log without are the same Session."""
        name, seq = writer.experiment.id, writer.seq
        session = store.start(name)
        for event in store.amended(name, 0, seq):
            session.apply(event)
        assert session.snapshot() == writer.session.snapshot() == store.reload(writer).session.snapshot()
        assert [wrong for wrong in store.check() if name in wrong] == []

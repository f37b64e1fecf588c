"""One writer at a time, whatever clocks and processes do."""

from __future__ import annotations

from functools import partial

from driftbandits.live.decisions import Asked, Outcome, Settled, Told
from stores import StoreTests, fold, journal, refused


class WriterTests(StoreTests):
    """One writer at a time, whatever clocks and processes do."""

    def test_a_session_goes_on_where_the_log_ends(self) -> None:
        store = self.store()
        writer = store.writers.acquire(self.new(store))
        for count in (1, 3, 20):
            self.pairs(store, writer, count)
            left_open = writer.session.ask()
            store.writers.append([(writer, journal(writer))])
        store.writers.release(writer)
        again = self.store().writers.acquire(writer.experiment.id)
        assert again.seq == writer.seq == store.experiments.get(writer.experiment.id).last_seq == 51
        assert again.session.snapshot() == writer.session.snapshot()
        assert again.session.tell(left_open.id, 0.5) is Outcome.NEW
        assert again.session.ask() == writer.session.ask()

    def test_one_writer_at_a_time(self) -> None:
        from driftbandits.store import BusyError

        one, other = self.store(), self.store()
        one.database.clock = other.database.clock = lambda: 1e9  # no lease runs out
        writer = one.writers.acquire(self.new(one), url="http://one")
        error = refused(BusyError, one.writers.holder, lambda: other.writers.acquire(writer.experiment.id))
        assert isinstance(error, BusyError)
        assert (error.holder, error.url) == (one.writers.holder, "http://one")
        one.writers.release(writer)
        assert other.experiments.get(writer.experiment.id).holder is None
        assert other.writers.acquire(writer.experiment.id).epoch == writer.epoch + 1

    def test_a_lease_that_ran_out_is_taken_over_and_the_old_writer_is_fenced(self) -> None:
        from driftbandits.store import FencedError

        one, other = self.store(), self.store()
        old = one.writers.acquire(self.new(one))
        bystander = one.writers.acquire(self.new(one))
        self.pairs(one, old, 5)
        other.database.clock = lambda: one.database.clock() + 2 * one.writers.lease
        new = other.writers.acquire(old.experiment.id)
        old.session.ask()
        bystander.session.ask()
        fenced = refused(
            FencedError,
            "",
            lambda: one.writers.append([(bystander, bystander.session.journal or []), (old, journal(old))]),
        )
        assert isinstance(fenced, FencedError)
        assert fenced.ids == [old.experiment.id]
        assert one.experiments.get(bystander.experiment.id).last_seq == 0  # nothing of the group was written
        self.pairs(other, new, 2)
        assert one.writers.renew([old, bystander]) == [old]
        refused(FencedError, "", lambda: one.writers.save_snapshot(old))
        refused(FencedError, "", lambda: one.writers.reload(old))
        one.writers.release(old)
        assert other.experiments.get(old.experiment.id).holder == other.writers.holder
        self.pairs(other, new, 1)
        assert len(list(one.history.events(old.experiment.id))) == 16
        one.writers.append([(bystander, journal(bystander))])

    def test_a_renewed_lease_is_kept(self) -> None:
        from driftbandits.store import BusyError

        one, other = self.store(), self.store()
        writer = one.writers.acquire(self.new(one))
        begun = one.database.clock()
        one.database.clock = lambda: begun + one.writers.lease * 0.9
        assert one.writers.renew([writer]) == []
        other.database.clock = lambda: begun + one.writers.lease * 1.8
        refused(BusyError, one.writers.holder, lambda: other.writers.acquire(writer.experiment.id))

    def test_the_log_must_be_what_the_writer_knows(self) -> None:
        from driftbandits.store import FencedError

        store = self.store()
        writer = store.writers.acquire(self.new(store))
        self.pairs(store, writer, 3)
        writer.seq -= 1
        writer.session.ask()
        refused(FencedError, "", lambda: store.writers.append([(writer, journal(writer))]))
        again = store.writers.reload(writer)
        assert (again.seq, again.session.step) == (6, 3)
        self.pairs(store, again, 3)
        refused(FencedError, "", lambda: store.writers.append([(writer, [Asked(4, 0, 1.0, None, None)])]))

    def test_no_step_is_asked_or_answered_twice(self) -> None:
        from driftbandits.store import StoreError

        store = self.store()
        writer = store.writers.acquire(self.new(store))
        self.pairs(store, writer, 2)
        for event in (Asked(2, 0, 1.0, None, None), Told(1, 0.5, 1.0), Settled(1, None, 1.0)):
            refused(StoreError, "", partial(store.writers.append, [(writer, [event])]))
        assert len(list(store.history.events(writer.experiment.id))) == 4

    def test_many_experiments_in_one_go(self) -> None:
        store = self.store()
        writers = [store.writers.acquire(self.new(store, seed=seed)) for seed in range(5)]
        for _ in range(3):
            for number, writer in enumerate(writers):
                decisions = writer.session.ask_many(number + 1)
                writer.session.tell(decisions[0].id, 0.5)
            store.writers.append([(writer, journal(writer)) for writer in reversed(writers)])
        for writer in writers:
            loaded = fold(store, writer.experiment.id)
            assert loaded.snapshot() == writer.session.snapshot()
            assert store.experiments.get(writer.experiment.id).last_seq == writer.seq

    def test_large_groups_are_written_whole(self) -> None:
        store = self.store()
        writer = store.writers.acquire(self.new(store))
        writer.session.tell_many((decision.id, decision.step / 7) for decision in writer.session.ask_many(1500))
        events = journal(writer)
        store.writers.append([(writer, events)])
        assert list(store.history.events(writer.experiment.id)) == events

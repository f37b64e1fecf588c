"""StoreContract: the tests that every Store passes, for your own Stores too."""

from __future__ import annotations

import secrets
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from driftbandits.errors import InputError
from driftbandits.live.decisions import Asked, ConflictError, Decision, Event, ExpiredError, Outcome, Settled, Told
from driftbandits.live.session import Session
from driftbandits.policies import AutoTS, RoundRobin

if TYPE_CHECKING:
    from driftbandits.store import Store, Writer

ARMS = ["red", "blue"]


class StoreContract(ABC):
    """Tests for pytest: derive a class whose name begins with Test, and say where the Store is.

    ::

        class TestMyStore(StoreContract):
            def store(self):
                return Store("postgresql://tester@localhost/scratch")

    Experiments have random names, so the database need not be empty; they stay there.
    """

    @abstractmethod
    def store(self) -> Store:
        """A new Store on the database under test; those of one test share it."""

    # Helpers

    def new(self, store: Store, **declared: Any) -> str:
        """A new experiment's id."""
        declared = {"arms": ARMS, "seed": 3, **declared}
        return store.create(f"contract-{secrets.token_hex(6)}", **declared).id

    def pairs(self, store: Store, writer: Writer, count: int) -> list[Decision]:
        """Ask and tell so many times, and append."""
        decisions = writer.session.ask_many(count)
        writer.session.tell_many((decision.id, decision.step % 7 / -7) for decision in decisions)
        store.append([(writer, _journal(writer))])
        return decisions

    # Experiments

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
        found = self.store().experiment(name)
        assert (found.id, found.title, found.arms, found.seed) == (name, "Größe", ARMS, 2**64 - 1)
        assert (found.timeout, found.default_reward, found.explore, found.drift) == (2.5, 1.0, 0.05, 1e-5)
        assert (found.status, found.last_seq, found.holder) == ("running", 0, None)
        assert found.session().policy == RoundRobin()
        assert name in [each.id for each in store.experiments()]
        store.set_status(name, "archived")
        assert self.store().experiment(name).status == "archived"

    def test_lists_go_on_where_they_stopped(self) -> None:
        store = self.store()
        names = sorted(self.new(store) for _ in range(3))
        first = store.experiments(after=names[0], limit=1)
        assert len(first) == 1
        assert names[0] < first[0].id <= names[1]

    def test_refusals(self) -> None:
        store = self.store()
        name = self.new(store)
        refused(InputError, "already", lambda: store.create(name, arms=ARMS))
        refused(InputError, "different names", lambda: store.create("x", arms=["red", "red"]))
        refused(InputError, "an id has", lambda: store.create("a/b", arms=ARMS))
        refused(InputError, "drift", lambda: store.create("x", arms=ARMS, drift=2))
        refused(InputError, "status must be", lambda: store.set_status(name, "asleep"))
        for verb in ("experiment", "acquire", "events", "open"):
            refused(InputError, "no experiment", partial(getattr(store, verb), "nobody-knows-me"))
        refused(InputError, "no experiment", lambda: store.set_status("nobody-knows-me", "paused"))

    # Writers

    def test_a_session_goes_on_where_the_log_ends(self) -> None:
        store = self.store()
        writer = store.acquire(self.new(store))
        for count in (1, 3, 20):
            self.pairs(store, writer, count)
            left_open = writer.session.ask()
            store.append([(writer, _journal(writer))])
        store.release(writer)
        again = self.store().acquire(writer.experiment.id)
        assert again.seq == writer.seq == store.experiment(writer.experiment.id).last_seq == 51
        assert again.session.snapshot() == writer.session.snapshot()
        assert again.session.tell(left_open.id, 0.5) is Outcome.NEW
        assert again.session.ask() == writer.session.ask()

    def test_one_writer_at_a_time(self) -> None:
        from driftbandits.store import BusyError

        one, other = self.store(), self.store()
        one.clock = other.clock = lambda: 1e9  # no lease runs out
        writer = one.acquire(self.new(one), url="http://one")
        error = refused(BusyError, one.holder, lambda: other.acquire(writer.experiment.id))
        assert isinstance(error, BusyError)
        assert (error.holder, error.url) == (one.holder, "http://one")
        one.release(writer)
        assert other.experiment(writer.experiment.id).holder is None
        assert other.acquire(writer.experiment.id).epoch == writer.epoch + 1

    def test_a_lease_that_ran_out_is_taken_over_and_the_old_writer_is_fenced(self) -> None:
        from driftbandits.store import FencedError

        one, other = self.store(), self.store()
        old = one.acquire(self.new(one))
        bystander = one.acquire(self.new(one))
        self.pairs(one, old, 5)
        other.clock = lambda: one.clock() + 2 * one.lease
        new = other.acquire(old.experiment.id)
        old.session.ask()
        bystander.session.ask()
        fenced = refused(
            FencedError, "", lambda: one.append([(bystander, bystander.session.journal or []), (old, _journal(old))])
        )
        assert isinstance(fenced, FencedError)
        assert fenced.ids == [old.experiment.id]
        assert one.experiment(bystander.experiment.id).last_seq == 0  # nothing of the group was written
        self.pairs(other, new, 2)
        assert one.renew([old, bystander]) == [old]
        refused(FencedError, "", lambda: one.snapshot(old))
        refused(FencedError, "", lambda: one.reload(old))
        one.release(old)
        assert other.experiment(old.experiment.id).holder == other.holder
        self.pairs(other, new, 1)
        assert len(list(one.events(old.experiment.id))) == 16
        one.append([(bystander, _journal(bystander))])

    def test_a_renewed_lease_is_kept(self) -> None:
        from driftbandits.store import BusyError

        one, other = self.store(), self.store()
        writer = one.acquire(self.new(one))
        begun = one.clock()
        one.clock = lambda: begun + one.lease * 0.9
        assert one.renew([writer]) == []
        other.clock = lambda: begun + one.lease * 1.8
        refused(BusyError, one.holder, lambda: other.acquire(writer.experiment.id))

    def test_the_log_must_be_what_the_writer_knows(self) -> None:
        from driftbandits.store import FencedError

        store = self.store()
        writer = store.acquire(self.new(store))
        self.pairs(store, writer, 3)
        writer.seq -= 1
        writer.session.ask()
        refused(FencedError, "", lambda: store.append([(writer, _journal(writer))]))
        again = store.reload(writer)
        assert (again.seq, again.session.step) == (6, 3)
        self.pairs(store, again, 3)
        refused(FencedError, "", lambda: store.append([(writer, [Asked(4, 0, 1.0, None, None)])]))

    def test_no_step_is_asked_or_answered_twice(self) -> None:
        from driftbandits.store import StoreError

        store = self.store()
        writer = store.acquire(self.new(store))
        self.pairs(store, writer, 2)
        for event in (Asked(2, 0, 1.0, None, None), Told(1, 0.5, 1.0), Settled(1, None, 1.0)):
            refused(StoreError, "", partial(store.append, [(writer, [event])]))
        assert len(list(store.events(writer.experiment.id))) == 4

    def test_many_experiments_in_one_go(self) -> None:
        store = self.store()
        writers = [store.acquire(self.new(store, seed=seed)) for seed in range(5)]
        for _ in range(3):
            for number, writer in enumerate(writers):
                decisions = writer.session.ask_many(number + 1)
                writer.session.tell(decisions[0].id, 0.5)
            store.append([(writer, _journal(writer)) for writer in reversed(writers)])
        for writer in writers:
            loaded = fold(store, writer.experiment.id)
            assert loaded.snapshot() == writer.session.snapshot()
            assert store.experiment(writer.experiment.id).last_seq == writer.seq

    # Reading

    def test_events_come_back_as_they_were(self) -> None:
        store = self.store()
        writer = store.acquire(self.new(store))
        told: list[Event] = [
            Asked(1, 1, 1e9 + 0.1, None, None),
            Asked(2, 0, 1e9 + 0.2, 1e9 + 5, 0.07),
            Told(2, 1 / 3, 1e9 + 0.3),
            Settled(1, None, 1e9 + 6),
            Asked(3, 0, 1e9 + 7, None, 1.0),
            Settled(3, -1e100, 1e9 + 8),
        ]
        store.append([(writer, told)])
        name = writer.experiment.id
        assert list(store.events(name)) == told
        assert [type(event) for event in store.events(name)] == [type(event) for event in told]
        assert list(store.events(name, after=2, until=4)) == told[2:4]
        assert list(store.events(name, after=6)) == []
        assert [store.reward(name, step) for step in (1, 2, 4)] == [told[3], told[2], None]
        asked = [(2, 1 / 3), (2, 0.0), (1, 0.0), (3, -1e100), (4, 0.0)]
        assert store.outcomes(name, asked) == ["again", "conflict", "expired", "expired", "unknown"]

    def test_what_is_declared_can_change(self) -> None:
        store = self.store()
        name = self.new(store)
        with store.open(name) as session:
            forgotten = session.ask()
            session.change(timeout=1e-9, default_reward=0.25, reward_range=(0, 1))
            assert [event.reward for event in session.settle()] == [0.25]
            session.change(timeout=None)
            refused(InputError, "between 0 and 1", lambda: session.tell(session.ask().id, 5000))
            assert session.ask().due is None
            refused(InputError, "default_reward must be in reward_range", lambda: session.change(default_reward=2))
        found = self.store().experiment(name)
        assert (found.timeout, found.default_reward, found.reward_range) == (None, 0.25, (0.0, 1.0))
        assert found.session().default_reward is None  # before its first event
        writer = self.store().acquire(name)
        assert writer.session.snapshot() == fold(store, name).snapshot()
        assert (writer.session.timeout, writer.session.seq) == (None, writer.seq)
        refused(ExpiredError, "settled", lambda: writer.session.tell(forgotten.id, 1))

    def test_a_reward_can_be_corrected_and_retracted(self) -> None:
        store = self.store()
        writer = store.acquire(self.new(store, policy=AutoTS()))
        name = writer.experiment.id
        wrong = {5: 5000.0, 12: -3.0}
        for step in range(1, 31):
            writer.session.tell(writer.session.ask().id, wrong.get(step, step % 3 / 2))
            store.append([(writer, _journal(writer))])
            if step % 4 == 0:
                store.snapshot(writer)
        left_open = writer.session.ask()
        store.append([(writer, _journal(writer))])
        before = store.explain(name, 20)
        writer = store.correct(writer, [(5, 1.0), (12, None)])
        rewards = [event.reward for event in store.amended(name, 0, writer.seq) if isinstance(event, Told | Settled)]
        assert rewards == [None if step == 12 else 1.0 if step == 5 else step % 3 / 2 for step in range(1, 31)]
        assert writer.session.snapshot() == fold(store, name).snapshot()
        assert writer.session.learnt == 29
        assert store.explain(name, 20) == before  # what it knew then
        assert store.outcomes(name, [(5, 1.0), (5, 5000.0), (12, 1.0)]) == ["again", "conflict", "expired"]
        estimates = [arm.estimate for arm in writer.session.explain(left_open).arms]
        assert all(estimate is not None and 0 <= estimate <= 1 for estimate in estimates)
        writer = store.correct(writer, [(12, 0.5)])  # and once more
        again = self.store()
        again.clock = lambda: store.clock() + 100
        taken = again.acquire(name)
        assert taken.session.snapshot() == fold(store, name).snapshot() == writer.session.snapshot()
        again.release(taken)
        refused(InputError, "no reward that could be corrected", lambda: store.correct(writer, [(31, 1.0)]))
        refused(InputError, "no reward that could be corrected", lambda: store.correct(writer, [(99, 1.0)]))
        with store.open(name) as durable:
            refused(InputError, "no Decision", lambda: durable.correct("nonsense", 1.0))
            durable.correct(f"{name}-30", 0.25)
            assert durable.tell(f"{name}-30", 0.25) is Outcome.AGAIN

    def test_every_decision_can_be_explained(self) -> None:
        store = self.store()
        writer = store.acquire(self.new(store, policy=AutoTS()))
        explained = {}
        for _ in range(8):
            last = self.pairs(store, writer, 4)[-1]
            explained[last.step] = writer.session.explain(last)
            store.snapshot(writer)
        name = writer.experiment.id
        for step, why in explained.items():
            assert self.store().explain(name, step) == why
        refused(InputError, "no Decision", lambda: store.explain(name, 33))

    # Snapshots

    def test_a_snapshot_shortens_the_fold_and_changes_nothing(self) -> None:
        store = self.store()
        writer = store.acquire(self.new(store))
        for _ in range(4):
            self.pairs(store, writer, 3)
            store.snapshot(writer)
        self.pairs(store, writer, 2)
        loaded = store.reload(writer)
        assert loaded.saved == 24
        assert loaded.session.snapshot() == writer.session.snapshot()
        assert fold(store, writer.experiment.id).snapshot() == writer.session.snapshot()

    def test_a_snapshot_ahead_of_the_log_is_refused(self) -> None:
        store = self.store()
        writer = store.acquire(self.new(store))
        writer.session.ask()
        ahead = writer.snapshot()
        refused(InputError, "", lambda: store.snapshot(writer, ahead))
        store.append([(writer, _journal(writer))])
        writer.session.ask()
        store.snapshot(writer, ahead)
        assert store.reload(writer).session.step == 1

    # Durable sessions

    def test_a_durable_session(self) -> None:
        store = self.store()
        name = f"contract-{secrets.token_hex(6)}"
        with store.open(name, arms=ARMS) as session:
            first, second = session.ask_many(2)
            assert session.tell(first.id, 1.0) is Outcome.NEW
            assert store.experiment(name).last_seq == 3
            refused(InputError, "written by", lambda: self.store().open(name))
        refused(InputError, "closed", session.ask)
        with self.store().open(name, arms=ARMS) as session:
            assert session.tell(first.id, 1.0) is Outcome.AGAIN
            refused(ConflictError, first.id, lambda: session.tell(first.id, 0.0))
            assert session.tell_many([(second.id, 0.5), ("nobody-1", 1.0)]) == [Outcome.NEW, Outcome.UNKNOWN]
            assert session.explain(first).step == 1
        refused(InputError, "was created with arms", lambda: store.open(name, arms=["red", "green"]))
        store.set_status(name, "paused")
        with store.open(name) as session:
            refused(InputError, "paused", session.ask)

    def test_what_is_due_is_settled_on_disk(self) -> None:
        store = self.store()
        name = self.new(store, timeout=1e-6, default_reward=0.25)
        with store.open(name) as session:
            decision = session.ask()
            refused(ExpiredError, decision.id, lambda: session.tell(decision.id, 1.0))
            assert session.settle() == []
            assert [type(event) for event in store.events(name)] == [Asked, Settled]

    def test_a_durable_session_survives_what_could_not_be_written(self) -> None:
        store = self.store()
        name = self.new(store)
        with store.open(name) as session:
            first = session.ask()
            good, store.append = store.append, _fails  # type: ignore[method-assign, assignment]
            refused(OSError, "", session.ask)
            refused(OSError, "", lambda: session.tell(first.id, 0.5))
            store.append = good  # type: ignore[method-assign]
            second = session.ask()
            assert (second.step, session.tell(first.id, 0.75)) == (2, Outcome.NEW)
        assert fold(store, name).snapshot() == self.store().acquire(name).session.snapshot()

    # Idempotency keys and tokens

    def test_large_groups_are_written_whole(self) -> None:
        store = self.store()
        writer = store.acquire(self.new(store))
        writer.session.tell_many((decision.id, decision.step / 7) for decision in writer.session.ask_many(1500))
        events = _journal(writer)
        store.append([(writer, events)])
        assert list(store.events(writer.experiment.id)) == events

    def test_answers_are_written_with_what_they_answer(self) -> None:
        from driftbandits.store import Answer, StoreError

        store = self.store()
        writer = store.acquire(self.new(store))
        name, answer = writer.experiment.id, Answer("key", "digest", '{"answer": 1}')
        writer.session.ask()
        store.append([(writer, _journal(writer))], [(writer, answer)])
        assert self.store().answer(name, "key") == answer
        assert store.answer(name, "other") is None
        writer.session.ask()
        refused(StoreError, "", lambda: store.append([(writer, _journal(writer))], [(writer, answer)]))
        assert store.experiment(name).last_seq == 1
        now = store.clock()
        store.clock = lambda: now + 60
        assert store.prune_answers(age=3600) == 0
        assert store.prune_answers(age=30) >= 1
        assert store.answer(name, "key") is None

    def test_tokens(self) -> None:
        store = self.store()
        name = f"contract-{secrets.token_hex(6)}"
        secret = store.add_token(name, "write")
        found = self.store().token(secret)
        assert found
        assert (found.name, found.scope, found.revoked) == (name, "write", None)
        assert secret not in repr(store.tokens())
        assert store.token(secret[:-1]) is None
        refused(InputError, "already", lambda: store.add_token(name, "read"))
        refused(InputError, "scope", lambda: store.add_token("other", "root"))
        store.revoke_token(name)
        assert store.token(secret) is None
        assert [token.revoked is not None for token in store.tokens() if token.name == name] == [True]
        refused(InputError, "no token", lambda: store.revoke_token("nobody-knows-me"))

    def test_tokens_end_and_may_be_for_some_experiments(self) -> None:
        store = self.store()
        name, now = f"contract-{secrets.token_hex(6)}", store.clock()
        secret = store.add_token(name, "read", expires=now + 60, experiments=["button", "eu-*"])
        found = store.token(secret)
        assert found is not None
        assert [found.is_for(id) for id in ("button", "eu-1", "button2", "us-1")] == [True, True, False, False]
        store.clock = lambda: now + 61
        assert store.token(secret) is None
        refused(InputError, "must end after now", lambda: store.add_token("late", "read", expires=now))
        refused(InputError, "for no experiment", lambda: store.add_token("none", "read", experiments=[]))

    def test_a_deleted_experiment_leaves_nothing(self) -> None:
        from driftbandits.store import FencedError

        store = self.store()
        old = store.acquire(self.new(store))
        name, key = old.experiment.id, old.experiment.key
        self.pairs(store, old, 3)
        store.snapshot(old)
        store.delete(old)
        assert name not in [each.id for each in store.experiments()]
        refused(InputError, "no experiment", lambda: store.experiment(name))
        refused(FencedError, "", lambda: store.append([(old, [Asked(4, 0, 1.0, None, None)])]))
        again = store.create(name, arms=ARMS)
        assert (again.key != key, again.last_seq, list(store.events(name))) == (True, 0, [])
        assert store.acquire(name).session.step == 0
        store.note("me", "deleted", name, {"why": "asked to"})
        assert [deed.details for deed in store.deeds() if deed.experiment == name] == [{"why": "asked to"}]

    def test_what_is_whole_has_nothing_wrong(self) -> None:
        store = self.store()
        writer = store.acquire(self.new(store))
        self.pairs(store, writer, 5)
        store.compact()
        store.try_to_write()
        assert [wrong for wrong in store.check() if writer.experiment.id in wrong] == []


def fold(store: Store, name: str) -> Session:
    """The Session that the whole log makes, with no snapshot's help."""
    session, experiment = store.experiment(name).session(), store.experiment(name)
    for event in store.amended(name, 0, experiment.last_seq):
        session.apply(event)
    return session


def refused(kind: type[Exception], said: str, call: Callable[[], Any]) -> Exception:
    """The error that a call raises, which must be of that kind and say that."""
    try:
        call()
    except kind as error:
        found = error
    else:
        raise AssertionError(f"{kind.__name__} was expected, and nothing was refused")
    assert said in str(found), f"{found} should say {said!r}"
    return found


def _journal(writer: Writer) -> list[Any]:
    events, writer.session.journal = writer.session.journal or [], []
    return events


def _fails(*_: Any) -> None:
    raise OSError("no space left on device")

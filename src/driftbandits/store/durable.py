"""A Session that writes every result to disk before it returns it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from types import TracebackType
from typing import Any, Self, TypeVar

from driftbandits.errors import InputError
from driftbandits.live.decisions import Decision, Outcome, Rewards, Settled, TooOldError, id_of, pairs_of, step_of
from driftbandits.live.explanation import Explanation
from driftbandits.live.lift import Lift
from driftbandits.live.outcomes import warn_of_invalid
from driftbandits.live.session import Session
from driftbandits.live.units import MetadataList, UnitList
from driftbandits.store.errors import StoreError
from driftbandits.store.experiments import Experiments
from driftbandits.store.history import History
from driftbandits.store.writers import Writers

Found = TypeVar("Found")


class DurableSession:
    """The verbs of a Session on an experiment in a Store; ``with store.open(id) as session:`` makes one.

    While it is open it is the experiment's only writer, and renews its lease in the background. After an error nothing
    is lost: the next call starts from the log. It may be shared by threads.
    """

    def __init__(self, experiments: Experiments, writers: Writers, history: History, id: str) -> None:
        self._experiments, self._writers, self._history = experiments, writers, history
        self.writer = writers.acquire(id)
        """The right to write that this session holds; after some calls another takes its place."""
        self._status = self.writer.experiment.status
        self._turn = threading.Lock()
        self._unclear = False  # whether memory may differ from the log
        self._ended = threading.Event()
        threading.Thread(target=self._renew, daemon=True, name=f"lease of {id}").start()

    def ask(self, unit: str | None = None, metadata: Mapping[str, Any] | None = None) -> Decision:
        """Which arm to pull now; for a ``unit``, such as a visitor, the one that it has, if it is ``sticky``."""
        return self.ask_many(1, None if unit is None else [unit], None if metadata is None else [metadata])[0]

    def ask_many(self, count: int, units: UnitList = None, metadata: MetadataList = None) -> list[Decision]:
        """So many Decisions at once, all made from what is known now; for each its unit and metadata, if any have."""
        if self._status != "running":
            raise InputError(f"{self.writer.experiment.id!r} is {self._status}: it makes no Decisions")
        return self._durably(lambda session: session.ask_many(count, units, metadata))

    def tell(self, id: str | Decision, reward: float) -> Outcome:
        """The reward of a Decision, given itself or its id. A wrong one raises InputError and changes nothing."""
        id = id_of(id)
        outcome = self._tell([(id, reward)])[0]
        if outcome in (Outcome.NEW, Outcome.AGAIN):
            return outcome
        raise self.writer.session.refusal(outcome, id, reward)

    def tell_many(self, rewards: Rewards) -> list[Outcome]:
        """Many rewards at once, and what became of each; those that cannot be taken change nothing."""
        pairs = pairs_of(rewards)
        outcomes = self._tell(pairs)
        warn_of_invalid(self.writer.session, pairs, outcomes)
        return outcomes

    def _tell(self, pairs: list[tuple[str, float]]) -> list[Outcome]:
        outcomes = self._durably(lambda session: session._tell(pairs))
        session, id = self.writer.session, self.writer.experiment.id
        forgotten = {
            index: (int(decision.rpartition("-")[2]), reward)
            for index, (decision, reward) in enumerate(pairs)
            if outcomes[index] is Outcome.EXPIRED and not session.remembers(decision)
        }
        if forgotten:
            found = self._history.outcomes(id, list(forgotten.values()))
            for index, outcome in zip(forgotten, found, strict=True):
                outcomes[index] = outcome
        return outcomes

    def correct(self, id: str, reward: float | None) -> None:
        """Put another reward in the place of one that was learnt; None retracts it. What was learnt is learnt anew."""
        session = self.writer.session
        step = step_of(id, session.name)
        if step is None:
            raise session.refusal(Outcome.UNKNOWN, id, reward)
        self._durably(lambda _: None)
        with self._turn:
            self._unclear = True
            self.writer = self._writers.correct(self.writer, [(step, reward)])
            self._unclear = False

    def erase(self, unit: str) -> int:
        """Erase what belongs to a unit, as ``Writers.erase`` does; how many Decisions it had."""
        self._durably(lambda _: None)
        with self._turn:
            self._unclear = True
            self.writer, _, decisions = self._writers.erase(self.writer, unit)
            self._unclear = False
        return decisions

    def change(self, **settings: Any) -> None:
        """As ``Session.change``: timeout, default_reward, reward_range, explore, policy, sticky or late."""
        self._durably(lambda session: session.change(**settings))

    def add_arm(self, name: str) -> None:
        """A new arm, from the next ask on."""
        self._durably(lambda session: session.add_arm(name))

    def disable_arm(self, name: str) -> None:
        """Don't choose an arm until it is enabled."""
        self._durably(lambda session: session.disable_arm(name))

    def enable_arm(self, name: str) -> None:
        """Choose an arm again that was disabled."""
        self._durably(lambda session: session.enable_arm(name))

    def remove_arm(self, name: str) -> None:
        """Never choose an arm again. The log keeps it."""
        self._durably(lambda session: session.remove_arm(name))

    def force_arm(self, name: str | None) -> None:
        """Give all Decisions this arm, whatever the policy wants; None lets the policy choose again."""
        self._durably(lambda session: session.force_arm(name))

    def hold_out(self, share: float, arm: str | None = None) -> None:
        """Give this share of Decisions always the same arm, by chance; 0 ends it."""
        self._durably(lambda session: session.hold_out(share, arm))

    def lift(self) -> Lift:
        """What the policy gains over the holdout."""
        return self._durably(lambda session: session.lift())

    def settle(self) -> list[Settled]:
        """Settle the Decisions whose time is up, as ``ask`` and ``tell`` do by themselves."""
        return self._durably(lambda session: session.settle())

    def explain(self, decision: Decision | str) -> Explanation:
        """Why that arm, however long ago."""
        try:
            return self._durably(lambda session: session.explain(decision))
        except TooOldError:
            id = id_of(decision)
            return self._history.explain(self.writer.experiment.id, int(id.rpartition("-")[2]))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let others write."""
        self._ended.set()
        with suppress(StoreError), self._turn:  # a Store out of reach will see the lease run out
            self._writers.release(self.writer)

    def _durably(self, call: Callable[[Session], Found]) -> Found:
        with self._turn:
            if self._ended.is_set():
                raise InputError("this session is closed: open it again")
            if self._unclear:
                self.writer = self._writers.reload(self.writer)
            self._unclear = True  # until all is written, whatever ends this call: an error, or Ctrl-C
            try:
                found = call(self.writer.session)
            except InputError:  # refused; but what was due meanwhile has been settled
                self._write()
                raise
            self._write()
            return found

    def _write(self) -> None:
        writer, session = self.writer, self.writer.session
        events, session.journal = session.journal or [], []
        if events:
            self._writers.append([(writer, events)])
        self._unclear = False
        if writer.snapshot_due:
            taken = writer.snapshot()
            writer.saved = taken.seq  # when it fails, again after as many events: the log alone is enough
            with suppress(StoreError):
                self._writers.save_snapshot(writer, taken)

    def _renew(self) -> None:
        while not self._ended.wait(self._writers.lease / 3):
            with suppress(StoreError), self._turn:
                self._writers.renew([self.writer])
                self._status = self._experiments.get(self.writer.experiment.id).status

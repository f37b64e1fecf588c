"""The Store: its parts, put together, and the verbs that use them."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from pathlib import Path
from types import EllipsisType
from typing import IO, Any, Self

from driftbandits._common.checks import check_between, check_path, check_whole, shown
from driftbandits.errors import InputError
from driftbandits.instances.describe import describe
from driftbandits.live.decisions import Event, Outcome, Settled, Told
from driftbandits.live.explanation import Explanation
from driftbandits.live.session import Session
from driftbandits.policies import Policy
from driftbandits.store.answers import Answer, Answers
from driftbandits.store.audit import Audit, AuditEntry, Deed
from driftbandits.store.database import PATIENCE, Database
from driftbandits.store.durable import DurableSession
from driftbandits.store.errors import ExperimentExistsError, LockedError
from driftbandits.store.experiments import Experiment, Experiments
from driftbandits.store.export import export_file, export_log
from driftbandits.store.history import History, Snapshot
from driftbandits.store.leaving import Leaving, Left
from driftbandits.store.log import Log
from driftbandits.store.repair import repair
from driftbandits.store.retention import Pruned, Retention
from driftbandits.store.tokens import Token, Tokens
from driftbandits.store.upkeep import backup, check, compact
from driftbandits.store.views import SavedView, Views
from driftbandits.store.writers import Erased, Writer, Writers

LARGEST_NUMBER = 2**63 - 1
"""Of an event or an entry: what a column holds."""
PAUSE = 0.02
"""Seconds between two looks at whether a lock is gone."""


class Store:
    """Live experiments in a database: ``Store("sqlite:///file.db")`` or ``Store("postgresql://user@host/name")``.

    ``"sqlite://"`` is a database in memory, lost with the Store. ``lease``: seconds after which a writer that no longer
    responds is taken over; choose it longer than any pause that should not cause that. ``existing``: an SQLite file
    that is not there is an error, and not made.

    Threads may share a Store, and a session of ``open``; a ``Writer`` and its Session are for one thread at a time. A
    process that was forked must make its own Store.
    """

    def __init__(self, url: str, *, lease: float = 15.0, existing: bool = False) -> None:
        check_between("lease", lease, 0.001, 1e9)
        self._database = database = Database(url, existing)  # connections and transactions
        self._answers = Answers(database)  # what was answered, under idempotency keys
        self._experiments = Experiments(database, self._answers)  # what was declared
        self._log = Log(database)  # every event
        self._history = History(database, self._log)  # snapshots, and Sessions from them and the log
        self._retention = Retention(database, self._log, self._history)  # how long events are kept
        self._writers = Writers(database, self._log, self._history, self._answers, lease)  # who may append, and appends
        self._views = Views(database)  # what the dashboard remembers
        self._leaving = Leaving(database, self._history, self._views)  # who lets go
        self._tokens = Tokens(database)  # who may use the service
        self._audit = Audit(database)  # who did what
        self.url, self.lease, self.holder = database.url, lease, self._writers.holder

    @property
    def clock(self) -> Callable[[], float]:
        """Tells the time, for leases and for what is noted as created; seconds since 1970."""
        return self._database.clock

    @clock.setter
    def clock(self, clock: Callable[[], float]) -> None:
        self._database.clock = clock

    def close(self) -> None:
        """Close all connections, as happens by itself when the Store is no longer used.

        Writers that were not released can be taken over when their lease runs out or this process ends.
        """
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def try_to_write(self) -> None:
        """Write something that changes nothing, to disk; StoreError when that cannot be done."""
        self._database.try_to_write()

    # Experiments

    def open(self, id: str, **declared: Any) -> DurableSession:
        """A durable session: ``with store.open("button", arms=["red", "blue"]) as session: session.ask()``.

        With ``declared``, as ``create`` takes it, the experiment is created if it is missing; if it is there, it must
        be as declared.
        """
        if declared:
            try:
                self.create(id, **declared)
            except ExperimentExistsError:
                _check_same(self.experiment(id), declared)
        return DurableSession(self, id)

    def create(
        self,
        id: str,
        *,
        arms: Sequence[str],
        policy: Policy | None = None,
        seed: int = 0,
        timeout: float | None = None,
        default_reward: float | None = None,
        reward_range: Sequence[float] | None = None,
        explore: float = 0.0,
        sticky: float | None = None,
        late: bool = False,
        title: str = "",
        drift: float | None = None,
        keep: float | None = None,
        answer: Callable[[Experiment], Answer] | None = None,
        audit: AuditEntry | None = None,
    ) -> Experiment:
        """Declare an experiment; as in a Session, AutoTS decides unless you name another policy.

        ``explore=0.1`` makes a log that ``replay`` can evaluate other policies on; most logs without it can't be.
        ``keep``: seconds after which ``prune`` erases events; never unless given. ``answer`` makes of the new
        experiment what is kept under an idempotency key, and ``audit`` says who created it: both are written in the
        same transaction. So it is with every ``audit`` of the verbs below.
        """
        declared: dict[str, Any] = {"timeout": timeout, "default_reward": default_reward, "reward_range": reward_range}
        session = Session(policy, arms, seed, **declared, explore=explore, sticky=sticky, late=late)
        return self._experiments.create(id, session, title, drift, keep, answer, audit)

    def experiments(
        self, after: str = "", limit: int | None = None, only: Sequence[str] | None = None
    ) -> list[Experiment]:
        """All experiments in the order of their ids; with ``after`` and ``limit``, so many from there on.

        ``only``: ids, or beginnings of ids that end in "*", as a token has them; None for all.
        """
        if not isinstance(after, str):
            raise InputError(f"after must be the id of an experiment; got {shown(after)}")
        limit = None if limit is None else check_whole("limit", limit, 1, LARGEST_NUMBER)
        return self._experiments.listed(after, limit, only)

    def experiment(self, id: str) -> Experiment:
        """One experiment; UnknownExperimentError if there is none of that id."""
        return self._experiments.find(id)

    def set_status(self, id: str, status: str, audit: AuditEntry | None = None) -> None:
        """Let it run, pause it, or archive it: "running", "paused" or "archived". The log stays."""
        self._experiments.set_status(id, status, audit)

    def describe(
        self,
        id: str,
        *,
        title: str | None = None,
        drift: float | EllipsisType | None = ...,
        keep: float | EllipsisType | None = ...,
        audit: AuditEntry | None = None,
    ) -> None:
        """Another title, declared drift, which the drift alarm compares with, or time that events are kept.

        ``keep``: seconds, after which ``prune`` erases them; None: for ever. What is not given stays.
        """
        self._experiments.describe(id, title, drift, keep, audit)

    def delete(self, writer: Writer, audit: AuditEntry | None = None) -> None:
        """Erase an experiment and all its data, for ever. Its id may be used again."""
        self._writers.delete(writer, audit)

    # Upkeep

    def prune(self, id: str, archive: str | os.PathLike[str] | None = None, *, most: float = math.inf) -> Pruned:
        """Erase Decisions that were closed longer ago than the experiment keeps; what was learnt from them stays.

        Others may write meanwhile. With ``archive``, a folder, they are written to a Parquet file there first; a run
        that was cut short may write some of them again. The room is used for new events, or ``compact`` gives it back.
        ``most``: seconds of the log, the oldest, that are erased in one call, so that a wrong clock does little harm.
        """
        return self._retention.prune(self.experiment(id), None if archive is None else Path(archive), most)

    def check(self) -> list[str]:
        """What is wrong with the database, a sentence each: damage, gaps in a log, a log that cannot be folded."""
        return check(self._database, self._log, self._history, self._experiments)

    def repair(self) -> list[str]:
        """Mend what can be mended without losing anything; what was mended, a sentence each.

        That is what the log makes again (snapshots, views), SQLite's indexes, and leases that a wrong clock made.
        """
        return repair(self._database, self._experiments)

    def backup(self, path: str | os.PathLike[str]) -> None:
        """Copy an SQLite Store to a new file, as it is now, while others go on writing."""
        backup(self._database, check_path("path", path))

    def compact(self) -> None:
        """Give back the room of what was deleted. Others can't write meanwhile."""
        compact(self._database)

    # Writers

    def acquire(self, id: str, url: str | None = None, *, wait: float = PATIENCE) -> Writer:
        """Become the experiment's writer; ``url`` tells others where to reach this process.

        BusyError while another holds it: until it releases, its lease runs out, or its process is found dead.
        LockedError if another transaction had it locked for ``wait`` seconds, as one of a frozen process may.
        """
        return _until_unlocked(wait, lambda: self._writers.acquire(self.experiment(id), url))

    def reload(self, writer: Writer, *, wait: float = PATIENCE) -> Writer:
        """Start again from the log, after an error left it unclear what is in there. FencedError if another took over.

        The new writer takes the place of the old one, which can write no more. ``wait`` as in ``acquire``.
        """
        return _until_unlocked(wait, lambda: self._writers.reload(writer))

    def renew(self, held: Iterable[Writer]) -> list[Writer]:
        """Prolong the leases; returns the writers that were taken over meanwhile."""
        return self._writers.renew(held)

    def release(self, left: Writer | Sequence[Left]) -> None:
        """Let another write, at once. A writer that was taken over has nothing to release, and that is no error.

        Of many, each with what is to be saved of it, all is done in one transaction.
        """
        self._leaving.release([Left(left)] if isinstance(left, Writer) else left)

    def append(
        self,
        batches: Iterable[tuple[Writer, Sequence[Event]]],
        kept: Iterable[tuple[Writer, Answer | AuditEntry]] = (),
    ) -> None:
        """Append events of many experiments, answers to idempotency keys and who did it, in one transaction.

        All is on disk when this returns. Otherwise FencedError names those that are no longer the writer, or
        LockedError those that another transaction has locked, and nothing was written; or another StoreError: then
        nothing is known, and ``reload`` finds out.
        """
        self._writers.append(batches, kept)

    def correct(
        self, writer: Writer, corrections: Sequence[tuple[int, float | None]], audit: AuditEntry | None = None
    ) -> Writer:
        """Correct the rewards of closed Decisions, each with its step; None retracts one, as if it had never come.

        The log keeps what was told first, and the correction. The Session is folded anew, from a snapshot before the
        first of these rewards; the new writer takes the place of the old one, which can write no more.
        """
        return self._writers.correct(writer, corrections, audit)

    def erase(self, writer: Writer, unit: str, audit: AuditEntry | None = None) -> Erased:
        """Erase what belongs to a unit: its hash and the metadata of its Decisions, in log, snapshots and memory.

        The Decisions stay, with nobody's name, and so does what was learnt. The new writer takes the place of the old
        one, which can write no more. Exports, archives and backups of before are out of reach. The details of ``audit``
        become how many Decisions it had.
        """
        return self._writers.erase(writer, unit, audit)

    def snapshot(self, writer: Writer, taken: Snapshot | None = None) -> None:
        """Save a snapshot: ``taken`` by ``writer.snapshot()`` at any time since, or else now."""
        self._writers.snapshot(writer, taken or writer.snapshot())

    # The log

    def events(self, id: str, after: int = 0, until: int | None = None) -> Iterator[Event]:
        """The events ``after + 1``, ``after + 2``, ... of an experiment that are there; in bounded memory.

        The first ``experiment(id).folded`` events are past retention, and left out.
        """
        experiment = self.experiment(id)
        return self._log.events(experiment.key, max(after, experiment.folded), until)

    def changes(self, id: str, limit: int) -> list[Event]:
        """The last so many events that neither made, counted, closed nor corrected a Decision, oldest first."""
        return self._log.changes(self.experiment(id).key, limit)

    def corrections_by_day(self, id: str, limit: int) -> list[tuple[int, float]]:
        """Of each of the last so many days (UTC) with corrected rewards: how many, and when the last; oldest first."""
        return self._log.corrections_by_day(self.experiment(id).key, limit)

    def start(self, id: str) -> Session:
        """The Session before the first event that is there: new, or what events past retention came to."""
        return self._history.start(self.experiment(id))

    def reward(self, id: str, step: int) -> Told | Settled | None:
        """What a Decision came to; None while it is open, or if there is no such step."""
        return self._log.rewards(self.experiment(id).key, [step]).get(step)

    def outcomes(self, id: str, told: Sequence[tuple[int, float]]) -> list[Outcome]:
        """What becomes of rewards, each with its step, told for Decisions that the Session no longer remembers."""
        return self._log.outcomes(self.experiment(id), told)

    def amended(self, id: str, after: int, until: int) -> Iterator[Event]:
        """As ``events``, but with every reward as it was corrected last: what a Session is the fold of."""
        return self._history.amended(self.experiment(id), after, until)

    def last_correction(self, id: str) -> int:
        """The number of the last event that corrected a reward; 0 if none did."""
        return self._history.last_correction(self.experiment(id).key)

    def explain(self, id: str, step: int) -> Explanation:
        """Why a Decision chose its arm, however long ago."""
        return self._history.explain(self.experiment(id), step)

    def export(
        self,
        id: str,
        path: str | os.PathLike[str],
        shown: Callable[[int], None] = lambda rows: None,
        *,
        since: int = 0,
    ) -> int:
        """Write one row for each Decision to a .parquet, .csv or .jsonl file, whole or not at all; returns how many.

        ``reward`` is what the policy learnt: what was told, or the default in its place; null when it was dropped or
        is still open. ``settled`` says which: "told", "default", "dropped", or null; ``told_at`` says when. ``unit`` is
        the keyed hash of the unit that was named, ``again`` whether it got the arm that it had, ``metadata`` a text of
        JSON. The file shows the log as it was at the start. ``shown`` is called with the number of rows read so far.

        With ``since``, the number of an event (``experiment(id).last_seq`` before the last export), there are rows only
        of Decisions that were asked, closed or corrected after it: they take the place of those of the same id.
        """
        since = check_whole("since", since, 0, LARGEST_NUMBER)
        return export_file(self._database, self._log, self.experiment(id), path, shown, since=since)

    def stream(
        self,
        id: str,
        format: str,
        to: IO[bytes],
        since: int = 0,
        shown: Callable[[int], None] = lambda rows: None,
    ) -> int:
        """As ``export``, in the format "parquet", "csv" or "jsonl" to an open file, page by page as it is read.

        The next page is read when ``shown`` returns, and not before; ``to.write`` should not wait for long, since all
        exports of a process share the threads that call it.
        """
        return export_log(self._database, self._log, self.experiment(id), to, format, shown, since=since)

    # What a service keeps: answers under idempotency keys, the dashboard's views, tokens

    def answer(self, id: str, key: str) -> Answer | None:
        """What was answered to that key of an experiment, or None."""
        where = (self.experiment(id).key, key)
        return self.answers([where]).get(where)

    def answers(self, asked: Sequence[tuple[int, str]]) -> dict[tuple[int, str], Answer]:
        """What was answered to those of the (scope, key) that were answered."""
        return self._answers.find(asked)

    def prune_answers(self, age: float) -> int:
        """Forget answers older than ``age`` seconds; returns how many."""
        return self._answers.prune(age)

    def save_view(self, writer: Writer, seq: int, data: bytes, summary: str | None = None) -> None:
        """Keep a view of the first ``seq`` events, and a short one; one who is no longer the writer stores nothing."""
        self._views.save(writer, SavedView(seq, data, summary))

    def summaries(self) -> dict[str, str]:
        """The short views that were kept last, by the experiments' ids."""
        return self._views.summaries()

    def view(self, id: str) -> bytes | None:
        """The view that was kept last."""
        return self._views.find(self.experiment(id).key)

    def add_token(
        self,
        name: str,
        scope: str,
        *,
        expires: float | None = None,
        experiments: Sequence[str] | None = None,
        audit: AuditEntry | None = None,
    ) -> str:
        """A new token's secret, which is shown this once.

        ``expires``: seconds since 1970. ``experiments``: ids, or beginnings of ids that end in "*"; None for all.
        """
        return self._tokens.add(name, scope, expires, experiments, audit)

    def token(self, secret: str) -> Token | None:
        """The token with that secret, if there is one that was not revoked."""
        return self._tokens.find(secret)

    def deeds(self, after: int = 0, limit: int = 1000) -> list[Deed]:
        """What was done to experiments, and by whom; so many behind that number."""
        largest = LARGEST_NUMBER
        return self._audit.listed(check_whole("after", after, 0, largest), check_whole("limit", limit, 1, largest))

    def deeds_to(self, id: str, did: Collection[str], limit: int) -> list[Deed]:
        """The last so many of these kinds that were done to one experiment since it was created, oldest first."""
        return self._audit.done_to(id, did, self.experiment(id).created, limit)

    def tokens(self) -> list[Token]:
        """All tokens, revoked ones too."""
        return self._tokens.all()

    def revoke_token(self, name: str, audit: AuditEntry | None = None) -> None:
        """From now on the token is refused. Its name cannot be used again."""
        self._tokens.revoke(name, audit)


def _until_unlocked(seconds: float, take: Callable[[], Writer]) -> Writer:
    began = time.monotonic()
    while True:
        try:
            return take()
        except LockedError:
            if time.monotonic() - began >= seconds:
                raise
            time.sleep(PAUSE)


def _check_same(experiment: Experiment, declared: dict[str, Any]) -> None:
    for name, value in declared.items():
        there = (experiment.first or {}).get(name, getattr(experiment, name))  # as it was created
        wanted = (describe(value) if value else there) if name == "policy" else value
        if name == "arms" or (name == "reward_range" and value is not None):
            there, wanted = list(there or ()), list(value)
        if wanted != there:
            raise InputError(
                f"{experiment.id!r} was created with {name}={shown(there)}; got {shown(value)}: choose another id, or "
                f"drop {name}"
            )

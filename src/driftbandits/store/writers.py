"""One writer per experiment: leases say when another may take over, epochs make sure that the old one cannot write.

``acquire`` raises the experiment's ``epoch``; ``append`` moves ``last_seq`` from where its writer knows it to be, and
only in the writer's own epoch (compare and swap). So whatever clocks say, and however late a stalled process wakes up,
only one writer at a time can add to the log. Leases only keep processes from taking over without need.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

from sqlalchemy import Connection, Row, Update, delete, select, update

from driftbandits.errors import InputError
from driftbandits.live.clocks import keep_time
from driftbandits.live.decisions import Corrected, Event, Outcome, UnknownDecisionError
from driftbandits.live.session import Session
from driftbandits.live.units import hash_of
from driftbandits.store.answers import CHUNK, Answer, Answers
from driftbandits.store.audit import AuditEntry, record
from driftbandits.store.database import PATIENCE, Database
from driftbandits.store.errors import BusyError, FencedError, LockedError, StoreUnavailableError
from driftbandits.store.experiments import Experiment, Experiments, Redeclared, erase, redeclare
from driftbandits.store.holder import is_dead, new_holder
from driftbandits.store.locks import locked, locked_head, locking_at_once, until_unlocked
from driftbandits.store.log import Log, past_retention
from driftbandits.store.schema import answers as kept_answers
from driftbandits.store.schema import changes, events, folded, notes, snapshots, writers
from driftbandits.store.schema import views as kept_views
from driftbandits.store.sessions import SNAPSHOT_EVERY, Sessions, Snapshot
from driftbandits.store.views import SavedView, Views

OWNED = (events, notes, changes, snapshots, folded, kept_views, kept_answers)
"""Tables of what belongs to an experiment."""
ERASE_TRIES = 50
"""How often erasing a unit begins again because snapshots were saved, or old events erased, meanwhile."""
logger = logging.getLogger("driftbandits.store")
SQLITE_ADVANCE = "UPDATE writers SET last_seq = ?, lease_until = ? WHERE experiment = ? AND epoch = ? AND last_seq = ?"
# Arrays make one statement of any number of rows: one round trip, and planned once.
POSTGRES_ADVANCE = """
    UPDATE writers SET last_seq = new, lease_until = until
    FROM unnest(%s::int8[], %s::float8[], %s::int4[], %s::int8[], %s::int8[]) AS u(new, until, k, e, old)
    WHERE experiment = k AND epoch = e AND last_seq = old"""


@dataclass(eq=False)
class Writer:
    """The right to append to one experiment, and its Session. ``seq`` is the last event known to be in the log."""

    experiment: Experiment
    epoch: int
    seq: int
    session: Session
    saved: int = 0

    @property
    def snapshot_due(self) -> bool:
        """Whether it is time to save a snapshot; rarer when it is large, so that snapshots never outweigh the log."""
        return self.seq - self.saved >= max(SNAPSHOT_EVERY, self.session.open, len(self.session._units))

    def snapshot(self) -> Snapshot:
        """The Session as it is now, which may be ahead of the log."""
        return Snapshot.of(self.session)


class Erased(NamedTuple):
    """A unit was erased: the writer that goes on, the unit as exports of before call it, and how many Decisions."""

    writer: Writer
    unit: str
    decisions: int


class Left(NamedTuple):
    """A writer that lets go, and what is to be saved of its Session and of its view, compressed, if anything is."""

    writer: Writer
    snapshot: Snapshot | None = None
    view: SavedView | None = None


class Writers:
    """Who may append to each log, and the appending."""

    def __init__(
        self,
        database: Database,
        experiments: Experiments,
        log: Log,
        sessions: Sessions,
        answers: Answers,
        views: Views,
        lease: float,
    ) -> None:
        self._database, self._experiments, self._log = database, experiments, log
        self._sessions, self._answers, self._views = sessions, answers, views
        self.lease, self.holder = lease, new_holder()

    def acquire(self, id: str, url: str | None = None, *, wait: float = PATIENCE) -> Writer:
        """Become the experiment's writer; ``url`` tells others where to reach this process.

        BusyError while another holds it: until it releases, its lease runs out, or its process is found dead.
        LockedError if another transaction had it locked for ``wait`` seconds, as one of a frozen process may.
        """

        def take() -> Writer:
            experiment = self._experiments.get(id)
            self._check_free(id, experiment)  # whoever has a lease is asked for no lock
            with locking_at_once(self._database, experiment.key) as (connection, head):
                self._check_free(id, head)
                self._take(connection, head, url)
            return self._loaded(experiment, head)

        return until_unlocked(wait, take)

    def reload(self, writer: Writer, *, wait: float = PATIENCE) -> Writer:
        """Start again from the log, after an error left it unclear what is in there. FencedError if another took over.

        The new writer takes the place of the old one, which can write no more: its epoch is raised, so nothing of it
        can still be on its way. ``wait`` as in ``acquire``.
        """

        def take() -> Writer:
            with locking_at_once(self._database, writer.experiment.key) as (connection, head):
                if head.epoch != writer.epoch:
                    raise _fenced([writer])
                self._take(connection, head, head.url)
            return self._loaded(writer.experiment, head)

        return until_unlocked(wait, take)

    def _check_free(self, id: str, head: Row[Any] | Experiment) -> None:
        now = self._database.clock()
        if head.holder and head.lease_until > now and not is_dead(head.holder):
            raise BusyError(
                f"{id!r} is being written by {head.holder}{f' at {head.url}' if head.url else ''}, for "
                f"at least {head.lease_until - now:.0f} seconds more: ask there, or wait",
                head.holder,
                head.url,
                head.lease_until,
            )

    @contextmanager
    def _telling_locked(self, moving: Sequence[Writer]) -> Iterator[None]:
        try:
            yield
        except LockedError as error:
            keys = locked(self._database, [writer.experiment.key for writer in moving])
            error.ids = [writer.experiment.id for writer in moving if writer.experiment.key in keys]
            raise

    def renew(self, held: Iterable[Writer]) -> list[Writer]:
        """Prolong the leases; return the writers that were taken over.

        A row that is locked is left as it is: others need not wait for it, and appending prolongs the lease too.
        """
        asked = sorted(held, key=_by_key)
        mine = set()
        with self._database.writing() as connection:
            for first in range(0, len(asked), CHUNK):
                keys = [writer.experiment.key for writer in asked[first : first + CHUNK]]
                still = writers.c.experiment.in_(keys), writers.c.holder == self.holder
                unlocked = select(writers.c.experiment).where(*still).with_for_update(skip_locked=True)
                prolonged = update(writers).where(writers.c.experiment.in_(unlocked))
                connection.execute(prolonged.values(lease_until=self._lease_until()))
                found = connection.execute(select(writers.c.experiment, writers.c.epoch).where(*still))
                mine |= {tuple(row) for row in found}
        return [writer for writer in asked if (writer.experiment.key, writer.epoch) not in mine]

    def release(self, left: Writer | Sequence[Left]) -> None:
        """Let others write, at once. A writer that was taken over has nothing to release, and that is no error.

        Of many, each with what is to be saved of it, all is done in one transaction. If another transaction has locked
        some and does not end, these are left to their leases.
        """
        left = [Left(left)] if isinstance(left, Writer) else left
        taken = {each.writer: each.snapshot for each in left if each.snapshot is not None}
        shown = {each.writer: each.view for each in left if each.view is not None}
        ordered = sorted((each.writer for each in left), key=_by_key)
        for skip_locked in (False, True):
            try:
                with self._database.writing() as connection:
                    for first in range(0, len(ordered), CHUNK):
                        mine = _still_writers(connection, ordered[first : first + CHUNK], skip_locked)
                        keys = [writer.experiment.key for writer in mine]
                        self._sessions.save(connection, {w.experiment.key: taken[w] for w in mine if w in taken})
                        self._views.write(connection, {w.experiment.key: shown[w] for w in mine if w in shown})
                        free = {"holder": None, "url": None, "lease_until": 0.0}
                        connection.execute(update(writers).where(writers.c.experiment.in_(keys)).values(free))
                return
            except LockedError:
                if skip_locked:
                    raise

    def append(
        self,
        batches: Iterable[tuple[Writer, Sequence[Event]]],
        kept: Iterable[tuple[Writer, Answer | AuditEntry]] = (),
    ) -> None:
        """Append events of many experiments, answers to idempotency keys and audit entries, in one transaction.

        All is on disk when this returns. Otherwise FencedError names those that are no longer the writer, or
        LockedError those that another transaction has locked, and nothing was written; or another StoreError: then
        nothing is known, and ``reload`` finds out.
        """
        grouped: dict[Writer, list[Event]] = {}
        for writer, fresh in batches:
            grouped.setdefault(writer, []).extend(fresh)
        # In one order everywhere, so that no two processes wait for each other.
        moving = sorted((writer for writer in grouped if grouped[writer]), key=_by_key)
        until = self._lease_until()
        heads = [(w.seq + len(grouped[w]), until, w.experiment.key, w.epoch, w.seq) for w in moving]
        lines = self._log.lines()
        changed: dict[Writer, list[Redeclared]] = {}
        corrected: list[tuple[Writer, list[int]]] = []
        for writer in moving:
            before = len(lines.rare)
            lines.add(writer.experiment.key, writer.seq, grouped[writer])
            if len(lines.rare) > before:
                rare = [event for _, _, event in lines.rare[before:]]
                corrected.append((writer, [event.step for event in rare if isinstance(event, Corrected)]))
                if redeclared := [event for event in rare if isinstance(event, Redeclared)]:
                    changed[writer] = redeclared
        answers, audited = [], []
        for writer, each in kept:
            if isinstance(each, Answer):
                answers.append((writer.experiment.key, each))
            else:
                audited.append(each)
        if not moving and not answers and not audited:
            return
        with self._telling_locked(moving), self._database.writing() as connection:
            if moving:
                if self._advance(connection, heads) != len(heads):
                    raise _fenced([writer for writer in moving if not _holds(connection, writer, len(grouped[writer]))])
                for writer, steps in corrected:
                    self._log.check_kept(connection, writer.experiment.key, steps, writer.experiment.id)
                self._log.insert(connection, lines)
            declared = {writer: redeclare(connection, writer.experiment, change) for writer, change in changed.items()}
            self._answers.keep(connection, answers)
            for entry in audited:
                record(connection, self._database.clock(), entry)
        for writer in moving:
            writer.seq += len(grouped[writer])
            writer.experiment = declared.get(writer, writer.experiment)

    def correct(
        self, writer: Writer, corrections: Sequence[tuple[int, float | None]], audit: AuditEntry | None = None
    ) -> Writer:
        """Correct the rewards of closed Decisions, each with its step; None retracts one, as if it had never come.

        The log keeps what was told first, and the correction. The Session is folded again, from a snapshot before the
        first of these rewards; the new writer takes the place of the old one, which can write no more.
        """
        session, name = writer.session, writer.experiment.id
        _check_at_rest(writer)
        closed = self._log.rewards(writer.experiment.key, (step for step, _ in corrections))
        for step, reward in corrections:
            if step not in closed and 1 <= step <= session.step and f"{name}-{step}" not in session._open:
                raise past_retention(name, step, "can't be corrected")
            if step not in closed:
                raise UnknownDecisionError(
                    f"Decision '{name}-{step}' has no reward that could be corrected: there is none of that id, or it "
                    "is still open and its reward can be told"
                )
            if reward is not None and not session.takes(reward):
                raise session.refusal(Outcome.INVALID, f"{name}-{step}", reward)
        now = max(session.time, float(session.clock()))
        corrected = [Corrected(step, reward, now) for step, reward in corrections]
        self.append([(writer, corrected)], [(writer, audit)] if audit else [])
        return self.reload(writer)

    def erase(self, writer: Writer, unit: str, audit: AuditEntry | None = None) -> Erased:
        """Erase what belongs to a unit: its hash and the metadata of its Decisions, in log, snapshots and memory.

        The Decisions stay, with nobody's name, and so does what was learnt. The new writer takes the place of the old
        one, which can write no more. Earlier exports, archives and backups are out of reach. The details of ``audit``
        become the number of its Decisions.
        """
        _check_at_rest(writer)
        key, hashed = writer.experiment.key, hash_of(unit, writer.experiment.secret())
        for _ in range(ERASE_TRIES):
            saved = self._sessions.without(key, hashed)
            with self._database.writing() as connection:
                head = locked_head(connection, key)
                if head.epoch != writer.epoch:
                    raise _fenced([writer])
                if not self._sessions.replace(connection, key, saved):
                    continue  # another was saved meanwhile, or old events were erased
                this = notes.c.experiment == key, notes.c.unit == hashed
                found = connection.execute(update(notes).where(*this).values(unit=None, metadata=None)).rowcount
                self._take(connection, head, head.url)  # nothing that is on its way may bring it back
                told = audit and audit._replace(details={"decisions": found})
                record(connection, self._database.clock(), told)
            return Erased(self._loaded(writer.experiment, head), hashed.hex(), found)
        raise StoreUnavailableError(
            f"{writer.experiment.id!r} was saved by another {ERASE_TRIES} times while a unit was to be erased: nothing "
            "was erased; try again"
        )

    def delete(self, writer: Writer, audit: AuditEntry | None = None) -> None:
        """Erase the experiment and all its data, for ever. Its id may be used again."""
        key = writer.experiment.key
        with self._database.writing() as connection:
            if locked_head(connection, key).epoch != writer.epoch:
                raise _fenced([writer])
            for table in OWNED:
                connection.execute(delete(table).where(table.c.experiment == key))
            gone = {"epoch": writer.epoch + 1, "holder": None, "url": None, "lease_until": 0.0, "last_seq": 0}
            connection.execute(_mine(key, writer.epoch).values(gone))
            erase(connection, key)
            record(connection, self._database.clock(), audit)

    def save_snapshot(self, writer: Writer, taken: Snapshot | None = None) -> None:
        """Save a snapshot: ``taken`` by ``writer.snapshot()`` at any time since, or else now.

        FencedError unless the log holds what it is a snapshot of.
        """
        taken = taken or writer.snapshot()
        compressed = taken.compressed()
        with self._database.writing() as connection:
            head = locked_head(connection, writer.experiment.key)
            # In my own epoch what the log holds is what my memory did; beyond the log's end it is nothing yet.
            if head.epoch != writer.epoch or head.last_seq < taken.seq:
                raise _fenced([writer])
            self._sessions.save(connection, {writer.experiment.key: compressed})
        writer.saved = max(writer.saved, taken.seq)

    def save_view(self, writer: Writer, view: SavedView) -> None:
        """Save a view in place of the one before. One who is no longer the writer saves nothing."""
        compressed = view.compressed()
        with self._database.writing() as connection:
            if _still_writers(connection, [writer]):
                self._views.write(connection, {writer.experiment.key: compressed})

    def _take(self, connection: Connection, head: Row[Any], url: str | None) -> None:
        values = {"holder": self.holder, "url": url, "lease_until": self._lease_until()}
        connection.execute(_mine(head.experiment, head.epoch).values(epoch=head.epoch + 1, **values))

    def _loaded(self, experiment: Experiment, head: Row[Any]) -> Writer:
        """From the log as it was when the epoch became ours: from then on it is ours alone to append to."""
        session, saved = self._sessions.at(experiment, head.last_seq)
        session.journal = []
        wrong = keep_time(session, experiment.created)
        if wrong:
            logger.warning("%s: %s", experiment.id, wrong)
        return Writer(experiment, head.epoch + 1, head.last_seq, session, saved)

    def _advance(self, connection: Connection, heads: Sequence[tuple[int, float, int, int, int]]) -> int:
        """Move heads of logs, each (new, lease, experiment, epoch, old), if they are where they should be; how many."""
        if self._database.is_postgres:
            columns = tuple(map(list, zip(*heads, strict=True)))
            return connection.exec_driver_sql(POSTGRES_ADVANCE, columns).rowcount
        return connection.exec_driver_sql(SQLITE_ADVANCE, list(heads)).rowcount

    def _lease_until(self) -> float:
        return self._database.clock() + self.lease


def _check_at_rest(writer: Writer) -> None:
    if writer.session.seq != writer.seq or writer.session.journal:
        raise InputError(f"{writer.experiment.id!r} has events that are not in the log yet: append them first")


def _still_writers(connection: Connection, asked: Sequence[Writer], skip_locked: bool = False) -> list[Writer]:
    """Those that are still the writers, locked."""
    keys = [writer.experiment.key for writer in asked]
    heads = select(writers.c.experiment, writers.c.epoch).where(writers.c.experiment.in_(keys))
    found = connection.execute(heads.order_by(writers.c.experiment).with_for_update(skip_locked=skip_locked))
    there = {tuple(row) for row in found}
    return [writer for writer in asked if (writer.experiment.key, writer.epoch) in there]


def _holds(connection: Connection, writer: Writer, count: int) -> bool:
    """Whether this writer's head moved by ``count``, inside the transaction that tried."""
    head = connection.execute(select(writers).where(writers.c.experiment == writer.experiment.key)).one()
    return bool(head.epoch == writer.epoch and head.last_seq == writer.seq + count)


def _mine(key: int, epoch: int) -> Update:
    return update(writers).where(writers.c.experiment == key, writers.c.epoch == epoch)


def _by_key(writer: Writer) -> int:
    return writer.experiment.key


def _fenced(lost: list[Writer]) -> FencedError:
    ids = [writer.experiment.id for writer in lost]
    return FencedError(
        f"{', '.join(map(repr, ids))}: this process is no longer the writer, or its memory is not what the log holds. "
        "Nothing was written; open it again",
        ids,
    )

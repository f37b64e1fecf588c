"""The log: events in rows, read in chunks, written for many experiments at once (``lines``).

Asks, rewards and settlements are in ``events``, the rare others in ``changes``; both are numbered together.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from heapq import merge
from operator import itemgetter
from typing import Any, NamedTuple

from sqlalchemy import Connection, delete, exists, insert, select, text

from driftbandits.instances.describe import build, describe
from driftbandits.live.decisions import (
    ArmChanged,
    Asked,
    Changed,
    Corrected,
    Counted,
    Event,
    Forced,
    HeldOut,
    LateSwitched,
    Note,
    PolicyChanged,
    Rewound,
    Settled,
    StickyChanged,
    Told,
)
from driftbandits.store.database import Database
from driftbandits.store.errors import PastRetentionError
from driftbandits.store.experiments import Experiment
from driftbandits.store.lines import Lines, PostgresLines, SqliteLines
from driftbandits.store.schema import IS_ASKED, IS_CLOSED, changes, events, notes

CHUNK = 10_000
LOOKED_UP = 500
"""Steps that are asked for in one statement."""

COLUMNS = (
    events.c.kind,
    events.c.step,
    events.c.arm,
    events.c.reward,
    events.c.time,
    events.c.due,
    events.c.probability,
)

RARE_COLUMNS = (changes.c.kind, changes.c.step, changes.c.reward, changes.c.settings, changes.c.time)
IS_CLOSED_EVENT = text("events.kind <> 'a'")


class Correction(NamedTuple):
    """A reward that was corrected: by which event, of which step, which event had closed it, and the right reward."""

    seq: int
    step: int
    closed: int
    reward: float | None


class Log:
    """The events of all experiments, each of which is known by its key."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def rewards(self, key: int, steps: Iterable[int]) -> dict[int, Told | Settled]:
        """The rewards with which those Decisions were closed, as they were corrected last; of those that were."""
        found: dict[int, Told | Settled] = {}
        asked = sorted(set(steps))
        with self._database.reading() as connection:
            for first in range(0, len(asked), LOOKED_UP):
                part = asked[first : first + LOOKED_UP]
                closed = select(events.c.kind, events.c.step, events.c.reward, events.c.time).where(
                    events.c.experiment == key, events.c.step.in_(part), IS_CLOSED
                )
                for kind, step, reward, time in connection.execute(closed):
                    found[step] = (Told if kind == "t" else Settled)(step, reward, time)
                corrected = (
                    select(changes.c.step, changes.c.reward, changes.c.time)
                    .where(changes.c.experiment == key, changes.c.step.in_(part))
                    .order_by(changes.c.seq)
                )
                for step, reward, time in connection.execute(corrected):
                    found[step] = Settled(step, None, time) if reward is None else Told(step, reward, time)
        return found

    def corrections(self, key: int, until: int | None = None) -> list[Correction]:
        """All corrections up to there, in the order in which they were made; of Decisions that are not erased."""
        with self._database.reading() as connection:
            return self.corrections_in(connection, key, until)

    def corrections_in(self, connection: Connection, key: int, until: int | None = None) -> list[Correction]:
        """The same, in a transaction."""
        statement = (
            select(changes.c.seq, changes.c.step, events.c.seq, changes.c.reward)
            .join(events, (events.c.experiment == changes.c.experiment) & (events.c.step == changes.c.step))
            .where(changes.c.experiment == key, changes.c.kind == "c", IS_CLOSED_EVENT)
            .order_by(changes.c.seq)
        )
        rows = connection.execute(statement if until is None else statement.where(changes.c.seq <= until))
        return [Correction(*row) for row in rows]

    def begins(self, experiment: Experiment) -> float:
        """The time of the first event that is not folded; never, if there is none."""
        statement = select(events.c.time).where(events.c.experiment == experiment.key, events.c.seq > experiment.folded)
        with self._database.reading() as connection:
            found = connection.execute(statement.order_by(events.c.seq).limit(1)).scalar_one_or_none()
        return math.inf if found is None else float(found)

    def last_before(self, experiment: Experiment, time: float) -> int:
        """The last event that is older; time grows along the log, so it is found by halving."""
        low, high = experiment.folded, experiment.last_seq
        with self._database.reading() as connection:
            while low < high:
                middle = (low + high + 1) // 2
                statement = select(events.c.seq, events.c.time).where(
                    events.c.experiment == experiment.key, events.c.seq.between(middle, high)
                )
                found = connection.execute(statement.order_by(events.c.seq).limit(1)).one_or_none()
                if found is not None and found.time < time:
                    low = found.seq
                else:
                    high = middle - 1
        return low

    def check_kept(self, connection: Connection, key: int, steps: Iterable[int], id: str) -> None:
        """Refuse to correct Decisions that were erased."""
        closed = select(events.c.step).where(events.c.experiment == key, IS_CLOSED)
        for step in steps:
            if connection.execute(closed.where(events.c.step == step)).one_or_none() is None:
                raise past_retention(id, step, "can't be corrected")

    def events(self, key: int, after: int, until: int | None) -> Iterator[Event]:
        """Those behind ``after``, to ``until`` or the end; in bounded memory."""
        while True:
            end = after + CHUNK if until is None else min(after + CHUNK, until)
            with self._database.reading() as connection:
                usual, rare = (
                    connection.execute(
                        select(table.c.seq, *columns)
                        .where(table.c.experiment == key, table.c.seq > after, table.c.seq <= end)
                        .order_by(table.c.seq)
                    ).all()
                    for table, columns in ((events, COLUMNS), (changes, RARE_COLUMNS))
                )
                noted = self._notes(connection, key, [row[2] for row in usual if row[1] == "a"])
            made = ((row[0], _event(row, noted)) for row in usual)
            if rare:
                made = merge(made, ((row[0], rare_event(row)) for row in rare), key=itemgetter(0))
            for _, event in made:
                yield event
            after += len(usual) + len(rare)
            if len(usual) + len(rare) < CHUNK:
                return

    def _notes(self, connection: Connection, key: int, steps: Sequence[int]) -> dict[int, Note]:
        """What asks of those steps, which are in order, came with."""
        if not steps:
            return {}
        there = notes.c.experiment == key, notes.c.step.between(steps[0], steps[-1])
        rows = connection.execute(select(notes.c.step, notes.c.unit, notes.c.way, notes.c.metadata).where(*there))
        return {step: Note(unit, way, metadata) for step, unit, way, metadata in rows}

    def drop_notes(self, connection: Connection, key: int, first: int, last: int) -> None:
        """Forget what asks of those steps came with that are no longer in the log."""
        asked = exists().where(events.c.experiment == key, events.c.step == notes.c.step, text("events.kind = 'a'"))
        connection.execute(delete(notes).where(notes.c.experiment == key, notes.c.step.between(first, last), ~asked))

    def seq_of_ask(self, key: int, step: int) -> int | None:
        """Where in the log that Decision was made."""
        statement = select(events.c.seq).where(events.c.experiment == key, events.c.step == step, IS_ASKED)
        with self._database.reading() as connection:
            return connection.execute(statement).scalar_one_or_none()

    def lines(self) -> Lines:
        """No events yet, to be written by ``insert``."""
        return PostgresLines() if self._database.is_postgres else SqliteLines()

    def insert(self, connection: Connection, lines: Lines) -> None:
        """Write all of them."""
        lines.insert(connection)
        if lines.rare:
            connection.execute(insert(changes), [_rare_row(*each) for each in lines.rare])
        if lines.noted:
            rows = [{"experiment": k, "step": each.step, **each.note._asdict()} for k, each in lines.noted if each.note]
            connection.execute(insert(notes), rows)


def past_retention(id: str, step: int, what: str) -> PastRetentionError:
    """The refusal that says so."""
    return PastRetentionError(
        f"Decision '{id}-{step}' is past retention and {what}: events of that time were erased. What was learnt stays"
    )


def _event(row: Any, noted: Mapping[int, Note]) -> Event:
    _, kind, step, arm, reward, time, due, probability = row
    if kind == "a":
        return Asked(step, arm, time, due, probability, noted.get(step))
    return Told(step, reward, time) if kind == "t" else Settled(step, reward, time)


def rare_event(row: Any) -> Event:
    """Return the event of a row of ``changes``: its number and RARE_COLUMNS."""
    _, kind, step, reward, settings, time = row
    if kind == "c":
        return Corrected(step, reward, time)
    if kind == "r":
        return Rewound(time)
    if kind == "m":
        arm, name, status = json.loads(settings)
        return ArmChanged(arm, name, status, time)
    if kind == "f":
        return Forced(json.loads(settings), time)
    if kind == "h":
        share, arm = json.loads(settings)
        return HeldOut(share, arm, time)
    if kind == "u":
        return StickyChanged(json.loads(settings), time)
    if kind == "l":
        return LateSwitched(json.loads(settings), time)
    if kind == "n":
        return Counted(tuple((arm, count) for arm, count in json.loads(settings)), reward, time)
    if kind == "p":
        described, explore = json.loads(settings)
        return PolicyChanged(build(described), explore, time)
    timeout, default_reward, limits = json.loads(settings)
    return Changed(timeout, default_reward, tuple(limits) if limits else None, time)


def _rare_row(key: int, seq: int, event: Event) -> dict[str, Any]:
    row = {"experiment": key, "seq": seq, "kind": "r", "step": None, "reward": None, "settings": None}
    if isinstance(event, Corrected):
        row |= {"kind": "c", "step": event.step, "reward": event.reward}
    elif isinstance(event, Changed):
        row |= {"kind": "d", "settings": json.dumps(event[:3])}
    elif isinstance(event, ArmChanged):
        row |= {"kind": "m", "settings": json.dumps(event[:3])}
    elif isinstance(event, Forced):
        row |= {"kind": "f", "settings": json.dumps(event.arm)}
    elif isinstance(event, HeldOut):
        row |= {"kind": "h", "settings": json.dumps(event[:2])}
    elif isinstance(event, StickyChanged):
        row |= {"kind": "u", "settings": json.dumps(event.sticky)}
    elif isinstance(event, LateSwitched):
        row |= {"kind": "l", "settings": json.dumps(event.on)}
    elif isinstance(event, Counted):
        row |= {"kind": "n", "reward": event.reward, "settings": json.dumps(event.counts)}
    elif isinstance(event, PolicyChanged):
        row |= {"kind": "p", "settings": json.dumps([describe(event.policy), event.explore])}
    return row | {"time": event.time}

"""What an experiment's log says: events, rewards, explanations and exports. Reading needs no writer.

Each method looks the experiment up by its id, so it knows what was appended, or erased, until then.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO

from sqlalchemy import BigInteger, cast, desc, func, select

from driftbandits._common.checks import check_whole
from driftbandits._common.files import written_whole
from driftbandits.errors import InputError
from driftbandits.live.decisions import Event, Outcome, Settled, Told, UnknownDecisionError, amended
from driftbandits.live.explanation import Explanation
from driftbandits.store.database import Database
from driftbandits.store.experiments import Experiments
from driftbandits.store.export import FORMATS, export_log
from driftbandits.store.log import RARE_COLUMNS, Log, past_retention, rare_event
from driftbandits.store.schema import LARGEST_NUMBER, changes
from driftbandits.store.sessions import Sessions

LEAD = 5_000
"""An explanation folds at least this many events, so that it knows recent rewards as the live Session did."""
DAY = 86_400


class History:
    """The logs of all experiments, to read."""

    def __init__(self, database: Database, experiments: Experiments, log: Log, sessions: Sessions) -> None:
        self._database, self._experiments, self._log, self._sessions = database, experiments, log, sessions

    def events(self, id: str, after: int = 0, until: int | None = None) -> Iterator[Event]:
        """Return the events ``after + 1``, ``after + 2``, ... up to ``until`` or the end, in bounded memory.

        The first ``folded`` events of an experiment are past retention, and left out.
        """
        experiment = self._experiments.get(id)
        return self._log.events(experiment.key, max(after, experiment.folded), until)

    def amended(self, id: str, after: int, until: int) -> Iterator[Event]:
        """Return events, each reward as it was corrected last: a Session is the fold of these."""
        experiment = self._experiments.get(id)
        rewards = {each.step: each.reward for each in self._log.corrections(experiment.key, until)}
        return amended(self._log.events(experiment.key, max(after, experiment.folded), until), rewards)

    def changes(self, id: str, limit: int) -> list[Event]:
        """Return the last ``limit`` events that neither made, counted, closed nor corrected a Decision, in order."""
        rare = changes.c.experiment == self._experiments.get(id).key, changes.c.kind.not_in(["c", "n"])
        mine = select(changes.c.seq, *RARE_COLUMNS).where(*rare)
        with self._database.reading() as connection:
            rows = connection.execute(mine.order_by(changes.c.seq.desc()).limit(limit)).all()
        return [rare_event(row) for row in reversed(rows)]

    def corrections_by_day(self, id: str, limit: int) -> list[tuple[int, float]]:
        """Return, for each of the last ``limit`` days (UTC) with corrections, their number and the time of the last."""
        day = (cast(changes.c.time, BigInteger) // DAY).label("day")
        statement = (
            select(day, func.count(), func.max(changes.c.time))
            .where(changes.c.experiment == self._experiments.get(id).key, changes.c.kind == "c")
            .group_by("day")
            .order_by(desc("day"))
            .limit(limit)
        )
        with self._database.reading() as connection:
            return [(count, last) for _, count, last in reversed(connection.execute(statement).all())]

    def last_correction(self, id: str) -> int:
        """Return the number of the last event that corrected a reward; 0 if none did."""
        return max((each.seq for each in self._log.corrections(self._experiments.get(id).key)), default=0)

    def reward(self, id: str, step: int) -> Told | Settled | None:
        """Return how a Decision was closed; None while it is open, or if there is no such step."""
        return self._log.rewards(self._experiments.get(id).key, [step]).get(step)

    def outcomes(self, id: str, told: Sequence[tuple[int, float]]) -> list[Outcome]:
        """Return the outcome of rewards, each with its step, for Decisions that the Session no longer remembers."""
        experiment = self._experiments.get(id)
        found = self._log.rewards(experiment.key, (step for step, _ in told))
        missing = Outcome.EXPIRED if experiment.folded else Outcome.UNKNOWN  # erased, as only closed ones are
        return [_outcome(found[step], reward) if step in found else missing for step, reward in told]

    def explain(self, id: str, step: int) -> Explanation:
        """Return why a Decision chose its arm, however long ago, from the Session at that time."""
        experiment, decision = self._experiments.get(id), f"{id}-{step}"
        seq, base = self._log.seq_of_ask(experiment.key, step), self._sessions.base(experiment.key)
        if base is not None and 1 <= step <= base.step and (seq is None or seq <= base.seq):
            raise past_retention(id, step, "can't be explained")
        if seq is None:
            raise UnknownDecisionError(f"there is no Decision {decision!r} in the Store")
        if base is not None and seq < base.corrected:
            raise past_retention(id, step, "can't be explained")
        session, _ = self._sessions.at(experiment, seq, lead=LEAD)
        return session.explain(decision)

    def export(
        self,
        id: str,
        path: str | os.PathLike[str],
        shown: Callable[[int], None] = lambda rows: None,
        *,
        since: int = 0,
    ) -> int:
        """Write one row per Decision to a .parquet, .csv or .jsonl file, whole or not at all; return their number.

        ``reward`` is what the policy learnt: the reported reward, or the default in its place; null when it was dropped
        or is still open. ``settled`` is "told", "default", "dropped", "corrected", "retracted" or null; ``told_at`` is
        the time of that. ``unit`` is the keyed hash of the unit that was named, ``again`` whether it got the arm that
        it had, ``metadata`` a text of JSON. The file shows the log as it was at the start. ``shown`` is called with the
        number of rows read so far.

        With ``since``, the number of an event (an experiment's ``last_seq`` before the last export), only Decisions
        that were asked, closed or corrected after it are written: they replace rows of the same id.
        """
        since, experiment = check_whole("since", since, 0, LARGEST_NUMBER), self._experiments.get(id)
        format = Path(path).suffix[1:]
        if format not in FORMATS:
            raise InputError(f"the file must end in .parquet, .csv or .jsonl; got {os.fspath(path)!r}")
        with written_whole(path) as temporary:
            return export_log(self._database, self._log, experiment, temporary, format, shown, since=since)

    def stream(
        self,
        id: str,
        format: str,
        to: IO[bytes],
        since: int = 0,
        shown: Callable[[int], None] = lambda rows: None,
    ) -> int:
        """Export, in the format "parquet", "csv" or "jsonl", to an open file, page by page as it is read.

        The next page is read when ``shown`` returns, and not before; ``to.write`` should not wait for long, since all
        exports of a process share the threads that call it.
        """
        return export_log(self._database, self._log, self._experiments.get(id), to, format, shown, since=since)


def _outcome(found: Told | Settled, reward: float) -> Outcome:
    if isinstance(found, Told):
        return Outcome.AGAIN if found.reward == reward else Outcome.CONFLICT
    return Outcome.EXPIRED

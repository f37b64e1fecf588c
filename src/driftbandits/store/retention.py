"""Old events are erased: what they came to is kept as one Session, and the log begins behind it.

Of a Decision that was closed by then nothing is left. One that is still open keeps its ask, so that it can be told,
settled and exported. First the Session is written, in one transaction with the number of the last event that it is the
fold of; from then on nobody reads what is before. Then rows are deleted in small transactions, asks before rewards, so
that a process which is killed in between leaves nothing that the next one could not finish. An archive gets its name
within that first transaction: there is none of what was not folded, and what was folded is in one.
"""

from __future__ import annotations

import math
import os
import zlib
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

from sqlalchemy import and_, delete, exists, func, insert, select, text

from driftbandits._common.expansion import allowed, check_expanded
from driftbandits._common.files import written_whole
from driftbandits.errors import DriftbanditsError
from driftbandits.store.database import Database
from driftbandits.store.experiments import Experiment, Experiments
from driftbandits.store.export import export_log
from driftbandits.store.log import Log
from driftbandits.store.schema import changes, events, folded, notes, snapshots, writers
from driftbandits.store.sessions import Sessions, is_stale

ROWS = 10_000
"""Numbers of events whose rows are deleted in one transaction: others write between two of them."""


class Pruned(NamedTuple):
    """How many events were folded, how many Decisions erased, and the file with them, if one was asked for.

    ``left``: of how many seconds of the log events are still there that are older than the experiment keeps.
    """

    events: int
    decisions: int
    archive: Path | None
    left: float = 0.0


class _ChangedMeanwhileError(DriftbanditsError):
    """What was folded is not what is there now."""


class Retention:
    """Erases what is older than an experiment keeps."""

    def __init__(self, database: Database, experiments: Experiments, log: Log, sessions: Sessions) -> None:
        self._database, self._experiments, self._log, self._sessions = database, experiments, log, sessions

    def prune(self, id: str, archive: str | os.PathLike[str] | None = None, *, most: float = math.inf) -> Pruned:
        """Erase Decisions that were closed longer ago than the experiment keeps; what was learnt from them stays.

        Others may write at the same time. With ``archive``, a folder, they are written to a Parquet file there first; a
        run that was cut short may write some of them again. The room is used for new events, or
        ``maintenance.compact`` gives it back. ``most``: seconds of the log, the oldest, that are erased in one call, so
        that a wrong clock does little harm.
        """
        experiment = self._experiments.get(id)
        seq, left = experiment.folded, 0.0
        if experiment.keep is not None:
            wanted = self._database.clock() - experiment.keep
            until = min(wanted, self._log.begins(experiment) + most)
            seq, left = self._log.last_before(experiment, until), wanted - until
        file, epoch = None, self._epoch(experiment.key)
        if seq > experiment.folded:
            if archive is not None:
                Path(archive).mkdir(parents=True, exist_ok=True)
                file = Path(archive) / f"{experiment.id}-events-{experiment.folded + 1}-{seq}.parquet"
            try:
                with ExitStack() as archived:
                    if file is not None:
                        temporary = archived.enter_context(written_whole(file))
                        export_log(self._database, self._log, experiment, temporary, "parquet", until=seq)
                        with temporary.open("r+b") as written:
                            os.fsync(written.fileno())  # in the transaction others would wait for it
                    self._fold(experiment, seq, epoch, archived)
            except _ChangedMeanwhileError:
                return Pruned(0, 0, None)  # the next time is soon enough
        return Pruned(seq - experiment.folded, self._erase(experiment.key, seq) if seq else 0, file, left)

    def _fold(self, experiment: Experiment, seq: int, epoch: int, archived: ExitStack) -> None:
        """Write the Session after ``seq`` events, with all rewards as they are known now."""
        key = experiment.key
        corrections = self._log.corrections(key)
        session = self._sessions.at(experiment, seq, known=corrections)[0]
        mine = snapshots.c.experiment == key
        data = session.snapshot()
        packed = zlib.compress(data)
        check_expanded(f"the Session of {experiment.id!r}", len(data), allowed(len(packed)), "keep its events")
        row = {
            "experiment": key,
            "seq": seq,
            "step": session.step,
            "corrected": max((each.seq for each in corrections if each.closed <= seq < each.seq), default=0),
            "data": packed,
        }
        with self._database.writing() as connection:
            # Whoever appends locks this row too: no correction comes between.
            head = connection.execute(select(writers).where(writers.c.experiment == key).with_for_update()).one()
            before = connection.execute(select(folded.c.seq).where(folded.c.experiment == key)).scalar_one_or_none()
            if (before or 0) != experiment.folded or self._log.corrections_in(connection, key) != corrections:
                raise _ChangedMeanwhileError
            if head.epoch != epoch:  # a unit may have been erased, which this Session and the archive still know
                raise _ChangedMeanwhileError
            connection.execute(delete(folded).where(folded.c.experiment == key))
            connection.execute(insert(folded), row)
            saved = connection.execute(select(snapshots.c.seq).where(mine)).scalars().all()
            for each in saved:
                if each <= seq or is_stale(each, corrections):  # what they do not know will be erased
                    connection.execute(delete(snapshots).where(mine, snapshots.c.seq == each))
            archived.close()

    def _epoch(self, key: int) -> int:
        with self._database.reading() as connection:
            return int(connection.execute(select(writers.c.epoch).where(writers.c.experiment == key)).scalar_one())

    def _erase(self, key: int, seq: int) -> int:
        """Delete the rows of Decisions that were closed by event ``seq``, and the rare events; how many Decisions."""
        closed = events.alias("closed")
        mine = events.c.experiment == key
        answered = exists().where(
            closed.c.experiment == key,
            closed.c.step == events.c.step,
            closed.c.seq <= seq,
            text("closed.kind <> 'a'"),
        )
        erased = 0
        for kind in (and_(text("events.kind = 'a'"), answered), text("events.kind <> 'a'")):
            with self._database.reading() as connection:
                first = connection.execute(select(func.min(events.c.seq)).where(mine)).scalar()
            for after in range(first or seq, seq + 1, ROWS):
                until = min(after + ROWS - 1, seq)
                with self._database.writing() as connection:
                    found = connection.execute(delete(events).where(mine, events.c.seq.between(after, until), kind))
                erased += found.rowcount
        with self._database.writing() as connection:
            connection.execute(delete(changes).where(changes.c.experiment == key, changes.c.seq <= seq))
            last = connection.execute(select(folded.c.step).where(folded.c.experiment == key)).scalar_one_or_none()
            first = connection.execute(select(func.min(notes.c.step)).where(notes.c.experiment == key)).scalar()
        for step in range(first, (last or 0) + 1, ROWS) if first else ():
            with self._database.writing() as connection:
                self._log.drop_notes(connection, key, step, min(step + ROWS - 1, last or 0))
        return erased // 2

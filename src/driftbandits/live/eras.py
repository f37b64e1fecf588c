"""Which learner chose at which step: another one goes on when arms, policy or traffic change."""

from __future__ import annotations

from typing import TYPE_CHECKING

from driftbandits.errors import InputError
from driftbandits.live.learners import Learner

if TYPE_CHECKING:
    from driftbandits.live.session import Session

ERAS = 8
"""Learners of before the last changes, that are kept to explain what they chose."""


def go_on_with(session: Session, learner: Learner, statuses: list[str]) -> None:
    """Let another learner choose from here on; the one before explains what it chose."""
    if learner is not session._learner:
        session._eras.append((session._since, session.step, session._learner, session.statuses))
        del session._eras[:-ERAS]
        session._since = session.step
    session._learner, session.statuses = learner, statuses


def learner_of(session: Session, step: int) -> tuple[Learner, list[str]]:
    """Who chose at that step, and what arms were then; InputError when that is too long ago."""
    if step > session._since:
        return session._learner, session.statuses
    for before, last, learner, statuses in session._eras:
        if before < step <= last:
            return learner, statuses
    raise InputError("arms or policy have changed since")

"""What of a Session can change while it runs: its settings, corrected rewards, a clock that was ahead."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from driftbandits._common.checks import check_default, check_range, check_timeout
from driftbandits.errors import InputError
from driftbandits.live.arms import apply_arm
from driftbandits.live.decisions import ArmChanged, Changed, Corrected, Rewound

if TYPE_CHECKING:
    from driftbandits.live.session import Session

UNCHANGED: Any = ...
"""A setting that is left as it is."""


def changed(
    session: Session, timeout: float | None, default_reward: float | None, reward_range: Sequence[float] | None
) -> Changed:
    """The event that changes these settings; an UNCHANGED one stays."""
    timeout = session.timeout if timeout is UNCHANGED else check_timeout(timeout)
    limits = session.reward_range if reward_range is UNCHANGED else check_range("reward_range", reward_range)
    default = check_default(session.default_reward if default_reward is UNCHANGED else default_reward, limits)
    return Changed(timeout, None if default is None else float(default), limits, session._now())


def apply_change(session: Session, event: Changed | Corrected | ArmChanged | Rewound) -> None:
    """A correction is noted here; the rewards before it were those that it says (``amended``)."""
    if isinstance(event, Corrected):
        if not 1 <= event.step <= session.step or f"{session.name}-{event.step}" in session._open:
            raise InputError(f"the log corrects step {event.step}, which has no reward yet")
    elif isinstance(event, ArmChanged):
        apply_arm(session, event)
    else:
        latest = math.inf
        if isinstance(event, Changed):
            session.timeout, session.default_reward, session.reward_range, _ = event
        else:
            latest = session.time = event.time
        for id, (asked, learnt) in session._open.items():
            at = min(asked.time, latest)
            due = None if session.timeout is None else at + session.timeout
            session._open[id] = asked._replace(time=at, due=due), learnt
    session.changes += 1
    session.time = max(session.time, event.time)
    if session.journal is not None:
        session.journal.append(event)

"""What becomes of a told reward, and the error that says why it is not taken."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from driftbandits._common.checks import LARGEST_REWARD, is_reward, shown
from driftbandits._common.rewards import not_taken
from driftbandits.errors import FeasibilityWarning, InputError
from driftbandits.live.decisions import (
    ConflictError,
    ExpiredError,
    Outcome,
    Told,
    UnknownDecisionError,
    make_told,
    step_of,
)

if TYPE_CHECKING:
    from driftbandits.live.session import Session

NEW, AGAIN = TAKEN = Outcome.NEW, Outcome.AGAIN  # members of an Enum are slow to reach


def check_room(session: Session, count: int, most: int) -> None:
    """Whether so many more Decisions may wait for their reward."""
    if session.open + count > most:
        raise InputError(
            f"{session.open:,} Decisions wait for their reward and {count:,} more would pass the limit of "
            f"{most:,}: tell rewards, or set a timeout"
        )


def outcomes_of(
    session: Session, pairs: Sequence[tuple[Any, Any]], now: float
) -> tuple[list[Outcome], dict[str, Told]]:
    """What becomes of each reward, and the events of those that are new, by their Decisions' ids."""
    waiting, outcomes, told = session._open, list[Outcome](), dict[str, Told]()
    low, high = session.limits
    for id, reward in pairs:
        asked = waiting.get(id) if type(id) is str else None
        if not (
            # What nearly all are, found out without a call.
            asked is not None
            and type(reward) is float
            and low <= reward <= high
            and id not in told
            and ((due := asked[0][3]) is None or due > now)
        ):
            outcome = outcome_of(session, id, reward, told, now)
            if outcome is not NEW:
                outcomes.append(outcome)
                continue
            asked = waiting[id]
        told[id] = make_told((asked[0][0], float(reward) + 0.0, now))  # -0.0 becomes 0.0, as it would in a Store
        outcomes.append(NEW)
    return outcomes, told


def outcome_of(session: Session, id: Any, reward: Any, told: Mapping[str, Told], now: float) -> Outcome:
    """What becomes of that reward; ``told`` are those that came before it in the same call."""
    if not (isinstance(id, str) and is_reward(reward)):
        return Outcome.INVALID if step_of(id, session.name) else Outcome.UNKNOWN
    if id in told:
        return AGAIN if told[id].reward == reward else Outcome.CONFLICT
    if id in session._open:
        due = session._open[id][0].due
        if due is not None and due <= now:
            return Outcome.EXPIRED  # it will be settled in its turn
        return NEW if session.takes(reward) else Outcome.INVALID
    step = step_of(id, session.name)
    if step is not None and step in session._closed:
        before = session._closed[step][2]
        return Outcome.EXPIRED if before is None else AGAIN if before == reward else Outcome.CONFLICT
    return Outcome.EXPIRED if step and step <= session.step else Outcome.UNKNOWN


def refusal(session: Session, outcome: Outcome, id: Any, reward: Any) -> InputError:
    """The error that says why such a reward is not taken."""
    name = session.name
    if outcome is Outcome.INVALID and is_reward(reward):
        return not_taken(session.policy, session.reward_range, f"{float(reward):.6g} for {id!r}")
    if outcome is Outcome.INVALID:
        return InputError(f"a reward must be a finite number, at most {LARGEST_REWARD:g} in size; got {shown(reward)}")
    if outcome is Outcome.UNKNOWN:
        made = f"ids are {name}-1 to {name}-{session.step}" if session.step else "none has been made yet"
        return UnknownDecisionError(f"there is no Decision {shown(id)} here: {made}")
    if outcome is Outcome.CONFLICT:
        return ConflictError(f"Decision {id!r} has another reward already, and keeps it; got {reward!r}")
    return ExpiredError(f"Decision {id!r} was settled without this reward: its time was up, or it is long forgotten")


def warn_of_invalid(session: Session, pairs: Sequence[tuple[Any, Any]], outcomes: Sequence[Outcome]) -> None:
    """Warn of rewards that were told together and are no numbers that the policy is defined for."""
    if Outcome.INVALID in outcomes:
        why = refusal(session, Outcome.INVALID, *pairs[outcomes.index(Outcome.INVALID)])
        count = outcomes.count(Outcome.INVALID)
        message = f"{count:,} of {len(pairs):,} rewards were not accepted; the first: {why}"
        warnings.warn(message, FeasibilityWarning, stacklevel=3)

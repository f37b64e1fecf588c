"""What becomes of a told reward, and the error that says why it is not taken."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from driftbandits._common.checks import LARGEST_REWARD, is_reward, shown
from driftbandits.errors import InputError
from driftbandits.live.decisions import ConflictError, ExpiredError, Outcome, UnknownDecisionError, step_of

if TYPE_CHECKING:
    from driftbandits.live.session import Session

NEW, AGAIN = Outcome.NEW, Outcome.AGAIN  # members of an Enum are slow to reach


def check_room(session: Session, count: int, most: int) -> None:
    """Whether so many more Decisions may wait for their reward."""
    if session.open + count > most:
        raise InputError(
            f"{session.open:,} Decisions wait for their reward and {count:,} more would pass the limit of "
            f"{most:,}: tell rewards, or set a timeout"
        )


def outcome_of(session: Session, id: Any, reward: Any, meant: dict[str, float], now: float) -> Outcome:
    """What becomes of that reward; ``meant`` are those that came before it in the same call."""
    if not (isinstance(id, str) and is_reward(reward)):
        return Outcome.INVALID if step_of(id, session.name) else Outcome.UNKNOWN
    if id in meant:
        return AGAIN if meant[id] == reward else Outcome.CONFLICT
    if id in session._open:
        due = session._open[id][0].due
        if due is not None and due <= now:
            return Outcome.EXPIRED  # it will be settled in its turn
        return NEW if session.reward_range is None or session.takes(reward) else Outcome.INVALID
    step = step_of(id, session.name)
    if step is not None and step in session._closed:
        told = session._closed[step][2]
        return Outcome.EXPIRED if told is None else AGAIN if told == reward else Outcome.CONFLICT
    return Outcome.EXPIRED if step and step <= session.step else Outcome.UNKNOWN


def refusal(session: Session, outcome: Outcome, id: Any, reward: Any) -> InputError:
    """The error that says why such a reward is not taken."""
    name = session.name
    if outcome is Outcome.INVALID and is_reward(reward) and session.reward_range is not None:
        low, high = session.reward_range
        return InputError(
            f"a reward of {name!r} is between {low:g} and {high:g}, as was declared; got {shown(reward)}. "
            "Tell rewards on that scale, or change reward_range"
        )
    if outcome is Outcome.INVALID:
        return InputError(f"a reward must be a finite number, at most {LARGEST_REWARD:g} in size; got {shown(reward)}")
    if outcome is Outcome.UNKNOWN:
        return UnknownDecisionError(f"there is no Decision {shown(id)} here: ids are {name}-1 to {name}-{session.step}")
    if outcome is Outcome.CONFLICT:
        return ConflictError(f"Decision {id!r} has another reward already, and keeps it; got {reward!r}")
    return ExpiredError(f"Decision {id!r} was settled without this reward: its time was up, or it is long forgotten")

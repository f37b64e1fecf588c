"""One ask and what can happen to it: Decision, the events of a Session's log, and the refusals."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from driftbandits._common.checks import shown
from driftbandits.errors import InputError

if TYPE_CHECKING:
    from driftbandits.policies import Policy


class Decision(NamedTuple):
    """The answer to one ask: pull ``arm``, and tell the reward under ``id`` before ``due`` (None: any time)."""

    id: str
    arm: str
    step: int
    due: float | None


class Note(NamedTuple):
    """What an ask came with: ``unit`` is who it is for, as a keyed hash, and ``metadata`` an object of JSON.

    ``way`` says of a unit whether it got its arm again (AGAIN) or was held out (HELD), and which of 32 groups of units
    it is in, which intervals need: 4 * group + HELD + AGAIN; None where no unit was named. It stays when ``unit`` and
    ``metadata`` are erased.
    """

    unit: bytes | None
    way: int | None
    metadata: str | None


AGAIN, HELD = 1, 2


class Asked(NamedTuple):
    """A Decision was made. ``probability`` is that of its arm, where the Session was told to keep it."""

    step: int
    arm: int
    time: float
    due: float | None
    probability: float | None
    note: Note | None = None


class Told(NamedTuple):
    """Its reward came."""

    step: int
    reward: float
    time: float


class Settled(NamedTuple):
    """Its timeout ended: ``reward`` is the default used instead, or None when it was dropped."""

    step: int
    reward: float | None
    time: float


class Corrected(NamedTuple):
    """A Decision that was closed counts as told this reward, or as dropped when it is None; also for what came since.

    The Session after it is the fold of the log with that reward in place of the one before.
    """

    step: int
    reward: float | None
    time: float


class Changed(NamedTuple):
    """What is declared from here on, also for open Decisions: each is due ``timeout`` seconds after it was asked."""

    timeout: float | None
    default_reward: float | None
    reward_range: tuple[float, float] | None
    time: float


class ArmChanged(NamedTuple):
    """An arm is "on", "off" or "removed" from here on; one whose number is that of no arm yet is new."""

    arm: int
    name: str
    status: str
    time: float


class PolicyChanged(NamedTuple):
    """This policy chooses from here on, and explores so much; another one begins with the last rewards of the log."""

    policy: Policy
    explore: float
    time: float


class Forced(NamedTuple):
    """All Decisions get this arm from here on, whatever the policy wants; None: the policy chooses again."""

    arm: int | None
    time: float


class HeldOut(NamedTuple):
    """From here on this share of Decisions gets this arm, by chance and whatever the policy wants; None: no share."""

    share: float
    arm: int | None
    time: float


class StickyChanged(NamedTuple):
    """From here on a unit gets its arm again for so many seconds; None: it gets whatever is chosen."""

    sticky: float | None
    time: float


class LateSwitched(NamedTuple):
    """From here on silence is weighed by its age (``live/late.py``), or no longer."""

    on: bool
    time: float


class Counted(NamedTuple):
    """So many Decisions of some arms were learnt as silent, ahead of their timeout: ``counts`` has (arm, how many)."""

    counts: tuple[tuple[int, int], ...]
    reward: float
    time: float


class Rewound(NamedTuple):
    """The clock had been ahead: time goes on from here, also for open Decisions that were asked later than this."""

    time: float


# From a tuple of all fields, some times faster than by name: batches make them by the hundred.
make_decision = partial(tuple.__new__, Decision)
make_asked = partial(tuple.__new__, Asked)
make_told = partial(tuple.__new__, Told)

Event: TypeAlias = (
    Asked
    | Told
    | Settled
    | Counted
    | Corrected
    | Changed
    | ArmChanged
    | PolicyChanged
    | Forced
    | HeldOut
    | StickyChanged
    | LateSwitched
    | Rewound
)
"""A Session is the fold of its events: ``session.apply(event)`` for one after the other, corrected as ``amended``."""


def amended(events: Iterable[Event], corrections: Mapping[int, float | None]) -> Iterator[Event]:
    """The events as if the rewards of those steps had been told right at first; None: as if they never came.

    >>> list(amended([Told(1, 5000.0, 9.0), Told(2, 0.5, 9.0), Told(3, 1.0, 9.0)], {1: 0.5, 3: None}))
    [Told(step=1, reward=0.5, time=9.0), Told(step=2, reward=0.5, time=9.0), Settled(step=3, reward=None, time=9.0)]
    """
    for event in events:
        if isinstance(event, Told | Settled) and event.step in corrections:
            reward = corrections[event.step]
            yield Settled(event.step, None, event.time) if reward is None else Told(event.step, reward, event.time)
        else:
            yield event


class Outcome(StrEnum):
    """What became of one told reward."""

    NEW = "new"
    AGAIN = "again"
    CONFLICT = "conflict"
    EXPIRED = "expired"
    UNKNOWN = "unknown"
    INVALID = "invalid"


def step_of(id: Any, name: str) -> int | None:
    """The step of an id such as the Session of that name makes, whether it made it or not; None otherwise.

    >>> step_of("d-12", "d"), step_of("d-012", "d"), step_of("e-12", "d")
    (12, None, None)
    """
    prefix, dash, digits = id.rpartition("-") if isinstance(id, str) else ("", "", "")
    made = dash and prefix == name and digits.isascii() and digits.isdecimal() and len(digits) < 19
    return int(digits) if made and digits[0] != "0" else None


Rewards: TypeAlias = Iterable[tuple[str | Decision, float]] | Mapping[str, float] | Mapping[Decision, float]
"""Rewards of many Decisions: pairs, or a mapping; each Decision is given itself or by its id."""


def id_of(decision: str | Decision) -> str:
    """The id of a Decision that is given itself or by its id."""
    return decision.id if isinstance(decision, Decision) else decision


def pairs_of(rewards: Rewards) -> list[tuple[str, float]]:
    """Ids and rewards."""
    pairs = rewards if type(rewards) is list else rewards.items() if isinstance(rewards, Mapping) else rewards
    try:
        return [(each if type(each) is str else id_of(each), reward) for each, reward in pairs]
    except (TypeError, ValueError):
        raise InputError(
            "rewards must be pairs of a Decision, or its id, and its reward, as in {'d-1': 0.7} or [('d-1', 0.7)]; "
            f"got {shown(rewards)}"
        ) from None


class UnknownDecisionError(InputError):
    """No Decision of this Session has that id."""


class ConflictError(InputError):
    """The Decision has a reward already, and it is another one."""


class ExpiredError(InputError):
    """The Decision's timeout ended, and it was settled without this reward."""


class TooOldError(InputError):
    """The Session no longer remembers what it knew at that Decision."""

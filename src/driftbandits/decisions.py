"""One ask and what may become of it: Decision, the three events of a Session's log, and the refusals."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple, TypeAlias

from driftbandits.errors import InputError


class Decision(NamedTuple):
    """The answer to one ask: pull ``arm``, and tell the reward under ``id`` before ``due`` (None: whenever)."""

    id: str
    arm: str
    step: int
    due: float | None


class Asked(NamedTuple):
    """A Decision was made. ``probability`` is that of its arm, where the Session was told to keep it."""

    step: int
    arm: int
    time: float
    due: float | None
    probability: float | None


class Told(NamedTuple):
    """Its reward came."""

    step: int
    reward: float
    time: float


class Settled(NamedTuple):
    """Its time was up: ``reward`` is the default that stands for it, or None when it was dropped."""

    step: int
    reward: float | None
    time: float


Event: TypeAlias = Asked | Told | Settled
"""A Session is the fold of its events: ``session.apply(event)`` for one after the other."""


class Outcome(StrEnum):
    """What became of one told reward."""

    NEW = "new"
    AGAIN = "again"
    CONFLICT = "conflict"
    EXPIRED = "expired"
    UNKNOWN = "unknown"
    INVALID = "invalid"


class UnknownDecisionError(InputError):
    """No Decision of this Session has that id."""


class ConflictError(InputError):
    """The Decision has a reward already, and it is another one."""


class ExpiredError(InputError):
    """The Decision's time was up, and it was settled without this reward."""


class TooOldError(InputError):
    """The Session no longer remembers what it knew at that Decision."""

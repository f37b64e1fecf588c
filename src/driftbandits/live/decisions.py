"""One ask and what can happen to it: Decision, the three events of a Session's log, and the refusals."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from functools import partial
from typing import Any, NamedTuple, TypeAlias

from driftbandits.errors import InputError


class Decision(NamedTuple):
    """The answer to one ask: pull ``arm``, and tell the reward under ``id`` before ``due`` (None: any time)."""

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
    """Its timeout ended: ``reward`` is the default used instead, or None when it was dropped."""

    step: int
    reward: float | None
    time: float


# From a tuple of all fields, some times faster than by name: batches make them by the hundred.
make_decision = partial(tuple.__new__, Decision)
make_asked = partial(tuple.__new__, Asked)
make_told = partial(tuple.__new__, Told)

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
    pairs = rewards.items() if isinstance(rewards, Mapping) else rewards
    try:
        return [(id_of(decision), reward) for decision, reward in pairs]
    except (TypeError, ValueError):
        raise InputError(
            "rewards must be pairs of a Decision, or its id, and its reward, as in {'d-1': 0.7} or [('d-1', 0.7)]"
        ) from None


class UnknownDecisionError(InputError):
    """No Decision of this Session has that id."""


class ConflictError(InputError):
    """The Decision has a reward already, and it is another one."""


class ExpiredError(InputError):
    """The Decision's timeout ended, and it was settled without this reward."""


class TooOldError(InputError):
    """The Session no longer remembers what it knew at that Decision."""

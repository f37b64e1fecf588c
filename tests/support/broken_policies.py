"""Policies as people write them by mistake, each with one fault; compiled as any policy from outside the package."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numba
import numpy as np

import driftbandits as db

SCALE = 2.0


class BrokenState(NamedTuple):
    arms: Any


def scaled(arms: Any, arm: int) -> float:
    """Reads a constant that a notebook may change."""
    return arms[arm].q * SCALE  # type: ignore[no-any-return]


@dataclass(frozen=True)
class Sound(db.Policy):
    """Nothing is wrong with it. A docstring of one's own policy needs no citation."""

    bonus: float = 0.1

    def init(self, n_arms: int) -> Any:
        return BrokenState(db.records(n_arms, q="f8", n="i8"))

    def select(self, state: Any, rng: np.random.Generator) -> int:
        best = 0
        for arm in range(len(state.arms)):
            if state.arms[arm].n == 0:
                return arm
            if scaled(state.arms, arm) > scaled(state.arms, best):
                best = arm
        return best

    def update(self, state: Any, arm: int, reward: float) -> None:
        state.arms[arm].q += self.bonus * (reward - state.arms[arm].q)
        state.arms[arm].n += 1


class WritesBeyond(Sound):
    def update(self, state: Any, arm: int, reward: float) -> None:
        state.arms[arm + 3].q += reward


class WritesBefore(Sound):
    def update(self, state: Any, arm: int, reward: float) -> None:
        state.arms[arm - 9].q += reward


class WritesFarAway(Sound):
    def update(self, state: Any, arm: int, reward: float) -> None:
        state.arms[1 << 40].q += reward


class ReadsBeyond(Sound):
    def select(self, state: Any, rng: np.random.Generator) -> int:
        if rng.random() < 0.9:
            return 0
        return 0 if state.arms[len(state.arms)].q > 0.5 else 1


def deep(arms: Any, arm: int) -> None:
    """Wrong where no bounds are checked unless they are in whatever a kernel calls."""
    arms[arm + 2].q = 1.0


class WritesBeyondDeepDown(Sound):
    def update(self, state: Any, arm: int, reward: float) -> None:
        deep(state.arms, arm)


class MistypesField(Sound):
    def update(self, state: Any, arm: int, reward: float) -> None:
        state.arms[arm].qq += reward


class UsesWhatNumbaDoesNotKnow(Sound):
    def select(self, state: Any, rng: np.random.Generator) -> int:
        return max(range(2), key=lambda arm: float(state.arms[arm].q))


class ChoosesTooHigh(Sound):
    def select(self, state: Any, rng: np.random.Generator) -> int:
        return 7 if state.arms[0].n >= 3 else 0


class ChoosesMinusOne(Sound):
    def select(self, state: Any, rng: np.random.Generator) -> int:
        return -1 if state.arms[0].n >= 3 else 0


class Raises(Sound):
    def update(self, state: Any, arm: int, reward: float) -> None:
        state.arms[arm].n += 1
        if state.arms[arm].n > 3:
            raise ValueError("no good")


class HasNoState(Sound):
    def init(self, n_arms: int) -> Any:
        return db.records(n_arms, q="f8", n="i8")


class Miscounts(Sound):
    """Says itself that it has not made the room it was asked for."""

    def has_room(self, state: Any, steps: int) -> bool:
        return bool(state.arms.n.sum() + steps <= 1024)


@numba.njit  # type: ignore[untyped-decorator]
def jitted(arms: Any, arm: int) -> None:
    """What numba compiles by itself is not checked with its caller."""
    arms[arm + 2].q = 1.0


class CallsJitted(Sound):
    def update(self, state: Any, arm: int, reward: float) -> None:
        jitted(state.arms, arm)


class ChoosesHalf(Sound):
    def select(self, state: Any, rng: np.random.Generator) -> int:
        return 0.5  # type: ignore[return-value]


class ChoosesWholeAndHalf(Sound):
    """Looks at first as if it chose arms."""

    def select(self, state: Any, rng: np.random.Generator) -> int:
        return 0 if state.arms[0].n < 3 else 0.5  # type: ignore[return-value]


class ForgetsToReturn(Sound):
    def select(self, state: Any, rng: np.random.Generator) -> int:  # type: ignore[return] # noqa: RET503
        if state.arms[0].n < 3:
            return 0


class EventState(NamedTuple):
    arms: Any
    event: Any


class HasAnotherEvent(Sound):
    def init(self, n_arms: int) -> Any:
        return EventState(db.records(n_arms, q="f8", n="i8"), np.zeros(3))


class SharesMemory(Sound):
    def init(self, n_arms: int) -> Any:
        arms = db.records(n_arms, q="f8", n="i8")
        return EventState(arms, arms)


class WritesFlat(Sound):
    def init(self, n_arms: int) -> Any:
        return BrokenState(np.zeros(n_arms))

    def select(self, state: Any, rng: np.random.Generator) -> int:
        return 0

    def update(self, state: Any, arm: int, reward: float) -> None:
        if reward > 1e9:
            state.arms.flat[arm + 9] = reward


COMMON = db.records(2, q="f8", n="i8")


class HandsOutOneState(Sound):
    """Nothing is wrong with it, as long as nobody writes into what it hands out."""

    def init(self, n_arms: int) -> Any:
        return BrokenState(COMMON)


@dataclass(frozen=True)
class Counts(Sound):
    window: int = 5


class LoopsForEver(Sound):
    def update(self, state: Any, arm: int, reward: float) -> None:
        while state.arms[arm].n >= 0:
            state.arms[arm].n = 1


@dataclass
class NotFrozen(db.Policy):
    rate: float = 0.1

    def init(self, n_arms: int) -> Any:
        return BrokenState(db.records(n_arms, q="f8", n="i8"))

    def select(self, state: Any, rng: np.random.Generator) -> int:
        return 0

    def update(self, state: Any, arm: int, reward: float) -> None:
        self.rate = self.rate / 2


class ChoosesBool(Sound):
    """Nothing is wrong with it either: False is 0 and True is 1."""

    def select(self, state: Any, rng: np.random.Generator) -> int:
        return state.arms[0].n > 3  # type: ignore[no-any-return]


RESIDUALS = np.linspace(-0.1, 0.1, 8)


@dataclass(frozen=True)
class Recorded(db.Noise):
    """A user's noise, which reads one number past its table now and then."""

    def draw(self, mean: float, rng: np.random.Generator) -> float:
        return mean + RESIDUALS[int(rng.random() * 9)]  # type: ignore[no-any-return]


@dataclass(frozen=True)
class Misspelt(db.Noise):
    scale: float = 1.0

    def draw(self, mean: float, rng: np.random.Generator) -> float:
        return mean + self.scales * rng.random()  # type: ignore[attr-defined, no-any-return]

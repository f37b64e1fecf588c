"""Policies of other libraries, played by ``simulate`` beside ours.

Each function takes ``make(n_arms, seed)``, which returns a new policy of that library. Every run begins with a new
one, whose seed is drawn from the run's own random stream: so, as for our policies, a result depends on ``seed`` alone.
"""

from __future__ import annotations

import random
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

import numpy as np

from driftbandits._common.checks import shown
from driftbandits.errors import InputError

Make = Callable[[int, int], Any]
"""``make(n_arms, seed)``: a new policy of another library."""

_one_at_a_time = threading.Lock()


class Run:
    """What a run has of its own: the other library's policy, made at the first step."""

    def __init__(self, n_arms: int) -> None:
        self.n_arms = n_arms
        self.policy: Any = None
        self.first: list[tuple[int, float]] = []
        """Pulls before the first fit, for a library that can't begin without data."""
        self.random: Any = None


class Guest(ABC):
    """A policy of another library as a plain policy: ``init``, ``select``, ``update``."""

    verbs: ClassVar[tuple[str, ...]]
    library: ClassVar[str]

    def __init__(self, make: Make) -> None:
        if not callable(make) or isinstance(make, type):
            raise InputError(
                "make must be a function of the number of arms and a seed that returns a new policy of "
                f"{self.library}, as in lambda n_arms, seed: ...; got {shown(make)}"
            )
        self.make = make

    def __repr__(self) -> str:
        return f"from_{self.library.lower()}({getattr(self.make, '__qualname__', self.make)})"

    def init(self, n_arms: int) -> Run:
        """A run before its first step."""
        return Run(n_arms)

    def select(self, state: Run, rng: np.random.Generator) -> int:
        """The arm that the other library chooses."""
        if state.policy is None:
            self._begin(state, int(rng.integers(2**31)))
        return int(self._select(state))

    def update(self, state: Run, arm: int, reward: float) -> None:
        """Tell it the reward."""
        self._update(state, int(arm), float(reward))

    def _begin(self, state: Run, seed: int) -> None:
        made = self.make(state.n_arms, seed)
        if isinstance(made, type) or not all(callable(getattr(made, verb, None)) for verb in self.verbs):
            raise InputError(
                f"make must return a policy of {self.library}, which has {' and '.join(self.verbs)}; got {shown(made)}"
            )
        state.policy = made

    @abstractmethod
    def _select(self, state: Run) -> int: ...

    @abstractmethod
    def _update(self, state: Run, arm: int, reward: float) -> None: ...


class _River(Guest):
    library, verbs = "river", ("pull", "update")

    def _select(self, state: Run) -> int:
        return state.policy.pull(list(range(state.n_arms)))  # type: ignore[no-any-return]

    def _update(self, state: Run, arm: int, reward: float) -> None:
        state.policy.update(arm, reward)


class _MABWiser(Guest):
    library, verbs = "MABWiser", ("fit", "partial_fit", "predict")

    def _select(self, state: Run) -> int:
        fitted = len(state.first) == state.n_arms
        return state.policy.predict() if fitted else len(state.first)

    def _update(self, state: Run, arm: int, reward: float) -> None:
        if len(state.first) == state.n_arms:
            state.policy.partial_fit([arm], [reward])
            return
        state.first.append((arm, reward))
        if len(state.first) == state.n_arms:
            arms, rewards = zip(*state.first, strict=True)
            state.policy.fit(list(arms), list(rewards))


class _SMPyBandits(Guest):
    library, verbs = "SMPyBandits", ("startGame", "choice", "getReward")

    def _begin(self, state: Run, seed: int) -> None:
        with _own_randomness(state, seed):
            super()._begin(state, seed)
            state.policy.startGame()

    def _select(self, state: Run) -> int:
        with _own_randomness(state):
            return state.policy.choice()  # type: ignore[no-any-return]

    def _update(self, state: Run, arm: int, reward: float) -> None:
        with _own_randomness(state):
            state.policy.getReward(arm, reward)


@contextmanager
def _own_randomness(state: Run, seed: int | None = None) -> Iterator[None]:
    """SMPyBandits draws from the generators that all of Python and numpy share: lend it the run's own, meanwhile."""
    with _one_at_a_time:
        before = random.getstate(), np.random.get_state()  # noqa: NPY002 - the shared one is what is meant
        if seed is None:
            mine = state.random
            random.setstate(mine[0])
            np.random.set_state(mine[1])  # noqa: NPY002
        else:
            random.seed(seed)
            np.random.seed(seed)  # noqa: NPY002
        try:
            with np.errstate(all="ignore"):  # it divides by pulls of 0, and then puts that right
                yield
        finally:
            state.random = random.getstate(), np.random.get_state()  # noqa: NPY002
            random.setstate(before[0])
            np.random.set_state(before[1])  # noqa: NPY002


def from_river(make: Make) -> Guest:
    """A policy of river's ``bandit`` module.

    For example ``from_river(lambda n_arms, seed: bandit.UCB(delta=1, seed=seed))``. Arms are called 0 to K - 1.
    """
    return _River(make)


def from_mabwiser(make: Make) -> Guest:
    """A MAB of MABWiser, without contexts.

    For example ``from_mabwiser(lambda n_arms, seed: MAB(list(range(n_arms)), LearningPolicy.UCB1(1.0), seed=seed))``.
    A MAB can't predict before it was fitted: first each arm is pulled once, then come ``fit``, ``predict`` and
    ``partial_fit``.
    """
    return _MABWiser(make)


def from_smpybandits(make: Make) -> Guest:
    """A single-player policy of SMPyBandits.

    For example ``from_smpybandits(lambda n_arms, seed: SWUCB(n_arms, tau=500))``. Its policies draw from the random
    generators that a process shares; while one is called it is lent its run's own.
    """
    return _SMPyBandits(make)

"""A policy used step by step from your own loop, on compiled kernels and with every input checked."""

from __future__ import annotations

import copy
import math
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from driftbandits._common.checks import check_range, check_seed, check_whole, shown
from driftbandits._common.packing import pack, unpack, unpack_state
from driftbandits._numba.loops import select_once, update_once
from driftbandits._numba.player import Player
from driftbandits._numba.random import Stream
from driftbandits.errors import FeasibilityWarning, InputError
from driftbandits.live.learners import horizon_of
from driftbandits.live.shown import as_html, in_a_line
from driftbandits.policies._parts.belief import Belief, belief_of
from driftbandits.policies.base import Policy

MOST_ARMS = 1_000_000


class Online:
    """One run of a policy, driven by the caller: ``arm = play.select()``, then ``play.update(arm, reward)``.

    A wrong arm or reward raises InputError and changes nothing. ``snapshot`` and ``restore`` continue bit for bit.
    ``reward_range=(low, high)`` declares the least and the largest reward: a policy defined for rewards in [0, 1] then
    learns (reward - low)/(high - low).

    >>> from driftbandits.policies import RoundRobin
    >>> play = Online(RoundRobin(), n_arms=2, seed=1)
    >>> for reward in (0.3, 0.9, 0.4):
    ...     arm = play.select()
    ...     play.update(arm, reward)
    >>> play.select()
    1
    """

    def __init__(
        self, policy: Any, n_arms: int, seed: int | None = 0, *, reward_range: Sequence[float] | None = None
    ) -> None:
        self.policy, self.reward_range = policy, check_range("reward_range", reward_range)
        self.n_arms = check_whole("n_arms", n_arms, 1, MOST_ARMS)
        rng = np.random.Generator(np.random.SFC64(check_seed(seed)))
        self._player = Player(policy, self.n_arms, rng, reward_range=self.reward_range)
        self._horizon = horizon_of(policy) if isinstance(policy, Policy) else math.inf
        # Compile now, so that the first step takes no longer than the others.
        self._player.prepare(select_once, self._player.rng, self.n_arms)
        self._player.prepare(update_once, self._player.rng, 0, 0.0)

    @property
    def state(self) -> Any:
        """The policy's State."""
        return self._player.state

    @property
    def _rng(self) -> np.random.Generator:
        """The random generator, at its place now."""
        rng = self._player.rng
        return rng.give_back() if isinstance(rng, Stream) else rng

    def select(self) -> int:
        """The arm to pull now."""
        return self._player.select()

    def update(self, arm: int, reward: float) -> None:
        """Learn the reward of the arm that ``select`` chose."""
        try:
            reward, whole = float(reward), int(arm)
        except (TypeError, ValueError, OverflowError):
            given = f"arm {shown(arm)} and reward {shown(reward)}"
            raise InputError(f"arm and reward must be numbers; got {given}") from None
        if not 0 <= whole < self.n_arms or whole != arm or isinstance(arm, bool | np.bool_):
            raise InputError(f"there is no arm {shown(arm)}: arms are 0 to {self.n_arms - 1}")
        self._player.update(whole, reward)
        if self._player.step > self._horizon:
            self._warn_of_horizon()

    def _warn_of_horizon(self) -> None:
        horizon, self._horizon = self._horizon, math.inf
        warnings.warn(
            f"{type(self.policy).__name__} was told horizon={horizon} and has learnt {self._player.step:,} rewards, "
            "beyond which it was not tuned: take a policy that needs no horizon, such as BreakEven, or a longer "
            "horizon",
            FeasibilityWarning,
            stacklevel=3,
        )

    def snapshot(self) -> bytes:
        """Everything learnt and the random generator's place, as bytes."""
        if not isinstance(self.policy, Policy):
            raise InputError(
                f"{type(self.policy).__name__} is a plain object, which may keep what it learns anywhere: "
                "pickle it, or derive it from Policy"
            )
        header = {"of": self._identity(), "rng": self._rng.bit_generator.state, "step": self._player.step}
        return pack(header, self.state)

    def _identity(self) -> str:
        limits = (
            "" if self.reward_range is None else f" and rewards from {self.reward_range[0]} to {self.reward_range[1]}"
        )
        return f"{self.policy!r} with {self.n_arms} arms{limits}"

    def restore(self, data: bytes) -> None:
        """Go back to a snapshot taken of the same policy with the same number of arms."""
        owner = type(self.policy).__name__
        header, arrays = unpack(data, owner)
        if header.get("of") != self._identity():
            raise InputError(f"this is a snapshot of {header.get('of')}; it cannot continue {self._identity()}")
        first = self.policy.stage(header["step"]).policy.init(self.n_arms)
        state = unpack_state(arrays, first, owner)
        header["rng"]["state"]["state"] = np.array(header["rng"]["state"]["state"], np.uint64)
        rng = self._rng
        rng.bit_generator.state = header["rng"]
        self._player.rng = self._player.lent(rng)
        self._player.resume(state, header["step"])

    def __repr__(self) -> str:
        return in_a_line("Online", self._facts())

    def _repr_html_(self) -> str:
        belief = belief_of(self._player) if isinstance(self.policy, Policy) else Belief()
        return as_html("Online", self._facts(), [f"arm {arm}" for arm in range(self.n_arms)], belief)

    def _facts(self) -> dict[str, Any]:
        limits = {} if self.reward_range is None else {"rewards": self.reward_range}
        return {"policy": self.policy, "arms": self.n_arms, "steps": self._player.step, **limits}

    # Copies and pickles go through the snapshot: compiled loops and addresses of random generators can't be copied.

    def __getstate__(self) -> dict[str, Any]:
        given = {"policy": self.policy, "n_arms": self.n_arms, "reward_range": self.reward_range}
        if isinstance(self.policy, Policy):
            return {**given, "snapshot": self.snapshot()}
        played = {"played": self._player.stage.policy, "state": self.state, "rng": self._rng}
        return {**given, **copy.deepcopy(played), "step": self._player.step}

    def __setstate__(self, kept: dict[str, Any]) -> None:
        Online.__init__(self, kept["policy"], kept["n_arms"], reward_range=kept["reward_range"])
        if "snapshot" in kept:
            self.restore(kept["snapshot"])
        else:
            self._player.rng = kept["rng"]
            self._player.resume_plain(kept["played"], kept["state"], kept["step"])

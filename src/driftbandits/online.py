"""A policy played by hand, one step at a time, on compiled kernels and with every input checked."""

from __future__ import annotations

from typing import Any

import numpy as np

from driftbandits.checks import LARGEST_REWARD, check_whole
from driftbandits.errors import InputError
from driftbandits.kernels import entry, select, update
from driftbandits.lowlevel import addresses
from driftbandits.policies.base import Policy
from driftbandits.snapshots import pack, unpack, unpack_state

AHEAD = 64


class Online:
    """One run of a policy in the caller's hands: ``arm = play.select()``, then ``play.update(arm, reward)``.

    A wrong arm or reward raises InputError and changes nothing. ``snapshot`` and ``restore`` continue bit for bit.

    >>> from driftbandits.policies import RoundRobin
    >>> play = Online(RoundRobin(), n_arms=2, seed=1)
    >>> for reward in (0.3, 0.9, 0.4):
    ...     arm = play.select()
    ...     play.update(arm, reward)
    >>> play.select()
    1
    """

    def __init__(self, policy: Any, n_arms: int, seed: int = 0) -> None:
        self.policy = policy
        self.n_arms = check_whole("n_arms", n_arms, 1)
        self.rng = np.random.Generator(np.random.SFC64(check_whole("seed", seed, 0)))
        self.state = policy.init(self.n_arms)
        self._room = 0
        self._draws: Any = self.rng
        if isinstance(policy, Policy):
            self._reserve()
            self._me, self._draws = policy.compiled(), addresses(self.rng)
            self._select = entry("select", (type(policy),), (self._me, self.state, self._draws))
            self._update = entry("update", (type(policy),), (self._me, self.state, 0, 0.0))
        else:
            self._me, self._select, self._update = policy, select, update

    def select(self) -> int:
        """The arm to pull now."""
        return int(self._select(self._me, self.state, self._draws))

    def update(self, arm: int, reward: float) -> None:
        """Learn the reward of the arm that ``select`` chose."""
        try:
            reward, whole = float(reward), int(arm)
        except (TypeError, ValueError, OverflowError):
            raise InputError(f"arm and reward must be numbers; got arm {arm!r} and reward {reward!r}") from None
        if not -LARGEST_REWARD <= reward <= LARGEST_REWARD:
            raise InputError(f"a reward must be finite and at most {LARGEST_REWARD:g} in size; got {reward!r}")
        if not 0 <= whole < self.n_arms or whole != arm:
            raise InputError(f"there is no arm {arm!r}: arms are 0 to {self.n_arms - 1}")
        if self._room == 0:
            self._reserve()
        self._room -= 1
        self._update(self._me, self.state, whole, reward)

    def _reserve(self) -> None:
        """Make room for the next few updates; plain Python policies look after themselves."""
        self._room = AHEAD
        if isinstance(self.policy, Policy):
            self.state = self.policy.reserve(self.state, AHEAD)

    def snapshot(self) -> bytes:
        """Everything learnt and the random generator's place, as bytes."""
        if not isinstance(self.policy, Policy):
            raise InputError(
                f"{type(self.policy).__name__} is a plain object, which may keep what it learns anywhere: "
                "pickle it, or derive it from Policy"
            )
        return pack({"of": self._identity(), "rng": self.rng.bit_generator.state}, self.state)

    def _identity(self) -> str:
        return f"{self.policy!r} with {self.n_arms} arms"

    def restore(self, data: bytes) -> None:
        """Go back to a snapshot taken of the same policy with the same number of arms."""
        owner = type(self.policy).__name__
        header, arrays = unpack(data, owner)
        state = unpack_state(arrays, self.policy.init(self.n_arms), owner)
        if header["of"] != self._identity():
            raise InputError(f"this is a snapshot of {header['of']}; it cannot continue {self._identity()}")
        header["rng"]["state"]["state"] = np.array(header["rng"]["state"]["state"], np.uint64)
        self.rng.bit_generator.state = header["rng"]
        self.state = state
        self._room = 0

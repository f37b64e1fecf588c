"""A policy played by hand, one step at a time, on compiled kernels and with every input checked."""

from __future__ import annotations

from typing import Any

import numpy as np

from driftbandits.checks import LARGEST_REWARD, check_whole
from driftbandits.errors import InputError
from driftbandits.kernels import entry, select, update
from driftbandits.loops import make_select, make_update
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
        self._room = self._until = 0
        self._me: Any
        self.state: Any
        if isinstance(policy, Policy):
            self._begin(0)
            self._reserve()
            self._draws: Any = addresses(self.rng)
            owners = (type(self._stage.policy),)
            self._select = entry(make_select, owners, (self._me, self.state, self._draws))
            self._update = entry(make_update, owners, (self._me, self.state, 0, 0.0))
        else:
            self.state, self._draws = policy.init(self.n_arms), self.rng
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
        self._update(self._me, self.state, whole, reward)
        self._room -= 1
        if self._room == 0:
            self._reserve()

    def _begin(self, step: int) -> None:
        """The stage that plays after so many steps, with its first State."""
        self._stage = self.policy.stage(step)
        self._me, self.state = self._stage.policy.compiled(), self._stage.policy.init(self.n_arms)

    def _reserve(self) -> None:
        """Make room for the next few updates, until step ``_until``; plain Python policies look after themselves."""
        if isinstance(self.policy, Policy):
            if self._until == self._stage.stop:
                self._begin(self._until)
            self._room = min(AHEAD, self._stage.stop - self._until)
            self._until += self._room
            self.state = self._stage.policy.reserve(self.state, self._room)

    def snapshot(self) -> bytes:
        """Everything learnt and the random generator's place, as bytes."""
        if not isinstance(self.policy, Policy):
            raise InputError(
                f"{type(self.policy).__name__} is a plain object, which may keep what it learns anywhere: "
                "pickle it, or derive it from Policy"
            )
        step = self._until - self._room
        return pack({"of": self._identity(), "rng": self.rng.bit_generator.state, "step": step}, self.state)

    def _identity(self) -> str:
        return f"{self.policy!r} with {self.n_arms} arms"

    def restore(self, data: bytes) -> None:
        """Go back to a snapshot taken of the same policy with the same number of arms."""
        owner = type(self.policy).__name__
        header, arrays = unpack(data, owner)
        if header.get("of") != self._identity():
            raise InputError(f"this is a snapshot of {header.get('of')}; it cannot continue {self._identity()}")
        stage = self.policy.stage(header["step"])
        state = unpack_state(arrays, stage.policy.init(self.n_arms), owner)
        header["rng"]["state"]["state"] = np.array(header["rng"]["state"]["state"], np.uint64)
        self.rng.bit_generator.state = header["rng"]
        self.state, self._stage, self._me = state, stage, stage.policy.compiled()
        self._until = header["step"]
        self._reserve()

"""Instances as Gymnasium environments; importing this file registers one for each family.

``gymnasium.make("driftbandits/toggling-v0", horizon=10_000)`` takes the family's own arguments, and ``noise=``.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from driftbandits._common.checks import check_whole
from driftbandits._common.extras import needs
from driftbandits.errors import InputError
from driftbandits.instances import FAMILIES
from driftbandits.instances.base import Instance, check_instance
from driftbandits.instances.noise import Noise, check_noise
from driftbandits.simulation.engine import NOISE, stream
from driftbandits.simulation.requirements import check_noise_fits, usual_noise

with needs("gym", "driftbandits.interop.gym"):
    import gymnasium
    from gymnasium.spaces import Discrete


class BanditEnv(gymnasium.Env):  # type: ignore[misc]
    """An Instance as an environment: an action pulls an arm, and after T steps the episode is truncated.

    There is nothing to observe: the observation is always 0. ``info`` tells what a learner must not know: the arm's
    mean, the best mean and the regret of the step. The rewards are those of ``simulate``: after ``reset(seed=s)`` those
    of its run 0 with that seed, and after each further ``reset()`` those of its next run. Where arms come and go,
    ``info["action_mask"]`` has a 1 for each arm that is there at the next step, as ``action_space.sample`` takes it.

    >>> from driftbandits import instances
    >>> env = BanditEnv(instances.toggling(horizon=1_000))
    >>> env.reset(seed=1)
    (0, {})
    >>> observation, reward, terminated, truncated, info = env.step(0)
    >>> round(info["mean"], 3), info["regret"], truncated
    (0.9, 0.0, False)
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": []}

    def __init__(self, instance: Instance, noise: Noise | None = None) -> None:
        self.instance = check_instance(instance)
        self.noise = check_noise(usual_noise(instance) if noise is None else noise)
        check_noise_fits(self.noise, self.instance)
        self.action_space, self.observation_space = Discrete(instance.n_arms), Discrete(1)
        self._seed: int | None = None
        self._run = -1
        self._step = instance.horizon
        self._rng = stream(0, 0, NOISE)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[int, dict[str, Any]]:
        """Go back to the first step, with the noise of run 0 of ``seed``, or of the run after the last one."""
        super().reset(seed=seed)
        if seed is not None or self._seed is None:
            self._seed = int(self.np_random.integers(2**31)) if seed is None else check_whole("seed", seed, 0)
            self._run = -1
        self._run += 1
        self._step, self._rng = 0, stream(self._seed, self._run, NOISE)
        return 0, self._offer()

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        """Pull an arm."""
        if self._step >= self.instance.horizon:
            raise gymnasium.error.ResetNeeded("the episode is over, or has not begun: call reset")
        arm = check_whole("action", action, 0, self.instance.n_arms - 1)
        if self.instance.available is not None and not self.instance.available[self._step, arm]:
            raise InputError(f"arm {arm} is not there at step {self._step + 1:,}: info['action_mask'] tells which are")
        mean, best = float(self.instance.means[self._step, arm]), float(self.instance.best_mean[self._step])
        reward = float(self.noise.draw(mean, self._rng))
        self._step += 1
        info = {"step": self._step, "mean": mean, "best_mean": best, "regret": best - mean, **self._offer()}
        return 0, reward, False, self._step == self.instance.horizon, info

    def _offer(self) -> dict[str, Any]:
        """Which arms are there at the next step, where they come and go."""
        if self.instance.available is None or self._step >= self.instance.horizon:
            return {}
        return {"action_mask": self.instance.available[self._step].astype(np.int8)}


def make_env(family: str, noise: Noise | None = None, **arguments: Any) -> BanditEnv:
    """An environment of a family of instances, with the family's arguments."""
    return BanditEnv(FAMILIES[family](**arguments), noise)


for _family in FAMILIES:
    gymnasium.register(
        f"driftbandits/{_family}-v0", entry_point="driftbandits.interop.gym:make_env", kwargs={"family": _family}
    )
gymnasium.register("driftbandits/Instance-v0", entry_point="driftbandits.interop.gym:BanditEnv")

"""Doubling: a policy that must know the horizon, for users who don't."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

from driftbandits._common.checks import shown
from driftbandits._common.rewards import Rewards
from driftbandits._numba.player import Stage
from driftbandits.errors import FeasibilityWarning, InputError
from driftbandits.policies.base import Policy, State


@dataclass(frozen=True)
class Doubling(Policy):
    """Play ``base`` for its own horizon T0, then restart it, told 2 T0, for 2 T0 steps, then for 4 T0, and so on.

    Each stage begins with a new State and remembers nothing. If the base's regret is at most c T^a, whatever T, that of
    all stages up to T is at most 2^a/(2^a - 1) c (T + T0)^a: 3.41 times as much for a = 1/2, twice for a = 1. Bounds
    per step, like those of SnoozeIt and DriftUCB, only grow by one block or episode a stage. See
    ``docs/beyond-the-paper.md``.

    It must know what its base must know, except for T. Over a policy that is told T only (BOB, META, AdSwitch) it needs
    to know nothing. Any policy with a ``horizon`` will do; T0 is a guess on the short side: too short costs a few
    restarts, too long is a horizon that was told wrongly. A step costs what it costs the base.

    Citation: N. Cesa-Bianchi, Y. Freund, D. Haussler, D. Helmbold, R. Schapire, M. Warmuth, "How to Use Expert Advice",
    Journal of the ACM 1997; for regret, L. Besson, E. Kaufmann, "What Doubling Tricks Can and Can't Do for Multi-Armed
    Bandits", 2018.

    >>> from driftbandits.policies.driftucb import DriftUCB
    >>> [stage.policy.horizon for stage in map(Doubling(DriftUCB(1_000, 1e-4)).stage, (0, 999, 1_000, 3_000))]
    [1000, 1000, 2000, 4000]
    """

    base: Policy

    def __post_init__(self) -> None:
        horizon = getattr(self.base, "horizon", None)
        if not isinstance(self.base, Policy) or isinstance(self.base, type) or horizon is None:
            raise InputError(
                "Doubling needs a policy that was told a horizon, the first stage's length, as in "
                f"Doubling(DriftUCB(horizon=1_000, drift=1e-4)); got {shown(self.base)}"
            )

        # In these two respects it is what its base is; to the class they mean nothing.
        object.__setattr__(self, "arms", self.base.arms)
        object.__setattr__(self, "any_order", self.base.any_order)

    def stage(self, step: int) -> Stage:
        """T0 (2^i - 1) steps lie before stage i."""
        first = int(self._base.horizon)
        rank = (step // first + 1).bit_length() - 1
        start, length = first * (2**rank - 1), first * 2**rank
        with warnings.catch_warnings():
            # The user heard, when the base was made, what it can't do; later stages need not say it again.
            warnings.simplefilter("ignore", FeasibilityWarning)
            policy = replace(self._base, horizon=length)
        return Stage(policy, start, start + length)

    @property
    def _base(self) -> Any:
        return self.base

    def init(self, n_arms: int) -> State:
        """The State of the first stage."""
        return self.base.init(n_arms)

    @property
    def rewards(self) -> Rewards:
        """Those of its base."""
        return self.base.rewards

    def parameters(self, n_arms: int) -> dict[str, float]:
        """What the base runs with in its first stage."""
        return self.base.parameters(n_arms)

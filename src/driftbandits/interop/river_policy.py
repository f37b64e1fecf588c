"""The class behind ``to_river``; importing it imports river."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

from river.bandit.base import Policy as RiverBase

from driftbandits._common.checks import shown
from driftbandits.errors import InputError
from driftbandits.live.online import Online


class RiverPolicy(RiverBase):  # type: ignore[misc]
    """A policy of this package that river's own functions play; ``clone`` begins again."""

    def __init__(self, policy: Any, seed: int = 0, reward_range: Sequence[float] | None = None) -> None:
        super().__init__()
        self.policy, self.seed, self.reward_range = policy, seed, reward_range
        self._arms: list[Hashable] = []
        self._online: Online | None = None

    def _pull(self, arm_ids: list[Any]) -> Any:
        if isinstance(arm_ids, AbstractSet):
            raise InputError(f"the arms of a pull must be a list, in a fixed order; got a {type(arm_ids).__name__}")
        if self._online is None:
            self._online = Online(self.policy, len(arm_ids), self.seed, reward_range=self.reward_range)
            self._arms = list(arm_ids)
        if list(arm_ids) != self._arms:
            raise InputError(
                f"the arms must stay those of the first pull, {shown(self._arms)}; got {shown(list(arm_ids))}: "
                "use a new policy for other arms"
            )
        return self._arms[self._online.select()]

    def update(self, arm_id: Hashable, *reward_args: float, **reward_kwargs: Any) -> None:
        """Learn the reward of a pull, as river's policies do, and as ours does."""
        if self._online is None or arm_id not in self._arms:
            raise InputError(f"there is no arm {shown(arm_id)} yet: pull first, and tell the reward of what was pulled")
        self._online.update(self._arms.index(arm_id), *reward_args)
        super().update(arm_id, *reward_args, **reward_kwargs)

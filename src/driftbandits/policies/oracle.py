"""Oracle: knows the means and always pulls the best arm. Its pseudo-regret is zero by definition."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np

from driftbandits._common.checks import shown
from driftbandits.errors import InputError
from driftbandits.policies.base import Policy, Records, records


class OracleState(NamedTuple):
    run: Records
    best: np.ndarray[Any, np.dtype[np.int64]]


@dataclass(frozen=True, eq=False)
class Oracle(Policy):
    """The best arm of every step of the given instance. It must know everything; after the last step it stays there.

    ``best_arms`` is ``instance.best_arm``.

    Citation: none; the yardstick of dynamic regret.

    >>> Oracle([0, 0, 1]).init(2).best
    array([0, 0, 1])
    """

    arms_change: ClassVar[str] = "told"

    best_arms: Any = field(repr=False)

    def init(self, n_arms: int) -> OracleState:
        self.check_arms(n_arms)
        try:
            given = np.array(self.best_arms)  # a copy: a State owns its memory
        except ValueError:  # rows of different lengths
            given = np.empty(0)
        best = given.astype(np.int64) if given.dtype.kind in "iu" and given.ndim == 1 else np.empty(0, np.int64)
        if len(best) == 0 or best.min() < 0 or best.max() >= n_arms:
            raise InputError(
                f"best_arms must be a list of arms in 0..{n_arms - 1}, one a step: give instance.best_arm; "
                f"got {shown(self.best_arms)}"
            )
        return OracleState(records(1, t="i8"), best)

    def select(self, state: OracleState, rng: np.random.Generator) -> int:
        return state.best[min(state.run[0].t, len(state.best) - 1)]  # type: ignore[no-any-return]

    def update(self, state: OracleState, arm: int, reward: float) -> None:
        state.run[0].t += 1

    def add_arm(self, state: OracleState) -> OracleState:
        """It was told beforehand when to choose it."""
        return state

    def set_arm(self, state: OracleState, arm: int, on: bool) -> None:
        """It was told beforehand not to choose one that is off."""

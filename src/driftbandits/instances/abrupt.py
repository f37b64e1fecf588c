"""Arms that jump: what the drift limit forbids, to see what policies do outside their assumption."""

from __future__ import annotations

import numpy as np

from driftbandits._common.checks import check_whole
from driftbandits.errors import InputError
from driftbandits.instances.base import HORIZON, Instance, check_shape, family


@family
def abrupt(horizon: int = HORIZON, n_arms: int = 2, jumps: int = 5, seed: int = 0) -> Instance:
    """Piecewise-constant means: at ``jumps`` random steps all K = ``n_arms`` means are redrawn uniformly on [0, 1].

    This is the switching bandit of Garivier and Moulines (2011), "On upper-confidence bound policies for switching
    bandit problems", with breakpoints drawn uniformly. Its drift limit is the largest jump: it does not vary slowly.

    >>> instance = abrupt(horizon=1_000, jumps=3, seed=1)
    >>> moved = (instance.means[1:] != instance.means[:-1]).any(axis=1)
    >>> int(moved.sum())
    3
    """
    T, K = check_shape(horizon, n_arms)
    jumps, seed = check_whole("jumps", jumps, 0), check_whole("seed", seed, 0)
    if jumps > T - 1:
        raise InputError(f"jumps={jumps:,} do not fit between {T:,} steps: take jumps <= {T - 1:,} or a longer horizon")
    rng = np.random.default_rng(seed)
    ends = np.sort(rng.choice(T - 1, size=jumps, replace=False)) + 1
    levels = rng.random((jumps + 1, K))
    return Instance(np.repeat(levels, np.diff(ends, prepend=0, append=T), axis=0), name="abrupt")

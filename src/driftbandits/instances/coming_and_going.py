"""Arms that wander, and are not always there."""

from __future__ import annotations

import numpy as np

from driftbandits._common.arrays import Array
from driftbandits._common.checks import check_between
from driftbandits.errors import InputError
from driftbandits.instances.base import HORIZON, Instance, family
from driftbandits.instances.walk import walk

FEWEST = 2
"""Arms that are there at every step, at least."""


@family
def coming_and_going(
    horizon: int = HORIZON,
    drift: float = 1 / 48_000,
    n_arms: int = 6,
    stay: float = 20_000,
    away: float = 10_000,
    reverse: float = 1 / 1_000,
    seed: int = 0,
) -> Instance:
    """The arms of ``walk``, each there for ``stay`` steps on average, then not for ``away`` steps, and so on.

    How long an arm stays or is away is geometric, and independent of all else. At the first step it is there with
    probability stay/(stay + away). At any time two arms are there at least: an arm that would leave fewer stays instead
    until it would have left the next time. Means drift on while nobody can see them.

    >>> instance = coming_and_going(horizon=20_000, stay=4_000, away=2_000, seed=1)
    >>> instance.available[[0, -1]].sum(axis=1).tolist(), len(instance.arm_changes)
    ([3, 4], 45)
    """
    wandering = walk(horizon, drift, n_arms, reverse, seed)
    for name, value in (("stay", stay), ("away", away)):
        check_between(name, value, 1.0, 1e12)
    if wandering.n_arms <= FEWEST:
        raise InputError(f"n_arms={n_arms} leaves none that could go: {FEWEST} are always there; take {FEWEST + 1}")
    available = _there(wandering.means.shape, stay, away, np.random.default_rng([seed, 1]))
    return Instance(wandering.means, name="coming and going", available=available)


def _there(shape: tuple[int, ...], stay: float, away: float, rng: np.random.Generator) -> Array:
    """Which arms are there: absences of all arms in the order of their beginnings, each unless too many are away."""
    absences = []
    for arm in range(shape[1]):
        is_there, step = rng.random() < stay / (stay + away), 0
        while step < shape[0]:
            until = step + int(rng.geometric(1 / (stay if is_there else away)))
            if not is_there:
                absences.append((step, until, arm))
            is_there, step = not is_there, until
    there = np.ones(shape, np.bool_)
    for first, until, arm in sorted(absences):
        if there[first].sum() > FEWEST:
            there[first:until, arm] = False
    return there

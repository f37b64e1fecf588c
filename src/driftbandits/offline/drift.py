"""estimate_drift: how fast the means of a log drift, and how noisy its rewards are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from driftbandits.errors import InputError
from driftbandits.offline.log import read_log
from driftbandits.offline.walks import DriftEstimate, fit_drift


def estimate_drift(rewards: Any, arms: Any = None, *, columns: Mapping[str, str] | None = None) -> DriftEstimate:
    """The drift limit that fits a log of rewards and of the arms they came from, one entry a step.

    ``rewards`` and ``arms``, names or whole numbers, are two lists of one length; or ``rewards`` alone is a log as
    ``replay`` takes it: a data frame or a file, whose ``columns`` may have other names.

    Rewards alone can't show how far a mean moves in a single step, as noise hides it. What they show is which gain
    predicts them best. Each arm's mean is modelled as a random walk of variance g^2 sigma^2 a step, as KalmanTS does; g
    maximises the likelihood of all arms' rewards together, sigma being what fits best with it. The answer is the drift
    delta = sigma g^(3/2)/2 for which KalmanTS would choose that g: of means that rise or fall steadily their true
    drift, of others that of a ramp as hard to follow. (An arm pulled every n-th step only is worth a higher gain to
    KalmanTS, and the answer is n^(1/4) times the drift.) The interval holds all drifts whose log-likelihood is within
    1.92 of the largest; low = 0 says that the means may not move at all. Use ``high`` where a limit is asked for.

    >>> rng = np.random.default_rng(0)
    >>> arms = np.arange(20_000) % 2
    >>> slope = np.where(arms == 0, 2e-5, -2e-5)
    >>> rewards = 0.5 + slope * np.arange(20_000) + 0.5 * rng.standard_normal(20_000)
    >>> found = estimate_drift(rewards, arms)
    >>> found.low < 2e-5 < found.high, round(found.sigma, 2)
    (True, 0.5)
    >>> found == estimate_drift({"step": range(20_000), "arm": np.array(["red", "blue"])[arms], "reward": rewards})
    True
    """
    if arms is None:
        if np.ndim(rewards) == 1 and not isinstance(rewards, (str, Mapping)):
            raise InputError("arms are missing: give the arm of every reward, or a log with columns step, arm, reward")
        return read_log(rewards, columns).drift
    if columns is not None:
        raise InputError("columns names those of a log, and rewards and arms are lists: leave columns out")
    try:
        values = np.asarray(rewards, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError("every reward must be a number; rewards come first, then arms") from None
    which = np.asarray(arms)
    if values.ndim != 1 or values.shape != which.shape:
        raise InputError(f"rewards and arms must be two lists of one length; got {values.shape} and {which.shape}")
    if np.ma.is_masked(rewards) or np.ma.is_masked(arms):
        raise InputError("rewards and arms must all be known, and some are masked: leave those steps out")
    if not np.isfinite(values).all():
        wrong = int(np.flatnonzero(~np.isfinite(values))[0])
        raise InputError(f"every reward must be a finite number; that of step {wrong + 1} is {values[wrong]:g}")
    if which.dtype.kind == "O":
        which = np.array([str(arm) for arm in which])
    if which.dtype.kind not in "iuU" or (which.dtype.kind == "i" and len(which) and which.min() < 0):
        raise InputError("arms must be names, or whole numbers from 0 on")
    return fit_drift(values, which)

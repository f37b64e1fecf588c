"""Every policy of the registry, set so that it does something worth checking in a few steps."""

from __future__ import annotations

from typing import Any

import numpy as np

import driftbandits as db
from driftbandits.policies import make_policy

HORIZON = 2_000
# Settings under which a policy does something worth checking in 2,000 steps, where the usual ones would not.
LIVELY: dict[str, dict[str, Any]] = {
    "SnoozeIt": {"confidence": 0.1, "drift": 1e-3},
    "DriftUCB": {"drift": 1e-3},
    "KalmanTS": {"drift": 1e-3},
    "SnoozeItK": {"confidence": 0.2, "drift": 1e-3},
    "SnoozeItTight": {"confidence": 0.2, "drift": 1e-3},
    "Rexp3": {"drift": 1e-3},
    "Exp3S": {"drift": 1e-3},
    "SWUCBSharp": {"drift": 1e-3},
    "SWUCB": {"drift": 1e-3},
    "DUCB": {"drift": 1e-3},
    "SWTS": {"drift": 1e-3},
    "DiscountedTS": {"drift": 1e-3},
    "SWLBSDA": {"drift": 1e-3},
    "DSTS": {"cap": 1.0},
    "PredictiveSampling": {"drift": 1e-3},
    "CUSUMUCB": {"changes": 5, "warmup": 20},
    "MUCB": {"changes": 5, "window": 20, "threshold": 5.0},
    "AdSwitch": {"c1": 0.3},
    "MASTER": {"confidence": 2e-4},
    "META": {"c0": 0.01},
}


def lively(name: str, n_arms: int = 2) -> db.Policy:
    best = np.arange(HORIZON) % n_arms
    return make_policy(name, **{"horizon": HORIZON, "best_arms": best, **LIVELY.get(name, {})})

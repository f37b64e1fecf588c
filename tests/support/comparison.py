"""Policies that meet on a small instance."""

from __future__ import annotations

import numpy as np

import driftbandits as db
from stubborn import Stubborn

T = 5_000
POLICIES = {
    "SnoozeIt": db.SnoozeIt(T, 1e-3, confidence=0.1),
    "SW-UCB#": db.SWUCBSharp(T, 1e-3),
    "Rexp3": db.Rexp3(T, 1e-3),
    "plain": Stubborn(),
}


def same(one: db.Simulation, other: db.Simulation, name: str) -> bool:
    """Whether two simulations of a policy agree to the last bit."""
    pairs = [(getattr(one, part)[name], getattr(other, part)[name]) for part in ("regret", "realised", "pulls")]
    return all(np.array_equal(a, b) for a, b in pairs)

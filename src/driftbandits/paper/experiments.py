"""The experiments of the paper, as its authors ran them: T = ceil(e^12), Gaussian rewards of variance 1/4."""

from __future__ import annotations

from typing import Any

from driftbandits.policies import Exp3S, Rexp3, SnoozeIt, SWUCBSharp

CALIBRATED = 0.1
"""The confidence at which SnoozeIt is shown beside the printed one: a radius ten times narrower than the proof's."""


def four_policies(horizon: int, drift: float) -> dict[str, Any]:
    """The four policies of the paper's comparison, SnoozeIt in its three forms."""
    return {
        "SnoozeIt printed": SnoozeIt(horizon, drift),
        "SnoozeIt released": SnoozeIt(horizon, drift, variant="released"),
        "SnoozeIt calibrated": SnoozeIt(horizon, drift, confidence=CALIBRATED),
        "SW-UCB#": SWUCBSharp(horizon, drift),
        "Rexp3": Rexp3(horizon, drift),
        "Exp3.S": Exp3S(horizon, drift),
    }

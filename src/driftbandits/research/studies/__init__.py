"""What the theory says, set against simulated runs."""

from driftbandits.research.studies import (
    change_of_measure,
    episodes,
    good_event,
    many_drifts,
    new_arm,
    regret_against_drift,
    sharp_bounds,
    worst_gap,
)

__all__ = [
    "change_of_measure",
    "episodes",
    "good_event",
    "many_drifts",
    "new_arm",
    "regret_against_drift",
    "sharp_bounds",
    "worst_gap",
]

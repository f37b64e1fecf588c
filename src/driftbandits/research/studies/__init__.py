"""What the theory says, set against simulated runs."""

from driftbandits.research.studies import change_of_measure, good_event, regret_against_drift

__all__ = ["change_of_measure", "good_event", "regret_against_drift"]

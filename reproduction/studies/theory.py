"""What formulas alone say: whether SnoozeIt can snooze, and how its bounds compare with those for a budget."""

import math
from dataclasses import dataclass

import driftbandits as db
from reproduction.context import Context
from reproduction.experiments import EXPERIMENTS, FAST
from reproduction.studies.drift import DRIFTS


@dataclass(frozen=True)
class SnoozeRow:
    """Whether a form can snooze on an instance, the gap it needs, and its longest snooze."""

    experiment: str
    drift: str
    form: str
    can_snooze: bool
    needed_gap: float
    longest_snooze: int


@dataclass(frozen=True)
class Feasibility:
    """A row per instance and form; ``largest_drift``: that of a snooze as printed; ``deviations``: of its test."""

    rows: tuple[SnoozeRow, ...]
    largest_drift: float
    buffer: float
    needed_buffer: int
    deviations: float


def feasibility(context: Context) -> Feasibility:
    """Can SnoozeIt snooze, on each instance of the experiments?

    A snooze needs buf = lambda/(6 delta) > 2 w with lambda <= 1, so delta < 1/(864 L). For Gaussian rewards of variance
    1/4 a difference of two averages over w pulls has standard deviation sqrt(1/(2 w)), and the test asks for 4 r(w).
    """
    T, rows = context.settings.horizon, []
    for experiment in EXPERIMENTS.values():
        for each in experiment.instances:
            for form, variant in (("printed", "modified"), ("released", "released")):
                found = db.explain_feasibility(T, each.drift, variant)
                snooze = found.can_snooze, found.needed_gap, found.longest_snooze
                rows.append(SnoozeRow(experiment.name, each.label, form, *snooze))
    log_t = math.log(T)
    window = db.explain_feasibility(T, FAST).smallest_window
    buffer = math.sqrt(72 * log_t / window) / (6 * FAST)
    return Feasibility(tuple(rows), 1 / (864 * log_t), buffer, 2 * window + 1, 4 * math.sqrt(2 * log_t) * math.sqrt(2))


@dataclass(frozen=True)
class BudgetRow:
    """Upper and lower bounds for a drift limit delta, and for the budget V_T = delta T that it implies."""

    drift: float
    upper: float
    lower: float
    budget_upper: float
    budget_lower: float


@dataclass(frozen=True)
class Budgets:
    """A row per drift."""

    rows: tuple[BudgetRow, ...]


def budgets(context: Context) -> Budgets:
    """Theorems 2 and 3 beside Besbes, Gur and Zeevi's bounds, at the drifts of ``drift``."""
    T, bounds, rows = context.settings.horizon, db.bounds, []
    for drift in DRIFTS:
        ours = float(bounds.minimax_upper(T, drift)), float(bounds.minimax_lower(T, drift))
        rows.append(BudgetRow(drift, *ours, bounds.budget_upper(T, drift * T), bounds.budget_lower(T, drift * T)))
    return Budgets(tuple(rows))

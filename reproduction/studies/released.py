"""What the authors released: the run of their notebook, both sources of two instances, and the mistaken gamma."""

from dataclasses import dataclass

import numpy as np

from reproduction.context import Context
from reproduction.experiments import DEFECTIVE, EXPERIMENTS, OTHER_FORMS, RELEASED
from reproduction.statistics import Interval, interval, positive_interval
from reproduction.studies.comparison import Comparison, compare

COMMIT = "75e0b19b5ffa9b0153a793e280bc7f08d21c8b89"
AVERAGE_REGRET = {RELEASED: 45_000.0, "SW-UCB#": 2_600.0, "Rexp3": 15_200.0, DEFECTIVE: 46_100.0}
"""Average regret at T = 162,755, read off the picture of the notebook's last cell; a pixel is worth 73.

Its curves have no legend. They are told apart by the order of their colours in the released plotting code."""
READING_ERROR = 150.0
EPISODES = (76, 76, 77, 75, 75)
"""Episodes of SnoozeIt in each of the five runs, as printed by the notebook."""
PRINTED_BY_NOTEBOOK = {"horizon": 162_755, "batch": 318, "gamma": 0.0023884, "window": 2_480}
"""What else the notebook prints: these fix the drift at 1/4,800 and show the mistaken gamma."""


@dataclass(frozen=True)
class NotebookRow:
    """A policy's average regret in the authors' notebook, and here."""

    policy: str
    theirs: float
    ours: Interval


@dataclass(frozen=True)
class AuthorsRun:
    """Their numbers beside ours, and the mean number of episodes of SnoozeIt as released."""

    rows: tuple[NotebookRow, ...]
    reading_error: float
    their_episodes: tuple[int, int]
    our_episodes: float
    apart: float

    def theirs(self, policy: str) -> float:
        """The notebook's average regret of a policy."""
        return next(row.theirs for row in self.rows if row.policy == policy)


def authors_run(context: Context) -> AuthorsRun:
    """Experiment 2 as the notebook ran it."""
    played = context.simulation("toggling")
    rows = [
        NotebookRow(name, theirs, positive_interval(played.regret[name][:, -1]))
        for name, theirs in AVERAGE_REGRET.items()
    ]
    ours = len(played.events[RELEASED]) / played.runs + 1
    apart = max(abs(row.ours.value - row.theirs) for row in rows)
    return AuthorsRun(tuple(rows), READING_ERROR, (min(EPISODES), max(EPISODES)), ours, apart)


@dataclass(frozen=True)
class OtherForm:
    """The form of an instance that was not taken, and the largest distance of its means from the one that was."""

    experiment: str
    apart: float
    other: Comparison


@dataclass(frozen=True)
class Provenance:
    """Both instances with two sources."""

    forms: tuple[OtherForm, ...]

    def of(self, experiment: str) -> OtherForm:
        """The other form of an experiment."""
        return next(form for form in self.forms if form.experiment == experiment)


def provenance(context: Context) -> Provenance:
    """Play the other forms of Experiments 1 and 2."""
    found = []
    for name, instance in OTHER_FORMS.items():
        taken, other = (context.simulation(one).instance.means for one in (name, instance.name))
        found.append(OtherForm(name, float(np.abs(taken - other).max()), compare(context, name, [instance])))
    return Provenance(tuple(found))


@dataclass(frozen=True)
class GammaRow:
    """Exp3.S with the cube root of its tuning and with a third, on one experiment."""

    experiment: str
    gamma: float
    mistaken: float
    regret: Interval
    mistaken_regret: Interval
    difference: Interval
    times: float


@dataclass(frozen=True)
class MistakenGamma:
    """A row for each experiment with Exp3.S."""

    rows: tuple[GammaRow, ...]


def mistaken_gamma(context: Context) -> MistakenGamma:
    """What the factor 1/3 does to Exp3.S."""
    rows = []
    for name in (one.name for one in EXPERIMENTS.values() if one.with_rivals):
        played = context.simulation(name)
        right, wrong = (played.regret[one][:, -1] for one in ("Exp3.S", DEFECTIVE))
        gamma, third = (float(played.policies[one].parameters(2)["gamma"]) for one in ("Exp3.S", DEFECTIVE))
        means = positive_interval(right), positive_interval(wrong), interval(wrong - right)
        rows.append(GammaRow(name, gamma, third, *means, float(wrong.mean() / right.mean())))
    return MistakenGamma(tuple(rows))

"""The paper's instances and policies as data: T = ceil(e^12), Gaussian rewards of variance 1/4."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import driftbandits as db

HORIZON = math.ceil(math.exp(12))
SLOW, FAST = 1 / 48_000, 1 / 4_800
"""The drift limits of Experiments 1 and 2."""
C0, C1, C2, C3, C6, C7, C8 = 144.0, 72.0, 144.0, 2 ** (2 / 3), 144.0, 2.0, 2.0
"""The paper's constants, under its names."""

CALIBRATED = 0.1
"""The confidence of the calibrated form. It was chosen with these instances in view; the curves over confidence show
what any other value gives."""
FORMS = {"printed": "SnoozeIt printed", "released": "SnoozeIt released", "calibrated": "SnoozeIt calibrated"}
"""SnoozeIt as printed (Algorithm 2, which the paper's experiments use), as released, and with a smaller radius."""
PRINTED, RELEASED, CALIBRATED_FORM = FORMS.values()
ALGORITHM_1 = "SnoozeIt, Algorithm 1"
"""The form that the theorems are about."""
ROUND_ROBIN = "round robin"
RIVALS = ("SW-UCB#", "Rexp3", "Exp3.S")
DEFECTIVE = "Exp3.S as released"
CONFIDENCES = (0.05, 0.07, 0.1, 0.14, 0.2, 0.28, 0.4, 0.55, 0.75, 1.0)
"""Where the curves over confidence are measured; 1 is the paper's radius."""

Policies = Mapping[str, Any]


@dataclass(frozen=True)
class PaperInstance:
    """An instance, the label of its drift, and the drift limit that the policies are given."""

    name: str
    label: str
    drift: float
    build: Callable[[int], db.Instance]


@dataclass(frozen=True)
class Experiment:
    """One experiment of the paper: its instances, and whether the other policies take part."""

    name: str
    number: int
    instances: tuple[PaperInstance, ...]
    with_rivals: bool

    def policies(self, instance: PaperInstance, horizon: int) -> Policies:
        """All policies that play on this instance."""
        drift = instance.drift
        compared = rivals(horizon, drift) | {DEFECTIVE: defective_exp3s(horizon, drift)} if self.with_rivals else {}
        return snoozeit(horizon, drift) | compared | algorithm_1(horizon, drift) | {ROUND_ROBIN: db.RoundRobin()}


def snoozeit(horizon: int, drift: float) -> dict[str, Any]:
    """SnoozeIt in its three forms."""
    return {
        PRINTED: db.SnoozeIt(horizon, drift),
        RELEASED: db.SnoozeIt(horizon, drift, variant="released"),
        CALIBRATED_FORM: db.SnoozeIt(horizon, drift, confidence=CALIBRATED),
    }


def algorithm_1(horizon: int, drift: float) -> dict[str, Any]:
    """The paper's Algorithm 1."""
    return {ALGORITHM_1: db.SnoozeIt(horizon, drift, variant="original")}


def algorithms(horizon: int, drift: float) -> dict[str, Any]:
    """The two printed algorithms."""
    return algorithm_1(horizon, drift) | {PRINTED: db.SnoozeIt(horizon, drift)}


def rivals(horizon: int, drift: float) -> dict[str, Any]:
    """The other three policies of the paper's comparison, tuned as their own papers say."""
    made = db.SWUCBSharp(horizon, drift), db.Rexp3(horizon, drift), db.Exp3S(horizon, drift)
    return dict(zip(RIVALS, made, strict=True))


def defective_exp3s(horizon: int, drift: float) -> db.Exp3S:
    """Exp3.S with the gamma of the authors' code, a third of a number where its cube root is meant.

    >>> round(defective_exp3s(162_755, 1 / 4_800).gamma, 4)
    0.0024
    """
    gamma = db.Exp3S(horizon, drift).parameters(2)["gamma"]
    return db.Exp3S(horizon, drift, gamma=gamma**3 / 3)


def at_confidences(horizon: int, drift: float) -> dict[str, Any]:
    """SnoozeIt (Algorithm 2) at every confidence of the curves."""
    return {f"{value:g}": db.SnoozeIt(horizon, drift, confidence=value) for value in CONFIDENCES}


# ---- instances

Turns = Sequence[tuple[float, int]]


def path(horizon: int, drift: float, start: float, turns: Turns) -> Any:
    """A mean that moves by drift times a direction until each fraction of T; it must stay within [0, 1]."""
    ends = [math.ceil(fraction * horizon) for fraction, _ in turns]
    lengths = np.diff([0, *ends])
    directions = np.repeat([direction for _, direction in turns], lengths)[: horizon - 1]
    return start + drift * np.concatenate([[0.0], np.cumsum(directions)])


def equally_far(horizon: int, drift: float) -> db.Instance:
    """Experiment 4 at any drift k/48,000, k >= 1 a real number: k times as fast for 1/k of the time."""
    k, way = drift / SLOW, (0, 1, 0, -1, 0, 1, 0, -1)
    numerators = k, k + 1, 4 * k - 1, 4 * k + 1, 7 * k - 1, 7 * k + 1, 10 * k - 1
    turns = [*zip([0.1, *(number / (10 * k) for number in numerators[1:]), 1.0], way, strict=True)]
    arms = [path(horizon, sign * drift, 0.5, turns) for sign in (1, -1)]
    return db.Instance(np.column_stack(arms), name=f"equal drift, k = {k:.3g}")


def separated_until_half(horizon: int) -> db.Instance:
    """Experiment 1 as the released script builds it: the first arm rises until 0.5 T, not until 0.42 T.

    It reaches 1 on the way. There the script turns each step back by itself, so that the mean oscillates below 1. The
    library would continue downwards, which is another instance.
    """
    turns = iter(((0.1, 0), (0.2, -1), (0.3, 0), (0.5, 1), (0.8, 0), (0.9, -1), (1.0, 1)))
    mean, means = 0.9, [0.9]
    until, direction = next(turns)
    for step in range(1, horizon):
        mean += SLOW * direction
        mean = 2 - mean if mean > 1 else mean
        means.append(mean)
        while step >= until * horizon and until < 1:
            until, direction = next(turns)
    return db.Instance([[mean, 0.2] for mean in means], name="separated, rising until 0.5 T")


def crossing(horizon: int) -> db.Instance:
    """Arms that cross so often that no window shows a gap: one active phase, in which the best arm keeps changing."""
    half = FAST * 1_000 / 2
    return db.instances.toggling(horizon, FAST, flat=1_000, start=(0.5 + half, 0.5 - half))


WAVE_DRIFT = 1 / 500
AMPLITUDE = 0.4
CALM = 20_000
"""Steps at the end of the wave in which the arms separate."""


def wave(horizon: int, calm: int = CALM) -> db.Instance:
    """Means 1/2 +- z, z a triangle wave of slope 1/500 and amplitude 0.4; in the last ``calm`` steps z rises to 0.4.

    While z waves no window shows a gap, so one episode holds all of it. If the arms then separate, its test passes at
    last, and the whole cost is charged to the block of that step. ``calm=0`` waves to the end.

    >>> round(wave(162_755).drift_limit * 500, 6), float(wave(162_755).means.max().round(6))
    (1.0, 0.9)
    """
    quarter = round(AMPLITUDE / WAVE_DRIFT)
    phase = (np.arange(horizon) + quarter) % (4 * quarter)
    z = AMPLITUDE - WAVE_DRIFT * np.abs(phase - 2 * quarter)
    if calm:
        begun = max(0, horizon - calm)
        z[begun:] = np.minimum(z[begun] + WAVE_DRIFT * np.arange(horizon - begun), AMPLITUDE)
    return db.Instance(np.column_stack([0.5 + z, 0.5 - z]), name="wave", drift=WAVE_DRIFT)


def _common(k: int, multiple: float) -> PaperInstance:
    label = f"δ = {multiple:.2f}/48,000"
    return PaperInstance(
        f"common-periods-{k}", label, multiple / 48_000, lambda horizon: db.instances.common_periods(k, horizon)
    )


def _equal(k: int) -> PaperInstance:
    return PaperInstance(
        f"equal-drift-{k}", f"δ = {k}/48,000", k / 48_000, lambda horizon: db.instances.equal_drift(k, horizon)
    )


SEPARATED = PaperInstance("separated", "δ = 1/48,000", SLOW, lambda horizon: db.instances.separated(horizon))
TOGGLING = PaperInstance("toggling", "δ = 1/4,800", FAST, lambda horizon: db.instances.toggling(horizon))
MULTIPLES = (0.33, 0.66, 1, 1.33)
EXPERIMENTS = {
    one.name: one
    for one in (
        Experiment("separated", 1, (SEPARATED,), with_rivals=True),
        Experiment("toggling", 2, (TOGGLING,), with_rivals=True),
        Experiment("common-periods", 3, tuple(_common(k, m) for k, m in enumerate(MULTIPLES, 1)), with_rivals=False),
        Experiment("equal-drift", 4, tuple(_equal(k) for k in (1, 2, 3, 4)), with_rivals=False),
    )
}
OTHER_FORMS = {
    "separated": PaperInstance("separated-until-half", "δ = 1/48,000", SLOW, separated_until_half),
    "toggling": PaperInstance(
        "toggling-3500", "δ = 1/4,800", FAST, lambda horizon: db.instances.toggling(horizon, flat=3_500)
    ),
}
"""What the released files leave open about Experiments 1 and 2: the form not taken."""


@dataclass(frozen=True)
class Planned:
    """A simulation that several studies share: who plays, on what."""

    policies: Callable[[int], Policies]
    instance: Callable[[int], db.Instance]


def _planned() -> dict[str, Planned]:
    found: dict[str, Planned] = {}
    for one in EXPERIMENTS.values():
        for each in (*one.instances, *([OTHER_FORMS[one.name]] if one.name in OTHER_FORMS else [])):
            found[each.name] = Planned(lambda horizon, one=one, each=each: one.policies(each, horizon), each.build)  # type: ignore[misc]
        for each in one.instances:
            found[f"confidence-{each.name}"] = Planned(
                lambda horizon, each=each: at_confidences(horizon, each.drift),  # type: ignore[misc]
                each.build,
            )
    found["episodic-regret"] = Planned(lambda horizon: algorithm_1(horizon, FAST), crossing)
    return found


SIMULATIONS = _planned()
"""Every simulation whose runs are kept, by name."""

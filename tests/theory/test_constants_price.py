"""The price of the constants: against the printed ones, a plain count, the policy itself, and the table in the docs."""

from __future__ import annotations

import math
import re
import warnings
from pathlib import Path

import numpy as np
import pytest

import adversary
import driftbandits as db
from driftbandits.theory import bounds, constants
from driftbandits.theory import constants_price as price

PAGE = Path(__file__).parents[2] / "docs" / "proofs.md"
HORIZON = 162_755


def best(horizon: int) -> price.Proof:
    return price.Proof(price.smallest_radius(horizon), 2.0)


def test_printed_constants_follow_from_radius_and_threshold() -> None:
    printed = price.PRINTED
    assert (printed.c1, printed.c2, printed.c2, 2 * printed.c4) == (
        constants.C1,
        constants.C2,
        constants.C0,
        constants.C6,
    )
    assert printed.c3 == pytest.approx(constants.C3)
    assert printed.stretch == pytest.approx((bounds.episode_regret(2, 100) - 1) / math.sqrt(math.log(100)))
    per_step = bounds.minimax_upper(HORIZON, 1e-4).per_step / (1e-4 * math.log(HORIZON)) ** (1 / 3)
    assert printed.per_step == pytest.approx(per_step)
    assert printed.stretch * math.sqrt(printed.c2) == pytest.approx(printed.c4)


@pytest.mark.parametrize("horizon", [1, 2, 3, 10, 41, 100])
def test_the_union_bound_counts_every_window(horizon: int) -> None:
    windows = sum(1 for t in range(1, horizon + 1) for w in range(1, t // 2 + 1))
    assert price.failure_bound(horizon, 3.0) == pytest.approx(4 * windows * horizon**-3.0)


@pytest.mark.parametrize("horizon", [2, 20_000, HORIZON, 10**9])
@pytest.mark.parametrize(("factor", "allowed"), [(1.0, True), (0.9, False)])
def test_no_smaller_radius_will_do(horizon: int, factor: float, allowed: bool) -> None:
    q = price.smallest_radius(horizon)
    assert (price.failure_bound(horizon, factor * q) <= 2 / horizon * (1 + 1e-9)) == allowed
    assert q == pytest.approx(3 - math.log(2) / math.log(horizon), abs=1e-5)


def test_hoeffding_for_differences_is_what_the_radius_uses() -> None:
    """Coins of mean 1/2, the worst rewards in [0, 1]: exact tails stay below 2 exp(-w eps^2), q = 3 included."""
    for w in (3, 10, 40):
        counts = np.array([math.comb(2 * w, k) for k in range(2 * w + 1)]) / 4.0**w  # heads less heads, plus w
        off = np.abs(np.arange(-w, w + 1)) / w
        for eps in off[off > 0]:
            assert counts[off >= eps].sum() <= 2 * math.exp(-w * eps**2)


@pytest.mark.parametrize("cost", ["per_step", "per_step_and_gap"])
def test_the_printed_threshold_is_the_best(cost: str) -> None:
    found = price.best_threshold(lambda proof: float(getattr(proof, cost)))
    assert found == pytest.approx(2, abs=1e-6)
    least = getattr(price.Proof(8.0, found), cost)
    assert all(getattr(price.Proof(8.0, found * factor), cost) > least for factor in (0.9, 1.1))


def test_the_printed_threshold_allows_the_largest_drift() -> None:
    """Without the rounding to whole windows: (theta - 1)/(4 q (theta + 1)^3 L), most at 2; 3/2 without w_min."""
    thetas = np.linspace(1.01, 6, 5_000)
    with_rule = [price.Proof(8.0, theta).largest_drift(10**15) for theta in thetas]
    without = [price.Proof(8.0, theta).largest_drift(10**15, shortest_window=False) for theta in thetas]
    assert thetas[np.argmax(with_rule)] == pytest.approx(2, abs=0.05)
    assert thetas[np.argmax(without)] == pytest.approx(1.5, abs=0.05)


@pytest.mark.parametrize("proof", [price.PRINTED, best(HORIZON)])
@pytest.mark.parametrize(("factor", "snoozes"), [(0.999, True), (1.001, False)])
def test_the_largest_drift_is_what_the_policy_says(proof: price.Proof, factor: float, snoozes: bool) -> None:
    drift = factor * proof.largest_drift(HORIZON)
    found = db.explain_feasibility(HORIZON, drift, confidence=proof.confidence)
    assert found.can_snooze == snoozes


@pytest.mark.parametrize(("factor", "holds"), [(1.0, True), (0.9, False)])
def test_theorem_2_with_the_best_constants(factor: float, holds: bool) -> None:
    """SnoozeIt with the smallest confidence, shown gaps of 2 radii where there are 3: the new rate, reached."""
    T, drift = 100_000, 5e-5
    proof, L = best(T), math.log(T)
    x = proof.c3 * (L / drift**2) ** (1 / 3)
    radius = math.sqrt(proof.radius * L / (math.ceil(x / 2) + 1))
    assert 3 * radius < 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # it can snooze
        policy = db.SnoozeIt(T, drift, confidence=proof.confidence)
    arms = adversary.arms_played(policy, adversary.two_arms(np.full(T, 2 * radius * (1 + 1e-9))))
    regret = adversary.regrets(arms, adversary.two_arms(np.full(T, 3 * radius))).sum()
    allowed = factor * proof.per_step * (drift * L) ** (1 / 3) * T
    assert (regret <= allowed + proof.stretch * math.sqrt(x * L) + T / math.floor(x) + 3) == holds


@pytest.mark.parametrize("factor", [0.9, 1.1])
def test_the_best_bump_is_the_best(factor: float) -> None:
    found = price.best_lower_rate()
    assert found.bump == pytest.approx(math.sqrt(2) / 4, abs=1e-6)
    assert price.lower_rate(factor * found.bump, 0.5) < found.rate
    m = 10**9  # the corrected rate is that of the bound itself
    assert price.lower_rate(0.5, 1.0) == pytest.approx(
        bounds.minimax_lower(10 * m, 1 / (2 * m**1.5)).bumps / (10 * m * (1 / (2 * m**1.5)) ** (1 / 3)), rel=1e-6
    )


def test_the_page_has_the_table_of_the_program() -> None:
    rows = [
        f"| {row.result} | {row.constant} | {row.printed:.4g} | {row.corrected:.4g} | {row.best:.4g} |"
        for row in price.price_of_constants(HORIZON)
    ]
    text = PAGE.read_text(encoding="utf-8")
    found = re.search(r"\| result \| constant \|.*\n\|[-|]+\n((?:\|.*\n)+)", text)
    assert found
    assert found.group(1).splitlines() == rows
    assert f"q = {price.smallest_radius(HORIZON):.4f}" in text
    assert f"confidence = {best(HORIZON).confidence:.4f}" in text


def test_every_check_that_the_page_names_exists() -> None:
    text = PAGE.read_text(encoding="utf-8")
    named = set(re.findall(r"`(test_\w+)`", text))
    known = "".join(file.read_text(encoding="utf-8") for file in Path(__file__).parent.glob("test_*.py"))
    assert len(named) > 20
    assert [name for name in sorted(named) if f"def {name}(" not in known] == []

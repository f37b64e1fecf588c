"""T delta^(1/3) where Theorem 3 puts it, ln T where drift is mild, and fits against plain sums."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import naive_studies as naive
from driftbandits import InputError, Rexp3, RoundRobin, SnoozeIt, SWUCBSharp, instances, simulate
from driftbandits._common.intervals import t_quantile
from driftbandits._common.plotting import save_figure
from driftbandits.research.studies.regret_against_drift import (
    FAMILIES,
    SNOOZEIT,
    Maker,
    fit_exponents,
    fit_logarithm,
    mild_drift,
    plot_regret_against_drift,
    regret_against_drift,
)
from driftbandits.theory.bounds import minimax_lower, minimax_upper

HORIZON = 50_000
DRIFTS = [1e-5, 1e-4, 1e-3]
POLICIES: dict[str, Maker] = {
    **SNOOZEIT,
    "round robin": lambda horizon, drift: RoundRobin(),
    "SW-UCB#": lambda horizon, drift: SWUCBSharp(horizon, drift),
    "Rexp3": lambda horizon, drift: Rexp3(horizon, drift),
}


@pytest.fixture(scope="module")
def hard() -> pl.DataFrame:
    return regret_against_drift(DRIFTS, HORIZON, POLICIES, runs=10)


def test_hard_instances_cost_every_policy_a_cube_root(hard: pl.DataFrame) -> None:
    fits = fit_exponents(hard)
    assert fits["policy"].to_list() == list(POLICIES)
    assert fits["exponent"].to_list() == pytest.approx([1 / 3] * len(POLICIES), abs=0.05)


def test_regret_lies_between_the_bounds(hard: pl.DataFrame) -> None:
    assert (hard["high"] < hard["upper"]).all()
    assert (hard["low"] > hard["lower"] / 3).all()
    for drift in DRIFTS:
        row = hard.filter(drift=drift).row(0, named=True)
        assert row["upper"] == minimax_upper(HORIZON, drift).total
        assert row["lower"] == minimax_lower(HORIZON, drift).total


def test_neither_confidence_sees_the_bumps(hard: pl.DataFrame) -> None:
    turns = hard.filter(policy="round robin")["regret"].to_list()
    for name in SNOOZEIT:
        assert hard.filter(policy=name)["regret"].to_list() == turns


@pytest.mark.parametrize("world", FAMILIES)
def test_rows_are_means_over_instances(world: str) -> None:
    made = {"it": lambda horizon, drift: SnoozeIt(horizon, drift, confidence=0.1)}
    row = regret_against_drift([1e-3], 5_000, made, world, runs=3, seed=5).row(0, named=True)
    regrets = []
    for seed in (5, 6, 7):
        instance = FAMILIES[world](5_000, 1e-3, seed)
        assert instance.drift_limit <= 1e-3 + 1e-12
        result = simulate({"it": SnoozeIt(5_000, 1e-3, confidence=0.1)}, instance, runs=1, seed=seed)
        regrets.append(float(result.regret["it"][0, -1]))
    assert row["regret"] == pytest.approx(math.fsum(regrets) / 3)
    assert row["low"] <= row["regret"] <= row["high"]


def test_a_world_may_be_a_function() -> None:
    table = regret_against_drift(
        [1e-3],
        2_000,
        {"turns": POLICIES["round robin"]},
        lambda horizon, drift, seed: instances.stationary(horizon),
        runs=2,
    )
    assert table["regret"].to_list() == pytest.approx([200.0])


def test_fit_is_that_of_plain_sums() -> None:
    rng = np.random.default_rng(2)
    drifts = np.geomspace(1e-6, 1e-2, 7)
    regrets = 40 * drifts**0.4 * np.exp(0.1 * rng.standard_normal(7))
    table = pl.DataFrame({"drift": drifts, "policy": "one", "regret": regrets})
    fit = fit_exponents(table).row(0, named=True)
    slope, error = naive.line(np.log(drifts).tolist(), np.log(regrets).tolist())
    assert fit["exponent"] == pytest.approx(slope)
    assert (fit["low"], fit["high"]) == pytest.approx((slope - t_quantile(5) * error, slope + t_quantile(5) * error))


def test_fit_of_an_exact_law_is_exact() -> None:
    table = pl.DataFrame({"drift": [1e-4, 1e-3, 1e-2], "policy": "one", "regret": [1.0, 10.0, 100.0]})
    assert fit_exponents(table).row(0)[:4] == pytest.approx(("one", 1.0, 1.0, 1.0))
    assert fit_exponents(table)["bends"].to_list() == [None]
    with pytest.raises(InputError, match="at least 3 points; got 2"):
        fit_exponents(table.head(2))


def test_regret_is_logarithmic_where_drift_is_mild() -> None:
    table = mild_drift([10_000, 50_000, 250_000, 1_000_000], runs=10)
    # The test passes about when the gap 1/2 equals 4 r(w), so w = 128 L; that many pulls cost 1/2 each.
    assert table["per_log"].to_list() == pytest.approx([64.0] * 4, rel=0.15)
    fit = fit_logarithm(table)
    assert fit.low <= fit.slope <= fit.high
    assert fit.slope == pytest.approx(64.0, rel=0.6)
    assert fit.exponent.exponent == pytest.approx(0.0, abs=0.045)
    assert table["drift"].to_list() == [math.sqrt(math.log(T)) / T**1.5 for T in table["horizon"]]


def test_unknown_worlds_are_an_error() -> None:
    with pytest.raises(InputError, match="unknown world 'mars'; choose one of lower bound, toggling, walk"):
        regret_against_drift(world="mars")


def test_figure_is_drawn(hard: pl.DataFrame, tmp_path: Path) -> None:
    figure = plot_regret_against_drift(hard, title="hard")
    (axes,) = figure.axes
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    legend = [text.get_text() for text in figure.legends[0].get_texts()]
    assert {name for label in legend[:-2] for name in label.split(": ")[0].split(" = ")} == set(POLICIES)
    assert len(axes.get_lines()) == len(legend)
    assert "worst instance only" in legend[-1]
    save_figure(figure, tmp_path / "regret.png")


def invented(**regrets: list[float]) -> pl.DataFrame:
    """A table of three drifts with these regrets, each within a factor of two."""
    rows = [
        {"drift": drift, "policy": name, "regret": value, "low": value / 2, "high": 2 * value, "upper": 1e6, "lower": 1}
        for name, values in regrets.items()
        for drift, value in zip((1e-5, 1e-4, 1e-3), values, strict=True)
    ]
    return pl.DataFrame(rows)


def test_curves_that_coincide_are_one_with_both_names() -> None:
    together = invented(one=[10.0, 20.0, 40.0], two=[10.005, 20.0, 40.0], three=[10.0, 20.0, 41.0])
    figure = plot_regret_against_drift(together)
    legend = [text.get_text().split(":")[0] for text in figure.legends[0].get_texts()]
    assert legend[:2] == ["one = two", "three"]
    rings = [line.get_markersize() for line in figure.axes[0].get_lines()[:2]]
    assert rings[0] < rings[1]


def test_a_band_has_no_cliff() -> None:
    table = invented(one=[10.0, 20.0, 40.0]).with_columns(low=pl.Series([-5.0, 10.0, 20.0]))
    (band,) = plot_regret_against_drift(table).axes[0].collections
    heights = np.concatenate([np.asarray(path.vertices)[:, 1] for path in band.get_paths()])
    assert heights.min() >= 10.0

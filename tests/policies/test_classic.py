"""The classic policies: against plain twins on whole trajectories, published tunings, and known behaviour."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_rivals import rewards_of

import driftbandits as db
import naive_classic as naive
from driftbandits.policies import make_policy
from driftbandits.policies._parts.kl_bounds import KL_BOUNDS, bound_index, forget_bounds
from driftbandits.policies._parts.posteriors import _draw_gamma
from driftbandits.policies.klucb import largest_mean
from driftbandits.testing import check_policy
from many_examples import examples
from taking import cut, unlimited

F = TypeVar("F", bound=Callable[..., None])
POSTERIORS = st.sampled_from(["gaussian", "beta"])
SIGMAS = st.sampled_from([0.1, 0.5, 1.0])
WINDOWS = st.one_of(st.integers(1, 20), st.integers(1, 500), st.sampled_from([63, 64, 65]))
DISCOUNTS = st.one_of(st.floats(0.01, 1.0), st.floats(0.9, 1.0))


def trajectories(**options: Any) -> Callable[[F], F]:
    """30 whole trajectories, with these options of the policy."""
    shared = {
        "kind": st.sampled_from(["gaussian", "bernoulli"]),
        "seed": st.integers(0, 2**32),
        "steps": st.integers(1, 150),
        "n_arms": st.integers(2, 6),
    }

    def decorate(test: F) -> F:
        return examples(30)(given(**shared, **options)(test))  # type: ignore[return-value]

    return decorate


def follow(
    policy: db.Policy, twin: naive.Naive, kind: str, seed: int, steps: int, n_arms: int, shift: float = 0.0
) -> None:
    play, rng = unlimited(policy, n_arms, seed), np.random.Generator(np.random.SFC64(seed))
    if hasattr(twin, "generator"):
        twin.generator.seed(rng)
    for row in cut(policy, rewards_of(kind, seed, steps, n_arms) + shift):
        arm = play.select()
        naive.COMPARED.clear()
        expected = twin.select(rng)
        assert arm == expected or naive.tied(arm, expected)
        play.update(arm, row[arm])
        twin.update(arm, row[arm])


@trajectories(pulls=st.integers(1, 60))
def test_explore_then_commit(pulls: int, n_arms: int, **instance: Any) -> None:
    follow(db.ExploreThenCommit(pulls=pulls), naive.NaiveExploreThenCommit(n_arms, pulls), n_arms=n_arms, **instance)


@trajectories(horizon=st.sampled_from([1, 2, 3, 5, 250]), shift=st.sampled_from([0.0, -2.0]))
def test_successive_elimination(horizon: int, n_arms: int, **instance: Any) -> None:
    twin = naive.NaiveSuccessiveElimination(n_arms, horizon)
    follow(db.SuccessiveElimination(horizon), twin, n_arms=n_arms, **instance)


@trajectories()
def test_ucb1(n_arms: int, **instance: Any) -> None:
    follow(db.UCB1(), naive.NaiveUCB1(n_arms), n_arms=n_arms, **instance)


@trajectories(c=st.sampled_from([0.0, 1.0, 3.0]), sigma=st.sampled_from([None, None, 0.1, 0.5]))
def test_klucb(c: float, sigma: float | None, n_arms: int, **instance: Any) -> None:
    policy = db.KLUCB(c) if sigma is None else db.KLUCB(c, kl="gaussian", sigma=sigma)
    follow(policy, naive.NaiveKLUCB(n_arms, c, sigma), n_arms=n_arms, **instance)


@trajectories(posterior=POSTERIORS, sigma=SIGMAS)
def test_thompson_sampling(posterior: str, sigma: float, n_arms: int, **instance: Any) -> None:
    follow(db.ThompsonSampling(posterior, sigma), naive.NaiveTS(n_arms, posterior, sigma), n_arms=n_arms, **instance)


@trajectories(window=WINDOWS, sigma=SIGMAS, xi=st.sampled_from([None, 0.2, 0.6, 2.0]))
def test_swucb(window: int, sigma: float, xi: float | None, n_arms: int, **instance: Any) -> None:
    policy = db.SWUCB(250, window=window, sigma=sigma, xi=xi)
    follow(policy, naive.NaiveSWUCB(n_arms, window, 250, sigma, xi), n_arms=n_arms, **instance)


@trajectories(discount=DISCOUNTS, xi=st.sampled_from([0.0, 0.1, 0.5, 0.6]))
def test_ducb(discount: float, xi: float, n_arms: int, **instance: Any) -> None:
    follow(db.DUCB(discount=discount, xi=xi), naive.NaiveDUCB(n_arms, discount, xi), n_arms=n_arms, **instance)


@trajectories(window=WINDOWS, posterior=POSTERIORS, sigma=SIGMAS)
def test_swts(window: int, posterior: str, sigma: float, n_arms: int, **instance: Any) -> None:
    policy = db.SWTS(window=window, posterior=posterior, sigma=sigma)
    follow(policy, naive.NaiveTS(n_arms, posterior, sigma, window=window), n_arms=n_arms, **instance)


@trajectories(discount=DISCOUNTS, posterior=POSTERIORS, sigma=SIGMAS)
def test_discounted_ts(discount: float, posterior: str, sigma: float, n_arms: int, **instance: Any) -> None:
    policy = db.DiscountedTS(discount=discount, posterior=posterior, sigma=sigma)
    follow(policy, naive.NaiveTS(n_arms, posterior, sigma, discount=discount), n_arms=n_arms, **instance)


@pytest.mark.parametrize(
    "policy",
    [
        db.KLUCB(c=3.0),
        db.KLUCB(kl="gaussian"),
        db.ThompsonSampling("beta"),
        db.SWUCB(window=100, xi=0.6),
        db.SWTS(window=100, posterior="beta"),
        db.DiscountedTS(discount=0.99, posterior="beta"),
        db.DiscountedTS(discount=0.5),
        db.DUCB(discount=0.5),
    ],
    ids=repr,
)
def test_the_other_forms(policy: db.Policy) -> None:
    check_policy(policy, 3, horizon=500)


@examples(150)
@given(
    p=st.one_of(st.floats(0.0, 1.0), st.sampled_from([0.0, 1e-300, 1e-9, 0.5, 1 - 1e-9, 1.0])), log=st.floats(-9, 1.7)
)
def test_the_kl_index_is_exact(p: float, log: float) -> None:
    assert largest_mean(p, 10**log) == pytest.approx(naive.bisect(p, 10**log), rel=0, abs=1e-12 + 1e-16 / 10**log)


@examples(30)
@given(
    seed=st.integers(0, 2**32),
    mean=st.sampled_from([0.0, 0.003, 0.3, 0.5, 0.97, 1.0]),
    kind=st.sampled_from(["coins", "uniform", "constant"]),
)
def test_the_kl_indices_lie_within_their_bounds(seed: int, mean: float, kind: str) -> None:
    """From pull to pull, with pauses of any length between; in either measure of time."""
    rng = np.random.default_rng(seed)
    arms = db.records(2, count="i8", total="f8", **KL_BOUNDS)
    for arm in arms:
        forget_bounds(arm)
    t, known, told = 2, 0, 0
    for _ in range(60):
        for arm in arms:
            arm["count"] += 1
            arm.total += {"coins": float(rng.random() < mean), "uniform": mean * rng.random(), "constant": mean}[kind]
        p = arms[0].total / arms["count"][0]
        bound_index(arms[0], p, math.log(t), math.log(t), 1.0)
        bound_index(arms[1], p, math.log(t), float(t), 1 / t)
        for _ in range(3):
            index = naive.bisect(p, math.log(t) / arms["count"][0])
            for arm, now in zip(arms, (math.log(t), float(t)), strict=True):
                assert arm.low <= index + 1e-15
                assert index <= arm.high + arm.growth * (now - arm.at) + 1e-15
                known += 0.0 < arm.low <= arm.high < 2.0
                told += 0.0 < p < 1.0
            t += int(10 ** rng.uniform(0, 2))
    assert 2 * known >= told, "unless all rewards were 0 or all 1 the bounds say something, most of the time"


def bernoulli_runs(means: tuple[float, ...], runs: int = 200) -> db.Simulation:
    policies = {"KL-UCB": db.KLUCB(), "UCB1": db.UCB1(), "TS": db.ThompsonSampling("beta")}
    return db.simulate(
        policies, db.instances.stationary(30_000, means), noise=db.Bernoulli(), runs=runs, seed=11, progress=False
    )


@pytest.mark.parametrize("means", [(0.5, 0.3), (0.2, 0.05, 0.1)])
def test_logarithmic_regret_and_the_lai_robbins_constant(means: tuple[float, ...]) -> None:
    """Regret grows like C ln T: C = sum of gap/kl for KL-UCB and Thompson sampling, of 2/gap for UCB1.

    The limit is approached slowly. From T = 1,000 to 30,000 the slopes are about 1.4, 0.75 and 1.6 times C, with
    standard errors up to 0.06, 0.04 and 0.03; the bounds are at least six of them away.
    """
    result, best = bernoulli_runs(means), max(means)
    lai_robbins = sum((best - mean) / naive.bernoulli_kl(mean, best) for mean in means if mean < best)
    hoeffding = sum(2 / (best - mean) for mean in means if mean < best)
    early = int(np.searchsorted(result.times, 1_000))
    bounds = {"KL-UCB": (lai_robbins, 0.9, 1.9), "TS": (lai_robbins, 0.5, 1.2), "UCB1": (hoeffding, 1.0, 2.2)}
    for name, (constant, low, high) in bounds.items():
        regret = result.regret[name]
        slopes = (regret[:, -1] - regret[:, early]) / math.log(result.times[-1] / result.times[early])
        assert low < slopes.mean() / constant < high, name
    proved = sum(8 * math.log(30_000) / (best - m) + (1 + math.pi**2 / 3) * (best - m) for m in means if m < best)
    assert result.regret["UCB1"][:, -1].mean() < proved


def test_without_forgetting_the_forms_agree() -> None:
    """Thompson sampling with a window that holds all, or with discount 1, is Thompson sampling, draw by draw."""
    policies = {
        "plain": db.ThompsonSampling("beta"),
        "window": db.SWTS(window=10**6, posterior="beta"),
        "discount": db.DiscountedTS(discount=1.0, posterior="beta"),
    }
    instance = db.instances.toggling(horizon=5_000)
    result = db.simulate(policies, instance, db.Bernoulli(), runs=5, seed=3, progress=False)
    for name in ("window", "discount"):
        np.testing.assert_array_equal(result.regret[name], result.regret["plain"])


def test_forgetting_pays_when_the_best_arm_changes() -> None:
    """Not against UCB1, though: it explores so much that on this instance it needs no forgetting."""
    instance = db.instances.toggling()
    T, delta = instance.horizon, 1 / 4_800
    forgetful = {
        "SWUCB": db.SWUCB(T, delta),
        "SWUCB, xi": db.SWUCB(drift=delta, xi=0.6),
        "DUCB": db.DUCB(delta),
        "SWTS": db.SWTS(delta),
        "DiscountedTS": db.DiscountedTS(delta),
    }
    stubborn = {
        "ETC": db.ExploreThenCommit(T),
        "SE": db.SuccessiveElimination(T),
        "TS": db.ThompsonSampling(),
    }
    result = db.simulate({**forgetful, **stubborn}, instance, runs=4, seed=2, progress=False)
    at_end = {name: regret[:, -1] for name, regret in result.regret.items()}
    assert max(at_end[name].max() for name in forgetful) < 0.5 * min(at_end[name].min() for name in stubborn)


def test_published_tunings() -> None:
    """Derived by hand from the papers' formulas at the experiments' T and delta = 1/4,800, for 2 and 16 arms."""
    T, delta = 162_755, 1 / 4_800
    assert db.SWUCB(T, delta).parameters(2)["window"] == math.ceil(2 ** (1 / 3) * 4_800 ** (2 / 3)) == 359
    assert db.SWUCB(T, delta).parameters(16)["window"] == 718
    bonus = db.SWUCB(T, delta, sigma=1.0).parameters(2)["bonus_after_one_pull"]
    assert bonus == pytest.approx(math.sqrt(2 * math.log(2 * 2 * T**2)))
    assert 1 / (1 - db.DUCB(delta).parameters(2)["discount"]) == pytest.approx(358.5, abs=0.1)
    assert 1 / (1 - db.DUCB(horizon=10_000, changes=4).parameters(2)["discount"]) == pytest.approx(200)
    assert db.DUCB(delta).parameters(2)["xi"] == pytest.approx(0.6667, abs=1e-4)
    assert db.SWTS(delta).parameters(2)["window"] == 285
    assert 1 / (1 - db.DiscountedTS(delta).parameters(2)["discount"]) == pytest.approx(284.6, abs=0.1)
    assert db.ExploreThenCommit(1_000).parameters(8)["pulls"] == math.ceil(25 * math.log(1_000) ** (1 / 3)) == 48


@pytest.mark.parametrize("drift", [1e-300, 1.0])
@pytest.mark.parametrize("name", ["SWUCB", "DUCB", "SWTS", "DiscountedTS"])
def test_drift_at_its_limits(name: str, drift: float) -> None:
    policy = make_policy(name, horizon=300, drift=drift)
    result = db.simulate({"it": policy}, db.instances.stationary(300, (0.5, 0.5, 0.5)), runs=2, progress=False)
    assert result.pulls["it"].min() > 0


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("ExploreThenCommit", {}, "needs horizon to choose its pulls, or pulls"),
        ("ExploreThenCommit", {"pulls": 0}, "pulls must be a whole number, at least 1; got 0"),
        ("ExploreThenCommit", {"horizon": 0.5}, "horizon.*got 0.5"),
        ("SuccessiveElimination", {"horizon": 0}, "horizon.*got 0"),
        ("KLUCB", {"kl": "poisson"}, "unknown kl 'poisson'; choose one of bernoulli, gaussian"),
        ("KLUCB", {"c": -1.0}, "c must lie in"),
        ("KLUCB", {"sigma": 0.0}, "sigma must lie in"),
        ("ThompsonSampling", {"posterior": "Beta"}, "unknown posterior 'Beta'; choose one of gaussian, beta"),
        ("ThompsonSampling", {"sigma": math.nan}, "sigma must lie in"),
        ("SWUCB", {"drift": 0.1}, "needs horizon for its bonus, or xi"),
        ("SWUCB", {"horizon": 100}, "needs drift to choose its window, or window"),
        ("SWUCB", {"horizon": 100, "drift": 0.0}, "window is undefined for drift=0.*give window"),
        ("SWUCB", {"horizon": 100, "window": 1.5}, "window must be a whole number"),
        ("SWUCB", {"window": 10, "xi": 0.0}, "xi must lie in"),
        ("DUCB", {}, "needs drift to choose its discount, or discount"),
        ("DUCB", {"changes": 5}, "DUCB needs horizon beside changes"),
        ("DUCB", {"horizon": 100, "changes": 5, "drift": 0.1}, "changes .abrupt. or drift .slow., not both"),
        ("DUCB", {"drift": 0.0}, "discount is undefined for drift=0.*give discount"),
        ("DUCB", {"discount": 1.5}, "discount must lie in"),
        ("DUCB", {"discount": 0.5, "xi": -1.0}, "xi must lie in"),
        ("SWTS", {"drift": 2.0}, "drift must lie in"),
        ("SWTS", {"drift": 0.0}, "window is undefined for drift=0.*give window"),
        ("SWTS", {"window": 0}, "window must be a whole number"),
        ("DiscountedTS", {"drift": 0.0}, "discount is undefined for drift=0.*give discount"),
        ("DiscountedTS", {"discount": 0.0}, "discount must lie in"),
        ("DiscountedTS", {"discount": 0.5, "posterior": "gamma"}, "unknown posterior"),
    ],
)
def test_wrong_parameters(name: str, options: dict[str, Any], words: str) -> None:
    with pytest.raises(db.InputError, match=words):
        db.POLICIES[name](**options)


@pytest.mark.parametrize("shape", [1.0, 1.5, 40.0])
def test_gamma_variables(shape: float) -> None:
    """Mean and variance of Gamma(shape) are both shape; bounds of six standard errors."""
    rng = np.random.Generator(np.random.SFC64(1))
    draws = np.array([_draw_gamma(shape, rng) for _ in range(40_000)])
    spread = math.sqrt(shape / len(draws))
    assert abs(draws.mean() - shape) < 6 * spread
    assert abs(draws.var() - shape) < 6 * spread * math.sqrt(6 + 2 * shape)
    assert abs((draws < shape).mean() - exact_share_below_mean(shape)) < 6 * 0.5 / math.sqrt(len(draws))


def exact_share_below_mean(shape: float) -> float:
    """P(Gamma(shape) < shape), by adding up the density."""
    x = (np.arange(200_000) + 0.5) * shape / 200_000
    density = np.exp((shape - 1) * np.log(x) - x - math.lgamma(shape))
    return float(density.sum() * shape / 200_000)


@pytest.mark.timeout(60)
def test_what_is_no_number_is_not_drawn_for_ever() -> None:
    rng = np.random.Generator(np.random.SFC64(1))
    assert np.isnan(_draw_gamma(math.nan, rng))


def test_arms_that_tie_but_for_rounding_may_both_be_chosen() -> None:
    """Met by ``make soak``: indices of 1 - 1e-16 and 1, and means that are 1 but for the last bit."""
    follow(db.KLUCB(0.0), naive.NaiveKLUCB(4, 0.0, None), "gaussian", 97615, 5, 4)
    follow(db.DUCB(discount=0.9375, xi=0.0), naive.NaiveDUCB(3, 0.9375, 0.0), "bernoulli", 0, 7, 3)
    with pytest.raises(AssertionError):
        follow(db.UCB1(), naive.NaiveDUCB(3, 0.9375, 0.1), "gaussian", 0, 200, 3)

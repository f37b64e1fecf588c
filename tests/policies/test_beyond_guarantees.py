"""What the policies beyond the paper promise: bounds that hold, snoozes that are safe, and AutoTS fit for anything."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from test_snoozeit import closing_gap, snoozes_of_the_better_arm

import driftbandits as db
from naive_beyond import NaiveDriftUCB

# SnoozeItTight: a snoozed arm is never the better one.


def wrong_leads(instance: db.Instance, result: db.Simulation) -> int:
    """In how many events the true lead at the time of the test was less than the event promises."""
    table = result.events["it"].filter(snoozed=1)
    at, arm = table["passed"].to_numpy() - 1, table["arm"].to_numpy()
    lead = instance.means[at, arm] - instance.means[at, 1 - arm]
    return int((lead < table["lead"].to_numpy()).sum())


@pytest.mark.parametrize("noise", [db.Gaussian(0.5), db.Bernoulli()], ids=["gaussian", "bernoulli"])
def test_a_snoozed_arm_is_never_the_better_one(noise: db.Noise) -> None:
    """Gaps that close as fast as they may, and random walks.

    The radius is 8.3 standard errors of the difference, sqrt(6 ln T). For Gaussian rewards a union bound over windows
    leaves a chance of 1e-4 that any of 160 runs leaves it somewhere, but windows overlap, and a snooze fails only if
    that window is the one that counts and the gap closes as fast as it may from then on. Seeds are fixed.
    """
    horizon, drift = 100_000, 2e-5
    instances = [closing_gap(horizon, drift, flat) for flat in (0, 1_500, 3_000, 20_000)]
    instances += [db.instances.walk(horizon=horizon, drift=drift, seed=seed) for seed in range(4)]
    snoozes = 0
    for instance in instances:
        policy = db.SnoozeItTight(horizon=horizon, drift=drift)
        result = db.simulate({"it": policy}, instance, noise, runs=20, seed=1, events=True)
        count, wrong = snoozes_of_the_better_arm(instance, result, "it")
        snoozes += count
        assert wrong == 0
        assert wrong_leads(instance, result) == 0
    assert snoozes >= 500


def test_an_eager_test_does_snooze_the_better_arm() -> None:
    """The property above can fail: with a radius ten times too small it does."""
    instance = closing_gap(100_000, 2e-5, 0)
    policy = db.SnoozeItTight(horizon=100_000, drift=2e-5, confidence=0.1)
    result = db.simulate({"it": policy}, instance, runs=10, seed=1, events=True)
    assert snoozes_of_the_better_arm(instance, result, "it")[1] > 0
    assert wrong_leads(instance, result) > 0


def test_tighter_constants_snooze_where_the_printed_ones_cannot() -> None:
    """On toggling arms the printed SnoozeIt is round robin; the tight one is not, and its regret is less."""
    instance = db.instances.toggling()
    policies = {
        "tight": db.SnoozeItTight(instance.horizon, 1 / 4_800),
        "printed": db.SnoozeIt(instance.horizon, 1 / 4_800),
    }
    result = db.simulate(policies, instance, runs=10, events=True)
    assert result.events["printed"]["snoozed"].sum() == 0
    assert result.events["tight"]["snoozed"].sum() > 100
    assert (result.regret["tight"][:, -1] < 0.75 * result.regret["printed"][:, -1]).all()


# SnoozeItK: the best arm is always active.


def unsafe(instance: db.Instance, result: db.Simulation) -> dict[str, int]:
    """Snoozes, and what went wrong: leads smaller than promised, snoozed arms ahead of theirs, best arms asleep."""
    found = {"snoozes": 0, "leads": 0, "pairs": 0, "best": 0}
    for run in range(result.runs):
        active = np.ones(instance.means.shape, bool)
        for row in result.events["it"].filter(run=run, snoozed=1).iter_rows(named=True):
            arm, behind, passed = row["arm"], row["behind"], row["passed"]
            asleep = slice(passed, int(min(row["until"], instance.horizon)))
            lead = instance.means[:, arm] - instance.means[:, behind]
            assert active[passed - 1, arm]
            assert active[passed - 1, behind]
            active[asleep, behind] = False
            found["snoozes"] += 1
            found["leads"] += lead[passed - 1] < row["lead"]
            found["pairs"] += bool((lead[asleep] < 0).any())
        found["best"] += int((np.where(active, instance.means, -1).max(axis=1) < instance.best_mean).sum())
    return found


def closing_gaps(horizon: int, drift: float, n_arms: int) -> db.Instance:
    """Two arms that close their gap as fast as they may, over and over; the others follow the worse, a little below."""
    two = closing_gap(horizon, drift, 0).means
    others = np.clip(two.min(axis=1)[:, None] - 0.02 * np.arange(1, n_arms - 1), 0, 1)
    return db.Instance(np.concatenate([two, others], axis=1), drift=drift)


@pytest.mark.parametrize(
    ("n_arms", "noise"),
    [(2, db.Gaussian(0.5)), (2, db.Bernoulli()), (3, db.Gaussian(0.5)), (5, db.Bernoulli()), (20, db.Gaussian(0.5))],
    ids=str,
)
def test_the_best_arm_is_never_snoozed(n_arms: int, noise: db.Noise) -> None:
    """As for SnoozeItTight above, with K - 1 times as many windows; and leads, chained, always reach an active arm."""
    horizon, drift = 100_000, 1e-5
    instances = [closing_gaps(horizon, drift, n_arms), db.instances.wave(horizon, drift, n_arms)]
    instances += [db.instances.walk(horizon=horizon, drift=drift, n_arms=n_arms, seed=seed) for seed in range(3)]
    snoozes = 0
    for instance in instances:
        policy = db.SnoozeItK(horizon=horizon, drift=drift)
        found = unsafe(instance, db.simulate({"it": policy}, instance, noise, runs=5, seed=1, events=True))
        snoozes += found.pop("snoozes")
        assert found == {"leads": 0, "pairs": 0, "best": 0}
    assert snoozes >= 250


@pytest.mark.parametrize("n_arms", [2, 3, 5])
def test_an_eager_test_does_snooze_the_best_arm(n_arms: int) -> None:
    """The property above can fail: with a radius ten times too small it does."""
    instance = closing_gaps(100_000, 1e-5, n_arms)
    policy = db.SnoozeItK(horizon=100_000, drift=1e-5, confidence=0.1)
    found = unsafe(instance, db.simulate({"it": policy}, instance, runs=10, seed=1, events=True))
    assert min(found.values()) > 0


@pytest.mark.parametrize("n_arms", [2, 3, 5, 20])
def test_leads_allow_for_every_step_and_for_no_more(n_arms: int) -> None:
    """Hardly any noise, hardly any radius: what is left of a lead is what the drift allows, and here it is just that.

    Rows of arms are pulled in between, so counting pulls instead of steps would promise too much.
    """
    instance = closing_gaps(20_000, 1e-4, n_arms)
    policy = db.SnoozeItK(instance.horizon, 1e-4, confidence=1e-6)
    result = db.simulate({"it": policy}, instance, db.Gaussian(1e-9), runs=1, events=True)
    found = unsafe(instance, result)
    assert found.pop("snoozes") > 20
    assert found == {"leads": 0, "pairs": 0, "best": 0}
    assert unsafe(instance, promising(result, 3e-4))["leads"] > 0


def promising(result: db.Simulation, by: float) -> db.Simulation:
    """The same events with leads that promise a little more."""
    import polars as pl

    return replace(result, events={"it": result.events["it"].with_columns(pl.col("lead") + by)})


def test_snoozes_pay() -> None:
    """Less regret than turns for all, and than AdSwitch, which is not told the drift but has the same scruples."""
    for n_arms in (3, 5, 10):
        for instance in (db.instances.wave(100_000, 1e-5, n_arms), db.instances.sinusoid(100_000, 2e-5, n_arms)):
            T, drift = instance.horizon, instance.drift_limit
            found = regret(instance, it=db.SnoozeItK(T, drift), turns=db.RoundRobin(), switch=db.AdSwitch(T))
            assert found["it"] < 0.75 * found["turns"]
            assert found["it"] < 0.8 * found["switch"]


# DriftUCB: indices are upper bounds, and not far above.


def misses(instance: db.Instance, risk: float, seed: int, kl: str = "gaussian") -> int:
    """Over a whole run, how many indices lie below their mean, or further above it than twice their slack."""
    drift, rng = instance.drift_limit, np.random.Generator(np.random.SFC64(seed))
    play = db.Online(db.DriftUCB(instance.horizon, drift, risk, kl), instance.n_arms)
    twin = NaiveDriftUCB(instance.n_arms, instance.horizon, drift, risk, kl)
    count = 0
    for t, means in enumerate(instance.means, start=1):
        for arm, mean in enumerate(means):
            index = play.state.arms[arm].index + drift * t
            slack = min((slack for _, slack in twin.bounds(arm)), default=np.inf)
            count += not -1e-12 <= index - mean <= slack + 1e-12
        arm = play.select()
        reward = means[arm] + 0.5 * rng.standard_normal()
        if kl == "bernoulli":
            reward = float(rng.random() < means[arm])
        play.update(arm, reward)
        twin.update(arm, reward)
    return count


def test_indices_of_driftucb_are_upper_bounds() -> None:
    """With risk R any index of a run fails with a chance under 20 R (2 + log2 T), here 3e-9, by the proof in docs/."""
    instances = [db.instances.sinusoid(1_000, drift=2e-3), db.instances.walk(1_000, drift=5e-3, n_arms=3, seed=1)]
    instances = [instance for instance in instances for _ in range(2)]
    assert [misses(instance, 1e-11, seed) for seed, instance in enumerate(instances)] == [0] * 4
    assert [misses(instance, 1e-11, seed, "bernoulli") for seed, instance in enumerate(instances)] == [0] * 4


def test_narrow_indices_are_not() -> None:
    instance = db.instances.sinusoid(1_000, drift=2e-3)
    assert misses(instance, 1e6, 0) > 0
    assert misses(instance, 1e6, 0, "bernoulli") > 0


@pytest.mark.parametrize("name", ["KalmanTS", "DriftUCB"])
def test_told_the_drift_they_beat_the_sliding_window(name: str) -> None:
    """On instances that tuned nothing: at most 0.7 of SW-UCB#'s regret, told the same."""
    played_on = [db.instances.toggling(60_000), db.instances.sinusoid(60_000, 1e-4), db.instances.walk(60_000, 1e-4)]
    for instance in played_on:
        drift = instance.drift_limit
        policies = {"it": make(name, instance.horizon, drift), "window": db.SWUCBSharp(instance.horizon, drift)}
        result = db.simulate(policies, instance, runs=10)
        assert result.regret["it"][:, -1].mean() < 0.7 * result.regret["window"][:, -1].mean()


def make(name: str, horizon: int, drift: float) -> db.Policy:
    return db.KalmanTS(drift) if name == "KalmanTS" else db.DriftUCB(horizon, drift)


# AutoTS: told nothing, whatever comes.


@dataclass(frozen=True)
class Shifted(db.Noise):
    """Rewards in another unit, from another origin, now and then with an outlier."""

    scale: float = 1.0
    offset: float = 0.0
    outliers: float = 0.0
    size: float = 1e6

    def draw(self, mean: float, rng: np.random.Generator) -> float:
        usual = mean + 0.5 * rng.standard_normal()
        wild = rng.random() < self.outliers
        return self.offset + self.scale * (self.size if wild else usual)


def regret(instance: db.Instance, noise: db.Noise | None = None, runs: int = 10, **policies: Any) -> dict[str, float]:
    result = db.simulate(policies or {"auto": db.AutoTS()}, instance, noise, runs=runs)
    return {name: float(curves[:, -1].mean()) for name, curves in result.regret.items()}


@pytest.mark.parametrize(("scale", "offset"), [(1_000.0, 0.0), (1_000.0, -5_000.0), (1e-6, 0.0), (0.01, 3.0)])
def test_the_unit_of_rewards_does_not_matter(scale: float, offset: float) -> None:
    """Powers of two would change no bit; other factors change rounding, so a draw in billions may fall otherwise."""
    for instance in (db.instances.toggling(20_000), db.instances.stationary(5_000, (0.6, 0.4, 0.5))):
        usual = db.simulate({"auto": db.AutoTS()}, instance, Shifted(), runs=4)
        other = db.simulate({"auto": db.AutoTS()}, instance, Shifted(scale, offset), runs=4)
        np.testing.assert_allclose(other.regret["auto"][:, -1], usual.regret["auto"][:, -1], rtol=0.1)


def test_outliers_do_little_harm() -> None:
    """A millionfold reward once in 10,000 steps, and still half the regret of a window that never meets one."""
    instance = db.instances.sinusoid(100_000, 1e-4)
    window = db.SWUCBSharp(instance.horizon, 1e-4)
    best = regret(instance, window=window)["window"]
    assert regret(instance, Shifted(outliers=1e-4))["auto"] < 0.75 * best
    assert regret(instance, Shifted(outliers=1e-4, size=-1e6))["auto"] < 0.75 * best


def test_rare_successes() -> None:
    """Successes once in hundreds of steps: the best arm is found, and choosing at random would cost four times more."""
    instance = db.instances.stationary(100_000, (0.002, 0.006, 0.001, 0.003))
    found = regret(instance, db.Bernoulli(), runs=20, auto=db.AutoTS(), uniform=db.Uniform())
    assert found["auto"] < 0.25 * found["uniform"]


@pytest.mark.parametrize("means", [(0.6, 0.4), (0.9, 0.5, 0.7), tuple(np.linspace(0.1, 0.9, 10))])
@pytest.mark.parametrize("noise", [db.Gaussian(0.5), db.Bernoulli()], ids=["gaussian", "bernoulli"])
def test_arms_that_stand_still(means: tuple[float, ...], noise: db.Noise) -> None:
    """At most half as much again as Thompson sampling that knows they do, and knows the noise."""
    found = regret(db.instances.stationary(40_000, means), noise, 60, auto=db.AutoTS(), still=db.KalmanTS(0.0))
    assert found["auto"] < 1.5 * found["still"]


@dataclass(frozen=True)
class Stakes(db.Noise):
    """A coin that pays 250 or costs 30."""

    def draw(self, mean: float, rng: np.random.Generator) -> float:
        return 250.0 if rng.random() < mean else -30.0


@pytest.mark.parametrize("means", [(0.84, 0.97, 0.5), (0.99, 0.9), (0.03, 0.01, 0.02)])
def test_coins_near_one_and_zero(means: tuple[float, ...]) -> None:
    """At most half as much again as Thompson sampling with Beta posteriors; what a coin pays doesn't matter."""
    instance = db.instances.stationary(60_000, means)
    beta = db.ThompsonSampling(posterior="beta")
    found = regret(
        instance, db.Bernoulli(), 60, auto=db.AutoTS(), kalman=db.KalmanTS(0.0, posterior="beta"), still=beta
    )
    assert found["auto"] < 1.5 * found["still"]
    assert found["kalman"] < 1.25 * found["still"]
    assert regret(instance, Stakes(), 60)["auto"] == pytest.approx(found["auto"], rel=0.05)


def test_drift_it_was_not_told() -> None:
    """At most half the regret of SW-UCB# told T and the drift: slow, fast, one arm of two, many arms, jumps."""
    t = np.arange(100_000)
    one_drifts = db.Instance(np.stack([0.5 + 0.4 * np.sin(2e-4 * t), np.full(len(t), 0.5)], axis=1))
    instances = [
        db.instances.toggling(100_000),
        db.instances.separated(100_000),
        db.instances.sinusoid(100_000, 2e-5),
        db.instances.sinusoid(100_000, 3e-4),
        db.instances.walk(100_000, 1e-4, n_arms=20),
        db.instances.wave(100_000, 1e-4),
        one_drifts,
        db.instances.abrupt(100_000, n_arms=5),
    ]
    for instance in instances:
        window = db.SWUCBSharp(instance.horizon, instance.drift_limit)
        found = regret(instance, auto=db.AutoTS(), window=window)
        assert found["auto"] < 0.55 * found["window"], instance


def test_constant_rewards_are_no_trap() -> None:
    """A constant arm and one that is better but failed at first: noise can't be learnt from the first alone."""
    play = db.Online(db.AutoTS(), 2, seed=3)
    rng = np.random.Generator(np.random.SFC64(5))
    pulls = np.zeros(2, int)
    for step in range(3_000):
        arm = play.select()
        reward = 0.5 if arm == 0 else float(step > 5 and rng.random() < 0.9)
        play.update(arm, reward)
        pulls[arm] += 1
    assert pulls[1] > 2_000

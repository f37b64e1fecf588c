"""The policies beyond the paper against plain twins on whole trajectories."""

from __future__ import annotations

import math
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
import scipy.special
from hypothesis import example, given
from hypothesis import strategies as st

import driftbandits as db
from driftbandits.policies._parts import pair_windows, snooze_windows
from many_examples import examples
from naive_beyond import NaiveAutoTS, NaiveDriftUCB, NaiveKalmanTS, NaiveSnoozeItK, NaiveSnoozeItTight, windows
from taking import cut, unlimited

KINDS = ["gaussian", "bernoulli", "rare", "sure", "safe", "constant", "jump", "outliers", "shifted"]


def rewards_of(kind: str, seed: int, steps: int, n_arms: int) -> np.ndarray[Any, Any]:
    rng = np.random.Generator(np.random.SFC64(seed))
    means = 0.5 + 0.4 * np.sin(0.01 * np.arange(steps)[:, None] + np.arange(n_arms))
    noisy = means + 0.5 * rng.standard_normal((steps, n_arms))
    if kind == "bernoulli":
        return np.asarray(rng.random((steps, n_arms)) < means, dtype=float)
    if kind == "rare":
        return np.asarray(rng.random((steps, n_arms)) < 0.01 * means, dtype=float)
    if kind == "sure":
        return np.where(rng.random((steps, n_arms)) < 0.97, 0.7, 0.1)
    if kind == "safe":
        return np.where(np.arange(n_arms) == 0, 0.5, rng.random((steps, n_arms)) < means)
    if kind == "constant":
        return np.tile(rng.random(n_arms), (steps, 1))
    if kind == "jump":
        return np.asarray(rng.random((2, n_arms)).repeat([steps - steps // 2, steps // 2], axis=0))
    if kind == "outliers":
        return np.asarray(np.where(rng.random((steps, n_arms)) < 0.02, 1e6 * noisy, noisy))
    return np.asarray(1_000 * noisy - 5_000 if kind == "shifted" else noisy)


SHARED = {
    "kind": st.sampled_from(KINDS),
    "seed": st.integers(0, 2**32),
    "steps": st.integers(1, 300),
    "n_arms": st.integers(2, 5),
}


def follow(play: db.Online, twin: Any, rewards: np.ndarray[Any, Any], seed: int) -> None:
    """Every arm that the policy chooses must have the largest number that the twin draws, but for rounding."""
    rng = np.random.Generator(np.random.SFC64(seed))
    scale = float(np.abs(rewards).max())
    for row in rewards:
        arm, draws = play.select(), twin.draws(rng)
        assert draws[arm] >= max(draws) - 1e-9 * scale
        play.update(arm, row[arm])
        twin.update(arm, row[arm])


def check_belief(play: db.Online, twin: Any, tolerance: float, quantile: float = 1.96) -> None:
    """What the policy says it thinks of each arm is what it would draw from next."""
    found, unknown = play.policy.belief(play.state), (math.nan, math.nan)
    mean, variance = np.array([mine or unknown for mine in twin.posteriors()]).T
    reach = quantile * np.sqrt(variance)
    slack = tolerance + (0.0 if quantile == 1.96 else 0.006 * np.nanmax(reach))  # Student's quantile is a series there
    for mine, wanted in zip(found[:3], (mean, mean - reach, mean + reach), strict=True):
        np.testing.assert_allclose(mine, wanted, rtol=1e-6, atol=slack)
    if np.isfinite(mean).all():
        second, first = np.sort(found.estimate)[-2:]
        assert found.gap == first - second
    else:
        assert found.gap is None


@examples(50)
@given(
    **SHARED,
    drift=st.sampled_from([0.0, 1e-5, 1e-3, 0.1]),
    sigma=st.sampled_from([0.1, 0.5, 3.0]),
    posterior=st.sampled_from(["gaussian", "beta"]),
)
def test_kalmants(kind: str, seed: int, steps: int, n_arms: int, drift: float, sigma: float, posterior: str) -> None:
    policy = db.KalmanTS(drift, sigma, posterior)
    play = unlimited(policy, n_arms, seed)
    twin = NaiveKalmanTS(n_arms, drift, sigma, posterior)
    rewards = cut(policy, rewards_of(kind, seed, steps, n_arms))
    follow(play, twin, rewards, seed)
    check_belief(play, twin, 1e-9 * float(np.abs(rewards).max()))


def check_autots_belief(play: db.Online, twin: Any, tolerance: float) -> None:
    """Coins as the twin's; else the deviation is learnt from t - k differences, and from nothing if all are equal."""
    run, pulled = play.state.run[0], int((play.state.arms.last > 0).sum())
    if run.values == 1:
        low, high = play.policy.belief(play.state)[1:3]
        assert np.isneginf(low).sum() == np.isposinf(high).sum() == pulled
    elif run.coin:
        check_belief(play, twin, tolerance)
    elif run.values > 2 or run.t <= 2:
        check_belief(play, twin, tolerance, float(scipy.special.stdtrit(max(int(run.t) - pulled, 1), 0.975)))


@examples(50)
@given(**SHARED)
def test_autots(kind: str, seed: int, steps: int, n_arms: int) -> None:
    play, twin = db.Online(db.AutoTS(), n_arms, seed), NaiveAutoTS(n_arms)
    rewards = rewards_of(kind, seed, steps, n_arms)
    follow(play, twin, rewards, seed)
    np.testing.assert_allclose(play.state.pooled, twin.pool, rtol=1e-6)
    check_autots_belief(play, twin, 1e-6 * float(np.abs(rewards).max()))
    for arm, mine in enumerate(twin.arms):
        if mine is not None:
            np.testing.assert_allclose(play.state.weight[arm], mine["w"], rtol=1e-6)
            np.testing.assert_allclose(play.state.spread[arm], mine["c"], rtol=1e-6)


@pytest.mark.parametrize("kind", ["gaussian", "bernoulli", "outliers"])
def test_autots_forgets_noise_of_long_ago(kind: str) -> None:
    """Longer than the 3,000 pulls that are remembered; the pulls go to one arm most of the time."""
    rewards = rewards_of(kind, seed=7, steps=4_500, n_arms=2) + np.where(np.arange(2) == 0, 0.0, -2.0)
    play, twin = db.Online(db.AutoTS(), 2, 7), NaiveAutoTS(2)
    follow(play, twin, rewards, 7)
    assert max(own.pulls for own in twin.squares) == 3_000
    np.testing.assert_allclose(play.state.arms.noise, [own.mean for own in twin.squares], rtol=1e-6)
    run = play.state.run[0]
    np.testing.assert_allclose([run.center, run.total_variance], [twin.rewards.mean, twin.rewards.variance], rtol=1e-6)
    check_autots_belief(play, twin, 1e-6 * float(np.abs(rewards).max()))


def test_autots_expects_ever_fewer_changes_but_some() -> None:
    """s = max(1e-5, min(0.05, 1/t)) after t steps."""
    play, seen = db.Online(db.AutoTS(), 2), {}
    for t in range(1, 100_102):
        play.update(t % 2, float(t % 3))
        if t in (1, 19, 20, 21, 30, 99_999, 100_000, 100_001, 100_101):
            seen[t] = play.state.run[0].switching
    assert seen == {t: max(1e-5, min(0.05, 1 / t)) for t in seen}
    assert len(set(seen.values())) == 5


def test_autots_pulls_equals_in_turn() -> None:
    play, pulled = db.Online(db.AutoTS(), 3), []
    for _ in range(30):
        pulled.append(play.select())
        play.update(pulled[-1], 0.5)
    assert pulled == [0, 1, 2] * 10


def test_parameters_of_autots() -> None:
    """The gain g = c/(1 + c) of a filter that has run for long, by its own recursion c <- g + kappa."""
    chosen = db.AutoTS().parameters(2)
    for name, kappa in (("slowest_gain", 8.0**-8), ("fastest_gain", 8.0**-2)):
        c = 0.0
        for _ in range(50_000):
            c = c / (1 + c) + kappa
        assert chosen[name] == pytest.approx(c / (1 + c), rel=1e-9)
    assert chosen["filters"] == len(db.AutoTS().init(2).walk) == 8


def test_autots_takes_arms_for_coins_as_long_as_rewards_have_two_values() -> None:
    play = db.Online(db.AutoTS(), 2)
    steps = [(0, 5.0, False), (1, -1.0, False), (0, 5.0, False), (1, 5.0, True), (0, -1.0, True), (1, 0.0, False)]
    for arm, reward, coin in [*steps, (0, 5.0, False)]:
        play.update(arm, reward)
        assert play.state.run.coin[0] == coin


@examples(50)
@given(
    **SHARED,
    drift=st.sampled_from([0.0, 1e-5, 1e-3, 0.1]),
    risk=st.sampled_from([1e-6, 1.0, 1e4]),
    form=st.sampled_from(["gaussian", "bernoulli"]),
    horizon=st.sampled_from([1, 4, 1_000, 10**9]),
)
@example(kind="gaussian", seed=1, steps=300, n_arms=3, drift=1e-3, risk=1e4, form="bernoulli", horizon=1_000)
@example(kind="gaussian", seed=1, steps=300, n_arms=3, drift=1e-3, risk=1.0, form="gaussian", horizon=1_000)
def test_driftucb(
    kind: str, seed: int, steps: int, n_arms: int, drift: float, risk: float, form: str, horizon: int
) -> None:
    steps = min(steps, horizon)
    policy = db.DriftUCB(horizon, drift, risk, form)
    play, rewards = unlimited(policy, n_arms, seed), cut(policy, rewards_of(kind, seed, steps, n_arms))
    twin = NaiveDriftUCB(n_arms, horizon, drift, risk, form)
    close = 1e-9 * (1 + np.abs(rewards).max())
    for row in rewards:
        arm, indices, mine = play.select(), twin.indices(), play.state.arms.index
        assert arm == np.flatnonzero(mine == mine.max())[0]
        np.testing.assert_allclose(mine + drift * (twin.t + 1), indices, rtol=0, atol=close)
        play.update(arm, row[arm])
        twin.update(arm, row[arm])


@pytest.mark.parametrize(("horizon", "drift"), [(1, 0.5), (6, 0.0), (7, 0.0), (1_000, 1e-9), (162_755, 1 / 4_800)])
def test_parameters_of_driftucb(horizon: int, drift: float) -> None:
    """Radii of one pull and of w0 pulls, by the formulas of the docstring."""
    chosen = db.DriftUCB(horizon, drift, risk=0.5).parameters(3)
    w0 = min(horizon, drift ** (-2 / 3)) if drift else horizon
    m = max(2**i for i in range(20) if 2 * 2**i - 1 <= w0)
    x, x0 = (1.03 * max(1, math.log(3 * horizon / (0.5 * size) * max(1, w0 / size))) for size in (1, m))
    assert chosen["window"] == pytest.approx(w0)
    assert chosen["radius"] == pytest.approx(math.sqrt(x / 2), rel=1e-3)
    assert chosen["radius_of_window"] == pytest.approx(math.sqrt(x0 / (2 * w0)), rel=1e-3)


def test_windows_of_driftucb() -> None:
    """As the proof needs: every n up to the number of pulls has a window in [n/2, n]; and a window whose oldest
    block has m pulls has 2 m - 1 to 4 m - 2, and begins after a multiple of m."""
    for pulls in range(1, 600):
        found = windows(pulls)
        assert found[-1] == pulls
        assert len(found) <= 2 * math.log2(pulls + 1)
        assert all(any(n / 2 <= w <= n for w in found) for n in range(1, pulls + 1))
        for newer, w in zip([0, *found], found, strict=False):
            assert 2 * (w - newer) - 1 <= w <= 4 * (w - newer) - 2
            assert (pulls - w) % (w - newer) == 0


@examples(150)
@given(
    kind=st.sampled_from(["gaussian", "bernoulli"]),
    seed=st.integers(0, 2**32),
    steps=st.integers(50, 900),
    gap=st.sampled_from([0.0, 0.3, 1.0]),
    swing=st.sampled_from([0.0, 0.003, 0.05]),
    horizon=st.sampled_from([1, 2, 20, 1_000, 162_755]),
    drift=st.sampled_from([0.0, 1e-5, 1e-4, 1e-3, 1e-2, 0.1]),
    confidence=st.sampled_from([0.1, 0.3, 1.0]),
)
@example(kind="gaussian", seed=1, steps=400, gap=0.3, swing=0.003, horizon=20, drift=0.1, confidence=0.3)
def test_snoozeittight(
    kind: str, seed: int, steps: int, gap: float, swing: float, horizon: int, drift: float, confidence: float
) -> None:
    rng = np.random.Generator(np.random.SFC64(seed))
    moving = gap * np.cos(swing * np.arange(steps))
    means = np.stack([0.5 + 0.5 * moving, 0.5 - 0.5 * moving], axis=1)
    rewards = means + 0.5 * rng.standard_normal((steps, 2))
    if kind == "bernoulli":
        rewards = (rng.random((steps, 2)) < means).astype(float)
    play, twin = (
        db.Online(db.SnoozeItTight(horizon, drift, confidence), 2),
        NaiveSnoozeItTight(horizon, drift, confidence),
    )
    with patch.object(snooze_windows, "ROOM", 1):  # so that the sums are full, grow and shrink all the time
        follow_events(play, twin, rewards)
    mine, other = play.policy.belief(play.state), twin.belief()
    assert (mine.gap, mine.threshold, mine.window) == pytest.approx(other[:3])
    assert [tuple(snooze) for snooze in mine.snoozed] == [pytest.approx(snooze) for snooze in other[3]]


def test_snoozeittight_remembers_nothing_of_a_phase_that_is_over() -> None:
    play = db.Online(db.SnoozeItTight(1_000, 0.0), 2)
    for _ in range(20_000):
        arm = play.select()
        play.update(arm, float(arm))
    assert play.policy.belief(play.state).snoozed[0].arm == 0
    assert len(play.state.sums) < 3_000


def follow_events(play: db.Online, twin: Any, rewards: np.ndarray[Any, Any]) -> list[dict[str, Any]]:
    """Every arm and every event must agree."""
    events: list[dict[str, Any]] = []
    for step, row in enumerate(rewards):
        arm = play.select()
        assert arm == twin.select(), f"another arm at step {step + 1}"
        play.update(arm, row[arm])
        twin.update(arm, row[arm])
        event = play.state.event[0]
        if event.count > len(events):
            events.append({name: event[name].item() for name in event.dtype.names})
    assert len(events) == len(twin.events)
    for mine, other in zip(events, twin.events, strict=True):
        assert all(math.isclose(mine[name], value, rel_tol=1e-9) for name, value in other.items()), (mine, other)
    return events


def waving(kind: str, seed: int, steps: int, n_arms: int, gap: float, swing: float) -> np.ndarray[Any, Any]:
    """Rewards of arms that take turns in being the best."""
    rng = np.random.Generator(np.random.SFC64(seed))
    phase = 2 * np.pi * np.arange(n_arms) / n_arms
    means = 0.5 + 0.5 * gap * np.cos(swing * np.arange(steps)[:, None] + phase)
    if kind == "bernoulli":
        return (rng.random((steps, n_arms)) < means).astype(float)
    return np.asarray(means + 0.5 * rng.standard_normal((steps, n_arms)))


@examples(150)
@given(
    kind=st.sampled_from(["gaussian", "bernoulli"]),
    seed=st.integers(0, 2**32),
    steps=st.integers(50, 600),
    n_arms=st.sampled_from([2, 3, 4, 5, 8, 20]),
    gap=st.sampled_from([0.0, 0.3, 1.0]),
    swing=st.sampled_from([0.0, 0.003, 0.05]),
    horizon=st.sampled_from([1, 2, 20, 1_000, 162_755]),
    drift=st.sampled_from([0.0, 1e-5, 1e-4, 1e-3, 1e-2]),
    confidence=st.sampled_from([0.05, 0.1, 0.3, 1.0]),
)
def test_snoozeitk(
    kind: str, seed: int, steps: int, n_arms: int, gap: float, swing: float, horizon: int, **options: float
) -> None:
    twin = NaiveSnoozeItK(n_arms, horizon, **options)
    with patch.object(pair_windows, "ROOM", 1):  # so that the ring of pulls is full, grows and shrinks all the time
        play = db.Online(db.SnoozeItK(horizon, **options), n_arms)
        follow_events(play, twin, waving(kind, seed, steps, n_arms, gap, swing))


def test_the_comparison_meets_every_kind_of_snooze() -> None:
    """By an arm pulled just now or earlier, of the arm pulled just now or another; none at all; and arms that wake."""
    seen = set()
    for seed in range(10):
        for drift in (3e-4, 1e-2, 1e-1):
            play, twin = db.Online(db.SnoozeItK(1_000, drift, 0.2), 4), NaiveSnoozeItK(4, 1_000, drift, 0.2)
            for event in follow_events(play, twin, waving("gaussian", seed, 600, 4, 1.0, 0.01)):
                last = max(
                    range(4), key=lambda arm: max((s for s, _ in twin.pulls[arm] if s <= event["passed"]), default=0)
                )
                seen.add((event["snoozed"], event["arm"] == last, event["behind"] == last))
                assert event["until"] >= event["passed"] > event["start"]
    assert {(1, True, False), (1, False, True), (1, False, False)} <= seen
    assert any(not snoozed for snoozed, _, _ in seen)


@pytest.mark.parametrize("drift", [0.0, 1e-5, 1 / 4_800, 1e-2])
def test_snoozeitk_of_two_arms_is_snoozeittight(drift: float) -> None:
    """Arm by arm, event by event; sums are added up in another order, so leads may differ by rounding."""
    played = [db.instances.toggling(30_000), db.instances.walk(30_000, 1e-4), db.instances.stationary(30_000)]
    for instance in played:
        for noise in (db.Gaussian(0.5), db.Bernoulli()):
            policies = {"K": db.SnoozeItK(30_000, drift), "two": db.SnoozeItTight(30_000, drift)}
            result = db.simulate(policies, instance, noise, runs=5, events=True)
            assert np.array_equal(result.realised["K"], result.realised["two"])
            mine, other = result.events["K"].drop("behind"), result.events["two"]
            assert mine.columns == other.columns
            np.testing.assert_allclose(mine.to_numpy(), other.to_numpy(), rtol=1e-9)
            assert len(mine) > 0


def test_snoozeitk_remembers_no_more_than_windows_need() -> None:
    """One arm of 20 stays, the others are snoozed; memory follows the pairs that are compared, not the horizon."""
    play = db.Online(db.SnoozeItK(horizon=10**9, drift=1e-7, confidence=0.1), 20)
    for _ in range(30_000):
        play.update(play.select(), 0.5)
    assert len(play.state.pulls) > 30_000
    for _ in range(30_000):
        arm = play.select()
        play.update(arm, 0.9 if arm == 7 else 0.1)
    assert play.state.arms.active.tolist() == [int(arm == 7) for arm in range(20)]
    assert len(play.state.pulls) <= 4 * pair_windows.ROOM


def test_snoozeitk_without_drift_never_wakes_an_arm() -> None:
    """K = 20, delta = 0: every arm but the best is left for good, and the best never."""
    instance = db.instances.stationary(60_000, (0.1,) * 12 + (0.9,) + (0.2,) * 7)
    result = db.simulate({"it": db.SnoozeItK(60_000, 0.0)}, instance, runs=5, events=True)
    events = result.events["it"]
    assert len(events) == 5 * 19
    assert events["until"].is_infinite().all()
    assert 12 not in events["behind"]
    assert (result.pulls["it"][:, 12] > 50_000).all()


def test_snoozeitk_needs_two_arms() -> None:
    with pytest.raises(db.InputError, match="SnoozeItK is defined for at least 2 arms, not for 1"):
        db.SnoozeItK(1_000, 1e-3).init(1)


@pytest.mark.parametrize("n_arms", [2, 5, 20])
def test_a_horizon_of_one_step(n_arms: int) -> None:
    """ln 1 = 0 makes every radius 0; the one step pulls the first arm, and playing on does no harm."""
    play = db.Online(db.SnoozeItK(1, 0.5), n_arms)
    assert play.select() == 0
    for _ in range(100):
        arm = play.select()
        play.update(arm, arm / n_arms)
    assert play.state.run[0].t == 100

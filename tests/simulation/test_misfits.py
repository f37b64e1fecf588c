"""Policies that cannot do what they are for on an instance are warned of, in every way of playing them."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import driftbandits as db
from commands import driftbandits
from driftbandits.errors import FeasibilityWarning
from driftbandits.live.session import Session
from driftbandits.offline.recorded import play_recorded

RISE = db.Instance(np.c_[np.linspace(0.3, 0.554, 3_000), np.full(3_000, 0.3)], name="good")
NARROW = db.Instance(np.broadcast_to([0.7, 0.3], (20_000, 2)), name="narrow")


def warned(call: Callable[[], Any]) -> list[str]:
    """What a call warns of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    assert all(issubclass(each.category, FeasibilityWarning) for each in caught)
    return [str(each.message) for each in caught]


def simulated(instance: db.Instance, **policies: Any) -> list[str]:
    return warned(lambda: db.simulate(policies, instance, runs=20, progress=False))


def test_a_policy_that_cannot_snooze_there_is_warned_of_once() -> None:
    said = simulated(RISE, mine=db.SnoozeIt(3_000, 9e-5), other=db.AutoTS())
    assert len(said) == 1
    assert said[0].startswith("policy 'mine': SnoozeIt (modified) is round robin on 'good': the largest gap between")
    assert "is 0.254, and without noise a snooze needs one above 0.5" in said[0]
    assert "Take confidence=0.29, or another policy, such as BreakEven." in said[0]
    assert simulated(RISE, mine=db.SnoozeIt(3_000, 9e-5, confidence=0.1)) == []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        hopeless = db.SnoozeIt(3_000, 0.01)
    assert simulated(RISE, mine=hopeless) == [], "it was said when it was made"


def test_one_run_alone_is_warned_of_too() -> None:
    (said,) = warned(lambda: db.trajectory(db.SnoozeIt(3_000, 9e-5), RISE))
    assert said.startswith("policy 'SnoozeIt': SnoozeIt (modified) is round robin on 'good': the largest gap between")
    assert warned(lambda: db.trajectory(db.AutoTS(), RISE)) == []


def test_one_that_might_have_snoozed_and_did_not_is_warned_of_too() -> None:
    for policy in (db.SnoozeIt(20_000, 5e-5), db.SnoozeItTight(3_000, 9e-5), db.SnoozeItK(3_000, 9e-5)):
        instance = NARROW if isinstance(policy, db.SnoozeIt) else RISE
        result = db.simulate({"it": policy}, instance, runs=20, progress=False)
        turns = db.simulate({"it": db.RoundRobin()}, instance, runs=20, progress=False)
        assert np.array_equal(result.regret["it"], turns.regret["it"])
        (said,) = simulated(instance, it=policy)
        assert said.startswith("policy 'it': it snoozed no arm in any of 20 runs, so it was round robin: the gaps of")
    assert simulated(NARROW, turns=db.RoundRobin(), it=db.SnoozeIt(20_000, 5e-5, confidence=0.5)) == []


@pytest.mark.parametrize("first", [5_001, 40_000])
def test_doubling_a_policy_that_snoozes_is_warned_of_too(first: int) -> None:
    """Each stage begins with the first arm again, so pulls of arms differ by one per stage at most."""
    (said,) = simulated(NARROW, it=db.Doubling(db.SnoozeIt(first, 5e-5)))
    assert said.startswith("policy 'it': it snoozed no arm in any of 20 runs, so it was round robin: the gaps of")
    assert simulated(NARROW, it=db.Doubling(db.SnoozeIt(first, 5e-5, confidence=0.3))) == []


@pytest.mark.parametrize(
    ("policy", "sigma", "limit"),
    [
        (db.UCB1(), 0.6, "0.5"),
        (db.Doubling(db.DriftUCB(100, 1e-3)), 0.6, "0.5"),
        (db.KLUCB(kl="gaussian", sigma=0.2), 0.3, "0.2"),
        (db.SWTS(window=100, sigma=2.0), 2.1, "2"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_noise_that_is_louder_than_a_policy_is_defined_for_is_warned_of(policy: Any, sigma: float, limit: str) -> None:
    instance, quiet = db.instances.toggling(200, drift=1e-3), float(limit)
    name = type(policy).__name__

    def said(sigma: float, instance: db.Instance = instance) -> list[list[str]]:
        noise = db.Gaussian(sigma)
        return [
            warned(lambda: db.simulate({"it": policy, "any": db.AutoTS()}, instance, noise, runs=2, progress=False)),
            warned(lambda: db.trajectory(policy, instance, noise)),
        ]

    for (found,) in said(sigma):
        assert found.endswith(
            f"{name} is defined for noise of standard deviation {limit} at most; got {sigma:g}: take less noise, or a "
            "policy that learns it, such as BreakEven"
        )
    assert said(quiet) == [[], []]
    if policy.rewards.rescaled:
        wide = db.Instance(instance.means * 10, reward_range=(0, 10))
        for (found,) in said(sigma * 10, wide):
            assert f"{limit} at most, on the scale of [0, 1]; got {sigma:g}" in found
        assert said(quiet * 10, wide) == [[], []]


def test_a_sweep_notes_noise_that_is_too_loud() -> None:
    grid = {"policy": ["UCB1", "AutoTS"], "instance": "stationary", "horizon": 50, "noise": "gaussian"}
    (note,) = db.Sweep({**grid, "sigma": [0.5, 1.0]}, runs=2)._notes
    assert note.startswith("in 1 of 4 cells: UCB1 is defined for noise of standard deviation 0.5 at most; got 1")


def test_a_horizon_that_is_too_short_is_warned_of() -> None:
    instance = db.instances.toggling(3_000, drift=1e-3)
    policies = {"short": db.DriftUCB(100, 1e-3), "long": db.DriftUCB(5_000, 1e-3), "none": db.AutoTS()}
    (said,) = simulated(instance, **policies)
    assert said.startswith("policy 'short': DriftUCB was told horizon=100 and is to play 3,000 steps")
    assert "give it horizon=3000, or make it Doubling(...)" in said
    assert simulated(instance, growing=db.Doubling(db.DriftUCB(100, 1e-3)), window=db.SWUCB(window=10, xi=1.0)) == []


def test_replays_warn_of_short_horizons() -> None:
    rng = np.random.default_rng(0)
    log = pl.DataFrame(
        {"step": range(2_000), "arm": rng.integers(0, 2, 2_000), "reward": rng.random(2_000), "probability": 0.5}
    )
    policies = {"short": db.DriftUCB(100, 1e-3), "long": db.DriftUCB(1_000, 1e-3)}
    (said,) = warned(lambda: db.replay(log, policies, replicates=2, progress=False))
    assert said.startswith("policy 'short': DriftUCB was told horizon=100 and is to play 1,000 steps")
    (said,) = warned(lambda: play_recorded({"short": db.DriftUCB(100, 1e-3)}, "ad-prices-cpm", starts=1))
    assert said.startswith("policy 'short': DriftUCB was told horizon=100")


def test_a_session_says_once_that_its_horizon_is_over() -> None:
    session = db.Session(db.DriftUCB(10, 1e-3), ["a", "b"])

    def play(session: Session, rounds: int) -> None:
        for _ in range(rounds):
            session.tell(session.ask(), 1.0)

    assert warned(lambda: play(session, 9)) == []
    assert session.past_horizon() is None
    assert warned(lambda: play(session, 1)) == []
    assert (session.past_horizon() or "").startswith("DriftUCB was told horizon=10 and has learnt 10 rewards, beyond")
    assert warned(lambda: play(session, 5)) == [
        "DriftUCB was told horizon=10 and has learnt 10 rewards, beyond which it was not tuned: change to a policy "
        "without a horizon, such as BreakEven, or to a longer horizon"
    ]
    restored = db.Session.restore(session.snapshot())
    assert len(warned(lambda: play(restored, 5))) == 1
    session.change(policy=db.DriftUCB(100, 1e-3))
    assert session.past_horizon() is None
    assert warned(lambda: play(session, 50)) == []


def test_an_online_run_says_once_that_its_horizon_is_over() -> None:
    def play(online: db.Online, steps: int) -> None:
        for _ in range(steps):
            online.update(online.select(), 1.0)

    online = db.Online(db.DriftUCB(10, 1e-3), 2)
    assert warned(lambda: play(online, 10)) == []
    (said,) = warned(lambda: play(online, 5))
    assert said == (
        "DriftUCB was told horizon=10 and has learnt 11 rewards, beyond which it was not tuned: take a policy that "
        "needs no horizon, such as BreakEven, or a longer horizon"
    )
    assert warned(lambda: play(copy.deepcopy(online), 5)) == [said.replace("11", "16")]
    for endless in (db.AutoTS(), db.Doubling(db.DriftUCB(10, 1e-3))):
        assert warned(lambda endless=endless: play(db.Online(endless, 2), 30)) == []  # type: ignore[misc]


def test_the_command_chooses_what_snoozes_there_and_says_why(tmp_path: Path) -> None:
    RISE.save(tmp_path / "good.csv")
    answer = driftbandits("simulate", tmp_path / "good.csv", "--runs", 2)
    assert "SnoozeIt" not in answer.stdout
    assert "SWUCBSharp" in answer.stdout
    assert "note: no policy that snoozes is played, since SnoozeIt (modified) is round robin on 'good'" in answer.stderr
    assert "SnoozeItTight snoozes no arm of 'good' even without noise." in answer.stderr
    chosen = driftbandits("simulate", tmp_path / "good.csv", "--runs", 2, "--set", "SnoozeItTight.confidence=0.3")
    assert "SnoozeItTight" in chosen.stdout
    assert "note: SnoozeItTight is played, since SnoozeIt (modified) is round robin on 'good'" in chosen.stderr
    asked = driftbandits("simulate", tmp_path / "good.csv", "--runs", 2, "--policy", "SnoozeIt")
    assert "note: policy 'SnoozeIt': SnoozeIt (modified) is round robin on 'good'" in asked.stderr
    NARROW.save(tmp_path / "narrow.csv")
    narrow = driftbandits("simulate", tmp_path / "narrow.csv", "--runs", 2, "--drift", 5e-5)
    assert "SnoozeIt snoozes no arm of 'narrow' even without noise." in narrow.stderr
    assert "note: SnoozeItTight is played" in narrow.stderr
    wide = driftbandits("simulate", "stationary", "--set", "stationary.means=(0.9,0.1)", "--runs", 2)
    assert "note: SnoozeIt is played: it snoozes an arm of 'stationary'" in wide.stderr


@pytest.mark.parametrize("horizon", [3_000, 100_000])
def test_a_sweep_notes_what_cannot_snooze(horizon: int) -> None:
    grid = {"policy": ["SnoozeIt", "RoundRobin"], "instance": "stationary", "means": [[0.51, 0.49]]}
    said = db.Sweep({**grid, "horizon": horizon}, runs=2)._notes
    assert len(said) == 1
    assert said[0].startswith("in 1 of 2 cells: SnoozeIt (modified) is round robin on 'stationary'")
    horizons = {"policy_horizon": [100], "instance_horizon": [horizon, 100]}
    (note,) = db.Sweep({"policy": "DriftUCB", "instance": "toggling", **horizons}, runs=2)._notes
    assert note.startswith(f"in 1 of 2 cells: DriftUCB was told horizon=100 and is to play {horizon:,} steps")

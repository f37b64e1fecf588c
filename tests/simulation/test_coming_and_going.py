"""Instances whose arms come and go: runs are their plain twin's, regret is against the best arm that is there."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import driftbandits as db
import naive_studies
from driftbandits._numba.player import Player
from driftbandits.policies import make_policy
from driftbandits.simulation.changing import first_arms, play_steps
from driftbandits.simulation.engine import COMPILED_CHUNK, NOISE, OWN, Job, stream
from lively import lively
from naive_changing import play_changing
from new_arm import new_arm_comes, new_arm_regret

HORIZON, ARMS = 60, 5
GUEST = "a policy from elsewhere"


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", db.FeasibilityWarning)
        yield


@st.composite
def availabilities(draw: st.DrawFn, two: bool) -> Any:
    """A table in which arms come and go at a few steps; ``two`` arms at a time, or two at least."""
    changes = sorted(draw(st.sets(st.integers(1, HORIZON - 1), max_size=6)))
    table = np.zeros((HORIZON, ARMS), np.bool_)
    for first in (0, *changes):
        there = draw(st.sets(st.integers(0, ARMS - 1), min_size=2, max_size=2 if two else ARMS))
        table[first:] = np.isin(np.arange(ARMS), list(there))
    return table


def world(available: Any, seed: int) -> db.Instance:
    return db.Instance(np.random.default_rng(seed).random((HORIZON, ARMS)), available=available)


def chosen(name: str, instance: db.Instance) -> Any:
    if name == GUEST:
        return naive_studies.Greedy()
    return db.Oracle(instance.best_arm) if name == "Oracle" else lively(name, ARMS)


@pytest.mark.parametrize("name", [*sorted(db.POLICIES), GUEST])
@settings(max_examples=4, deadline=None, derandomize=True)
@given(data=st.data(), seed=st.integers(0, 99))
def test_every_policy_plays_as_its_plain_twin_and_never_an_arm_that_is_off(
    name: str, data: st.DataObject, seed: int
) -> None:
    available = data.draw(availabilities(name in ("SnoozeIt", "SnoozeItTight")))
    instance = world(available, seed)
    policy, own = chosen(name, instance), stream(7, 3, OWN)
    begins = len(first_arms(policy, instance))
    player = Player(policy, begins, own, COMPILED_CHUNK, "interpreted")
    played = play_steps(player, instance, db.Bernoulli(), stream(7, 3, NOISE), chunk=17)
    assert played is not None
    assert available[np.arange(HORIZON), played.arms].all()
    if instance.available is None:
        instance.available = available
    assert (played.arms.tolist(), played.rewards.tolist()) == play_changing(policy, instance, db.Bernoulli(), 7, 3)
    if name == "Oracle":
        assert (instance.means[np.arange(HORIZON), played.arms] == instance.best_mean).all()


@pytest.mark.parametrize("name", ["AutoTS", "SnoozeItK", "GLRUCB"])
@settings(max_examples=5, deadline=None, derandomize=True)
@given(data=st.data(), seed=st.integers(0, 99))
def test_compiled_is_interpreted_bit_for_bit(name: str, data: st.DataObject, seed: int) -> None:
    instance = world(data.draw(availabilities(two=False)), seed)
    times = np.array([1, HORIZON // 2, HORIZON])
    noise = db.Bernoulli() if name == "GLRUCB" else db.Gaussian(0.3)
    jobs = [
        Job(lively(name, ARMS), instance, noise, times, seed, events=True, mode=mode)
        for mode in ("compiled", "interpreted")
    ]
    for run in range(2):  # the second in the arrays of the first
        one, other = (job.play(run, lambda steps: True) for job in jobs)
        assert one is not None
        assert other is not None
        for field in ("regret", "realised", "pulls", "events"):
            assert np.array_equal(getattr(one, field), getattr(other, field)), field


def test_regret_is_against_the_best_arm_that_is_there() -> None:
    available = np.ones((60, 3), np.bool_)
    available[20:40, 0] = False
    instance = db.Instance([[0.9, 0.5, 0.3]] * 60, available=available)
    assert instance.best_arm.tolist() == [0] * 20 + [1] * 20 + [0] * 20
    result = db.simulate({"turns": db.RoundRobin()}, instance, runs=2, checkpoints=60)
    paid = [0.0, 0.4, 0.6] * 7
    # It begins anew twice. The first time it learns again 7 rewards of arm 1 and 6 of arm 2, in turn, and wants arm 2.
    whole = [*paid[:20], *[0.2, 0.0] * 10, *paid[:20]]
    np.testing.assert_allclose(result.regret["turns"][1], np.cumsum(whole), atol=1e-12)
    assert result.pulls["turns"][0].tolist() == [14, 24, 22]
    assert db.simulate({"it": db.Oracle(instance.best_arm)}, instance, runs=1).regret["it"].max() == 0.0
    arms = db.trajectory("Uniform", instance).arms
    assert (arms[20:40] > 0).all()
    assert set(arms.tolist()) == {0, 1, 2}


def test_the_result_depends_on_neither_workers_nor_company_nor_files(tmp_path: Path) -> None:
    instance = db.instances.coming_and_going(600, 1e-3, 5, stay=120, away=60, seed=2)
    policies = {
        "AutoTS": db.AutoTS(),
        "GLRUCB": db.GLRUCB(600, test="gaussian"),
        "SnoozeItK": db.SnoozeItK(600, 1e-3, 0.2),
    }
    given: dict[str, Any] = {"runs": 5, "seed": 4, "checkpoints": 6, "events": True}
    result = db.simulate(policies, instance, workers=3, **given)
    for name, policy in policies.items():
        alone = db.simulate({name: policy}, instance, workers=1, **given)
        assert np.array_equal(alone.regret[name], result.regret[name])
        assert np.array_equal(alone.pulls[name], result.pulls[name])
    result.save(tmp_path / "it.parquet")
    again = db.Simulation.load(tmp_path / "it.parquet")
    assert again.instance == instance
    assert again.instance.recipe == instance.recipe
    played = [db.trajectory(policies["AutoTS"], instance, seed=4, run=run) for run in range(5)]
    for run, (arms, _) in enumerate(played):
        assert instance.available is not None
        assert instance.available[np.arange(600), arms].all()
        lost = instance.best_mean - instance.means[np.arange(600), arms]
        assert np.cumsum(lost)[-1] == result.regret["AutoTS"][run, -1]


def test_events_tell_steps_and_arms_of_the_instance() -> None:
    """Arms 2 and 3 go at step 300; what SnoozeItK or a detector then notes is of arms 0 and 1, after step 300."""
    available = np.zeros((900, 4), np.bool_)
    available[:300, 2:] = available[300:, :2] = True
    instance = db.Instance([[0.9, 0.1, 0.9, 0.1]] * 600 + [[0.1, 0.9, 0.9, 0.1]] * 300, available=available)
    result = db.simulate(
        {"GLRUCB": db.GLRUCB(900, test="gaussian"), "SnoozeItK": db.SnoozeItK(900, 1e-4, 0.2)},
        instance,
        runs=2,
        events=True,
    )
    detected = result.events["GLRUCB"]
    assert detected.height >= 2
    assert 600 < detected["step"].min() <= detected["step"].max() <= 900  # type: ignore[operator]
    snoozed = result.events["SnoozeItK"]
    early, late = snoozed.filter(snoozed["passed"] <= 300), snoozed.filter(snoozed["passed"] > 300)
    assert set(early["behind"]) == {3}
    assert set(late["arm"]) | set(late["behind"]) == {0, 1}
    for run, passed, arm, behind in snoozed.select("run", "passed", "arm", "behind").iter_rows():
        arms = db.trajectory(db.SnoozeItK(900, 1e-4, 0.2), instance, run=run).arms
        assert set(arms[passed - 2 : passed]) == {arm, behind}, "it was found at the second of a pair"
        assert set(arms[passed : passed + 50]) == {arm}, "and from the next step on one is left alone"


class NotingState(NamedTuple):
    event: Any


@dataclass(frozen=True)
class Noting(db.Policy):
    """It notes every reward: its own clock, and its own number of the arm."""

    horizon: int = 7

    def init(self, n_arms: int) -> Any:
        return NotingState(db.records(1, count="i8", step="i8", arm="i8"))

    def select(self, state: Any, rng: np.random.Generator) -> int:
        return 0

    def update(self, state: Any, arm: int, reward: float) -> None:
        event = state.event[0]
        event.count, event.step, event.arm = event.count + 1, event.step + 1, arm


@pytest.mark.parametrize("policy", [Noting(), db.Doubling(Noting())], ids=["at once", "in stages"])
def test_every_event_has_the_step_and_the_arm_of_the_instance(policy: db.Policy) -> None:
    """Whatever it learns again when arms change, and in whichever of its stages it is by then."""
    available = np.ones((HORIZON, 3), np.bool_)
    available[20:31, 0] = available[45:, :2] = False
    instance = db.Instance([[0.5, 0.4, 0.3]] * HORIZON, available=available)
    player = Player(policy, 3, stream(7, 3, OWN), COMPILED_CHUNK, "interpreted")
    noise = stream(7, 3, NOISE)
    played = play_steps(player, instance, db.Bernoulli(), noise, chunk=17, events=True)
    assert played is not None
    assert played.events is not None
    assert played.events["step"].tolist() == list(range(1, HORIZON + 1))
    assert played.events["arm"].tolist() == played.arms.tolist() == [0] * 20 + [1] * 11 + [0] * 14 + [2] * 15


@pytest.mark.parametrize(
    ("policy", "available", "said"),
    [
        (db.GLRUCB(4), [[True, True, True]] * 2 + [[False, True, False]] * 2, "1 arm of .* at step 3: GLRUCB .* 1"),
        (db.SnoozeIt(4, 0.1), [[True, True, False]] * 2 + [[True] * 3] * 2, "3 arms .* at step 3: SnoozeIt .* 3"),
        (db.UCB1(), [[True, False, False]] * 2 + [[True] * 3] * 2, "1 arm of .* at step 1: UCB1 .* 1"),
    ],
)
def test_a_policy_that_cannot_have_so_many_arms_says_so_beforehand(policy: Any, available: Any, said: str) -> None:
    with pytest.raises(db.InputError, match=said):
        db.simulate([policy], db.Instance([[0.5, 0.4, 0.3]] * 4, available=available), runs=1)


def test_one_arm_is_enough_for_a_policy_that_goes_on() -> None:
    available = [[True, True, True]] * 9 + [[False, True, False]] * 9
    arms = db.trajectory("UCB1", db.Instance([[0.5, 0.4, 0.3]] * 18, available=available)).arms
    assert (arms[9:] == 1).all()


@dataclass(frozen=True)
class Stubborn(db.Policy):
    """It does not look at what is off."""

    arms_change = "native"

    def init(self, n_arms: int) -> Any:
        return db.UCB1().init(n_arms)

    def select(self, state: Any, rng: np.random.Generator) -> int:
        return 0

    def update(self, state: Any, arm: int, reward: float) -> None:
        pass


def test_a_policy_that_chooses_an_arm_that_is_off_is_stopped() -> None:
    instance = db.Instance([[0.5, 0.4]] * 6, available=[[True, True]] * 4 + [[False, True]] * 2)
    job = Job(Stubborn(), instance, db.Gaussian(0.5), np.array([6]), 0, mode="interpreted")
    with pytest.raises(db.PolicyError, match="Stubborn chose arm 0 at step 5, which is off"):
        job.play(0, lambda steps: True)


@pytest.mark.parametrize("name", ["AutoTS", "BreakEven", "KalmanTS", "SWUCB"])
def test_a_new_arm_is_found_as_fast_as_by_a_fresh_policy_that_is_told_of_it(name: str) -> None:
    """The regret after it came is at most that of the fresh one, within five standard errors."""
    policy = make_policy(name, horizon=6_000, drift=1e-5)
    (row,) = new_arm_regret({name: policy}, db.Bernoulli(), horizon=6_000, runs=80).to_dicts()
    errors = [(row[f"{which}_high"] - row[which]) / 1.99 for which in ("after", "fresh")]
    assert row["after"] <= row["fresh"] + 5 * float(np.hypot(*errors))
    if name in ("AutoTS", "KalmanTS"):  # they know the others already, and have one arm to learn
        assert row["after"] < row["fresh"] / 2
    assert new_arm_comes(6_000).arm_changes.tolist() == [3_000]

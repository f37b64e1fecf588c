"""Doubling: the base played in pieces of T0, 2 T0, 4 T0, ... steps, wherever policies are played."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import driftbandits as db
from driftbandits._numba.loops import update
from driftbandits.offline.log import Log
from driftbandits.policies import make_policy
from driftbandits.simulation.engine import NOISE, OWN, stream
from driftbandits.testing import check_policy
from lively import LIVELY
from naive import pieces

FIRST, HORIZON, DRIFT = 300, 2_500, 1e-3
TOLD = ["BOB", "DriftUCB", "GLRUCB", "MASTER", "Rexp3", "SWUCBSharp", "SnoozeIt", "SnoozeItK"]
"""Policies that are told a horizon, of every sort: windows, blocks, detectors, room that grows, own draws."""


@pytest.fixture(autouse=True)
def _short_horizons() -> Iterator[None]:
    """A short first stage is where SnoozeIt warns that it can't snooze; here that is no news."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", db.FeasibilityWarning)
        yield


def base(name: str, horizon: int) -> db.Policy:
    return make_policy(name, **LIVELY.get(name, {}), horizon=horizon)


def noise_for(name: str) -> db.Noise:
    return db.Bernoulli() if base(name, FIRST).rewards is db.Rewards.UNIT else db.Gaussian(0.5)


def by_hand(name: str, instance: db.Instance, seed: int, first: int = FIRST) -> tuple[list[int], list[float]]:
    """The base, made anew for every piece, on the run's own random streams; in plain Python."""
    noise, own, outside = noise_for(name), stream(seed, 0, OWN), stream(seed, 0, NOISE)
    arms, rewards = [], []
    for start, length in pieces(first, instance.horizon):
        policy = base(name, length)
        state = policy.reserve(policy.init(instance.n_arms), length)
        for means in instance.means[start : start + length]:
            arms.append(int(policy.select(state, own)))
            rewards.append(float(noise.draw(means[arms[-1]], outside)))
            update(policy, state, arms[-1], rewards[-1], own)
    return arms, rewards


@pytest.mark.parametrize("name", TOLD)
def test_it_is_the_base_on_the_pieces(name: str) -> None:
    instance = db.instances.sinusoid(HORIZON, DRIFT)
    policy = db.Doubling(base(name, FIRST))
    arms, rewards = by_hand(name, instance, seed=3)
    played = db.trajectory(policy, instance, noise_for(name), seed=3)
    assert played.arms.tolist() == arms
    assert played.rewards.tolist() == rewards
    result = db.simulate({"it": policy}, instance, noise_for(name), runs=2, seed=3, checkpoints=HORIZON)
    lost = instance.best_mean - instance.means[np.arange(HORIZON), arms]
    np.testing.assert_allclose(result.regret["it"][0], np.cumsum(lost), atol=1e-9)


@pytest.mark.parametrize("name", TOLD)
def test_online_plays_the_same_pieces(name: str) -> None:
    """In the hand each stage begins where the last one ended, also right after a snapshot was restored."""
    policy, rewards = (
        db.Doubling(base(name, 50)),
        np.random.Generator(np.random.SFC64(2)).normal(0.5, 0.5, 700).clip(0.0, 1.0),
    )
    play, copy = db.Online(policy, 2, seed=5), db.Online(policy, 2, seed=9)
    copy.restore(play.snapshot())
    by_pieces = np.random.Generator(np.random.SFC64(5))
    for start, length in pieces(50, 700):
        twin = base(name, length)
        state = twin.reserve(twin.init(2), length)
        for reward in rewards[start : start + length]:
            if reward > 0.9:
                copy.restore(play.snapshot())
            arm = play.select()
            assert arm == copy.select() == twin.select(state, by_pieces)
            play.update(arm, reward)
            copy.update(arm, reward)
            update(twin, state, arm, reward, by_pieces)


@pytest.mark.parametrize("name", ["SnoozeItK", "DriftUCB", "Rexp3", "BOB"])
def test_check_policy(name: str) -> None:
    check_policy(db.Doubling(base(name, FIRST)), 2, 2_000)


@pytest.mark.parametrize("name", ["SnoozeItTight", "DriftUCB"])
def test_sessions(name: str) -> None:
    """A Session counts stages in rewards learnt; its arms are those of the base on the pieces."""
    session = db.Session(db.Doubling(base(name, 40)), ["a", "b"], seed=1)
    rewards = np.random.Generator(np.random.SFC64(2)).normal(0.5, 0.5, 400)
    for start, length in pieces(40, 400):
        twin = base(name, length)
        state = twin.reserve(twin.init(2), length)
        for number, reward in enumerate(rewards[start : start + length]):
            if number % 7 == 0:
                session = db.Session.restore(session.snapshot())
            decision = session.ask()
            arm = twin.select(state, np.random.Generator(np.random.SFC64(0)))
            assert decision.arm == "ab"[arm]
            assert session.explain(decision.id).arm == decision.arm
            session.tell(decision.id, reward)
            twin.update(state, arm, reward)


def test_events_tell_the_time_of_the_run() -> None:
    instance = db.instances.stationary(40_000, (0.95, 0.05))
    result = db.simulate({"it": db.Doubling(db.SnoozeItTight(1_000, 1e-5))}, instance, runs=2, events=True)
    starts = [start for start, _ in pieces(1_000, 40_000)]
    for run in range(2):
        table = result.events["it"].filter(run=run)
        assert table["passed"].is_sorted()
        first = [table.filter(table["start"] == start) for start in starts]
        assert all(len(found) == 1 for found in first)
        for start, found in zip(starts, first, strict=True):
            assert 0 < found["passed"][0] - start < 500
            assert found["until"][0] > found["passed"][0]


def test_it_can_be_kept_and_built_again(tmp_path: Any) -> None:
    policy, instance = db.Doubling(db.DriftUCB(100, 1e-3)), db.instances.sinusoid(2_000, DRIFT)
    result = db.simulate({"it": policy}, instance, runs=2)
    result.save(tmp_path / "it.parquet")
    loaded = db.Simulation.load(tmp_path / "it.parquet")
    assert loaded.policies["it"] == policy
    assert np.array_equal(loaded.rerun().regret["it"], result.regret["it"])


def test_stages() -> None:
    """Every step belongs to one stage, each twice as long as the one before; a first stage of one step will do."""
    for first in (1, 2, 7, 1_000):
        policy = db.Doubling(db.DriftUCB(first, 1e-3))
        for start, length in pieces(first, 5_000):
            for step in {start, start + length // 2, start + length - 1}:
                stage = policy.stage(step)
                assert (stage.start, stage.stop, stage.policy.horizon) == (start, start + length, length)


@pytest.mark.parametrize("wrong", [db.AutoTS(), db.RoundRobin(), db.DriftUCB, "DriftUCB", db.Rexp3(batch=100), None])
def test_a_base_without_a_horizon(wrong: Any) -> None:
    with pytest.raises(db.InputError, match="told a horizon"):
        db.Doubling(wrong)


def test_as_many_arms_as_the_base() -> None:
    with pytest.raises(db.InputError, match="exactly 2 arms, not for 3"):
        db.Online(db.Doubling(db.SnoozeItTight(1_000, 1e-3)), 3)
    play = db.Online(db.Doubling(db.SnoozeItK(1, 0.0)), 20)
    for _ in range(200):
        play.update(play.select(), 0.5)
    assert play.policy.arms == db.SnoozeItK.arms
    assert db.Doubling(db.DriftUCB(10, 0.1)).any_order == db.DriftUCB.any_order


def test_a_replay_begins_anew_too() -> None:
    """Stages are counted in rewards learnt; of a log in which every row is used, the replay is the run itself."""
    rng, rows = np.random.default_rng(0), 900
    arms, rewards = rng.integers(0, 2, rows), rng.random(rows)
    log = Log(("a", "b"), arms, rewards, np.full(rows, 0.5))
    policy, learnt = db.Doubling(base("SnoozeItTight", 20)), []

    class Watched:
        """The same as a plain object that notes when its stages begin."""

        def init(self, n_arms: int) -> None:
            self.step = 0
            self._begin(n_arms)

        def _begin(self, n_arms: int) -> None:
            learnt.append(self.step)
            self.stage, self.n_arms = policy.stage(self.step), n_arms
            self.state = self.stage.policy.reserve(self.stage.policy.init(n_arms), rows)

        def select(self, state: None, rng: np.random.Generator) -> int:
            return int(self.stage.policy.select(self.state, rng))

        def update(self, state: None, arm: int, reward: float) -> None:
            self.stage.policy.update(self.state, arm, reward)
            self.step += 1
            if self.step == self.stage.stop:
                self._begin(self.n_arms)

    played = db.replay(log, {"it": policy, "twin": Watched()}, drift=1e-3, replicates=2, workers=1, progress=False)
    table = played.table()
    one, other = (table.filter(table["policy"] == name).drop("policy") for name in ("it", "twin"))
    assert one.equals(other)
    assert {0, 20, 60, 140} <= set(learnt)


# What it costs.


def drift_ucb_bound(horizon: int, drift: float) -> float:
    """The bound that docs/beyond-the-paper.md proves for DriftUCB with two arms and risk 1."""
    X = np.log(2 * horizon**2) / (12 * np.sqrt(2) - 16)
    tau = int(np.ceil((2 * X) ** (1 / 3) * drift ** (-2 / 3)))
    block = 2 + 4 * np.sqrt(2 * X * tau) + 2 * drift * tau**2
    return float(np.ceil(horizon / tau) * block + 4.2 * horizon * max(drift ** (1 / 3), horizon ** (-1 / 2)))


@pytest.mark.parametrize("alpha", [0.5, 2 / 3, 1.0])
def test_the_geometric_sum(alpha: float) -> None:
    """The stages' bounds H^a add up to at most 2^a/(2^a - 1) (T + T0)^a."""
    for T in (1, 10, 999, 1_000, 1_001, 12_345, 10**6):
        for first in (1, 10, 1_000):
            lengths = [first * 2**i for i in range(64) if first * (2**i - 1) < T]
            assert sum(length**alpha for length in lengths) <= 2**alpha / (2**alpha - 1) * (T + first) ** alpha


def test_regret_within_the_proven_factor() -> None:
    """Far within: hardly more regret than with the horizon told, where the proof allows twice its bound."""
    T, drift, first = 127_000, 1e-4, 1_000
    for instance in (db.instances.sinusoid(T, drift), db.instances.walk(T, drift, seed=2)):
        policies = {
            "UCB": db.DriftUCB(T, drift, 1.0),
            "UCB in stages": db.Doubling(db.DriftUCB(first, drift, 1.0)),
            "snooze": db.SnoozeIt(T, drift, confidence=0.1),
            "snooze in stages": db.Doubling(db.SnoozeIt(first, drift, confidence=0.1)),
        }
        result = db.simulate(policies, instance, runs=10)
        found = {name: float(curves[:, -1].mean()) for name, curves in result.regret.items()}
        stages = sum(drift_ucb_bound(length, drift) for _, length in pieces(first, T))
        assert found["UCB in stages"] < stages < 2 * drift_ucb_bound(T, drift)
        assert found["UCB in stages"] < 1.3 * found["UCB"]
        assert found["snooze in stages"] < 1.3 * found["snooze"]
        assert found["snooze in stages"] < 2 * db.bounds.minimax_upper(T, drift).total

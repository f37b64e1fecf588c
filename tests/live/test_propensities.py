"""The probability that a Session keeps of each choice is the true one, and a log of such choices can be replayed."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import polars as pl
import pytest

import driftbandits as db
from driftbandits.live.learners import make_learner
from driftbandits.live.session import Session
from driftbandits.offline.trust import _test_statistics

EXP3S, REXP3 = db.Exp3S(alpha=0.01, gamma=0.4), db.Rexp3(batch=50, gamma=0.4)
CUSUMUCB = db.CUSUMUCB(threshold=5.0, exploration=0.3)
FAR = 5.7
"""Standard errors: farther is one of the four statistics of three arms with a chance of 1.5e-7."""


def play(session: Session, steps: int, seed: int, delay: int = 0) -> tuple[list[int], list[float], list[float | None]]:
    """Arms, rewards and the probabilities that are kept; each reward is told ``delay`` asks later."""
    rng, arms, rewards, p = np.random.default_rng(seed), [], [], []
    waiting: deque[tuple[str, float]] = deque()
    for _ in range(steps):
        decision = session.ask()
        p.append(session._open[decision.id][0].probability)
        arms.append(session.arms.index(decision.arm))
        rewards.append(float(rng.random() < 0.2 + 0.3 * arms[-1]))
        waiting.append((decision.id, rewards[-1]))
        while len(waiting) > delay:
            session.tell(*waiting.popleft())
    return arms, rewards, p


def farthest(arms: Any, rewards: Any, p: Any) -> float:
    """The largest contradiction, in standard errors, of the probabilities that were kept."""
    arms, rewards, p = np.array(arms), np.array(rewards), np.array(p, np.float64)
    kept = ~np.isnan(p)
    assert ((p[kept] > 0) & (p[kept] < 1)).all()
    return float(np.abs(_test_statistics(arms[kept], rewards[kept], p[kept], 3)).max())


@pytest.mark.parametrize("policy", [db.Uniform(), EXP3S, REXP3, CUSUMUCB], ids=lambda policy: type(policy).__name__)
@pytest.mark.parametrize(
    ("settings", "holdout", "delay"),
    [({}, 0.0, 0), ({"explore": 0.2}, 0.0, 0), ({}, 0.3, 0), ({}, 0.0, 3), ({"explore": 0.3}, 0.2, 3)],
    ids=["alone", "explore", "holdout", "delay", "explore, holdout and delay"],
)
def test_probabilities_are_those_of_the_choices_that_are_made(
    policy: Any, settings: Any, holdout: float, delay: int
) -> None:
    runs: list[tuple[Any, ...]] = []
    for seed in range(30):
        session = Session(policy, ["a", "b", "c"], seed, **settings)
        session.hold_out(holdout, "b" if holdout else None)
        runs.append(play(session, 300, seed, delay))
    arms, rewards, p = (np.concatenate([run[part] for run in runs]) for part in range(3))
    assert farthest(arms, rewards, p) < FAR
    assert np.isnan(np.array(p, np.float64)).mean() < (0.95 if holdout or delay else 0.01)
    wrong = np.where(arms == 2, np.array(p, np.float64) * 0.6, p)
    assert farthest(arms, rewards, wrong) > FAR  # and it would be seen


@pytest.mark.parametrize("policy", [db.Uniform(), EXP3S, CUSUMUCB], ids=lambda policy: type(policy).__name__)
def test_each_arm_is_chosen_as_often_as_its_probability_says(policy: Any) -> None:
    """The third choice of 3,000 seeds, each after the same two rewards."""
    chosen, said = np.zeros(3), dict[int, Any]()
    pulled = [0, 1] if policy is CUSUMUCB else [0, 0]  # CUSUM-UCB prefers an arm without rewards
    for seed in range(3_000):
        session = Session(policy, ["a", "b", "c"], seed)
        for _ in range(2):
            session.tell(session.ask(), 1.0)
        learnt = [arm for arm, *_ in session._closed.values()]
        decision = session.ask()
        arm = session.arms.index(decision.arm)
        if isinstance(policy, db.Uniform) or learnt == pulled:
            chosen[arm] += 1
            said[arm] = session._open[decision.id][0].probability
    total = chosen.sum()
    for arm, p in said.items():
        assert abs(chosen[arm] - p * total) < 5.5 * (p * (1 - p) * total) ** 0.5
    assert sum(said.values()) == pytest.approx(1)
    assert total > 300


def test_later_asks_that_get_the_same_arm_had_no_choice() -> None:
    session = Session(EXP3S, ["a", "b", "c"])
    first, second, third = session.ask_many(3)
    assert [event.probability for event, _ in session._open.values()] == [pytest.approx(1 / 3), None, None]
    assert {second.arm, third.arm} == {first.arm}
    session.force_arm("c")
    assert session._open[session.ask().id][0].probability == 1.0


class LoadedState(NamedTuple):
    arms: Any


@dataclass(frozen=True)
class Loaded(db.Policy):
    """Chooses arms 0, 1 and 2 with probabilities 0.7, 0.2 and 0.1, whatever the rewards are."""

    any_order: ClassVar[bool] = True

    def init(self, n_arms: int) -> LoadedState:
        return LoadedState(db.records(n_arms, pulls="i8"))

    def select(self, state: LoadedState, rng: np.random.Generator) -> int:
        drawn = rng.random()
        return 0 if drawn < 0.7 else (1 if drawn < 0.9 else 2)

    def update(self, state: LoadedState, arm: int, reward: float) -> None:
        state.arms[arm].pulls += 1

    def probabilities(self, state: LoadedState) -> Any:
        return np.array([0.7, 0.2, 0.1])


def test_arms_that_take_turns_until_they_are_known_keep_their_probabilities() -> None:
    """The first rewards never come, so what the policy draws is turned from ask to ask."""
    arms, p = [], []
    for seed in range(1_500):
        session = Session(Loaded(), ["a", "b", "c"], seed)
        for decision in (*session.ask_many(3), session.ask()):
            arms.append(session.arms.index(decision.arm))
            p.append(session._open[decision.id][0].probability)
    assert farthest(arms, np.zeros(len(arms)), p) < FAR
    assert set(p) == {0.7, 0.2, 0.1}


def test_a_policy_that_begins_anew_draws_from_streams_of_its_own() -> None:
    """Exp3S with gamma = 1 leaves all to chance: what an earlier learner drew must not tell what this one draws."""
    chosen = []
    for era in (0, 1):
        learner, arms = make_learner(db.Exp3S(alpha=0.01, gamma=1.0), range(3), 0, 0.0, era), []
        for step in range(1, 201):
            arms.append(int(learner.choose(step, 1, 0)[0][0]))
            learner.take([(step, arms[-1], 0.5)], 0, step)
        chosen.append(arms)
    first, second = chosen
    assert 30 < np.equal(first, second).sum() < 110  # 67 by chance, +- 5.5 standard deviations of 6.7


def test_a_draw_counts_once_also_after_errors_and_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    session = Session(EXP3S, ["a", "b", "c"])
    decisions = session.ask_many(4)
    learner, learn, told = session._learner, session._learner._learn, []

    def fails(pulls: Any) -> None:
        told.extend(pulls)
        learn(pulls)
        if len(told) > 1:
            raise db.PolicyError("the second reward")

    monkeypatch.setattr(learner, "_learn", fails)
    monkeypatch.setattr(learner, "_choice", lambda: session.arms.index(decisions[0].arm))
    with pytest.raises(db.PolicyError, match="the second reward"):
        session.tell_many(dict.fromkeys(decisions, 1.0))
    monkeypatch.undo()
    assert session._open[session.ask().id][0].probability is None
    other = Session(db.SnoozeItK(1_000, 1e-3), ["a", "b", "c"])
    other.disable_arm("c")
    assert other._learner.first == 0  # type: ignore[attr-defined]


def test_policies_that_tell_no_probability_keep_none() -> None:
    for policy in (db.AutoTS(), db.SnoozeItK(1_000, 1e-3), db.BOB(1_000), db.ThompsonSampling()):
        session = Session(policy, ["a", "b", "c"])
        assert play(session, 20, 0)[2] == [None] * 20


def test_a_snapshot_a_new_policy_and_a_new_arm_keep_them_true() -> None:
    runs: list[tuple[Any, ...]] = []
    for seed in range(40):
        session = Session(db.Uniform(), ["a", "b", "c"], seed)
        runs.append(play(session, 100, seed))
        session.change(policy=EXP3S)
        runs.append(play(session, 60, seed))
        again = Session.restore(session.snapshot())
        assert play(again, 40, seed) == play(session, 40, seed)
        session.change(policy=REXP3)
        runs.append(play(session, 100, seed))
        session.disable_arm("b")
        assert set(play(session, 10, seed)[0]) <= {0, 2}
        session.enable_arm("b")
        runs.append(play(session, 60, seed))
    arms, rewards, p = (np.concatenate([run[part] for run in runs]) for part in range(3))
    assert farthest(arms, rewards, p) < FAR
    assert np.isnan(np.array(p, np.float64)).mean() < 0.02


class Forgetful(db.Uniform):
    def probabilities(self, state: Any) -> Any:
        return [0.0, 1.0]


class Unsure(db.Uniform):
    def probabilities(self, state: Any) -> Any:
        return [0.5, 0.6]


def test_a_policy_that_tells_wrong_probabilities() -> None:
    with pytest.raises(
        db.PolicyError, match=r"Forgetful\.probabilities gives 0 for an arm that Forgetful\.select chose"
    ):
        Session(Forgetful(), ["a", "b"]).ask_many(50)
    with pytest.raises(db.PolicyError, match=r"a probability for each of 2 arms, which sum to 1; got \[0.5, 0.6\]"):
        Session(Unsure(), ["a", "b"]).ask()


def test_a_replay_of_such_a_log_agrees_with_simulation() -> None:
    """Means over 25 logs of Exp3S that explored no more than it does by itself."""
    steps, sigma = 3_000, 0.3
    world = db.instances.sinusoid(steps, drift=1e-3)
    estimates = []
    for seed in range(25):
        rng = np.random.default_rng(seed)
        session, rows = Session(db.Exp3S(alpha=1 / steps, gamma=0.5), ["a", "b"], seed), []
        for step in range(steps):
            decision = session.ask()
            arm = session.arms.index(decision.arm)
            reward = float(world.means[step, arm] + sigma * rng.standard_normal())
            rows.append((step, arm, reward, session._open[decision.id][0].probability))
            session.tell(decision, reward)
        log = pl.DataFrame(rows, schema=["step", "arm", "reward", "probability"], orient="row")
        assert (log["probability"] >= 0.25).all()
        table = db.replay(log, {"UCB1": db.UCB1()}, replicates=2, seed=seed, workers=1).table()
        estimates.append(table.filter(policy="UCB1")["reward"].item())
    rng, earned = np.random.default_rng(7), []
    for seed in range(60):
        instance = db.Instance(world.means[rng.random(steps) < 0.25])
        found = db.simulate(db.UCB1(), instance, db.Gaussian(sigma), runs=8, seed=seed, checkpoints=1)
        earned.append(instance.best_mean.mean() - found.regret["UCB1"][:, -1].mean() / instance.horizon)
    error = (np.var(estimates, ddof=1) / len(estimates) + np.var(earned, ddof=1) / len(earned)) ** 0.5
    assert abs(np.mean(estimates) - np.mean(earned)) < 6 * error
    assert error < 0.01

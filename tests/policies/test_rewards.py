"""What rewards a policy is defined for: others are an error in every way of playing, and a declared range rescales."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
import pytest

import driftbandits as db
from driftbandits import Rewards
from driftbandits.errors import FeasibilityWarning
from driftbandits.live.decisions import Outcome, amended
from driftbandits.policies import POLICIES, make_policy
from driftbandits.simulation.engine import Job
from driftbandits.simulation.late import late_regret
from lively import lively

FORMS: dict[str, db.Policy] = {
    "KLUCB gaussian": db.KLUCB(kl="gaussian"),
    "KLUCB sigma": db.KLUCB(kl="gaussian", sigma=20),
    "KalmanTS sigma": db.KalmanTS(1e-3, sigma=20),
    "RAWUCB sigma": db.RAWUCB(sigma=20),
    "GLRUCB gaussian": db.GLRUCB(2_000, test="gaussian"),
    "DriftUCB bernoulli": db.DriftUCB(2_000, 1e-3, kl="bernoulli"),
    "ThompsonSampling beta": db.ThompsonSampling("beta"),
    "KalmanTS beta": db.KalmanTS(1e-3, posterior="beta"),
    "SWTS beta": db.SWTS(1e-3, posterior="beta"),
    "SWTS window": db.SWTS(window=200),
    "SWTS sigma": db.SWTS(window=200, sigma=20),
    "DiscountedTS beta": db.DiscountedTS(1e-3, posterior="beta"),
    "DiscountedTS discount": db.DiscountedTS(discount=0.99),
    "DiscountedTS sigma": db.DiscountedTS(discount=0.99, sigma=20),
    "SWUCB window": db.SWUCB(2_000, window=200),
    "SWUCB sigma": db.SWUCB(2_000, window=200, sigma=20),
    "SWUCB xi": db.SWUCB(window=200, xi=0.6),
    "SWLBSDA window": db.SWLBSDA(window=200),
    "PredictiveSampling elsewhere": db.PredictiveSampling(memory=0.99, centre=50, spread=20, sigma=5),
    "Doubling": db.Doubling(db.GLRUCB(500)),
}
DECLARED = {
    Rewards.UNIT: {
        "GLRUCB", "KLUCB", "DriftUCB bernoulli", "ThompsonSampling beta", "KalmanTS beta", "SWTS beta",
        "DiscountedTS beta", "Doubling",
    },
    Rewards.SIGMA: {
        "KLUCB sigma", "KalmanTS sigma", "RAWUCB sigma", "SWTS sigma", "DiscountedTS sigma", "SWUCB sigma",
        "PredictiveSampling elsewhere",
    },
    Rewards.REAL: {"AutoTS", "BreakEven", "ExploreThenCommit", "Oracle", "RoundRobin", "SWLBSDA window", "Uniform"},
}  # fmt: skip
"""All others are declared SCALED."""
LIVE = sorted({*POLICIES, *FORMS} - {"Oracle"})


def policy_of(name: str) -> Any:
    return FORMS[name] if name in FORMS else lively(name)


@pytest.mark.parametrize("name", sorted({*POLICIES, *FORMS}))
def test_what_each_policy_declares(name: str) -> None:
    wanted = next((kind for kind, names in DECLARED.items() if name in names), Rewards.SCALED)
    assert policy_of(name).rewards is wanted


# Every way of playing


def by_online(policy: Any, reward: float, reward_range: Any = None) -> None:
    play = db.Online(policy, 2, reward_range=reward_range)
    play.update(play.select(), reward)


def by_session(policy: Any, reward: float, reward_range: Any = None) -> None:
    session = db.Session(policy, ["a", "b"], reward_range=reward_range)
    decision = session.ask()
    before = session.snapshot()
    assert session.tell_many({decision: reward}) != [Outcome.INVALID] or session.snapshot() == before
    session.tell(decision, reward)


def by_default(policy: Any, reward: float, reward_range: Any = None) -> None:
    db.Session(policy, ["a", "b"], timeout=1, default_reward=reward, reward_range=reward_range)


def by_change(policy: Any, reward: float, reward_range: Any = None) -> None:
    session = db.Session(db.AutoTS(), ["a", "b"])
    session.tell(session.ask(), reward)
    session.change(policy=policy, reward_range=reward_range)


def by_replay(policy: Any, reward: float, reward_range: Any = None) -> None:
    rng = np.random.default_rng(1)
    arms = rng.integers(0, 2, 400)
    rewards = np.where(np.arange(400) == 77, reward, 0.5)
    log = pl.DataFrame({"step": range(400), "arm": arms, "reward": rewards, "probability": 0.5})
    db.replay(log, {"it": policy}, reward_range=reward_range, replicates=2, progress=False)


def by_simulate(policy: Any, reward: float, reward_range: Any = None) -> None:
    instance = db.Instance([[reward / 2, reward]] * 50, reward_range=reward_range)
    db.simulate({"it": policy}, instance, db.Gaussian(0), runs=1, progress=False)


def by_trajectory(policy: Any, reward: float, reward_range: Any = None) -> None:
    db.trajectory(policy, db.Instance([[reward / 2, reward]] * 50, reward_range=reward_range), db.Gaussian(0))


def by_late(policy: Any, reward: float, reward_range: Any = None) -> None:
    instance = db.Instance([[reward / 2, reward]] * 50, reward_range=reward_range)
    late_regret({"it": policy}, instance, db.Gaussian(0), delay=3, runs=1)


def by_changing_arms(policy: Any, reward: float, reward_range: Any = None) -> None:
    there = np.ones((50, 3), np.bool_)
    there[:9, 0] = there[9:, 2] = False
    instance = db.Instance([[reward / 2, reward, 0.5]] * 50, reward_range=reward_range, available=there)
    db.simulate({"it": policy}, instance, db.Gaussian(0), runs=1, progress=False)


def by_river(policy: Any, reward: float, reward_range: Any = None) -> None:
    pytest.importorskip("river")
    played = db.interop.to_river(policy, reward_range=reward_range)
    played.update(played.pull(["a", "b"]), reward)


WAYS: list[Callable[..., None]] = [
    by_online, by_session, by_default, by_change, by_replay, by_simulate, by_trajectory, by_late, by_changing_arms,
    by_river,
]  # fmt: skip
WRONG = {Rewards.UNIT: (3.0, "[0, 1]"), Rewards.SCALED: (300.0, "around means in [0, 1]")}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", LIVE)
def test_a_reward_that_a_policy_is_not_defined_for(name: str, way: Callable[..., None]) -> None:
    policy = policy_of(name)
    reward, words = WRONG.get(policy.rewards, (300.0, ""))
    if words:
        with pytest.raises(db.InputError) as caught:
            way(policy, reward)
        said = str(caught.value)
        assert re.search(rf"\b{reward:g}\b", said)
        assert words in said
        assert "reward_range=(low, high)" in said
        assert "BreakEven()" in said
    else:
        way(policy, reward)
    way(policy, reward, (0, 400))


@pytest.mark.parametrize("way", [by_online, by_session, by_default, by_replay, by_simulate])
@pytest.mark.parametrize("name", ["AutoTS", "UCB1", "KLUCB", "KLUCB gaussian"])
def test_a_reward_outside_of_the_declared_range(name: str, way: Callable[..., None]) -> None:
    with pytest.raises(db.InputError, match=r"reward_range"):
        way(policy_of(name), 9.0, (0, 8))


@pytest.mark.parametrize("name", ["SWUCBSharp", "MUCB", "KLUCB"])
def test_a_reward_in_between(name: str) -> None:
    """Noise of deviation 1/2 around a mean in [0, 1] is what SCALED policies are for, and UNIT ones are not."""
    policy = policy_of(name)
    for reward in (-0.3, 1.7):
        if policy.rewards is Rewards.SCALED:
            by_online(policy, reward)
        else:
            with pytest.raises(db.InputError, match=r"KLUCB is defined for rewards in \[0, 1\]; got"):
                by_online(policy, reward)


# Rewards each of which may be noise around a mean in [0, 1], and which together are not


def ratings(seed: int, count: int) -> list[float]:
    """Of one to five stars, of which 3.4 on average."""
    return np.random.default_rng(seed).normal(3.4, 1.2, count).round().clip(1, 5).tolist()  # type: ignore[no-any-return]


def many_by_online(policy: Any, rewards: list[float]) -> None:
    play = db.Online(policy, 2)
    for reward in rewards:
        play.update(play.select(), reward)


def many_by_session(policy: Any, rewards: list[float]) -> None:
    session = db.Session(policy, ["a", "b"])
    for reward in rewards:
        session.tell(session.ask(), reward)


def many_at_a_time(policy: Any, rewards: list[float]) -> None:
    session = db.Session(policy, ["a", "b"])
    for first in range(0, len(rewards), 20):
        chunk = rewards[first : first + 20]
        decisions = session.ask_many(len(chunk))
        for decision, outcome, reward in zip(
            decisions, session.tell_many(dict(zip(decisions, chunk, strict=True))), chunk, strict=True
        ):
            if outcome is Outcome.INVALID:
                raise session.refusal(outcome, decision.id, reward)


def many_by_change(policy: Any, rewards: list[float]) -> None:
    session = db.Session(db.AutoTS(), ["a", "b"])
    for reward in rewards:
        session.tell(session.ask(), reward)
    session.change(policy=policy)


def many_by_replay(policy: Any, rewards: list[float]) -> None:
    arms = np.random.default_rng(1).integers(0, 2, len(rewards))
    log = pl.DataFrame({"step": range(len(rewards)), "arm": arms, "reward": rewards, "probability": 0.5})
    db.replay(log, {"it": policy}, replicates=2, drift=1e-3, progress=False)


MANY = [many_by_online, many_by_session, many_at_a_time, many_by_change, many_by_replay]


@pytest.mark.parametrize("many", MANY)
@pytest.mark.parametrize("name", ["UCB1", "ThompsonSampling", "PredictiveSampling", "GLRUCB gaussian", "KalmanTS"])
def test_rewards_of_another_scale_are_found_out_together(name: str, many: Callable[..., None]) -> None:
    """One to five stars: PredictiveSampling gave the better arm no Decision at all, and MASTER one in fifty."""
    policy = policy_of(name)
    said = r"is defined for rewards in \[0, 1\], or .* around means in \[0, 1\]; got [1-5] .*reward_range=\(low, high\)"
    with pytest.raises(db.InputError, match=said):
        many(policy, ratings(1, 400))
    with pytest.raises(db.InputError, match=r"got -[1-5] "):
        many(policy, [-reward for reward in ratings(1, 400)])


@pytest.mark.parametrize("many", MANY)
@pytest.mark.parametrize(("mean", "drawn"), [(1.0, 4_000), (0.0, 4_000)])
def test_noise_around_means_in_the_range_is_taken(mean: float, drawn: int, many: Callable[..., None]) -> None:
    """Whole runs of 4,000 rewards of the largest noise are refused with a probability below 4e-9 each."""
    many(db.UCB1(), np.random.default_rng(5).normal(mean, 0.5, drawn).tolist())


def test_one_reward_can_be_wrong_alone_and_what_is_in_the_range_is_always_taken() -> None:
    session = db.Session(db.UCB1(), ["a", "b"])
    for _ in range(9):
        session.tell(session.ask(), 4.0)
    low, high = session.limits
    assert low == -4.5
    assert high == pytest.approx(12 * np.log(10) - 9 * (4 - 9 / 8) + 9 / 8)
    decision = session.ask()
    before = session.snapshot()
    with pytest.raises(db.InputError, match="got 4 for 'd-10'"):
        session.tell(decision, 4.0)
    assert session.snapshot() == before
    session.tell(decision, 1.0)
    assert session.limits[1] == pytest.approx(high + 1 / 8)
    assert db.Session.restore(before).limits == (-4.5, 5.5), "it is no part of what a Session has learnt"


@pytest.mark.parametrize("durable", [False, True])
def test_rewards_told_together_are_warned_of(durable: bool) -> None:
    """tell raises; tell_many returns "invalid", which nobody need look at."""
    store = db.Store("sqlite://")
    store.create("d", arms=["a", "b"], policy=db.KLUCB())
    session: Any = store.open("d") if durable else db.Session(db.KLUCB(), ["a", "b"])
    first, second, third = session.ask_many(3)
    said = (
        r"^2 of 3 rewards were not accepted; the first: KLUCB is defined for rewards in \[0, 1\]; got 3 for 'd-2': "
        r"declare reward_range=\(low, high\), .*BreakEven\(\)$"
    )
    with pytest.warns(FeasibilityWarning, match=said) as caught:
        outcomes = session.tell_many({first: 1.0, second: 3.0, third: 4.0})
    assert outcomes == [Outcome.NEW, Outcome.INVALID, Outcome.INVALID]
    assert [each.filename for each in caught] == [__file__]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert session.tell_many({second: 1.0, "d-99": 3.0}) == [Outcome.NEW, Outcome.UNKNOWN]
        with pytest.raises(db.InputError, match="got 5 for 'd-3'"):
            session.tell(third, 5.0)
    store.close()


def test_noise_without_limits_is_refused_before_the_first_step() -> None:
    with pytest.raises(db.InputError, match=r'Gaussian\(sigma=0.5\), .*Bernoulli\(\).*KLUCB\(kl="gaussian"\)'):
        db.simulate("KLUCB", db.instances.stationary(100), runs=1)


@dataclass(frozen=True)
class Doubled(db.Noise):
    """Twice the mean: outside of [0, 1] now and then."""

    def draw(self, mean: float, rng: np.random.Generator) -> float:
        return 2.0 * mean if rng.random() < 0.1 else mean


def test_a_reward_that_noise_of_ones_own_drew_is_refused_when_it_comes() -> None:
    with pytest.raises(db.InputError, match=r"\[0, 1\]; got 1.8 at step \d+, which Doubled\(\) drew: take noise"):
        db.simulate("KLUCB", [[0.9, 0.4]] * 500, Doubled(), runs=1)
    db.simulate("UCB1", [[0.9, 0.4]] * 500, Doubled(), runs=1)


# The defect as it was seen: the better arm got 0 % of 500 decisions in each of 20 seeds.


@pytest.mark.parametrize(
    "name", ["KLUCB", "KLUCB gaussian", "RAWUCB", "ThompsonSampling beta", "DiscountedTS beta", "UCB1", "AutoTS"]
)
def test_the_better_arm_wins_where_the_range_is_declared(name: str) -> None:
    shares = []
    for seed in range(20):
        session, rng = db.Session(policy_of(name), ["a", "b"], seed, reward_range=(0, 8)), np.random.default_rng(seed)
        better = 0
        for _ in range(500):
            decision = session.ask()
            better += decision.arm == "b"
            session.tell(decision, float(np.clip((5 if decision.arm == "b" else 3) + rng.normal(0, 0.5), 0, 8)))
        shares.append(better / 500)
    assert np.median(shares) > 0.7, shares


# A range rescales


RANGE = (-8.0, 24.0)
"""Its width is a power of two, so that rescaling is exact."""


def rewards_for(steps: int, seed: int = 0) -> list[float]:
    return [float(each) / 16 for each in np.random.default_rng(seed).integers(0, 17, steps)]


@pytest.mark.parametrize("name", LIVE)
def test_a_session_with_a_range_is_one_that_is_told_rewards_rescaled_by_hand(name: str) -> None:
    policy = policy_of(name)
    zero, unit = (-8.0, 32.0) if policy.rewards.rescaled else (0.0, 1.0)
    wide, usual = db.Session(policy, ["a", "b"], reward_range=RANGE), db.Session(policy, ["a", "b"])
    for reward in rewards_for(300):
        one, other = wide.ask(), usual.ask()
        assert one.arm == other.arm
        wide.tell(one, zero + unit * reward)
        usual.tell(other, reward)
    for mine, its in zip(wide.state, usual.state, strict=True):
        assert mine.tobytes() == its.tobytes()
    for name in ("estimate", "low", "high"):
        found, hand = getattr(wide.belief(), name), getattr(usual.belief(), name)
        assert (found is None) == (hand is None)
        if found is not None:
            np.testing.assert_allclose(found, zero + unit * hand)
    explained, by_hand = wide.explain(one), usual.explain(other)
    for arm, same in zip(explained.arms, by_hand.arms, strict=True):
        assert (arm.estimate is None) == (same.estimate is None)
        if arm.estimate is not None and same.estimate is not None:
            assert arm.estimate == pytest.approx(zero + unit * same.estimate)
    assert (explained.gap is None) == (by_hand.gap is None)
    if explained.gap is not None and by_hand.gap is not None:
        assert explained.gap == pytest.approx(unit * by_hand.gap)


@pytest.mark.parametrize("name", ["KLUCB", "SnoozeIt", "UCB1", "KalmanTS beta", "AutoTS"])
def test_snapshot_and_log_of_a_session_that_rescales(name: str) -> None:
    """It is folded from its log and restored from its snapshot bit for bit, also when range and policy change."""
    policy = policy_of(name)
    session = db.Session(policy, ["a", "b"], reward_range=RANGE, unit_key="k", clock=lambda: 5.0)
    session.journal = []
    folded = db.Session(policy, ["a", "b"], reward_range=RANGE, unit_key="k", clock=lambda: 5.0)

    def play(steps: int) -> None:
        for reward in rewards_for(steps, session.step):
            session.tell(session.ask(), 2.0 + 4.0 * reward)

    play(60)
    session.change(reward_range=(0.0, 8.0))
    play(60)
    session = db.Session.restore(session.snapshot(), lambda: 5.0)
    session.journal = []
    play(60)
    session.change(policy=db.KLUCB(), reward_range=(-2.0, 6.0))
    play(60)
    # What was noted before the snapshot is played again by the same calls.
    again = db.Session(policy, ["a", "b"], reward_range=RANGE, unit_key="k", clock=lambda: 5.0)
    again.journal = []
    session, kept = again, session
    play(60)
    session.change(reward_range=(0.0, 8.0))
    play(60)
    play(60)
    session.change(policy=db.KLUCB(), reward_range=(-2.0, 6.0))
    play(60)
    assert session.snapshot() == kept.snapshot()
    for event in session.journal or ():
        folded.apply(event)
    assert folded.snapshot() == session.snapshot()


def test_another_range_is_learnt_from_the_last_rewards() -> None:
    session, told = db.Session(db.UCB1(), ["a", "b"], reward_range=(0, 16)), [0.0, 0.0]
    for reward in rewards_for(100):
        decision = session.ask()
        session.tell(decision, 8.0 * reward)
        told[session.arms.index(decision.arm)] += reward
    before = session.explain("d-40")
    session.change(reward_range=(0, 8))
    assert session.learnt == 100
    np.testing.assert_allclose(session.state.arms.total, told)
    assert session.explain("d-40") == before


def test_a_range_that_the_last_rewards_do_not_fit_is_refused() -> None:
    session = db.Session(db.UCB1(), ["a", "b"], reward_range=(0, 16))
    session.tell(session.ask(), 12.0)
    before = session.snapshot()
    for change in ({"reward_range": (0, 8)}, {"reward_range": None}, {"policy": db.KLUCB(), "reward_range": (0, 2)}):
        with pytest.raises(db.InputError, match="12 for 'd-1', which it would learn again"):
            session.change(**change)
    with pytest.raises(db.InputError, match="default_reward"):
        session.change(default_reward=17, timeout=9)
    assert session.snapshot() == before
    session.change(policy=db.AutoTS(), reward_range=(0, 8))  # which learns them as they are
    assert session.reward_range == (0, 8)


def test_a_policy_that_learns_in_turn_refuses_a_reward_when_it_is_told() -> None:
    session = db.Session(db.GLRUCB(1_000), ["a", "b"])
    decisions = session.ask_many(6)
    with pytest.raises(db.InputError, match=r"GLRUCB is defined for rewards in \[0, 1\]; got 3 for 'd-6'"):
        session.tell(decisions[5], 3.0)
    assert session.open == 6
    assert session.tell_many(dict.fromkeys(decisions, 1.0)) == [Outcome.NEW] * 6


# Simulations


@dataclass(frozen=True)
class Steps(db.Noise):
    """The mean, or up to two steps more or less: all are multiples of 2^-10, so that rescaling is exact."""

    step: float = 1 / 16

    def draw(self, mean: float, rng: np.random.Generator) -> float:
        return mean + self.step * (int(5.0 * rng.random()) - 2)


@pytest.mark.parametrize("mode", ["compiled", "interpreted"])
@pytest.mark.parametrize("name", sorted(name for name in {*POLICIES, *FORMS} if policy_of(name).rewards.rescaled))
def test_a_simulation_with_a_range_is_one_on_the_rescaled_instance(name: str, mode: Any) -> None:
    means = np.round(256 * (0.25 + db.instances.sinusoid(600, 1e-2).means / 2)) / 256
    instances = db.Instance(means), db.Instance(-8.0 + 32.0 * means, reward_range=RANGE)
    found = [
        Job(policy_of(name), instance, Steps(unit / 16), np.arange(1, 601), 3, mode=mode).play(1, lambda steps: True)
        for instance, unit in zip(instances, (1.0, 32.0), strict=True)
    ]
    assert found[0] is not None
    assert found[1] is not None
    np.testing.assert_array_equal(found[1].regret, 32.0 * found[0].regret)
    np.testing.assert_array_equal(found[1].realised, 32.0 * found[0].realised)


def test_an_instance_tells_the_drift_on_the_scale_on_which_a_policy_learns() -> None:
    money = db.Instance([[20.0, 30.0], [25.0, 30.0]], drift=5.0, reward_range=(0, 100))
    assert make_policy("DUCB", money).drift == 0.05  # type: ignore[attr-defined]
    assert make_policy("SWTS", money).drift == 0.05  # type: ignore[attr-defined]
    assert make_policy("KalmanTS", money).drift == 0.05  # type: ignore[attr-defined]
    assert make_policy("KalmanTS", money, sigma=20).drift == 5.0  # type: ignore[attr-defined]
    assert make_policy("KalmanTS", money, posterior="beta").drift == 0.05  # type: ignore[attr-defined]
    assert make_policy("DUCB", money, drift=0.2).drift == 0.2  # type: ignore[attr-defined]


# Policies of users


@dataclass(frozen=True)
class Declares(db.Policy):
    """As RoundRobin, and declares what it is told to."""

    kind: str = "REAL"

    @property
    def rewards(self) -> Any:
        return Rewards.__members__.get(self.kind, self.kind)

    def init(self, n_arms: int) -> Any:
        return db.RoundRobin().init(n_arms)

    def select(self, state: Any, rng: np.random.Generator) -> int:
        return state.run[0].next  # type: ignore[no-any-return]

    def update(self, state: Any, arm: int, reward: float) -> None:
        state.run[0].next = 1 - arm


def test_a_users_policy_declares_its_rewards() -> None:
    with pytest.raises(db.InputError, match=r"Declares is defined for rewards in \[0, 1\]; got 3"):
        by_session(Declares("UNIT"), 3.0)
    with pytest.raises(db.InputError, match=r"rewards of Declares must be one of db.Rewards, .* got 'coins'"):
        by_session(Declares("coins"), 0.5)
    by_session(Declares("REAL"), 3.0)


def test_a_correction_that_only_a_later_policy_is_defined_for_can_be_folded() -> None:
    session = db.Session(db.KLUCB(), ["a", "b"], clock=lambda: 1.0)
    session.journal = []
    session.tell(session.ask(), 0.5)
    session.change(policy=db.AutoTS())
    again = db.Session(db.KLUCB(), ["a", "b"], clock=lambda: 1.0)
    for event in amended(session.journal, {1: 3.0}):
        again.apply(event)
    assert again.learnt == 1
    assert again.belief().estimate[0] == 3.0  # type: ignore[index]

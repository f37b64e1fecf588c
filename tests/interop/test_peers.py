"""Policies of river, MABWiser and SMPyBandits in ``simulate``, and ours in river: against the real packages."""

from __future__ import annotations

import math
import random
import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
import scipy.special
from mabwiser.mab import MAB, LearningPolicy
from river import bandit, proba

import driftbandits as db
from driftbandits.interop import from_mabwiser, from_river, from_smpybandits, to_river
from driftbandits.interop.guests import Guest

WORLD = db.instances.walk(120, drift=0.01, n_arms=3)
NOISE = db.Bernoulli()


def smpybandits() -> Any:
    """SMPyBandits' policies. Version 0.9.7 wants a function that scipy 1.14 removed, under its new name.

    It imports seaborn, which changes the colours of all figures of the process: they are put back.
    """
    with warnings.catch_warnings(), mpl.rc_context():
        warnings.simplefilter("ignore")
        if not hasattr(scipy.special, "btdtri"):
            scipy.special.btdtri = scipy.special.betaincinv
        from SMPyBandits import Policies

    return Policies


GUESTS: dict[str, Callable[[], Guest]] = {
    "river UCB": lambda: from_river(lambda n_arms, seed: bandit.UCB(delta=1, seed=seed)),
    "river Thompson": lambda: from_river(
        lambda n_arms, seed: bandit.ThompsonSampling(reward_obj=proba.Beta(), seed=seed)
    ),
    "MABWiser UCB1": lambda: from_mabwiser(
        lambda n_arms, seed: MAB(list(range(n_arms)), LearningPolicy.UCB1(1), seed=seed)
    ),
    "MABWiser greedy": lambda: from_mabwiser(
        lambda n_arms, seed: MAB(list(range(n_arms)), LearningPolicy.EpsilonGreedy(0.3), seed=seed)
    ),
    "SMPyBandits UCB": lambda: from_smpybandits(lambda n_arms, seed: smpybandits().UCB(n_arms)),
    "SMPyBandits SWUCB": lambda: from_smpybandits(lambda n_arms, seed: smpybandits().SWUCB(n_arms, tau=30)),
    "SMPyBandits Thompson": lambda: from_smpybandits(lambda n_arms, seed: smpybandits().Thompson(n_arms)),
}


@pytest.mark.parametrize(
    ("make", "function"),
    [
        (lambda: bandit.UCB(delta=1), "from_river"),
        (lambda: MAB([0, 1, 2], LearningPolicy.UCB1(1)), "from_mabwiser"),
        (lambda: smpybandits().UCB(3), "from_smpybandits"),
    ],
)
def test_a_policy_of_another_library_by_itself_is_pointed_to_its_function(
    make: Callable[[], Any], function: str
) -> None:
    """river's policies have no repr before their first pull."""
    for play in (lambda: db.simulate(make(), WORLD, NOISE), lambda: db.simulate({"theirs": make()}, WORLD, NOISE)):
        with pytest.raises(db.InputError, match=rf"give driftbandits\.interop\.{function}\(lambda n_arms, seed: "):
            play()  # type: ignore[no-untyped-call]


@pytest.mark.parametrize("name", GUESTS)
def test_a_guest_depends_on_the_seed_alone(name: str) -> None:
    shared = random.getstate(), np.random.get_state()[1].copy()  # type: ignore[index]  # noqa: NPY002
    guest = GUESTS[name]()
    one = db.simulate({"guest": guest, "ours": db.UCB1()}, WORLD, NOISE, runs=4, seed=3, workers=1, progress=False)
    two = db.simulate({"guest": guest}, WORLD, NOISE, runs=4, seed=3, workers=4, progress=False)
    assert np.array_equal(one.realised["guest"], two.realised["guest"])
    assert np.array_equal(one.pulls["guest"], two.pulls["guest"])
    assert len({tuple(row) for row in one.realised["guest"].tolist()}) > 1
    assert (one.pulls["guest"].sum(axis=1) == WORLD.horizon).all()
    assert random.getstate() == shared[0]
    assert np.array_equal(np.random.get_state()[1], shared[1])  # type: ignore[index]  # noqa: NPY002


@pytest.mark.parametrize("name", ["river UCB", "SMPyBandits UCB", "MABWiser UCB1"])
def test_a_guest_does_what_it_does_at_home(name: str) -> None:
    """The arms of a run are those that the library itself chooses when it is told the same rewards."""
    played = db.trajectory(GUESTS[name](), WORLD, db.Bounded(0.3), seed=5)  # no ties
    rewards = played.rewards.tolist()
    pulls, sums = [0] * 3, [0.0] * 3
    home = bandit.UCB(delta=1, seed=1) if name == "river UCB" else None
    for t, (arm, reward) in enumerate(zip(played.arms.tolist(), rewards, strict=True)):
        if min(pulls) > 0:
            if home is not None:
                assert home.pull([0, 1, 2]) == arm
            else:
                # SMPyBandits: log t of the pulls so far; MABWiser's UCB1 the same, with alpha = 1.
                index = [sums[a] / pulls[a] + math.sqrt(2 * math.log(t) / pulls[a]) for a in range(3)]
                assert index[arm] == pytest.approx(max(index)), t
        if home is not None:
            home.update(arm, reward)
        pulls[arm] += 1
        sums[arm] += reward


def test_ours_in_river_is_ours() -> None:
    policy = db.SWUCB(1_000, window=40)
    rewards = np.random.default_rng(0).random((300, 2)).tolist()
    theirs, ours = to_river(policy, seed=2), db.Online(policy, 2, seed=2)
    for row in rewards:
        arm = theirs.pull(["red", "blue"])
        assert arm == ["red", "blue"][ours.select()]
        theirs.update(arm, row[arm == "blue"])
        ours.update(int(arm == "blue"), row[arm == "blue"])
    again = theirs.clone()
    assert isinstance(again, bandit.base.Policy)
    assert again.pull(["red", "blue"]) == "red"


def test_rivers_own_evaluation_takes_ours() -> None:
    import driftbandits.interop.gym as gym

    env = gym.BanditEnv(db.instances.stationary(40, (0.1, 0.9)), db.Bernoulli())
    trace = list(bandit.evaluate([to_river(db.UCB1()), bandit.UCB(delta=1, seed=1)], env, n_episodes=2, seed=4))
    assert {row["policy_idx"] for row in trace} == {0, 1}
    assert len(trace) == 2 * 2 * 40
    assert sum(row["reward"] for row in trace if row["policy_idx"] == 0) > 30


@pytest.mark.parametrize("wrong", [3, bandit.UCB, None])
def test_make_must_be_a_function(wrong: Any) -> None:
    with pytest.raises(db.InputError, match="make must be a function of the number of arms and a seed"):
        from_river(wrong)


def test_make_must_return_a_policy() -> None:
    with pytest.raises(db.InputError, match="make must return a policy of MABWiser, which has fit and partial_fit"):
        db.trajectory(from_mabwiser(lambda n_arms, seed: bandit.UCB(delta=1)), WORLD)


def test_rivers_arms_must_stay() -> None:
    policy = to_river(db.UCB1())
    with pytest.raises(db.InputError, match="pull first"):
        policy.update("red", 1.0)
    policy.pull(["red", "blue"])
    with pytest.raises(db.InputError, match="the arms must stay"):
        policy.pull(["red", "green"])


def test_rivers_arms_are_in_a_fixed_order() -> None:
    for arms in ({"red", "blue"}, frozenset(["red", "blue"]), {"red": 0, "blue": 1}.keys()):
        with pytest.raises(db.InputError, match="must be a list, in a fixed order; got a"):
            to_river(db.UCB1()).pull(arms)


def test_the_page_runs() -> None:
    page = (Path(__file__).parents[2] / "docs" / "interop.md").read_text(encoding="utf-8")
    found: dict[str, Any] = {}
    exec("\n".join(re.findall(r"```python\n(.*?)```", page, re.DOTALL)), found)
    assert set(found["result"].regret) == {"ours", "river", "MABWiser"}
    assert {trial.state.name for trial in found["study"].trials} == {"COMPLETE", "PRUNED"}
    assert 20 <= found["study"].best_params["window"] <= 1_000

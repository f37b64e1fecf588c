"""Instances as Gymnasium environments: they pass its checker, and reward as ``simulate`` does."""

from __future__ import annotations

import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import driftbandits as db
from driftbandits.interop.gym import BanditEnv

WORLD = db.instances.walk(60, drift=0.01, n_arms=3)


@pytest.mark.parametrize("noise", [db.Gaussian(0.5), db.Bernoulli(), db.Bounded(0.2)])
def test_it_passes_gymnasiums_checker(noise: db.Noise) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # advice on observations, which a bandit does not have
        check_env(BanditEnv(WORLD, noise), skip_render_check=True)


def test_every_family_is_registered() -> None:
    known = {spec.id for spec in gymnasium.registry.values() if spec.namespace == "driftbandits"}
    ours = [name for name, make in db.instances.FAMILIES.items() if make.__module__.startswith("driftbandits.")]
    assert known >= {f"driftbandits/{name}-v0" for name in [*ours, "Instance"]}
    assert len(ours) > 10
    env = gymnasium.make("driftbandits/wave-v0", horizon=20, n_arms=4, noise=db.Bernoulli(), disable_env_checker=True)
    assert env.action_space.n == 4
    env.reset(seed=3)
    steps = [env.step(1) for _ in range(20)]
    assert [step[3] for step in steps] == [False] * 19 + [True]
    assert {step[1] for step in steps} <= {0.0, 1.0}
    means = db.instances.wave(20, n_arms=4).means
    assert [step[4]["mean"] for step in steps] == means[:, 1].tolist()
    assert np.allclose([step[4]["regret"] for step in steps], means.max(axis=1) - means[:, 1])
    assert isinstance(gymnasium.make("driftbandits/Instance-v0", instance=WORLD).unwrapped, BanditEnv)


def test_rewards_are_those_of_simulate_run_by_run() -> None:
    env = BanditEnv(WORLD, db.Gaussian(0.3))
    env.reset(seed=7)
    for run in range(3):
        played = db.trajectory(db.UCB1(), WORLD, db.Gaussian(0.3), seed=7, run=run)
        assert [env.step(arm)[1] for arm in played.arms] == played.rewards.tolist()
        env.reset()
    env.reset(seed=7)
    first = db.trajectory(db.UCB1(), WORLD, db.Gaussian(0.3), seed=7)
    assert env.step(first.arms[0])[1] == first.rewards[0]


def test_what_is_wrong_is_said() -> None:
    with pytest.raises(db.InputError, match="got 'walk'"):
        BanditEnv("walk")  # type: ignore[arg-type]
    with pytest.raises(db.InputError, match="noise must be"):
        BanditEnv(WORLD, 0.5)  # type: ignore[arg-type]
    env = BanditEnv(WORLD)
    with pytest.raises(gymnasium.error.ResetNeeded, match="call reset"):
        env.step(0)
    env.reset(seed=0)
    with pytest.raises(db.InputError, match="action must be a whole number, from 0 to 2; got 3"):
        env.step(3)


def test_arms_that_come_and_go_are_told_beforehand() -> None:
    world = db.instances.coming_and_going(200, 1e-3, n_arms=5, stay=30, away=20)
    assert world.available is not None
    env = BanditEnv(world)
    _, info = env.reset(seed=4)
    played = db.trajectory(db.UCB1(), world, seed=4)
    for step, (arm, reward) in enumerate(zip(*played, strict=True)):
        assert np.array_equal(info["action_mask"], world.available[step])
        assert env.action_space.sample(mask=info["action_mask"]) in np.flatnonzero(world.available[step])
        _, received, _, over, info = env.step(arm)
        assert received == reward
        assert info["best_mean"] == world.best_mean[step]
    assert over
    assert "action_mask" not in info
    env.reset()
    with pytest.raises(db.InputError, match=r"is not there at step 1: info\['action_mask'\] tells which are"):
        env.step(int(np.argmin(world.available[0])))

"""check_policy: what every policy of the package is held to, for users' own policies too."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from driftbandits.engine import Job, Run
from driftbandits.instances import Instance, sinusoid
from driftbandits.noise import Bernoulli, Gaussian, Noise
from driftbandits.online import Online
from driftbandits.policies.base import Policy
from driftbandits.simulation import simulate

EXTREMES = (0.0, 1.0, -1.0, 1e12, -1e12)


def check_policy(policy: Any, n_arms: int = 2, horizon: int = 2_000) -> None:
    """Raise AssertionError, with a reason, unless ``policy`` behaves as a policy must.

    Its docstring names a citation; ``select`` leaves the State alone; arms are in range; a run does not depend on the
    number of workers, on other policies, or on what a State was used for before; compiled and interpreted agree bit for
    bit; a snapshot continues identically; extreme rewards leave the State finite. A plain Python object is held to
    those that apply.

    >>> from driftbandits.policies import RoundRobin
    >>> check_policy(RoundRobin(), n_arms=3)
    """
    instance = sinusoid(horizon=horizon, n_arms=n_arms)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        _check_docstring(policy)
        for noise in (Gaussian(0.5), Bernoulli()):
            _check_runs(policy, instance, noise)
            if isinstance(policy, Policy):
                _check_compiled(policy, instance, noise)
        if isinstance(policy, Policy):
            _check_online(policy, n_arms, horizon // 2)
            _check_extremes(policy, n_arms)


def _check_docstring(policy: Any) -> None:
    text = type(policy).__doc__ or ""
    assert isinstance(policy, Policy) is False or "Citation" in text, (
        f"the docstring of {type(policy).__name__} needs a line 'Citation: ...', saying where the policy comes from"
    )


def _check_runs(policy: Any, instance: Instance, noise: Noise) -> None:
    alone = simulate({"it": policy}, instance, noise, runs=3, seed=5, workers=1, progress=False)
    shared = simulate({"other": policy, "it": policy}, instance, noise, runs=3, seed=5, workers=2, progress=False)
    assert np.array_equal(alone.pulls["it"].sum(axis=1), [instance.horizon] * 3), "not every step pulled an arm"
    for name in ("regret", "realised", "pulls"):
        same = np.array_equal(getattr(alone, name)["it"], getattr(shared, name)["it"])
        assert same, f"{name} depends on the number of workers or on the company: the policy shares memory between runs"


def _check_compiled(policy: Policy, instance: Instance, noise: Noise) -> None:
    """Compiled and interpreted give the same bits, also when the State was used before and is full of old values."""
    job = Job(policy, instance, noise, np.arange(1, instance.horizon + 1), seed=7)
    compiled = [_run(job, run) for run in (0, 1, 0)]
    assert np.array_equal(compiled[0].realised, compiled[2].realised), "a State that was used before changes the run"
    plain = _run(Job(_Interpreted(policy, instance.horizon), instance, noise, job.times, seed=7), 0)
    for name in ("regret", "realised", "pulls"):
        one, other = getattr(compiled[0], name), getattr(plain, name)
        assert np.array_equal(one, other), (
            f"compiled and interpreted differ in {name}, first at {np.argmax(one != other)}"
        )


class _Interpreted:
    """The same policy as a plain Python object: its kernels run as Python."""

    def __init__(self, policy: Policy, horizon: int) -> None:
        self.policy, self.horizon, self.step = policy, horizon, 0

    def init(self, n_arms: int) -> None:
        self.n_arms = n_arms
        self._begin()

    def _begin(self) -> None:
        self.stage = self.policy.stage(self.step)
        self.state = self.stage.policy.reserve(self.stage.policy.init(self.n_arms), self.horizon)

    def select(self, state: None, rng: np.random.Generator) -> int:
        return self.stage.policy.select(self.state, rng)

    def update(self, state: None, arm: int, reward: float) -> None:
        self.stage.policy.update(self.state, arm, reward)
        self.step += 1
        if self.step == self.stage.stop:
            self._begin()


def _run(job: Job, run: int) -> Run:
    result = job.play(run, lambda steps: True)
    assert result is not None
    return result


def _check_online(policy: Policy, n_arms: int, steps: int) -> None:
    """A snapshot continues identically, and select changes nothing but the random generator."""
    rewards = np.random.Generator(np.random.SFC64(3)).normal(0.5, 0.5, 2 * steps)
    play, copy = Online(policy, n_arms, seed=1), Online(policy, n_arms, seed=2)
    for reward in rewards[:steps]:
        play.update(play.select(), reward)
    kept = play.snapshot()
    copy.restore(kept)
    for step, reward in enumerate(rewards[steps:]):
        before = _bytes(play.state)
        arm = play.select()
        assert _bytes(play.state) == before, "select changed the State; only update may"
        assert arm == copy.select(), f"a restored snapshot chose another arm after {step} steps"
        play.update(arm, reward)
        copy.update(arm, reward)
    assert play.snapshot() == copy.snapshot(), "a restored snapshot learnt something else from the same rewards"


def _bytes(state: Any) -> list[bytes]:
    return [array.tobytes() for array in state if array.nbytes < 1 << 12]


def _check_extremes(policy: Policy, n_arms: int) -> None:
    """What is finite under rewards of 0 and 1 stays finite under any."""
    usual, wild = _after(policy, n_arms, (0.0, 1.0)), _after(policy, n_arms, EXTREMES)
    for part, array in wild._asdict().items():
        for name in array.dtype.names or ():
            bad = np.isnan(array[name]).any() or (
                np.isinf(array[name]).any() and np.isfinite(getattr(usual, part)[name]).all()
            )
            assert not bad, f"extreme rewards made {part}.{name} infinite or not a number"


def _after(policy: Policy, n_arms: int, rewards: tuple[float, ...], steps: int = 1_000) -> Any:
    play, choice = Online(policy, n_arms, seed=4), np.random.Generator(np.random.SFC64(6))
    for index in choice.integers(len(rewards), size=steps):
        arm = play.select()
        assert 0 <= arm < n_arms, f"select answered {arm}, which is not an arm"
        play.update(arm, rewards[index])
    return play.state

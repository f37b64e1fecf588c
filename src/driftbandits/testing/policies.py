"""check_policy: the checks that every policy of the package passes, for users' own policies too."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from driftbandits._common.checks import is_ours
from driftbandits._common.rewards import Rewards, rewards_of, taken_by
from driftbandits._numba.player import Mode, Player
from driftbandits.errors import InputError
from driftbandits.instances import Instance, sinusoid
from driftbandits.instances.noise import Bernoulli, Gaussian, Noise
from driftbandits.live.online import Online
from driftbandits.policies.base import Policy
from driftbandits.simulation.engine import Job, Run
from driftbandits.simulation.simulate import simulate

NOISE, BINARY = Gaussian(0.5), Bernoulli()
EXTREMES = (0.0, 1.0, -1.0, 1e12, -1e12)

Stream = Callable[[int, int], float]
"""The reward of the n-th pull of an arm, both counted from 0."""


def reward_streams(policy: Any = None) -> dict[str, Stream]:
    """Rewards that are hard on a State: on those of random sums a hull, a window or a sum is never at its largest.

    Those that ``policy`` is not defined for, whatever the noise, are replaced by the nearest ones that it is.
    """
    return {name: _cut(policy, stream) for name, stream in _streams().items()}


def _cut(policy: Any, stream: Stream) -> Stream:
    low, high, _, _ = taken_by(policy, simulated=True)
    return lambda pull, arm: min(max(stream(pull, arm), low), high)


def _streams() -> dict[str, Stream]:
    noise = np.random.Generator(np.random.SFC64(8)).normal(0.5, 0.5, 997).tolist()
    return {
        "random": lambda pull, arm: noise[(pull * 3 + arm) % len(noise)],
        "coins": lambda pull, arm: float(noise[(pull * 3 + arm) % len(noise)] > 0.3 + 0.2 * (arm % 3)),
        "smooth": lambda pull, arm: 1e-6 * pull if arm == 0 else 0.0,
        "convex": lambda pull, arm: 1e-9 * pull * pull * (1 - 2 * (arm % 2)),
        "constant": lambda pull, arm: 0.1,
        "alternating": lambda pull, arm: float((pull + arm) % 2),
        "extreme": lambda pull, arm: EXTREMES[(pull * 7 + arm * 3) % len(EXTREMES)],
        "huge": lambda pull, arm: 1e100 * (1 - 2 * ((pull // 3 + arm) % 2)),
        "tiny": lambda pull, arm: 5e-324 * (pull % 3),
    }


def check_policy(policy: Any, n_arms: int = 2, horizon: int = 2_000) -> None:
    """Raise AssertionError, with a reason, unless ``policy`` behaves as a policy must.

    It is played as plain Python first, then compiled with every index checked, then compiled as it will be used, so
    that a wrong index is told and never acted on. Arms are in range; ``select`` leaves the State alone; a run does not
    depend on the number of workers, on other policies, or on what a State was used for before; compiled and interpreted
    agree bit for bit; a snapshot continues identically; more room changes nothing; extreme rewards leave the State
    finite. Rewards are those that it declares (``Policy.rewards``). Others are refused, and a range rescales them. A
    plain Python object is held to those that apply. The docstring of a policy of this package must name a citation.

    >>> from driftbandits.policies import RoundRobin
    >>> check_policy(RoundRobin(), n_arms=3)
    """
    instance = sinusoid(horizon=horizon, n_arms=n_arms)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            _check_docstring(policy)
            if isinstance(policy, Policy):
                plain = _run(_job(policy, instance, "interpreted"), 0)
                coins = play_stream(policy, n_arms, reward_streams(policy)["coins"], horizon, "interpreted")
                checked = _choices(policy, n_arms, horizon, "checked")
                assert coins == checked["coins"], "on coins checked and interpreted choose different arms"
                _check_compiled(_job(policy, instance, "compiled"), plain)
                for name, arms in _choices(policy, n_arms, horizon, "compiled").items():
                    assert arms == checked[name], f"on {name} rewards checked and compiled choose different arms"
                _check_online(policy, n_arms, horizon // 2)
                _check_rewards(policy, n_arms)
                _check_extremes(policy, n_arms)
            _check_runs(policy, instance)
        except InputError as error:
            raise AssertionError(str(error)) from error


def _check_docstring(policy: Any) -> None:
    asked = isinstance(policy, Policy) and is_ours(type(policy))
    assert not asked or "Citation" in (type(policy).__doc__ or ""), (
        f"the docstring of {type(policy).__name__} needs a line 'Citation: ...', saying where the policy comes from"
    )


def _noise(policy: Any) -> Noise:
    return BINARY if rewards_of(policy) is Rewards.UNIT else NOISE


def _check_rewards(policy: Policy, n_arms: int) -> None:
    """Rewards outside of those declared are refused, and learnt rescaled where a range is declared."""
    kind = policy.rewards
    if kind.rescaled:
        play = Online(policy, n_arms, seed=1)
        arm = play.select()
        for reward in (kind.limits[0] - 0.5, kind.limits[1] + 0.5):
            try:
                play.update(arm, reward)
            except InputError:
                continue
            raise AssertionError(f"it declares {kind.value}, and learnt {reward}")
    usual, wide = Online(policy, n_arms, seed=1), Online(policy, n_arms, seed=1, reward_range=(-8.0, 24.0))
    for step in range(200):
        arm, reward = usual.select(), (step * 7 % 17) / 16
        assert arm == wide.select(), "with reward_range it chooses otherwise than with rewards rescaled by hand"
        usual.update(arm, reward if kind.rescaled else 32.0 * reward - 8.0)
        wide.update(arm, 32.0 * reward - 8.0)


def _job(policy: Policy, instance: Instance, mode: Mode) -> Job:
    return Job(policy, instance, _noise(policy), np.arange(1, instance.horizon + 1), seed=7, mode=mode)


def _check_compiled(job: Job, plain: Run) -> None:
    """Compiled and interpreted give the same bits, also when the State was used before and is full of old values."""
    runs = [_run(job, run) for run in (0, 1, 0)]
    assert np.array_equal(runs[0].realised, runs[2].realised), "a State that was used before changes the run"
    for name in ("regret", "realised", "pulls"):
        one, other = getattr(runs[0], name), getattr(plain, name)
        where = np.argmax(one != other)
        assert np.array_equal(one, other), f"compiled and interpreted differ in {name}, first at {where}"


def _check_runs(policy: Any, instance: Instance) -> None:
    noise = _noise(policy)
    alone = simulate({"it": policy}, instance, noise, runs=3, seed=5, workers=1, progress=False)
    shared = simulate({"other": policy, "it": policy}, instance, noise, runs=3, seed=5, workers=2, progress=False)
    assert np.array_equal(alone.pulls["it"].sum(axis=1), [instance.horizon] * 3), "not every step pulled an arm"
    for name in ("regret", "realised", "pulls"):
        same = np.array_equal(getattr(alone, name)["it"], getattr(shared, name)["it"])
        assert same, f"{name} depends on the number of workers or on the company: the policy shares memory between runs"


def _run(job: Job, run: int) -> Run:
    result = job.play(run, lambda steps: True)
    assert result is not None
    return result


def play_stream(policy: Policy, n_arms: int, rewards: Stream, steps: int, mode: Mode) -> list[int]:
    """The arms that a policy chooses on a stream of rewards."""
    rng = np.random.Generator(np.random.SFC64(9))
    player = Player(policy, n_arms, rng, mode=mode, simulated=True)
    pulls, arms = [0] * n_arms, []
    for _ in range(steps):
        arm = player.select()
        player.update(arm, rewards(pulls[arm], arm))
        pulls[arm] += 1
        arms.append(arm)
    return arms


def _choices(policy: Policy, n_arms: int, steps: int, mode: Mode) -> dict[str, list[int]]:
    """What a policy chooses on hard rewards; if ``mode`` is checked, no index leaves its array in it."""
    return {name: play_stream(policy, n_arms, rewards, steps, mode) for name, rewards in reward_streams(policy).items()}


def _check_online(policy: Policy, n_arms: int, steps: int) -> None:
    """A snapshot continues identically, and select changes nothing but the random generator."""
    rewards = np.random.Generator(np.random.SFC64(3)).normal(0.5, 0.5, 2 * steps).clip(*policy.rewards.limits)
    play, copy = Online(policy, n_arms, seed=1), Online(policy, n_arms, seed=2)
    for reward in rewards[:steps]:
        play.update(play.select(), reward)
    kept = play.snapshot()
    copy.restore(kept)
    _check_reserve(policy.stage(steps).policy, play.state)
    for step, reward in enumerate(rewards[steps:]):
        before = _bytes(play.state)
        arm = play.select()
        assert _bytes(play.state) == before, "select changed the State; only update may"
        assert arm == copy.select(), f"a restored snapshot chose another arm after {step} steps"
        play.update(arm, reward)
        copy.update(arm, reward)
    assert play.snapshot() == copy.snapshot(), "a restored snapshot learnt something else from the same rewards"


def _check_reserve(policy: Policy, state: Any) -> None:
    """More room changes nothing in the arrays that stay as long as they are."""
    for before, after in zip(state, policy.reserve(state, 10_000), strict=True):
        same = before.shape != after.shape or before.tobytes() == after.tobytes()
        assert same, "reserve changed what was learnt; it may only make arrays longer"


def _bytes(state: Any) -> list[bytes]:
    return [array.tobytes() for array in state if array.nbytes < 1 << 12]


def _check_extremes(policy: Policy, n_arms: int) -> None:
    """What is finite under rewards of 0 and 1 stays finite under any."""
    low, high, _, _ = taken_by(policy, simulated=True)
    extremes = tuple(min(max(reward, low), high) for reward in EXTREMES)
    usual, wild = _after(policy, n_arms, (0.0, 1.0)), _after(policy, n_arms, extremes)
    for part, array in wild._asdict().items():
        for name in array.dtype.names or ():
            bad = np.isnan(array[name]).any() or (
                np.isinf(array[name]).any() and np.isfinite(getattr(usual, part)[name]).all()
            )
            assert not bad, f"extreme rewards made {part}.{name} infinite or not a number"


def _after(policy: Policy, n_arms: int, rewards: tuple[float, ...], steps: int = 1_000) -> Any:
    rng, choice = np.random.Generator(np.random.SFC64(4)), np.random.Generator(np.random.SFC64(6))
    player = Player(policy, n_arms, rng, simulated=True)
    for index in choice.integers(len(rewards), size=steps):
        player.update(player.select(), rewards[index])
    return player.state

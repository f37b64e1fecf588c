"""Late rewards and bundles: without them it is ``simulate``, with them it is a Session, bit for bit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from driftbandits.errors import InputError
from driftbandits.instances import Instance
from driftbandits.instances.noise import Gaussian
from driftbandits.live.session import Session
from driftbandits.policies import (
    GLRUCB,
    UCB1,
    AutoTS,
    BreakEven,
    Doubling,
    DriftUCB,
    RoundRobin,
    SuccessiveElimination,
)
from driftbandits.simulation.engine import NOISE, stream
from driftbandits.simulation.late import LateJob, late_regret
from driftbandits.simulation.simulate import simulate

T, K = 300, 3
MEANS = np.random.default_rng(5).random((T, K))
"""All different, so that a regret tells the arms of every step."""
INSTANCE = Instance(MEANS)
POLICIES: dict[str, Any] = {
    "any order": UCB1(),
    "counts pending rewards": BreakEven(),
    "any order, restarts": Doubling(DriftUCB(20, 0.01)),
    "in turn": SuccessiveElimination(T),
    "in turn, restarts": Doubling(SuccessiveElimination(20)),
}
"""None of them draws: a Session has other random numbers than a simulation."""


def late_job(policy: Any, delay: int, bundle: int, seed: int = 0, mode: Any = "interpreted") -> LateJob:
    return LateJob(policy, INSTANCE, Gaussian(0.5), np.array([T]), seed, mode=mode, delay=delay, bundle=bundle)


def regret_of(job: LateJob, run: int = 0) -> float:
    result = job.play(run, lambda steps: True)
    assert result is not None
    return float(result.regret[0])


def session_regret(policy: Any, delay: int, bundle: int, seed: int) -> float:
    """The same experiment by a Session: bundles are asked for, and rewards told when they have come."""
    session, noise, rng = Session(policy, arms=["a", "b", "c"]), Gaussian(0.5), stream(seed, 0, NOISE)
    regret, waiting = 0.0, list[tuple[int, str, float]]()
    for first in range(0, T, bundle):
        session.tell_many([(id, reward) for step, id, reward in waiting if step + delay < first])
        waiting = [one for one in waiting if one[0] + delay >= first]
        for step, decision in enumerate(session.ask_many(min(bundle, T - first)), first):
            arm = session.arms.index(decision.arm)
            waiting.append((step, decision.id, noise.draw(MEANS[step, arm], rng)))
            regret += MEANS[step].max() - MEANS[step, arm]
    return regret


@pytest.mark.parametrize("name", POLICIES)
def test_it_is_what_a_session_does(name: str) -> None:
    @settings(max_examples=10, deadline=None)
    @given(st.integers(0, 60), st.integers(1, 25), st.integers(0, 5))
    def compare(delay: int, bundle: int, seed: int) -> None:
        found = regret_of(late_job(POLICIES[name], delay, bundle, seed))
        assert found == session_regret(POLICIES[name], delay, bundle, seed)

    compare()


def test_without_delays_it_is_simulate_and_compiled_is_interpreted() -> None:
    policies = {"any order": AutoTS(), "in turn": Doubling(GLRUCB(20, test="gaussian"))}
    usual = simulate(policies, INSTANCE, Gaussian(0.5), runs=2, seed=3, workers=1, progress=False)
    found = late_regret(policies, INSTANCE, Gaussian(0.5), runs=2, seed=3, workers=2)
    for name, policy in policies.items():
        assert found[name].tolist() == usual.regret[name][:, -1].tolist()
        for delay, bundle in ((7, 1), (0, 8), (11, 4)):
            compiled = regret_of(late_job(policy, delay, bundle, mode="compiled"), 1)
            assert compiled == regret_of(late_job(policy, delay, bundle), 1)
            assert compiled != usual.regret[name][1, -1]


@dataclass(frozen=True)
class Watched(BreakEven):
    """Notes at every choice how many rewards its State counts as pending."""

    def select(self, state: Any, rng: np.random.Generator) -> int:
        SEEN.append(state.arms.pending.tolist())
        return super().select(state, rng)


@dataclass(frozen=True)
class Telling(Gaussian):
    """Notes the mean of each reward, which tells the arm."""

    def draw(self, mean: float, rng: np.random.Generator) -> float:
        PLAYED.append(int(np.flatnonzero(MEANS[len(PLAYED)] == mean)[0]))
        return super().draw(mean, rng)


SEEN: list[list[int]] = []
PLAYED: list[int] = []


@pytest.mark.parametrize(("delay", "bundle"), [(0, 1), (17, 1), (0, 12), (9, 4)])
def test_pending_rewards_are_counted_by_what_was_played(delay: int, bundle: int) -> None:
    """While arms are unknown, others are played than the policy chose: counts of choices would be wrong forever."""
    SEEN.clear()
    PLAYED.clear()
    job = LateJob(Watched(), INSTANCE, Telling(0.5), np.array([T]), 0, mode="interpreted", delay=delay, bundle=bundle)
    job.play(0, lambda steps: True)
    assert len(SEEN) == len(PLAYED) == T
    for step, counted in enumerate(SEEN):
        come = max(0, step - step % bundle - delay)
        assert counted == np.bincount(PLAYED[come:step], minlength=K).tolist()
    assert set(PLAYED[:K]) == set(range(K)) or bundle == delay + 1 == 1


@pytest.mark.parametrize("wrong", [{"delay": -1}, {"bundle": 0}, {"delay": 2**40}, {"runs": 0}, {"workers": 0}])
def test_bad_input(wrong: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=f"{next(iter(wrong))} must be"):
        late_regret({"turns": RoundRobin()}, INSTANCE, Gaussian(), **wrong)

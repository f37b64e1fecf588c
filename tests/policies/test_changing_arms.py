"""Arms that come and go, for every policy that does not begin anew then."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import driftbandits as db
from driftbandits._numba.loops import update
from driftbandits.policies.base import ARMS_CHANGE
from lively import lively
from naive_beyond import NaiveSnoozeItK
from naive_breakeven import NaiveBreakEven

NATIVE = sorted(name for name, policy in db.POLICIES.items() if policy.arms_change == "native")
MANY = ["AutoTS", "BreakEven", "DSTS", "DUCB", "DiscountedTS", "DriftUCB", "KalmanTS", "RAWUCB", "SWTS", "SWUCBSharp"]

KNOW_A_PRIOR = ("DSTS", "DiscountedTS", "PredictiveSampling", "ThompsonSampling")
"""They need not try a new arm first."""


def generator(seed: int) -> np.random.Generator:
    return np.random.Generator(np.random.SFC64(seed))


def only(policy: db.Policy, state: Any, places: list[int]) -> Any:
    """The same State as if it had those arms alone."""
    n_arms = len(state.arms)
    fewer, more = policy.init(n_arms), policy.init(n_arms + 1)
    parts = [
        array if before.shape == after.shape else array[places]
        for array, before, after in zip(state, fewer, more, strict=True)
    ]
    made = type(state)(*(part.copy() for part in parts))
    for arm in range(len(places)):
        policy.set_arm(made, arm, True)
    return made


def same(one: Any, other: Any) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


def test_every_policy_says_what_it_does() -> None:
    assert {policy.arms_change for policy in db.POLICIES.values()} == set(ARMS_CHANGE)
    assert set(MANY) < set(NATIVE)
    assert db.SnoozeItK.arms_change == "snoozed"


@pytest.mark.parametrize("name", NATIVE)
@settings(max_examples=12, deadline=None, derandomize=True)
@given(data=st.data(), seed=st.integers(0, 2**32))
def test_arms_that_are_off_count_for_nothing_in_a_choice(name: str, data: st.DataObject, seed: int) -> None:
    """Choices are those of the same State without these arms; what is learnt is what it would be if all were on."""
    policy = lively(name, 3)
    state: Any = policy.init(3)
    twin: Any = policy.init(3)
    rng = generator(seed)
    for step in range(data.draw(st.integers(1, 60))):
        places = range(len(state.arms))
        what = data.draw(st.sampled_from(["play"] * 6 + ["add", "set", "set"]))
        if what == "add" and len(places) < 6:
            state, twin = policy.add_arm(state), policy.add_arm(twin)
        elif what == "set":
            arm, on = data.draw(st.sampled_from(list(places))), data.draw(st.booleans())
            if on or [other for other in places if other != arm and not state.arms[other].off]:
                policy.set_arm(state, arm, on)
        is_on = [arm for arm in range(len(state.arms)) if not state.arms[arm].off]
        arm = policy.select(state, generator(seed + step))
        assert arm == is_on[policy.select(only(policy, state, is_on), generator(seed + step))]
        reward = float(rng.random() < 0.3 + 0.1 * arm)
        state, twin = policy.reserve(state, 1), policy.reserve(twin, 1)
        policy.update(state, arm, reward)
        policy.update(twin, arm, reward)
    if isinstance(policy, db.BreakEven):  # prices are compared among the arms that are on
        for name in ("best", "rough", "second"):
            state.run[name] = twin.run[name]
        state.arms.price = twin.arms.price
    every = list(range(len(state.arms)))
    assert same(only(policy, state, every), only(policy, twin, every))


@pytest.mark.parametrize("name", NATIVE)
def test_a_new_arm_changes_nothing_that_is_known_of_the_others(name: str) -> None:
    policy, rng = lively(name, 3), generator(7)
    state: Any = policy.init(3)
    for step in range(40):
        state = policy.reserve(state, 1)
        update(policy, state, step % 3, float(rng.random()), rng)
    before = type(state)(*(array.copy() for array in state))
    more = policy.add_arm(state)
    assert len(more.arms) == 4
    assert same(only(policy, more, [0, 1, 2]), only(policy, before, [0, 1, 2]))
    assert same(state, before), "the State that was given is left alone"
    if name not in KNOW_A_PRIOR:
        assert policy.select(more, rng) == 3


def test_a_new_arm_of_autots_drifts_as_the_pool_does() -> None:
    policy, rng = db.AutoTS(), generator(3)
    state = policy.init(2)
    for step in range(600):
        policy.update(state, step % 2, 0.5 + 0.4 * np.sin(step / 30) + 0.1 * rng.standard_normal())
    more = policy.add_arm(state)
    assert np.array_equal(more.weight[2], state.pooled)
    assert not np.allclose(state.pooled, state.prior)


@settings(max_examples=10, deadline=None, derandomize=True)
@given(data=st.data(), seed=st.integers(0, 2**32), bernoulli=st.booleans())
def test_breakeven_is_its_reference_while_arms_come_and_go(data: st.DataObject, seed: int, bernoulli: bool) -> None:
    """No arm that is off is chosen, and a new one begins with the pooled weights."""
    policy, twin, rng = db.BreakEven(), NaiveBreakEven(2), generator(seed)
    state, changes = policy.init(2), np.random.default_rng(seed)
    for _ in range(data.draw(st.integers(2, 6))):
        if len(state.arms) < 5 and data.draw(st.booleans()):
            state = policy.add_arm(state)
            twin.add_arm()
        arm, on = data.draw(st.integers(0, len(state.arms) - 1)), data.draw(st.booleans())
        if on or {*range(len(state.arms))} - twin.off - {arm}:
            policy.set_arm(state, arm, on)
            twin.set_arm(arm, on)
        unasked = int(changes.integers(len(state.arms)))  # an arm whose rewards come for a while, chosen or not
        for step in range(data.draw(st.integers(1, 60))):
            chosen, prices = policy.select(state, rng), twin.prices()
            assert prices[chosen] >= max(prices) - 1e-6
            assert chosen not in twin.off
            arm = unasked if step < 10 else chosen
            mean = 0.3 + 0.1 * arm
            reward = float(rng.random() < mean) if bernoulli else mean + 0.3 * float(rng.standard_normal())
            policy.update(state, arm, reward)
            twin.update(arm, reward, bool(state.run[0].rough == arm))
    for arm, mine in enumerate(twin.arms):
        if mine is not None:
            np.testing.assert_allclose(state.bank[arm].weight, mine["w"], rtol=1e-6, atol=1e-12)


@settings(max_examples=25, deadline=None, derandomize=True)
@given(
    data=st.data(),
    seed=st.integers(0, 2**32),
    drift=st.sampled_from([0.0, 1e-4, 1e-3, 1e-2]),
    confidence=st.sampled_from([0.05, 0.2]),
)
def test_snoozeitk_snoozes_from_outside(data: st.DataObject, seed: int, drift: float, confidence: float) -> None:
    """As its twin: an arm that is off sleeps without end, and those that it had snoozed wake up."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", db.FeasibilityWarning)
        policy = db.SnoozeItK(1_000, drift, confidence)
    state, twin, rng = policy.init(3), NaiveSnoozeItK(3, 1_000, drift, confidence), generator(seed)
    for _ in range(data.draw(st.integers(1, 12))):
        n_arms = len(state.arms)
        if n_arms < 6 and data.draw(st.booleans()):
            state = policy.add_arm(state)
            twin.add_arm()
        arm, on = data.draw(st.integers(0, len(state.arms) - 1)), data.draw(st.booleans())
        others = [other for other in range(len(state.arms)) if other != arm and not state.arms[other].off]
        if bool(state.arms[arm].off) == on and (on or others):
            policy.set_arm(state, arm, on)
            twin.set_arm(arm, on)
        for _ in range(data.draw(st.integers(1, 40))):
            chosen = policy.select(state, rng)
            assert chosen == twin.select()
            assert not state.arms[chosen].off
            reward = float(0.2 * chosen + 0.3 * rng.standard_normal())
            state = policy.reserve(state, 1)
            policy.update(state, chosen, reward)
            twin.update(chosen, reward)
    assert int(state.event[0].count) == len(twin.events)
    assert [bool(arm.active) for arm in state.arms] == [arm in twin.active() for arm in range(len(state.arms))]

"""Every policy of the registry against the public checker, and every wrong input against its message."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

import driftbandits as db
from driftbandits.policies import make_policy
from driftbandits.testing import check_policy
from lively import HORIZON, lively


@pytest.mark.parametrize("name", sorted(db.POLICIES))
@pytest.mark.parametrize("n_arms", [2, 5])
def test_registry(name: str, n_arms: int) -> None:
    policy = lively(name, n_arms)
    if n_arms > policy.arms[1]:
        with pytest.raises(db.InputError, match=f"exactly 2 arms, not for {n_arms}"):
            policy.init(n_arms)
    else:
        check_policy(policy, n_arms, HORIZON if n_arms == 2 else HORIZON // 4)


@pytest.mark.parametrize("variant", ["original", "released"])
def test_variants_of_snoozeit(variant: str) -> None:
    check_policy(db.SnoozeIt(HORIZON, 1e-3, variant=variant, confidence=0.1), 2, HORIZON)


@pytest.mark.parametrize("name", sorted(db.POLICIES))
def test_says_what_it_chose(name: str) -> None:
    chosen = lively(name).parameters(2)
    assert all(isinstance(value, (int, float)) for value in chosen.values())
    assert chosen or name in ("RoundRobin", "Uniform", "Oracle", "UCB1")


class CountState(NamedTuple):
    run: Any


@dataclass(frozen=True)
class Shaky(db.Policy):
    """A policy with one fault at a time.

    Citation: none.
    """

    fault: int = 0

    def init(self, n_arms: int) -> CountState:
        return CountState(db.records(1, t="i8", total="f8"))

    def select(self, state: CountState, rng: np.random.Generator) -> int:
        if self.fault == 1:
            return 7
        if self.fault == 2:
            state.run[0].t += 1
        if self.fault == 4 and state.run[0].total > 1e6:
            return 7
        return int(state.run[0].t) % 2

    def update(self, state: CountState, arm: int, reward: float) -> None:
        run = state.run[0]
        run.t += 1
        run.total = np.inf if self.fault == 3 and reward > 1e6 else run.total + reward


class LongState(NamedTuple):
    run: Any
    page: Any


@dataclass(frozen=True)
class ReadsAhead(db.Policy):
    """Reads room it has not written yet, so that a State that was used before plays otherwise.

    Citation: none.
    """

    def init(self, n_arms: int) -> LongState:
        return LongState(db.records(1, t="i8"), np.zeros(1))

    def reserve(self, state: LongState, steps: int) -> LongState:
        if len(state.page) > state.run[0].t + steps:
            return state
        page = np.zeros(len(state.page) + steps + 1)
        page[: len(state.page)] = state.page
        return state._replace(page=page)

    def select(self, state: LongState, rng: np.random.Generator) -> int:
        return 1 if state.page[state.run[0].t] > 0.5 else 0

    def update(self, state: LongState, arm: int, reward: float) -> None:
        state.page[state.run[0].t] = 1.0
        state.run[0].t += 1


@dataclass(frozen=True)
class Forgetful(Shaky):
    """Loses count when it is given room.

    Citation: none.
    """

    def reserve(self, state: CountState, steps: int) -> CountState:
        return CountState(db.records(1, t="i8", total="f8"))

    def select(self, state: CountState, rng: np.random.Generator) -> int:
        return int(state.run[0].t) // 5 % 2 if self.fault == 0 else 0


STARTS = 0


@dataclass(frozen=True)
class Frozen(Shaky):
    """Its kernel reads a variable, which compiled code knows as it was when compiled.

    Citation: none.
    """

    def init(self, n_arms: int) -> CountState:
        global STARTS
        STARTS += 1
        return super().init(n_arms)

    def select(self, state: CountState, rng: np.random.Generator) -> int:
        return 0 if self.fault > STARTS else 1


@pytest.mark.parametrize(
    ("policy", "words"),
    [
        (Shaky(1), "does not exist"),
        (Shaky(2), "select changed the State"),
        (Shaky(3), "infinite or not a number"),
        (Shaky(4), "chose arm 7 at step"),
        (Forgetful(0), "reserve changed what was learnt"),
        (Forgetful(1), "reserve changed what was learnt"),
        (ReadsAhead(), "shares memory|used before"),
        (Frozen(3), "on coins checked and interpreted choose different arms"),
        (Frozen(12), "compiled and interpreted differ"),
    ],
)
def test_the_checker_finds_faults(policy: db.Policy, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"{__name__}.STARTS", 0)
    with pytest.raises((AssertionError, db.InputError), match=words):
        check_policy(policy)


def test_the_checker_accepts_a_sound_policy() -> None:
    check_policy(Shaky(0))


class SharedMemory:
    """A plain policy whose runs are not independent: it learns in a class attribute."""

    pulls = 0

    def init(self, n_arms: int) -> None:
        return None

    def select(self, state: None, rng: np.random.Generator) -> int:
        return SharedMemory.pulls // 1_000 % 2

    def update(self, state: None, arm: int, reward: float) -> None:
        SharedMemory.pulls += 1 + (reward > 0.9)


def test_the_checker_finds_memory_shared_between_runs() -> None:
    with pytest.raises(AssertionError, match="shares memory"):
        check_policy(SharedMemory())


WRONG: list[tuple[str, dict[str, Any], str]] = [
    ("SnoozeIt", {"horizon": 0, "drift": 0.1}, "horizon.*at least 1; got 0"),
    ("SnoozeIt", {"horizon": 10.5, "drift": 0.1}, "horizon.*got 10.5"),
    ("SnoozeIt", {"horizon": math.inf, "drift": 0.1}, "horizon.*got inf"),
    ("SnoozeIt", {"horizon": 1_000, "drift": -0.1}, r"drift must lie in \[0, 1\].*got -0.1"),
    ("SnoozeIt", {"horizon": 1_000, "drift": 1.5}, "got 1.5"),
    ("SnoozeIt", {"horizon": 1_000, "drift": math.nan}, "got nan"),
    ("SnoozeIt", {"horizon": 1_000, "drift": 0.1, "variant": "Modified"}, "modified, original, released"),
    ("SnoozeIt", {"horizon": 1_000, "drift": 0.1, "pick": "median"}, "largest, smallest"),
    ("SnoozeIt", {"horizon": 1_000, "drift": 0.1, "confidence": 0.0}, "confidence must be positive"),
    ("Rexp3", {"horizon": 1_000, "drift": 0.0}, "undefined for drift=0: give batch"),
    ("Rexp3", {}, "needs horizon and drift"),
    ("Rexp3", {"batch": 0}, "batch must be a whole number"),
    ("Rexp3", {"batch": math.nan}, "batch must be a whole number, at least 1; got nan"),
    ("Rexp3", {"batch": 10, "gamma": 2.0}, "gamma must lie in"),
    ("Rexp3", {"horizon": 0, "drift": 0.1}, "horizon.*got 0"),
    ("Rexp3", {"horizon": 1_000, "drift": 2.0}, "drift must lie in"),
    ("Rexp3", {"drift": 0.1}, "needs horizon and drift"),
    ("Exp3S", {"horizon": 1_000, "drift": 0.0}, "drift=0 would stop exploring: give gamma"),
    ("Exp3S", {"gamma": 0.1}, "needs horizon"),
    ("Exp3S", {"horizon": 1_000}, "needs drift"),
    ("Exp3S", {"horizon": 0, "drift": 0.1}, "horizon.*got 0"),
    ("Exp3S", {"horizon": 1_000, "drift": 2.0}, "drift must lie in"),
    ("Exp3S", {"alpha": 0.0, "gamma": 0.1}, "alpha must lie in .*got 0.0"),
    ("Exp3S", {"alpha": 2.0, "gamma": 0.1}, "alpha must lie in .*got 2.0"),
    ("Exp3S", {"alpha": 0.1, "gamma": 0.0}, "gamma must lie in .*got 0.0"),
    ("KalmanTS", {"drift": 2.0, "posterior": "beta"}, "drift must lie in"),
    ("KalmanTS", {"drift": 0.1, "sigma": 0.0}, "sigma must lie in"),
    ("DriftUCB", {"horizon": 0, "drift": 0.1}, "horizon.*got 0"),
    ("DriftUCB", {"horizon": 1_000, "drift": 2.0}, "drift must lie in"),
    ("DriftUCB", {"horizon": 1_000, "drift": 0.1, "risk": 0.0}, "risk must be positive"),
    ("DriftUCB", {"horizon": 1_000, "drift": 0.1, "risk": math.inf}, "risk must be positive, from 1e-100 to"),
    ("DriftUCB", {"horizon": 1_000, "drift": 0.1, "kl": "poisson"}, "unknown kl"),
    ("SnoozeItK", {"horizon": 0, "drift": 0.1}, "horizon.*got 0"),
    ("SnoozeItK", {"horizon": 1_000, "drift": 2.0}, "drift must lie in"),
    ("SnoozeItK", {"horizon": 1_000, "drift": 0.1, "confidence": 0.0}, "confidence must be positive"),
    ("SnoozeItTight", {"horizon": 0, "drift": 0.1}, "horizon.*got 0"),
    ("SnoozeItTight", {"horizon": 1_000, "drift": 2.0}, "drift must lie in"),
    ("SnoozeItTight", {"horizon": 1_000, "drift": 0.1, "confidence": 0.0}, "confidence must be positive"),
    ("SnoozeItTight", {"horizon": 1_000, "drift": 0.1, "confidence": math.inf}, "confidence must be positive, from"),
    ("SWUCBSharp", {"horizon": 1_000, "drift": 0.0}, "infinite for drift=0: give alpha"),
    ("SWUCBSharp", {"horizon": 1, "drift": 0.1}, "undefined for horizon=1"),
    ("SWUCBSharp", {"horizon": 1_000, "drift": 0.1, "nu": 0.1}, "not both"),
    ("SWUCBSharp", {"horizon": 0, "drift": 0.1}, "horizon.*got 0"),
    ("SWUCBSharp", {"horizon": 1_000, "drift": 2.0}, "drift must lie in"),
    ("SWUCBSharp", {"drift": 0.1}, "needs horizon and drift"),
    ("SWUCBSharp", {"nu": 1.5}, "nu must lie in"),
    ("SWUCBSharp", {"alpha": 1.5}, "alpha must lie in"),
    ("SWUCBSharp", {"alpha": 0.5, "lam": 0.0}, "lam must be positive"),
    ("SWUCBSharp", {"alpha": 0.5, "lam": math.inf}, "lam must be positive, from"),
]


@pytest.mark.parametrize(("name", "options", "words"), WRONG)
def test_wrong_parameters(name: str, options: dict[str, Any], words: str) -> None:
    with pytest.raises(db.InputError, match=words):
        db.POLICIES[name](**options)


def test_unknown_policy_is_told_the_nearest() -> None:
    with pytest.raises(db.InputError, match="did you mean SnoozeIt"):
        make_policy("Snoozit")


def test_a_column_name_that_numpy_needs_is_refused() -> None:
    """``arms.mean`` would be numpy's method in Python and the column in compiled code."""
    with pytest.raises(db.InputError, match="cannot be called 'mean'"):
        db.records(2, mean="f8")


def test_oracle_needs_arms_that_exist() -> None:
    with pytest.raises(db.InputError, match="best_arms"):
        db.Oracle([0, 1, 2]).init(2)


@pytest.mark.parametrize("name", sorted(set(db.POLICIES) - {"SWUCBSharp"}))
def test_a_single_step(name: str) -> None:
    """T = 1 is a horizon like any other (SW-UCB#'s tuning alone is not defined there)."""
    policy = make_policy(name, horizon=1, drift=0.5, best_arms=[1])
    result = db.simulate({"it": policy}, db.Instance([[0.2, 0.8]]), db.Bernoulli(), runs=4)
    assert result.pulls["it"].sum() == 4
    assert result.times.tolist() == [1]


def test_columns_leave_no_gaps() -> None:
    with pytest.raises(db.InputError, match="use i8 and f8"):
        db.records(1, flag="?", value="f8")


@pytest.mark.parametrize("name", sorted(db.POLICIES))
def test_every_policy_rejects_numbers_of_arms_that_it_is_not_defined_for(name: str) -> None:
    policy = lively(name)
    fewest, most = policy.arms
    assert len(policy.init(fewest)) > 0
    for n_arms in (-1, 0, fewest - 1, *([int(most) + 1] if most < np.inf else [])):
        with pytest.raises(db.InputError, match=rf"{name} is defined for .* arms, not for {n_arms}: "):
            policy.init(n_arms)
    with pytest.raises(db.InputError, match="arms"):
        db.Online(policy, fewest - 1)

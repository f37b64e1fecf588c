"""Nothing a user writes in a policy crashes the process, and every mistake is told in a few lines, in their terms."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest

import broken_policies
import driftbandits as db
from broken_policies import (
    CallsJitted,
    ChoosesBool,
    ChoosesHalf,
    ChoosesMinusOne,
    ChoosesTooHigh,
    ChoosesWholeAndHalf,
    Counts,
    ForgetsToReturn,
    HandsOutOneState,
    HasAnotherEvent,
    HasNoState,
    Miscounts,
    Misspelt,
    MistypesField,
    NotFrozen,
    Raises,
    ReadsBeyond,
    Recorded,
    SharesMemory,
    Sound,
    UsesWhatNumbaDoesNotKnow,
    WritesBefore,
    WritesBeyond,
    WritesBeyondDeepDown,
    WritesFarAway,
    WritesFlat,
)
from driftbandits._numba.player import Player
from driftbandits.offline.log import Log
from driftbandits.testing import check_policy

WORLD = db.instances.stationary(3_000, (0.9, 0.2))


def simulated(policy: Any) -> None:
    db.simulate({"it": policy}, WORLD, runs=2, progress=False)


def online(policy: Any) -> None:
    play = db.Online(policy, 2)
    for _ in range(3_000):
        play.update(play.select(), 0.7)


def in_session(policy: Any) -> None:
    session = db.Session(policy, arms=["red", "blue"])
    for _ in range(3_000):
        session.tell(session.ask().id, 0.7)


def recorded(policy: Any) -> None:
    db.trajectory(policy, WORLD)


def replayed(policy: Any) -> None:
    arms = np.random.default_rng(0).integers(0, 2, 3_000)
    log = Log(("red", "blue"), arms, np.full(3_000, 0.7), np.full(3_000, 0.5))
    db.replay(log, {"it": policy}, replicates=2, progress=False)


WAYS: list[Callable[[Any], None]] = [simulated, online, in_session, recorded, replayed]

NO_ARM = r"\.select must return the number of an arm, a whole number as in return int\(arm\); it "
MESSAGES: dict[Any, str] = {
    WritesBeyond: r"WritesBeyond\.update, at step \d, used index 3 of state\.arms, which has length 2\n"
    r".*broken_policies\.py, line \d+:\n    state\.arms\[arm \+ 3\]\.q \+= reward$",
    WritesBefore: r"WritesBefore\.update, at step \d, used index -9 of state\.arms, which has length 2\n",
    WritesFarAway: r"WritesFarAway\.update, at step \d, used index 1099511627776 of state\.arms, which has length 2\n",
    ReadsBeyond: r"ReadsBeyond\.select, at step [\d,]+, used index 2 of state\.arms, which has length 2\n",
    WritesBeyondDeepDown: r"WritesBeyondDeepDown\.update, at step \d, used index 2 of arms, which has length 2\n"
    r".*broken_policies\.py, line \d+:\n    arms\[arm \+ 2\]\.q = 1\.0$",
    MistypesField: r"MistypesField\.update raised AttributeError: .*'qq'\n.*broken_policies\.py, line \d+:\n"
    r"    state\.arms\[arm\]\.qq \+= reward$",
    UsesWhatNumbaDoesNotKnow: r"UsesWhatNumbaDoesNotKnow cannot be compiled, because numba knows only a part of "
    r"Python: .*; change that, or drop the base class .*\n.*broken_policies\.py, line \d+:\n    \S+",
    ChoosesTooHigh: r"ChoosesTooHigh chose arm 7 at step \d, which does not exist: arms are 0 to 1$",
    ChoosesMinusOne: r"ChoosesMinusOne chose arm -1 at step \d, which does not exist: arms are 0 to 1$",
    Raises: r"Raises\.update, at step \d+, raised ValueError: no good\n.*broken_policies\.py, line \d+",
    CallsJitted: r"CallsJitted\.update, at step \d, used index 2 of arms, which has length 2\n"
    r".*broken_policies\.py, line \d+:\n    arms\[arm \+ 2\]\.q = 1\.0$",
    ChoosesHalf: rf"ChoosesHalf{NO_ARM}returned 0\.5$",
    ChoosesWholeAndHalf: rf"ChoosesWholeAndHalf{NO_ARM}return(s a number of type float64|ed 0\.5)$",
    ForgetsToReturn: rf"ForgetsToReturn{NO_ARM}return(s None on one of its paths|ed None)$",
    HasAnotherEvent: r"HasAnotherEvent\.init made a field event of another form",
    SharesMemory: r"SharesMemory\.init made arms and event of the same memory",
    WritesFlat: r"WritesFlat: WritesFlat\.update uses flat, whose indices numba can't check; write it with array "
    r"elements, as in array\[index\]\n.*broken_policies\.py, line \d+$",
    NotFrozen: r"NotFrozen must be a dataclass that is frozen: write @dataclass\(frozen=True\) above it$",
    HasNoState: r"HasNoState\.init must return a NamedTuple of numpy arrays",
    Miscounts: r"Miscounts\.reserve was asked for room for [\d,]+ updates after [\d,]+, and made less",
}


EVERYWHERE = {
    CallsJitted,
    ChoosesHalf,
    ChoosesWholeAndHalf,
    ForgetsToReturn,
    WritesBeyond,
    MistypesField,
    ChoosesMinusOne,
    Raises,
    Miscounts,
}
MET = [(kind, way) for kind in MESSAGES for way in WAYS if way is simulated or kind in EVERYWHERE]
"""All mistakes in simulate, and one of each sort wherever policies are played: one Player plays them all."""


@pytest.mark.parametrize(("kind", "way"), MET)
def test_a_mistake_is_told_in_a_few_lines(kind: type[db.Policy], way: Callable[[Any], None]) -> None:
    expected = db.InputError if kind is NotFrozen else db.PolicyError
    with pytest.raises(expected, match=r"(?s)" + MESSAGES[kind]) as caught:
        way(kind())
    text = str(caught.value)
    assert len(text.splitlines()) <= 5
    assert len(text) < 800
    assert caught.value.__suppress_context__ or caught.value.__context__ is None, "numba's traceback would be shown"


@pytest.mark.parametrize("kind", MESSAGES)
def test_check_policy_reports_and_does_not_abort(kind: type[Sound]) -> None:
    with pytest.raises(AssertionError, match=kind.__name__):
        check_policy(kind())


def test_a_policy_of_ones_own_needs_no_citation_but_ours_do() -> None:
    check_policy(Sound())
    ours = type("Ours", (Sound,), {"__module__": "driftbandits.policies.ours", "__doc__": "No source."})
    with pytest.raises(AssertionError, match=r"needs a line 'Citation: \.\.\.'"):
        check_policy(ours())


@pytest.mark.parametrize("wrong", [None, 0.0, "red", np.array([1, 2])])
def test_a_plain_policy_that_answers_no_arm(wrong: Any) -> None:
    class Plain:
        def init(self, n_arms: int) -> None: ...
        def select(self, state: None, rng: np.random.Generator) -> Any:
            return wrong

        def update(self, state: None, arm: int, reward: float) -> None: ...

    for way in (simulated, online, recorded):
        with pytest.raises(db.PolicyError, match=r"Plain\.select must return the number of an arm"):
            way(Plain())


def test_a_plain_policys_own_error_is_its_own() -> None:
    class Plain:
        def init(self, n_arms: int) -> None: ...
        def select(self, state: None, rng: np.random.Generator) -> int:
            raise ZeroDivisionError("mine")

        def update(self, state: None, arm: int, reward: float) -> None: ...

    for way in (simulated, online, recorded):
        with pytest.raises(ZeroDivisionError, match="mine"):
            way(Plain())


def test_a_session_whose_policy_fails_stays_as_it_was() -> None:
    """Neither a wrong arm nor a failed update leaves a Decision or a reward half taken."""
    for any_order in (True, False):
        kind = type("ChoosesTooHigh", (ChoosesTooHigh,), {"any_order": any_order})
        session = db.Session(kind(), arms=["red", "blue"])
        session.journal = []
        for _ in range(3 if any_order else 2):
            session.tell(session.ask().id, 0.5)
        decision = None if any_order else session.ask()  # told in turn, a policy chooses as soon as it has learnt
        before, journal, waiting = session.snapshot(), list(session.journal), session.open
        with pytest.raises(db.PolicyError, match="chose arm 7 at step 4"):
            session.ask() if decision is None else session.tell(decision.id, 0.5)
        assert (session.open, session.journal) == (waiting, journal)
        assert session.snapshot() == before

    session = db.Session(Raises(), arms=["red", "blue"])
    session.journal = []
    for _ in range(4):
        session.tell(session.ask().id, 0.5)  # one of each arm, then the better one
    decision = session.ask()
    before, journal = session.snapshot(), list(session.journal)
    with pytest.raises(db.PolicyError, match="no good"):
        session.tell(decision.id, 0.5)
    assert session.journal == journal
    assert session.snapshot() == before
    assert session.open == 1


def test_noise_that_draws_no_number_is_named() -> None:
    for sigma in (1e200, 1e308):
        with pytest.raises(
            db.InputError, match=r"Gaussian\(sigma=.*\) drew the reward .* at step \d+: .* 1e\+100 in size"
        ):
            db.simulate({"it": db.UCB1()}, WORLD, db.Gaussian(sigma), runs=2, progress=False)


@pytest.mark.parametrize("way", [db.simulate, db.trajectory])
def test_noise_of_ones_own_is_checked_and_its_mistakes_are_named(way: Callable[..., Any]) -> None:
    """Also beside a policy of the package, whose kernels alone would run unchecked."""
    beyond = r"(?s)^Recorded\.draw, at step \d+, used index 8 of RESIDUALS, which has length 8\n.*line \d+:\n    return"
    with pytest.raises(db.PolicyError, match=beyond):
        way(db.UCB1(), WORLD, Recorded())
    with pytest.raises(db.PolicyError, match=r"(?s)^Misspelt\.draw raised AttributeError: .*'scales'.*line \d+"):
        way(db.UCB1(), WORLD, Misspelt())


def test_an_arm_may_be_a_truth_value_wherever_it_is_played() -> None:
    check_policy(ChoosesBool())
    for way in WAYS:
        way(ChoosesBool())


def test_runs_do_not_share_what_init_hands_out() -> None:
    for way in WAYS:
        way(HandsOutOneState())
    assert not broken_policies.COMMON.n.any()


@pytest.mark.parametrize("wrong", [2.5, "seven", None, 10**30, float("nan")])
def test_a_field_that_compiled_code_would_take_for_another_number(wrong: Any) -> None:
    """2.5 was 2 in machine code, and 2.5 without a compiler."""
    with pytest.raises(db.InputError, match=r"^window of Counts is annotated int and must be one; got "):
        db.Online(Counts(window=wrong), 2)
    with pytest.raises(db.InputError, match=r"^bonus of Counts is annotated float and must be one; got "):
        db.Online(Counts(bonus=10**400), 2)
    assert db.Online(Counts(bonus=float("nan"), window=np.int64(3)), 2).select() == 0  # type: ignore[arg-type]


def test_without_checks_a_failure_does_not_claim_to_know_where(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DRIFTBANDITS_BOUNDSCHECK", "0")
    for way in WAYS:
        with pytest.raises(db.PolicyError, match=r"^Raises failed: no good\. .* with DRIFTBANDITS_BOUNDSCHECK=1 it"):
            way(Raises())


def test_a_constant_that_changed_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a notebook: a cell sets a global anew, and the policy is used again without being defined again."""

    def arms() -> list[int]:
        return list(db.trajectory(Sound(), db.instances.stationary(300, (0.9, 0.2)), seed=1).arms)

    before = arms()
    monkeypatch.setattr(broken_policies, "SCALE", -2.0)
    after = arms()
    assert before.count(0) > 250 > 50 > after.count(0)
    monkeypatch.setattr(broken_policies, "SCALE", 2.0)
    assert arms() == before


def run(program: str, **environment: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([str(Path(broken_policies.__file__).parent), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = {**os.environ, "PYTHONPATH": path, "PYTHONWARNINGS": "ignore", **environment}
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment)


@pytest.mark.parametrize(("switch", "mode"), [("", "checked"), ("0", "compiled"), ("1", "checked")])
def test_the_switch(switch: str, mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from driftbandits._numba.player import usual_mode

    monkeypatch.setenv("DRIFTBANDITS_BOUNDSCHECK", switch)
    assert usual_mode(Sound()) == mode
    assert usual_mode(db.UCB1()) == ("checked" if switch == "1" else "compiled")
    assert usual_mode(object()) == "interpreted"
    monkeypatch.setenv("DRIFTBANDITS_BOUNDSCHECK", "maybe")
    with pytest.raises(db.InputError, match=r"DRIFTBANDITS_BOUNDSCHECK must be 1 .* or 0 .*; got 'maybe'"):
        usual_mode(Sound())


def test_doubling_over_a_users_policy_is_checked_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DRIFTBANDITS_BOUNDSCHECK", raising=False)
    from driftbandits._numba.player import usual_mode

    @dataclass(frozen=True)
    class Told(Sound):
        horizon: int = 100

    assert usual_mode(db.Doubling(Told())) == "checked"
    assert usual_mode(db.Doubling(db.DriftUCB(100, 1e-3))) == "compiled"


def test_without_checks_a_method_may_be_one_that_numba_njit_has_wrapped(monkeypatch: pytest.MonkeyPatch) -> None:
    @dataclass(frozen=True)
    class Wrapped(Sound):
        select = numba.njit(Sound.select)

    monkeypatch.setenv("DRIFTBANDITS_BOUNDSCHECK", "0")
    assert db.Online(Wrapped(), 2, seed=1).select() == db.Online(Sound(), 2, seed=1).select()


def test_without_a_compiler_everything_is_interpreted_and_the_same() -> None:
    program = """
import driftbandits as db, numpy as np
instance = db.instances.sinusoid(400, 1e-3)
policies = {"SnoozeItK": db.SnoozeItK(400, 1e-3, 0.1), "AutoTS": db.AutoTS(), "MASTER": db.MASTER(400, 0.01)}
result = db.simulate(policies, instance, runs=2, progress=False)
print([result.regret[name][:, -1].tolist() for name in policies])
session = db.Session(db.SnoozeItK(400, 1e-3, 0.1), arms=["a", "b"], explore=0.5)
told = []
for step in range(60):
    decision = session.ask()
    told.append(decision.arm)
    session.tell(decision.id, float(step % 3))
print(told, session.explain(f"d-{session.step}").arm)
play = db.Online(db.AutoTS(), 3)
for step in range(60):
    play.update(play.select(), float(step % 3))
print(play.select(), db.trajectory(db.UCB1(), instance).arms.tolist())
print(db.detectable_gap(instance.means).sum())
"""
    compiled, interpreted = run(program), run(program, NUMBA_DISABLE_JIT="1")
    assert compiled.returncode == interpreted.returncode == 0, compiled.stderr + interpreted.stderr
    assert compiled.stdout == interpreted.stdout


@pytest.mark.parametrize("arm", [-1, 2, 1 << 40])
def test_a_reward_of_an_arm_that_is_not_there_is_refused(arm: int) -> None:
    player = Player(db.UCB1(), 2, np.random.Generator(np.random.SFC64(1)))
    before = [array.copy() for array in player.state]
    with pytest.raises(db.InputError, match="a reward is of an arm from 0 to 1; got"):
        player.update_many([(0, 0.5), (arm, 0.5)])
    assert all((was == now).all() for was, now in zip(before, player.state, strict=True))

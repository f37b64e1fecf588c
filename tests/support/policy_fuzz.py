"""Random policies, some broken on purpose, on random rewards, played in every way: nothing may crash or differ.

A ``Scripted`` policy reads its own rules from its State: which array to read or write, and at which index, made of the
arm, the time and a constant. So one compiled class is as many policies as there are tables, and many of them are wrong.
Each is played with every index checked, and interpreted. Policies of the package are played compiled as well.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple
from unittest import mock

import numpy as np

import driftbandits as db
from driftbandits.offline.log import Log
from driftbandits.testing.policies import Stream, reward_streams
from lively import lively

ROWS = 4


class ScriptedState(NamedTuple):
    rules: Any
    """The first half is for ``select``, the other for ``update``."""
    run: Any
    first: Any
    second: Any


@dataclass(frozen=True)
class Scripted(db.Policy):
    """Does what its table of rules says. ``wild`` lets it choose arms that may not exist."""

    table: Any
    lengths: tuple[int, int]
    wild: bool

    def init(self, n_arms: int) -> ScriptedState:
        rules = db.records(2 * ROWS, array="i8", shift="i8", by_arm="i8", by_t="i8", modulo="i8")
        for row, values in enumerate(self.table):
            rules[row] = values
        run = db.records(1, t="i8", n_arms="i8")
        run.n_arms = n_arms
        return ScriptedState(rules, run, *(db.records(length, x="f8") for length in self.lengths))

    def select(self, state: ScriptedState, rng: np.random.Generator) -> int:
        run, found = state.run[0], 0.0
        for row in range(ROWS):
            rule = state.rules[row]
            index = place(rule, run.t % run.n_arms, run.t)
            found += state.first[index].x if rule.array == 0 else state.second[index].x
        draw = int(rng.random() * 1000.0)
        arm = int(min(max(found, -1e6), 1e6) * 8.0) + draw if found == found else draw
        return arm if self.wild and run.t > 50 else arm % run.n_arms

    def update(self, state: ScriptedState, arm: int, reward: float) -> None:
        run = state.run[0]
        run.t += 1
        for row in range(ROWS, 2 * ROWS):
            rule = state.rules[row]
            index = place(rule, arm, run.t)
            if rule.array == 0:
                state.first[index].x += reward
            else:
                state.second[index].x = 0.5 * state.second[index].x - reward


def place(rule: Any, arm: int, t: int) -> int:
    index = rule.shift + rule.by_arm * arm + rule.by_t * t
    return index % rule.modulo if rule.modulo > 0 else index  # type: ignore[no-any-return]


@dataclass(frozen=True)
class Wild(db.Noise):
    """Noise of any size, from subnormal numbers to 1e300, which no policy is asked to bear."""

    size: float = 1.0

    def draw(self, mean: float, rng: np.random.Generator) -> float:
        return mean + self.size * (rng.random() - 0.5)


def scripted(luck: random.Random) -> Scripted:
    lengths = (luck.randint(1, 12), luck.randint(1, 300))
    sound = luck.random() < 0.5

    def rule() -> tuple[int, ...]:
        array = luck.randint(0, 1)
        if sound or luck.random() < 0.7:
            return array, luck.randint(0, 99), luck.randint(0, 3), luck.randint(0, 3), lengths[array]
        modulo = luck.choice([0, 0, lengths[array] + 1, 3 * lengths[array]])
        return array, luck.randint(-15, 15), luck.randint(-2, 2), luck.choice([0, 0, 0, 1, -1]), modulo

    return Scripted(tuple(rule() for _ in range(2 * ROWS)), lengths, not sound and luck.random() < 0.3)


def simulated(policy: Any, n_arms: int, steps: int, rewards: Stream, seed: int) -> Any:
    size = (1.0, 0.0, 5e-324, 1e100, 1e300)[seed % 5]
    instance = db.instances.sinusoid(steps, 1e-3, n_arms)
    result = db.simulate({"it": policy}, instance, Wild(size), runs=2, seed=seed, workers=1, progress=False)
    return result.regret["it"].tolist(), result.realised["it"].tolist(), result.pulls["it"].tolist()


def online(policy: Any, n_arms: int, steps: int, rewards: Stream, seed: int) -> Any:
    play, pulls, arms = db.Online(policy, n_arms, seed), [0] * n_arms, []
    for _ in range(steps):
        arm = play.select()
        play.update(arm, rewards(pulls[arm], arm))
        pulls[arm] += 1
        arms.append(arm)
    return arms, [array.tobytes() for array in play.state]


def in_session(policy: Any, n_arms: int, steps: int, rewards: Stream, seed: int) -> Any:
    luck, names = random.Random(seed), [f"arm {arm}" for arm in range(n_arms)]
    chances = luck.choice([0.0, 0.0, 0.3])
    session = db.Session(policy, arms=names, seed=seed, explore=chances, unit_key="k", clock=lambda: 0.0)
    waiting: list[Any] = []
    arms, pulls = [], [0] * n_arms
    while session.step < steps:
        for decision in session.ask_many(luck.randint(1, 5)):
            arms.append(decision.arm)
            waiting.append(decision)
        luck.shuffle(waiting)
        told, waiting = waiting[: luck.randint(1, 5)], waiting[luck.randint(1, 5) :]
        for decision in told:
            arm = names.index(decision.arm)
            if session.remembers(decision.id):
                session.tell_many([(decision.id, rewards(pulls[arm], arm))])
                pulls[arm] += 1
    return arms, session.snapshot()


def replayed(policy: Any, n_arms: int, steps: int, rewards: Stream, seed: int) -> Any:
    rng = np.random.default_rng(seed)
    arms = rng.integers(0, n_arms, steps)
    given = np.array([max(-1e6, min(1e6, rewards(step, int(arm)))) for step, arm in enumerate(arms)])
    log = Log(tuple(f"arm {arm}" for arm in range(n_arms)), arms, given, np.full(steps, 1 / n_arms))
    played = db.replay(log, {"it": policy}, drift=1e-3, replicates=2, seed=seed, workers=1, progress=False)
    return played.table().to_dicts()


WAYS: dict[str, Callable[..., Any]] = {
    "simulate": simulated,
    "Online": online,
    "Session": in_session,
    "replay": replayed,
}


def outcome(mode: str, play: Callable[[], Any]) -> tuple[str, Any]:
    """What came of it; of a policy's failure, which kernel and step. Anything but an InputError is a bug."""
    with mock.patch("driftbandits._numba.player.usual_mode", return_value=mode):
        try:
            return "played", play()
        except db.PolicyError as error:
            return "refused", str(error).split(" used ")[0].split(" failed ")[0].split(",")[:2]
        except db.InputError as error:
            return "refused", str(error)


def fuzz_once(seed: int) -> str:
    """One random case, played in every mode that may be; answers its kind."""
    luck = random.Random(seed)
    n_arms, steps = luck.randint(2, 6), luck.choice([1, 7, 60, 200])
    way = luck.choice(sorted(WAYS))
    name = "Scripted" if luck.random() < 0.8 else luck.choice(sorted(db.POLICIES))
    if name == "Scripted":
        policy: db.Policy = scripted(luck)
        modes = ["checked", "interpreted"]
    else:
        policy = lively(name, n_arms)
        modes = ["compiled", "interpreted"]
        if n_arms > policy.arms[1] or (name == "Oracle" and way in ("replay", "Session")):
            return "not defined"
    stream = luck.choice(sorted(reward_streams()))
    rewards = reward_streams(policy)[stream]
    found = [
        outcome(mode, lambda: WAYS[way](policy, n_arms, 300 if way == "replay" else steps, rewards, seed))
        for mode in modes
    ]
    same = repr(found[0]) == repr(found[1])
    assert same, f"case {seed}: {way} of {policy!r}, {n_arms} arms, {steps} steps, {stream} rewards: {modes} differ"
    return f"{way} {'of ours' if name != 'Scripted' else found[0][0]}"


def fuzz(first: int, seconds: float) -> Counter[str]:
    """Cases from number ``first`` on for so long; forty at least."""
    seen, until, seed = Counter[str](), time.monotonic() + seconds, first
    while time.monotonic() < until or seed < first + 40:
        seen[fuzz_once(seed)] += 1
        seed += 1
    return seen

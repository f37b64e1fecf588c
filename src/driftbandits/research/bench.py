"""What a step costs, as a multiple of the floor: the same loop with a policy that only draws the reward."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from driftbandits import instances
from driftbandits._common.tables import print_table
from driftbandits._numba.player import Mode
from driftbandits.errors import FeasibilityWarning
from driftbandits.instances import Instance
from driftbandits.instances.noise import Gaussian
from driftbandits.live.online import Online
from driftbandits.policies import (
    POLICIES,
    Exp3S,
    Oracle,
    Rexp3,
    RoundRobin,
    SnoozeIt,
    SWUCBSharp,
    Uniform,
    make_policy,
)
from driftbandits.policies.base import Policy, Records, records
from driftbandits.simulation.engine import Job

SECONDS_EACH = 0.4
T = 162_755
LONG = 10**7
DRIFT = 1 / 4_800
ABRUPT: dict[str, Any] = {"changes": 5, "drift": None}
SETTINGS: dict[str, dict[str, Any]] = {
    "CUSUMUCB": ABRUPT,
    "MUCB": ABRUPT,
    "GLRUCB": {"test": "gaussian"},
    "KLUCB": {"kl": "gaussian"},
}
"""Policies that are told something else than the drift: tuned to this one, M-UCB would only explore 20 arms. The noise
is Gaussian, for which not all are made in their usual form."""


class FloorState(NamedTuple):
    run: Records


@dataclass(frozen=True)
class Floor(Policy):
    """Pulls arm 0 and learns nothing: what remains is drawing the reward and adding up regret."""

    def init(self, n_arms: int) -> FloorState:
        return FloorState(records(1, unused="i8"))

    def select(self, state: FloorState, rng: np.random.Generator) -> int:
        return 0

    def update(self, state: FloorState, arm: int, reward: float) -> None:
        pass


def nanoseconds(
    policies: dict[str, Policy], instance: Instance, modes: Sequence[Mode | None] | None = None
) -> dict[str, float]:
    """The best time a step over repeated runs, taken in turns so that a busy moment affects all equally."""
    times = np.array([instance.horizon])
    jobs = {
        name: Job(policy, instance, Gaussian(0.5), times, 0, mode=mode)
        for (name, policy), mode in zip(policies.items(), modes or [None] * len(policies), strict=True)
    }
    for job in jobs.values():
        job.prepare()
    best, spent, run = dict.fromkeys(jobs, np.inf), dict.fromkeys(jobs, 0.0), 0
    while run < 2 or min(spent.values()) < SECONDS_EACH:
        for name, job in jobs.items():
            if run < 2 or spent[name] < SECONDS_EACH:
                result = job.play(run, lambda steps: True)
                assert result is not None
                best[name] = min(best[name], result.seconds / instance.horizon * 1e9)
                spent[name] += result.seconds
        run += 1
    return best


def rivals(horizon: int, drift: float) -> dict[str, Policy]:
    return {
        "SnoozeIt": SnoozeIt(horizon, drift),
        "SnoozeIt, confidence 0.1": SnoozeIt(horizon, drift, confidence=0.1),
        "SnoozeIt released": SnoozeIt(horizon, drift, variant="released"),
        "SW-UCB#": SWUCBSharp(horizon, drift),
        "Rexp3": Rexp3(horizon, drift),
        "Exp3.S": Exp3S(horizon, drift),
        "RoundRobin": RoundRobin(),
        "Uniform": Uniform(),
    }


def step_costs(quick: bool) -> Iterator[dict[str, Any]]:
    """One row for each policy on each instance; on equal arms SnoozeIt's test never passes."""
    for horizon in (T,) if quick else (T, LONG):
        equal = instances.stationary(horizon, (0.5, 0.5))
        played = [
            (instances.separated(horizon), 1 / 48_000),
            (instances.toggling(horizon), DRIFT),
            (equal, 1 / 48_000),
        ]
        for instance, drift in played:
            policies = {**rivals(horizon, drift), "Oracle": Oracle(instance.best_arm)}
            costs = nanoseconds({"floor": Floor(), **policies}, instance)
            name = "equal arms" if instance is equal else instance.name
            for policy, cost in costs.items():
                yield {"T": horizon, "instance": name, "policy": policy, "ns": cost, "floor": cost / costs["floor"]}


def every(instance: Instance) -> dict[str, Policy]:
    """Every policy of the registry, told by this instance what it asks for."""
    return {name: make_policy(name, instance, **SETTINGS.get(name, {})) for name in sorted(POLICIES)}


def every_policy() -> Iterator[dict[str, Any]]:
    """One row for each policy of the registry: its cost with 2 and with 20 arms, where it is defined for so many."""
    rows: dict[str, dict[str, Any]] = {name: {"policy": name} for name in ("floor", *sorted(POLICIES))}
    for n_arms in (2, 20):
        instance = instances.sinusoid(T, DRIFT, n_arms)
        policies = every(instance)
        able = {name: policy for name, policy in policies.items() if n_arms <= policy.arms[1]}
        costs = nanoseconds({"floor": Floor(), **able}, instance)
        for name, row in rows.items():
            cost = costs.get(name)
            row[f"ns_K={n_arms}"] = cost
            row[f"floor_K={n_arms}"] = None if cost is None else cost / costs["floor"]
    yield from rows.values()


def checks() -> Iterator[dict[str, Any]]:
    """What it costs to check every index, as it is done for policies from outside the package."""
    instance = instances.sinusoid(T, DRIFT, 2)
    for name, policy in every(instance).items():
        costs = nanoseconds({"compiled": policy, "checked": policy}, instance, ("compiled", "checked"))
        yield {"policy": name, **costs, "ratio": costs["checked"] / costs["compiled"]}


def memory_by_runs() -> Iterator[dict[str, Any]]:
    """Peak memory of a process that makes few or many runs: it must not grow with them."""
    program = (
        "import driftbandits as db; from driftbandits._common.memory import peak_megabytes;"
        "i = db.instances.separated();"
        "db.simulate({{'it': db.SnoozeIt(i.horizon, 1/48000, confidence=0.1)}}, i, runs={runs}, progress=False);"
        "print(peak_megabytes())"
    )
    for runs in (10, 100, 1_000):
        answer = subprocess.run(
            [sys.executable, "-c", program.format(runs=runs)], capture_output=True, text=True, check=True
        )
        yield {"runs": runs, "peak_MB": float(answer.stdout)}


def calls_from_python() -> Iterator[dict[str, Any]]:
    """select and update, called one by one from Python, with every input checked and room made."""
    policies = {"SnoozeIt": SnoozeIt(10**9, 1e-5), "SW-UCB#": SWUCBSharp(10**6, 1e-5), "Rexp3": Rexp3(10**6, 1e-5)}
    for name, policy in policies.items():
        play = Online(policy, 2)
        rewards = np.random.default_rng(0).normal(0.5, 0.5, 20_000).tolist()
        yield {"policy": name, "us": min(_microseconds(partial(_play_by_hand, play), rewards) for _ in range(5))}


def _play_by_hand(play: Online, rewards: list[float]) -> None:
    for reward in rewards:
        play.update(play.select(), reward)


def _microseconds(call: Callable[[list[float]], None], rewards: list[float]) -> float:
    begun = time.perf_counter()
    call(rewards)
    return (time.perf_counter() - begun) / len(rewards) * 1e6


def start_up() -> Iterator[dict[str, Any]]:
    """Seconds from starting a new process, with machine code cached on disk."""
    programs = {
        "import driftbandits": "import driftbandits",
        "first result of one policy": (
            "import driftbandits as db; i = db.instances.separated(horizon=10_000);"
            "db.simulate({'it': db.SnoozeIt(10_000, 1e-5)}, i, runs=1, progress=False)"
        ),
    }
    empty = _fastest("pass")
    for name, program in programs.items():
        yield {"what": name, "seconds": _fastest(program) - empty}


def _fastest(program: str) -> float:
    took = []
    for _ in range(4):
        begun = time.perf_counter()
        subprocess.run([sys.executable, "-c", program], check=True, env={**os.environ, "PYTHONWARNINGS": "ignore"})
        took.append(time.perf_counter() - begun)
    return min(took)


def print_benchmarks(quick: bool) -> None:
    """Everything above, as tables."""
    import polars as pl

    warnings.simplefilter("ignore", FeasibilityWarning)
    # Memory first: a process's peak includes that of the one which started it.
    print_table(pl.DataFrame(list(memory_by_runs())), "Memory by number of runs", {"runs": ",", "peak_MB": ",.0f"})
    note = "floor: the same loop with a policy that does nothing, measured in the same run"
    formats = {"policy": "", "ns_K=2": ".1f", "floor_K=2": ".2f", "ns_K=20": ".1f", "floor_K=20": ".2f"}
    title = f"A step of every policy, with 2 and with 20 arms: sinusoid, T = {T:,}"
    print_table(pl.DataFrame(list(every_policy())), title, formats, note)
    costs = pl.DataFrame(list(step_costs(quick)))
    formats = {"T": ",", "instance": "", "policy": "", "ns": ".1f", "floor": ".2f"}
    print_table(costs, "A step of the paper's policies", formats, note)
    note = "checked: every index compared with its array's length, as for policies from outside the package"
    formats = {"policy": "", "compiled": ".1f", "checked": ".1f", "ratio": ".2f"}
    print_table(pl.DataFrame(list(checks())), f"Checks: nanoseconds a step, sinusoid, T = {T:,}", formats, note)
    calls = pl.DataFrame(list(calls_from_python()))
    print_table(calls, "select + update from Python, microseconds", {"policy": "", "us": ".2f"})
    print_table(pl.DataFrame(list(start_up())), "A new process, beyond python itself", {"what": "", "seconds": ".3f"})

"""simulate(policies, instance, ...) -> Simulation: many runs of several policies that all meet the same noise."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from driftbandits._common.arrays import Array
from driftbandits._common.checks import check_flag, check_path, check_seed, check_whole, shown
from driftbandits._common.files import check_writable
from driftbandits._common.threads import cores
from driftbandits._common.versions import versions
from driftbandits.errors import InputError
from driftbandits.instances import Instance
from driftbandits.instances.describe import with_homes
from driftbandits.instances.given import as_instance
from driftbandits.instances.noise import Noise, check_noise
from driftbandits.policies.registry import make_policy, name_policies
from driftbandits.simulation.engine import Job, play_all
from driftbandits.simulation.misfits import warn_of_misfits, warn_of_round_robin
from driftbandits.simulation.parquet import Runs, read_runs, write_runs
from driftbandits.simulation.requirements import usual_noise
from driftbandits.simulation.result import Simulation, assemble, describe_simulation

MOST_CHECKPOINTS = 100_000
MOST_REGRETS = 250_000_000
"""Checkpoints of all runs of all policies: 4 GB, for regret and realised regret."""


def simulate(
    policies: Mapping[str, Any] | Sequence[Any] | Any,
    instance: Instance | str | Any,
    noise: Noise | None = None,
    *,
    runs: int = 100,
    seed: int | None = 0,
    workers: int | None = None,
    checkpoints: int = 200,
    events: bool = False,
    keep: str | os.PathLike[str] | None = None,
    progress: bool | None = None,
) -> Simulation:
    """Play every policy ``runs`` times on ``instance``; the result is the same bits for any number of ``workers``.

    ``policies`` maps names to policies; a list of policies, or one alone, has the names of their classes. A policy is
    any object with init, select and update, or the name of one of this package, which is told what the instance knows
    (horizon, drift). ``instance`` is an Instance, the name of a family, a file, or a table of means. ``noise`` is
    ``Gaussian(0.5)`` unless given, or ``Gaussian`` with half the width of the instance's ``reward_range``.

    In run i every policy meets the same noise, which depends only on ``seed`` and i; so does the policy's own
    randomness, and a policy does the same with or without the others. ``seed=None`` takes a new seed, which the result
    tells. ``events=True`` keeps what policies note (SnoozeIt: every episode). ``keep`` names a Parquet file: Ctrl-C
    leaves the finished runs there, and the same call goes on from them; ``Simulation.load(keep, partial=True)`` reads
    them meanwhile. ``progress`` shows a bar; None shows it on a terminal and in a notebook only.

    >>> from driftbandits import instances, policies
    >>> result = simulate({"turns": policies.RoundRobin()}, instances.stationary(100, (0.9, 0.4)), runs=3)
    >>> result.regret["turns"][:, -1].round(6).tolist()
    [25.0, 25.0, 25.0]
    >>> list(simulate(["RoundRobin", policies.UCB1()], [[0.9, 0.4]] * 100, runs=3).regret)
    ['RoundRobin', 'UCB1']
    """
    instance = as_instance(instance)
    policies = name_policies(policies, lambda name: make_policy(name, instance))
    noise = check_noise(usual_noise(instance) if noise is None else noise)
    runs = check_whole("runs", runs, 1)
    seed = _kept_seed(keep) if seed is None else check_whole("seed", seed, 0)
    workers = cores() if workers is None else check_whole("workers", workers, 1)
    times = _checkpoint_times(instance.horizon, check_whole("checkpoints", checkpoints, 1))
    _check_size(len(policies), runs, len(times))
    events, progress = bool(check_flag("events", events)), check_flag("progress", progress, optional=True)
    keep = None if keep is None else check_path("keep", keep)
    numbers = {"seed": seed, "runs": runs, "times": times.tolist(), "events": events, "versions": versions()}
    done: Runs = {name: {} for name in policies}
    described = {} if keep is None else describe_simulation(policies, instance, noise, numbers)
    if keep is not None and Path(keep).exists():
        done.update(_finished(keep, described))
    jobs = {name: Job(policy, instance, noise, times, seed, events) for name, policy in policies.items()}
    names = {id(job): name for name, job in jobs.items()}
    # Run by run, so that of what an interruption leaves most runs are there of every policy.
    todo = [(jobs[name], run) for run in range(runs) for name in policies if run not in done[name]]
    for job in {id(job): job for job, _ in todo}.values():
        job.prepare()
    if keep is not None and todo:
        _check_kept(keep)
    warn_of_misfits(policies, instance)
    try:
        play_all(todo, lambda job, run, result: done[names[id(job)]].update({run: result}), workers, progress)
    finally:
        if keep is not None and todo:
            write_runs(keep, done, described)
    result = assemble(numbers, done, policies, instance, noise)
    warn_of_round_robin(policies, instance, result.pulls)
    return result


def _check_size(n_policies: int, runs: int, checkpoints: int) -> None:
    """More would end in a killed process, not in an error."""
    if n_policies * runs * checkpoints > MOST_REGRETS:
        fitting = MOST_REGRETS // (n_policies * checkpoints)
        raise InputError(
            f"{runs:,} runs of {n_policies:,} policies with {checkpoints:,} checkpoints would fill the memory: take at "
            f"most {fitting:,} runs, or fewer checkpoints"
        )


def _checkpoint_times(horizon: int, count: int) -> Array:
    """ceil(i T / count) for i = 1, ..., count; every step if there are fewer steps than that."""
    if min(count, horizon) > MOST_CHECKPOINTS:
        raise InputError(
            f"checkpoints={shown(count)} of {horizon:,} steps are too many to keep: take at most {MOST_CHECKPOINTS:,}, "
            "which is more than a figure can show"
        )
    count = min(count, horizon)
    return np.unique(-(-np.arange(1, count + 1) * horizon // count))


def _kept_seed(keep: str | os.PathLike[str] | None) -> int:
    """The seed of the simulation to go on with, or else a new one."""
    if keep is None or not Path(keep).exists():
        return check_seed(None)
    return int(read_runs(keep)[0]["seed"])


def _check_kept(keep: str | os.PathLike[str]) -> None:
    if Path(keep).suffix.lower() not in ("", ".parquet") and not Path(keep).exists():
        raise InputError(f"finished runs are kept as Parquet: name {Path(keep).with_suffix('.parquet')}, not {keep}")
    check_writable(keep)


def _finished(path: str | os.PathLike[str], wanted: dict[str, Any]) -> Runs:
    found, done = read_runs(path)
    found, wanted = _comparable(with_homes(found)), _comparable(json.loads(json.dumps(wanted)))
    different = [key for key, value in wanted.items() if value != found.get(key)]
    if different:
        raise InputError(
            f"{path} holds another simulation (different {', '.join(different)}): name another file to keep"
        )
    return done


def _comparable(recipe: dict[str, Any]) -> dict[str, Any]:
    """A recipe without the arms' names, which change no number and which older files don't tell."""
    return {**recipe, "instance": {key: value for key, value in recipe["instance"].items() if key != "arms"}}

"""simulate(policies, instance, ...) -> Simulation: many runs of several policies that all meet the same noise."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from driftbandits._common.arrays import Array
from driftbandits._common.checks import check_path, check_whole, shown
from driftbandits._common.files import check_writable
from driftbandits._common.intervals import mean_interval
from driftbandits._common.threads import cores
from driftbandits._common.versions import versions
from driftbandits._compile.recipe import build, describe, with_homes
from driftbandits.errors import InputError
from driftbandits.instances import Instance
from driftbandits.instances.base import check_instance
from driftbandits.instances.noise import Gaussian, Noise, check_noise
from driftbandits.instances.recipe import build_instance, describe_instance
from driftbandits.simulation.engine import Job, Run, play_all
from driftbandits.simulation.parquet import Runs, read_runs, write_runs

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure

MOST_CHECKPOINTS = 100_000
MOST_REGRETS = 250_000_000
"""Checkpoints of all runs of all policies: 4 GB, for regret and realised regret."""

MEASURES = {"regret": "cumulative pseudo-regret", "realised": "cumulative realised regret"}


@dataclass(frozen=True)
class Simulation:
    """The result of ``simulate``: regret at checkpoints for each policy and run, and how to get it again.

    ``regret[name]`` has shape (runs, checkpoints): the sum so far of mu*_t - mu_(A(t),t), the dynamic pseudo-regret;
    ``realised[name]`` sums mu*_t less the reward received instead. ``times`` are the checkpoints, ``pulls[name]``
    (runs, K) counts, ``seconds[name]`` (runs,) is processor time, ``events[name]`` a table of what the policy noted
    (SnoozeIt: its episodes) when it was asked for.
    """

    policies: dict[str, Any]
    instance: Instance
    noise: Noise
    seed: int
    runs: int
    times: Array
    regret: dict[str, Array]
    realised: dict[str, Array]
    pulls: dict[str, Array]
    seconds: dict[str, Array]
    events: dict[str, pl.DataFrame]
    versions: dict[str, str]
    with_events: bool = False
    """Whether events were asked for; there may be none, where no policy notes any."""

    def summary(self) -> pl.DataFrame:
        """One row a policy: mean regret at T with its 95 % interval (Student's), realised regret, cost per step."""
        import polars as pl

        rows = []
        for name in self.regret:
            mean, low, high = (float(x) for x in mean_interval(self.regret[name][:, -1]))
            rows.append(
                {
                    "policy": name,
                    "regret": mean,
                    "low": low,
                    "high": high,
                    "realised": float(self.realised[name][:, -1].mean()),
                    "ns_per_step": float(self.seconds[name].mean()) / self.instance.horizon * 1e9,
                }
            )
        return pl.DataFrame(rows)

    def differences(self, baseline: str) -> pl.DataFrame:
        """Regret at T of every other policy less ``baseline``'s, run by run, with its 95 % interval.

        All policies of a run meet the same noise, so these intervals are narrower than two separate ones would suggest.
        """
        import polars as pl

        if baseline not in self.regret:
            raise InputError(f"no policy is called {baseline!r}; there are {', '.join(self.regret)}")
        rows = []
        for name in self.regret:
            if name != baseline:
                paired = self.regret[name][:, -1] - self.regret[baseline][:, -1]
                mean, low, high = (float(x) for x in mean_interval(paired))
                rows.append({"policy": name, "minus": baseline, "difference": mean, "low": low, "high": high})
        schema = {
            "policy": pl.String,
            "minus": pl.String,
            "difference": pl.Float64,
            "low": pl.Float64,
            "high": pl.Float64,
        }
        return pl.DataFrame(rows, schema=schema)

    def plot(self, measure: str = "regret") -> Figure:
        """Mean regret against time, with bands: the 95 % interval of the mean at each checkpoint."""
        from driftbandits._common import plotting as figures

        if measure not in MEASURES:
            raise InputError(f"unknown measure {measure!r}; choose one of {', '.join(MEASURES)}")
        values: dict[str, Array] = getattr(self, measure)
        figure: Figure
        with figures.canvas() as (figure, axes):
            for index, (name, curves) in enumerate(values.items()):
                mean, low, high = mean_interval(curves)
                axes.plot(self.times, mean, label=name, **figures.line_style(index))
                if self.runs > 1:
                    figures.shade(axes, self.times, low, high, index)
            axes.set(
                xlabel="step t", ylabel=MEASURES[measure], title=self.instance.name, xlim=(0, self.instance.horizon)
            )
            figures.thousands(axes.xaxis)
            figures.thousands(axes.yaxis)
            axes.legend()
            bands = "; bands: 95 % interval of the mean" if self.runs > 1 else ""
            figure.supxlabel(f"mean of {self.runs:,} run{'s' * (self.runs > 1)}{bands}", fontsize=8, color="0.35")
        return figure

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to one Parquet file: a row for each policy and run, and the recipe in its metadata."""
        done = {name: {run: self._run(name, run) for run in range(self.runs)} for name in self.regret}
        numbers = {"seed": self.seed, "runs": self.runs, "times": self.times.tolist(), "events": self.with_events}
        described = _describe(self.policies, self.instance, self.noise, {**numbers, "versions": self.versions})
        write_runs(path, done, described)

    def _run(self, name: str, run: int) -> Run:
        events = (
            self.events[name].filter(run=run).drop("run").to_numpy(structured=True) if name in self.events else None
        )
        arrays = self.regret[name][run], self.realised[name][run], self.pulls[name][run]
        return Run(*arrays, float(self.seconds[name][run]), events)

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Simulation:
        """Read what ``save`` wrote."""
        found, done = read_runs(path)
        missing = found["runs"] * len(found["policies"]) - sum(len(runs) for runs in done.values())
        if missing:
            raise InputError(
                f"{path} is not finished, {missing} runs are missing: call simulate(..., keep=path) to go on"
            )
        policies = {name: _built(description) for name, description in found["policies"].items()}
        return _assemble(found, done, policies, build_instance(found["instance"]), build(found["noise"]))

    def rerun(self, workers: int | None = None) -> Simulation:
        """The same simulation once more, from its recipe."""
        return simulate(
            self.policies,
            self.instance,
            self.noise,
            runs=self.runs,
            seed=self.seed,
            workers=workers,
            checkpoints=len(self.times),
            events=self.with_events,
        )


def simulate(
    policies: Mapping[str, Any],
    instance: Instance,
    noise: Noise | None = None,
    *,
    runs: int = 100,
    seed: int = 0,
    workers: int | None = None,
    checkpoints: int = 200,
    events: bool = False,
    keep: str | os.PathLike[str] | None = None,
    progress: bool | None = None,
) -> Simulation:
    """Play every policy ``runs`` times on ``instance``; the result is the same bits for any number of ``workers``.

    ``policies`` maps names to policies; a policy may be any object with init, select and update. ``noise`` is
    ``Gaussian(0.5)`` unless given. In run i every policy meets the same noise, which depends only on ``seed`` and i; so
    does the policy's own randomness, and a policy does the same with or without the others. ``events=True`` keeps what
    policies note (SnoozeIt: every episode). ``keep`` names a Parquet file: Ctrl-C leaves the finished runs there, and
    the same call goes on from them. ``progress`` shows a bar; None shows it on a terminal only.

    >>> from driftbandits import instances, policies
    >>> result = simulate({"turns": policies.RoundRobin()}, instances.stationary(100, (0.9, 0.4)), runs=3)
    >>> result.regret["turns"][:, -1].round(6).tolist()
    [25.0, 25.0, 25.0]
    """
    if not isinstance(policies, Mapping) or not policies:
        raise InputError('policies must name at least one policy, as in {"SnoozeIt": SnoozeIt(horizon=..., drift=...)}')
    for name, policy in policies.items():
        if isinstance(policy, type) or not all(hasattr(policy, verb) for verb in ("init", "select", "update")):
            raise InputError(f"policy {name!r} must be an object with init, select and update; got {policy!r}")
    check_instance(instance)
    noise = check_noise(Gaussian(0.5) if noise is None else noise)
    runs, seed = check_whole("runs", runs, 1), check_whole("seed", seed, 0)
    workers = cores() if workers is None else check_whole("workers", workers, 1)
    times = _checkpoint_times(instance.horizon, check_whole("checkpoints", checkpoints, 1))
    _check_size(len(policies), runs, len(times))
    keep = None if keep is None else check_path("keep", keep)
    numbers = {"seed": seed, "runs": runs, "times": times.tolist(), "events": events, "versions": versions()}
    done: Runs = {name: {} for name in policies}
    described = {} if keep is None else _describe(policies, instance, noise, numbers)
    if keep is not None and Path(keep).exists():
        done.update(_finished(keep, described))
    jobs = {name: Job(policy, instance, noise, times, seed, events) for name, policy in policies.items()}
    names = {id(job): name for name, job in jobs.items()}
    todo = [(jobs[name], run) for name in policies for run in range(runs) if run not in done[name]]
    for job in {id(job): job for job, _ in todo}.values():
        job.prepare()
    if keep is not None and todo:
        check_writable(keep)
    try:
        play_all(todo, lambda job, run, result: done[names[id(job)]].update({run: result}), workers, progress)
    finally:
        if keep is not None and todo:
            write_runs(keep, done, described)
    return _assemble(numbers, done, dict(policies), instance, noise)


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


def _describe(policies: Mapping[str, Any], instance: Instance, noise: Noise, numbers: dict[str, Any]) -> dict[str, Any]:
    """All that is needed to run it again, as JSON. A policy that ``load`` could not build is a description already."""
    return {
        **numbers,
        "noise": describe(noise),
        "instance": describe_instance(instance),
        "policies": {
            name: policy if isinstance(policy, dict) else describe(policy) for name, policy in policies.items()
        },
    }


def _finished(path: str | os.PathLike[str], wanted: dict[str, Any]) -> Runs:
    found, done = read_runs(path)
    found = with_homes(found)
    different = [key for key, value in wanted.items() if json.loads(json.dumps(value)) != found.get(key)]
    if different:
        raise InputError(
            f"{path} holds another simulation (different {', '.join(different)}): name another file to keep"
        )
    return done


def _built(description: dict[str, Any]) -> Any:
    """A policy from its description, or the description itself where only its author can build it again."""
    try:
        return build(description)
    except InputError:
        return description


def _assemble(
    numbers: dict[str, Any], done: Runs, policies: dict[str, Any], instance: Instance, noise: Noise
) -> Simulation:
    def stacked(attribute: str) -> dict[str, Array]:
        return {name: np.array([getattr(runs[run], attribute) for run in sorted(runs)]) for name, runs in done.items()}

    return Simulation(
        policies=policies,
        instance=instance,
        noise=noise,
        seed=numbers["seed"],
        runs=numbers["runs"],
        times=np.array(numbers["times"]),
        regret=stacked("regret"),
        realised=stacked("realised"),
        pulls=stacked("pulls"),
        seconds=stacked("seconds"),
        events=_event_tables(done) if numbers["events"] else {},
        versions=numbers["versions"],
        with_events=numbers["events"],
    )


def _event_tables(done: Runs) -> dict[str, pl.DataFrame]:
    """The events of every policy that notes any, all runs in one table."""
    import polars as pl

    tables = {}
    for name, runs in done.items():
        noted = [(run, np.asarray(runs[run].events)) for run in sorted(runs) if runs[run].events is not None]
        if noted:
            number = np.concatenate([np.full(len(events), run) for run, events in noted])
            table = pl.DataFrame(np.concatenate([events for _, events in noted]))
            tables[name] = table.insert_column(0, pl.Series("run", number))
    return tables

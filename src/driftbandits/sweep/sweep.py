"""Sweep: a declared grid that can be checked, run, stopped and resumed."""

from __future__ import annotations

import functools
import hashlib
import json
import os
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from driftbandits._common.checks import check_path
from driftbandits._common.notebook import html_table, written
from driftbandits._common.progress import step_bar
from driftbandits.errors import FeasibilityWarning, InputError
from driftbandits.policies.registry import short_horizon
from driftbandits.simulation.misfits import SNOOZING, misfit, too_loud
from driftbandits.simulation.requirements import check_fits
from driftbandits.sweep import executors
from driftbandits.sweep.blocks import Block
from driftbandits.sweep.cells import Cell
from driftbandits.sweep.directory import Directory, read
from driftbandits.sweep.drive import drive
from driftbandits.sweep.grid import GridError, cells_of, declare, home_of
from driftbandits.sweep.pace import Pace
from driftbandits.sweep.plan import Plan, Until
from driftbandits.sweep.summary import numeric, summarise
from driftbandits.sweep.tasks import VERSION
from driftbandits.sweep.things import Given
from driftbandits.sweep.toml import read_declaration

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure

MOST_LOOKED_AT = 10_000_000
"""Means of an instance that is built before the sweep runs, to compare its gaps with what policies need."""


class Sweep:
    """Regret over a grid of policies, instances, noises and their parameters; see ``docs/sweeps.md``.

    ``grid`` maps names to one value, a list, or a range such as ``{"log": [1e-6, 1e-2], "points": 5}``; all are
    crossed. Each table in ``zipped`` holds lists of one length whose values go together.

    A policy is a name, an object such as ``UCB1()``, a class, or a function that makes one; an instance is the name of
    a family, an Instance, a file, or a function. Classes and functions get the grid's parameters, and objects have
    their own. ``policies`` and ``instances`` give names to any of these, or to tables of settings such as
    ``{"policy": "SWUCB", "window": 50}``. On a cluster, objects are sent with every task: a file that all workers can
    read is better for a large instance.

    Every cell has ``runs`` runs, unless ``runs`` is a parameter too. With ``fresh_worlds`` each run draws its own
    instance, where the family is a random one.

    >>> sweep = Sweep({"policy": ["RoundRobin", "SWUCBSharp"], "instance": "toggling", "horizon": [100, 1_000]}, runs=3)
    >>> len(sweep.cells), sweep.cells[-1].columns
    (4, {'policy': 'SWUCBSharp', 'instance': 'toggling', 'noise': 'gaussian', 'horizon': 1000})
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     table = sweep.run(folder)
    >>> table.columns, table["regret"].list.mean().round(1).to_list()[:2]
    (['cell', 'policy', 'instance', 'noise', 'horizon', 'first_run', 'runs', 'regret', 'realised'], [40.0, 400.0])
    """

    def __init__(
        self,
        grid: Mapping[str, Any],
        *,
        zipped: Sequence[Mapping[str, Any]] = (),
        policies: Mapping[str, Any] | None = None,
        instances: Mapping[str, Any] | None = None,
        name: str = "sweep",
        runs: int = 100,
        seed: int = 0,
        fresh_worlds: bool = False,
    ) -> None:
        rest: dict[str, Any] = {"name": name, "runs": runs, "seed": seed, "fresh_worlds": fresh_worlds}
        self.declared = declare(grid, zipped, policies, instances, **rest)
        self.cells = cells_of(self.declared)
        self._notes: list[str] = []
        self._directory: Path | None = None
        """Where it ran last."""
        self._horizons = self._tried()

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Sweep:
        """The sweep in a TOML file; what is wrong in it is reported with its line and key."""
        declared, located = read_declaration(check_path("path", path))
        with located():
            return Sweep(**declared)

    def _tried(self) -> list[int]:
        """Build every instance and policy once, in a short form where it is long; returns the true horizons."""
        built: dict[str, tuple[Any, int]] = {}
        whole: dict[str, Any] = {}
        horizons, unfit = [], []
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for cell in self.cells:
                kind = "instance"
                try:
                    if cell.instance_key not in built:
                        _, instance, horizon = cell.shortened()
                        built[cell.instance_key] = instance, horizon
                    instance, horizon = built[cell.instance_key]
                    kind = "policy"
                    policy = cell.make_policy(instance)
                    n_arms = instance.n_arms
                    policy.check_arms(n_arms) if hasattr(policy, "check_arms") else policy.init(n_arms)
                    if cell.policy in SNOOZING and not cell.fresh_instance and horizon * n_arms <= MOST_LOOKED_AT:
                        if cell.instance_key not in whole:
                            whole[cell.instance_key] = cell.instance()
                        instance = whole[cell.instance_key]
                        unfit.append(misfit(cell.make_policy(instance), instance))
                    elif "horizon" in cell.policy_arguments:
                        unfit.append(short_horizon(policy, horizon))
                    kind = "noise"
                    noise = cell.make_noise()
                    kind = "policy"
                    check_fits(policy, instance, noise)
                    unfit.append(too_loud(policy, instance, noise))
                except (InputError, TypeError, ValueError, AttributeError) as error:
                    raise self._blamed(cell, kind, error) from error
                horizons.append(horizon)
        infeasible = [str(one.message) for one in caught if issubclass(one.category, FeasibilityWarning)]
        for reasons in (infeasible, [why for why in unfit if why is not None]):
            if reasons:
                self._notes.append(f"in {len(reasons)} of {len(self.cells)} cells: {reasons[0]}")
        return horizons

    def _blamed(self, cell: Cell, kind: str, error: Exception) -> GridError:
        """The error with the key of the parameter it speaks of, and the cell."""
        words, prefix = re.findall(r"\w+", str(error)), re.compile("^(policy|instance|noise)_")
        speaks_of = [name for name in cell.columns if prefix.sub("", name) in words]
        # Of one name, what it was given alone comes first, then what it shares, and last what others were given.
        speaks_of.sort(key=lambda name: (not name.startswith(f"{kind}_"), prefix.match(name) is not None))
        home = home_of(self.declared, cell.columns, [*speaks_of, kind])
        listed = not isinstance(error, InputError) or "must hold a mean for each" in str(error)
        hint = "; a value that is a list itself is written [[0.9, 0.1]]" if listed else ""
        return GridError(home, f"{error}{hint} (in the cell {cell})")

    @functools.cached_property
    def _identity(self) -> dict[str, Any]:
        """What makes this sweep another than others, as JSON."""
        declared = {name: _named(value) for name, value in vars(self.declared).items() if name != "own" or value}
        plain: dict[str, Any] = json.loads(json.dumps(declared))
        paths = {cell.family_arguments["path"] for cell in self.cells if "path" in cell.family_arguments}
        files = {str(path): hashlib.sha256(Path(path).read_bytes()).hexdigest() for path in paths}
        return {**plain, "files": files, "version": VERSION, "cells": len(self.cells)}

    def run(
        self,
        directory: str | os.PathLike[str],
        executor: Executor | None = None,
        *,
        workers: int | None = None,
        until: str | None = None,
        progress: bool | None = None,
    ) -> pl.DataFrame:
        """Run what is missing in ``directory``, and return everything that is there, as ``read`` does.

        ``executor`` is any of ``concurrent.futures``'s kind (Dask: ``Client(...).get_executor(pure=False)``), threads
        unless given; ``workers`` is how many tasks it runs at once. ``until="ci<0.02"`` adds runs to each cell until
        the 95 % interval of its mean regret reaches less than 2 % of it to each side.
        """
        chosen = executors.threads(workers) if executor is None else executors.given(executor, workers)
        wanted = None if until is None else Until.parse(until)
        with chosen as pool:
            return self.run_on(pool, directory, wanted, progress, lambda line: None)

    def summary(self, directory: str | os.PathLike[str] | None = None) -> pl.DataFrame:
        """What is finished, a row for each cell: its runs, mean regret at T and the 95 % interval.

        ``directory``: where the sweep runs or ran; the one of the last ``run`` unless given.
        """
        return summarise(read(self._place(directory)))

    def plot(
        self, directory: str | os.PathLike[str] | None = None, against: str | None = None, *, title: str = ""
    ) -> Figure:
        """Mean regret at T against a parameter, with 95 % intervals, of what is finished.

        ``directory`` is the one of the last ``run`` unless given; ``against`` the number with most values.
        """
        from driftbandits.sweep.figures import plot_against

        table = summarise(read(self._place(directory)))
        if against is None and not numeric(table):
            raise InputError("no parameter of this sweep is a number that differs between cells: say against=...")
        return plot_against(table, numeric(table)[0] if against is None else against, title)

    def _place(self, directory: str | os.PathLike[str] | None) -> str | os.PathLike[str]:
        if directory is None and self._directory is None:
            raise InputError("this sweep has not run yet: run it first, or name the directory where it ran")
        return self._directory if directory is None else directory  # type: ignore[return-value]

    def __repr__(self) -> str:
        several = [f"{name} {len(values)}" for name, values in self._parameters().items() if len(values) > 1]
        return f"<Sweep {self.declared.name}: {len(self.cells):,} cells; values: {', '.join(several) or 'one of each'}>"

    def _repr_html_(self) -> str:
        rows = [(name, len(values), ", ".join(_brief(values))) for name, values in self._parameters().items()]
        cells = f"{len(self.cells):,} cells, {self.declared.runs:,} runs each, seed {self.declared.seed}"
        return html_table(["parameter", "values", ""], rows, f"Sweep {self.declared.name}: {cells}")

    def _parameters(self) -> dict[str, list[Any]]:
        """The different values of every parameter, in order."""
        names = self.cells[0].columns
        return {
            name: list({repr(cell.columns.get(name)): cell.columns.get(name) for cell in self.cells}.values())
            for name in names
        }

    def run_on(
        self,
        pool: executors.Pool,
        directory: str | os.PathLike[str],
        until: Until | None,
        progress: bool | None,
        say: Callable[[str], None],
    ) -> pl.DataFrame:
        """``run`` on a pool that is there already, telling ``say`` what will be done."""
        digest = hashlib.sha256(json.dumps(self._identity, sort_keys=True).encode()).hexdigest()
        target = Directory(check_path("directory", directory), self.cells, self._identity, digest)
        self._directory = target.path
        with target.opened(), warnings.catch_warnings():
            warnings.simplefilter("ignore", FeasibilityWarning)  # said once, in the notes
            finished, damaged = target.finished()
            for name in damaged:
                say(f"note: {target.path / name} was cut short or damaged; it is set aside, and its blocks run again")
            plan = Plan(self.cells, self._horizons, _blocks(finished), until)
            pace = Pace()
            if plan.todo:
                pace.measure(self.cells, self._horizons)
            for line in self._notes:
                say(f"note: {line}")
            say(self._announcement(plan, pace, pool, finished.height, until))
            with step_bar("sweeping", lambda: (plan.steps_done, plan.steps), progress):
                drive(plan, target, pool, pace, say)
            for cell in plan.short_of_runs:
                say(f"note: its runs were not enough for an interval so narrow: {cell}")
        return read(directory)

    def _announcement(self, plan: Plan, pace: Pace, pool: executors.Pool, there: int, until: Until | None) -> str:
        runs = sum(block.runs for block in plan.todo)
        what = f"{self.declared.name}: {len(self.cells):,} cells"
        if there:
            what += f", {there:,} blocks finished before"
        if not plan.todo:
            return f"{what}, nothing is missing"
        seconds = plan.seconds(pace) / max(1, pool.slots())
        more = "; then more runs where they are needed" if until else ""
        return (
            f"{what}, {runs:,} runs to do in {len(plan.todo):,} blocks, {plan.steps:.3g} steps: "
            f"about {_spoken(seconds)} {pool.where}{more}"
        )


def _blocks(table: pl.DataFrame) -> list[tuple[Block, Any]]:
    columns = (table[name].to_list() for name in ("cell", "first_run", "runs"))
    regrets = (np.asarray(values) for values in table["regret"])
    return [(Block(*key), values) for *key, values in zip(*columns, regrets, strict=True)]


def _brief(values: Sequence[Any]) -> list[str]:
    """Values as text, some of them if they are many."""
    return [written(value) for value in values[:6]] + ["..."] * (len(values) > 6)


def _named(value: Any) -> Any:
    """Classes and functions by their names, objects by what they are, arrays as lists."""
    if isinstance(value, Given):
        return value.identity
    if isinstance(value, Mapping):
        return {str(name): _named(one) for name, one in value.items()}
    if isinstance(value, (list, tuple, range)):
        return [_named(one) for one in value]
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    return f"{value.__module__}:{value.__qualname__}" if callable(value) else value


def _spoken(seconds: float) -> str:
    """Seconds as a person says them.

    >>> _spoken(0.3), _spoken(42), _spoken(754), _spoken(9_000)
    ('a second', '42 s', '12 min 34 s', '2 h 30 min')
    """
    whole = max(1, round(seconds))
    if whole == 1:
        return "a second"
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"

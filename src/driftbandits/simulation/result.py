"""Simulation: what ``simulate`` found, as tables, figures and files."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from driftbandits._common.arrays import Array
from driftbandits._common.checks import check_path, shown
from driftbandits._common.extras import needs
from driftbandits._common.files import written_whole
from driftbandits._common.intervals import mean_interval
from driftbandits._common.latex import escaped, latex_table, number
from driftbandits._common.notebook import html_table, text_table
from driftbandits.errors import InputError
from driftbandits.instances import Instance
from driftbandits.instances.describe import build, check_arrays, describe
from driftbandits.instances.noise import Noise
from driftbandits.instances.recipe import build_instance, describe_instance
from driftbandits.simulation.engine import Run
from driftbandits.simulation.figures import plot_regret, plotly_regret, regret_interval
from driftbandits.simulation.parquet import Runs, read_runs, write_runs

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_ROWS = 24
"""Policies that are printed: with more, a screen would not hold them."""


@dataclass(frozen=True, eq=False, repr=False)
class Simulation:
    """The result of ``simulate``: regret at checkpoints for each policy and run, and how to get it again.

    ``regret[name]`` has shape (runs, checkpoints): the sum so far of the best mean less that of the arm pulled, the
    dynamic pseudo-regret; ``realised[name]`` sums the best mean less the reward received instead. ``times`` are the
    checkpoints, ``pulls[name]`` (runs, K) counts, ``seconds[name]`` (runs,) is processor time, ``events[name]`` a table
    of what the policy noted (SnoozeIt: its episodes) when it was asked for.

    Two Simulations are equal when they have the same policies, instance, noise, seed and numbers, however long they
    took and wherever they ran.
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

    # Tables

    def summary(self) -> pl.DataFrame:
        """One row a policy: mean regret at T with its 95 % interval (Student's), realised regret, cost per step."""
        import polars as pl

        rows = []
        for name in self.regret:
            mean, low, high = (float(x) for x in regret_interval(self.regret[name][:, -1]))
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

        if not isinstance(baseline, str) or baseline not in self.regret:
            raise InputError(f"no policy is called {shown(baseline)}; there are {', '.join(self.regret)}")
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

    def pull_shares(self) -> pl.DataFrame:
        """One row for each policy and arm, by its name: the share of all steps at which the policy pulled the arm.

        >>> from driftbandits import Instance, simulate
        >>> simulate("RoundRobin", Instance([[0.9, 0.4]] * 10, arms=["red", "blue"]), runs=2).pull_shares().rows()
        [('RoundRobin', 'red', 0.5), ('RoundRobin', 'blue', 0.5)]
        """
        import polars as pl

        rows = [
            (name, arm, float(share))
            for name, pulls in self.pulls.items()
            for arm, share in zip(self.instance.arms, pulls.mean(axis=0) / self.instance.horizon, strict=True)
        ]
        return pl.DataFrame(rows, schema={"policy": pl.String, "arm": pl.String, "share": pl.Float64}, orient="row")

    def to_frame(self) -> pl.DataFrame:
        """Everything as one long table: a row for each policy, run and checkpoint t, with both kinds of regret.

        >>> from driftbandits import simulate
        >>> simulate("RoundRobin", [[0.9, 0.4]] * 4, runs=1, checkpoints=2).to_frame().select("t", "regret").rows()
        [(2, 0.5), (4, 1.0)]
        """
        import polars as pl

        return pl.DataFrame(self._columns())

    def to_pandas(self) -> Any:
        """The table of ``to_frame`` as a data frame of pandas."""
        with needs("notebook", "a data frame of pandas"):
            import pandas as pd

        return pd.DataFrame(self._columns())

    def to_latex(self) -> str:
        r"""The regret and realised regret at T as a table for LaTeX, each the mean over runs with its 95 % interval.

        It needs the package booktabs. ``save("table.tex")`` writes it to a file.

        >>> from driftbandits import simulate
        >>> print(simulate({"my_policy": "RoundRobin"}, [[0.9, 0.4]] * 4, runs=1).to_latex().splitlines()[8])
            my\_policy & $1.0$ & $2.2$ \\
        """
        rows = []
        for name in self.regret:
            cells = [escaped(name)]
            for values, measure in ((self.regret, "regret"), (self.realised, "realised")):
                mean, _, high = (float(x) for x in regret_interval(values[name][:, -1], measure))
                cells.append(number(mean, high - mean if self.runs > 1 else None))
            rows.append(cells)
        runs = rf"mean of {self.runs:,} runs $\pm$ 95\,\% interval" if self.runs > 1 else "one run"
        horizon = f"{self.instance.horizon:,}".replace(",", "{,}")
        caption = f"Regret at $T = {horizon}$ on {escaped(self.instance.name)}: {runs}."
        return latex_table(["policy", "regret", "realised regret"], rows, caption)

    def _columns(self) -> dict[str, Any]:
        names, points = list(self.regret), len(self.times)
        return {
            "policy": [name for name in names for _ in range(self.runs * points)],
            "run": np.tile(np.repeat(np.arange(self.runs), points), len(names)),
            "t": np.tile(self.times, self.runs * len(names)),
            "regret": np.concatenate([self.regret[name].ravel() for name in names]),
            "realised": np.concatenate([self.realised[name].ravel() for name in names]),
        }

    # Figures

    def plot(
        self,
        measure: str = "regret",
        *,
        ax: Axes | None = None,
        figsize: tuple[float, float] | None = None,
        log: bool | str = False,
        policies: Sequence[str] | str | None = None,
        title: str | None = None,
    ) -> Figure:
        """Mean regret against time, with bands: the 95 % interval of the mean at each checkpoint.

        The legend has the curves in the order of their ends, the highest first, with the mean at T.

        ``measure`` is "regret" or "realised". Drawn into the axes ``ax``, or a new figure of ``figsize`` inches; one
        that is narrower than 4.2 is styled for one column of a journal. ``log`` makes both axes logarithmic, or one of
        them ("x", "y"). ``policies`` are the names to show. ``title`` is the instance's name unless given.

        >>> from driftbandits import simulate
        >>> figure = simulate(["UCB1", "Uniform"], "stationary", runs=2).plot(figsize=(3.3, 2.6), policies="UCB1")
        >>> [text.get_text() for text in figure.legends[0].get_texts()]
        ['UCB1: 88.5']
        """
        return plot_regret(self, measure, ax, figsize, log, policies, title)

    def plot_interactive(self, measure: str = "regret", *, policies: Sequence[str] | str | None = None) -> Any:
        """The same as a figure of Plotly, if it is installed: point at a curve to read it, click a name to hide it."""
        return plotly_regret(self, measure, policies)

    # Files

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a Parquet file with a row for each policy and run and the recipe in its metadata, for ``load``.

        A name that ends in .csv gets the table of ``to_frame`` instead: numbers alone, for other programs. One that
        ends in .tex gets the table of ``to_latex``.
        """
        file = check_path("path", path)
        if file.suffix.lower() not in ("", ".csv", ".parquet", ".tex"):
            raise InputError(
                "a Simulation is saved as .parquet, or as .csv its numbers alone, or as .tex its summary; got "
                f"{file.name!r}"
            )
        if file.suffix.lower() == ".tex":
            with written_whole(path) as temporary:
                temporary.write_text(self.to_latex(), encoding="utf-8")
            return
        if file.suffix.lower() == ".csv":
            with written_whole(path) as temporary:
                self.to_frame().write_csv(temporary)
            return
        done = {name: {run: self._run(name, run) for run in range(self.runs)} for name in self.regret}
        write_runs(path, done, self._described())

    def _described(self) -> dict[str, Any]:
        numbers = {"seed": self.seed, "runs": self.runs, "times": self.times.tolist(), "events": self.with_events}
        return describe_simulation(self.policies, self.instance, self.noise, {**numbers, "versions": self.versions})

    def _run(self, name: str, run: int) -> Run:
        events = (
            self.events[name].filter(run=run).drop("run").to_numpy(structured=True) if name in self.events else None
        )
        arrays = self.regret[name][run], self.realised[name][run], self.pulls[name][run]
        return Run(*arrays, float(self.seconds[name][run]), events)

    @staticmethod
    def load(path: str | os.PathLike[str], *, partial: bool = False) -> Simulation:
        """Read what ``save`` wrote, or ``simulate(..., keep=path)``.

        Of a file that is not finished, ``partial=True`` reads the first runs that all policies have finished: the same
        as a Simulation with so many ``runs``.
        """
        path = check_path("path", path)
        if path.suffix.lower() == ".csv" and path.is_file() and path.read_bytes()[:4] != b"PAR1":
            raise InputError(f"{path} holds numbers alone, and a Simulation is more: save it as .parquet to load it")
        found, done = read_runs(path)
        missing = found["runs"] * len(found["policies"]) - sum(len(runs) for runs in done.values())
        if missing and not partial:
            raise InputError(
                f"{path} is not finished, {missing} runs are missing: call simulate(..., keep=path) to go on, or "
                "load(path, partial=True) to read what is there"
            )
        if missing:
            found["runs"] = _finished_by_all(done)
            if not found["runs"]:
                raise InputError(
                    f"no run in {path} is finished by all policies: call simulate(..., keep=path) to go on"
                )
            done = {name: {run: runs[run] for run in range(found["runs"])} for name, runs in done.items()}
        policies = {name: _built(description) for name, description in found["policies"].items()}
        return assemble(found, done, policies, build_instance(found["instance"]), build(found["noise"]))

    def rerun(self, workers: int | None = None) -> Simulation:
        """The same simulation once more, from its recipe."""
        from driftbandits.simulation.simulate import simulate

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

    # What Python and notebooks ask

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Simulation):
            return NotImplemented
        # As a file would tell them, so that what was loaded is equal to what was saved.
        mine, theirs = (json.loads(json.dumps(one._described(), default=str)) for one in (self, other))
        mine["versions"] = theirs["versions"]
        if mine != theirs or list(self.regret) != list(other.regret) or set(self.events) != set(other.events):
            return False
        return all(table.equals(other.events[name]) for name, table in self.events.items()) and all(
            np.array_equal(getattr(self, part)[name], getattr(other, part)[name])
            for part in ("regret", "realised", "pulls")
            for name in self.regret
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        columns, rows, more = self._shown()
        return "\n".join([self._heading(), *text_table(columns, rows), *more, self._took()])

    def _repr_html_(self) -> str:
        columns, rows, more = self._shown()
        return html_table(columns, rows, self._heading(), " ".join([*more, self._took()]))

    def _heading(self) -> str:
        shape = f"T = {self.instance.horizon:,}, K = {self.instance.n_arms:,}"
        runs = f"{self.runs:,} run{'s' * (self.runs > 1)}"
        return f"Simulation on {self.instance.name}: {shape}, {runs}, {self.noise}, seed {self.seed}"

    def _shown(self) -> tuple[list[str], list[list[str]], list[str]]:
        """The columns and rows that are printed, and what is to be said of others."""
        rows = []
        for name, regret, low, high, realised, cost in self.summary().head(MOST_ROWS).iter_rows():
            interval = f"{low:,.1f} to {high:,.1f}" if self.runs > 1 else "one run"
            rows.append([_short(name), f"{regret:,.1f}", interval, f"{realised:,.1f}", f"{cost:,.0f}"])
        left = len(self.regret) - len(rows)
        more = [f"and {left:,} more policies: see summary()."] if left > 0 else []
        return ["policy", "regret at T", "95 % interval", "realised", "ns/step"], rows, more

    def _took(self) -> str:
        return f"{sum(float(taken.sum()) for taken in self.seconds.values()):,.2f} s of processor time"


def _short(name: str, most: int = 40) -> str:
    return name if len(name) <= most else f"{name[: most - 3]}..."


def _finished_by_all(done: Runs) -> int:
    """How many runs, from the first on, are there of every policy."""
    count = 0
    while all(count in runs for runs in done.values()):
        count += 1
    return count


def describe_simulation(
    policies: Mapping[str, Any], instance: Instance, noise: Noise, numbers: dict[str, Any]
) -> dict[str, Any]:
    """All that is needed to run it again, as JSON. A policy that ``load`` could not build is a description already."""
    described = {
        **numbers,
        "noise": describe(noise),
        "instance": describe_instance(instance),
        "policies": {
            name: policy if isinstance(policy, dict) else describe(policy) for name, policy in policies.items()
        },
    }
    check_arrays(described)  # or nobody could load it
    return described


def _built(description: dict[str, Any]) -> Any:
    """A policy from its description, or the description itself where only its author can build it again."""
    try:
        return build(description)
    except InputError:
        return description


def assemble(
    numbers: dict[str, Any], done: Runs, policies: dict[str, Any], instance: Instance, noise: Noise
) -> Simulation:
    """A Simulation from its finished runs."""

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

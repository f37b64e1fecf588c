"""How well policies detect changes: the delay after true changes, those missed, and alarms that were false."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from driftbandits._common.arrays import Array
from driftbandits._common.checks import shown
from driftbandits._common.intervals import mean_interval, share_mean_interval, t_quantile
from driftbandits.errors import InputError
from driftbandits.instances.base import Instance, check_always_there
from driftbandits.simulation.result import Simulation

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


PER = 100_000
"""False alarms are counted per so many steps."""
RAREST = 20
"""Means that move at more than one in so many steps drift: then no alarm is plainly true or false."""


def true_changes(instance: Instance) -> Array:
    """How many steps were played when means jumped: the steps t after which some mean is another one at t + 1.

    >>> true_changes(Instance([[0.5, 0.4]] * 30 + [[0.5, 0.9]] * 70)).tolist()
    [30]
    """
    check_always_there(instance, "judging detections")
    changes = np.flatnonzero((np.diff(instance.means, axis=0) != 0).any(axis=1)) + 1
    if len(changes) * RAREST > instance.horizon:
        raise InputError(
            f"detections are judged against means that jump now and then, as those of instances.abrupt; "
            f"the means of {instance.name} move at {len(changes):,} of {instance.horizon:,} steps"
        )
    return changes


def detection_delays(result: Simulation) -> pl.DataFrame:
    """One row for each policy, run and true change: the ``delay`` until the first event before the next change.

    The delay counts the steps with the new means; it is null where no such event came. Policies whose events are no
    detections (SnoozeIt's episodes, BOB's blocks) are left out.

    >>> from driftbandits import GLRUCB, Instance, simulate
    >>> instance = Instance([[0.1, 0.2]] * 2_000 + [[0.9, 0.2]] * 2_000)
    >>> delays = detection_delays(simulate({"GLR": GLRUCB(4_000, test="gaussian")}, instance, runs=5, events=True))
    >>> delays["change"].unique().to_list(), delays["delay"].null_count()
    ([2000], 0)
    """
    import polars as pl

    if not isinstance(result, Simulation):
        raise InputError(
            f"detections are those of a Simulation, as simulate(..., events=True) returns it; got {shown(result)}"
        )
    changes = true_changes(result.instance)
    rows: list[dict[str, Any]] = []
    for name, events in _detectors(result).items():
        for run in range(result.runs):
            steps = events.filter(run=run)["step"].to_numpy()
            for change, until in pairwise([*changes, result.instance.horizon]):
                seen = steps[(steps > change) & (steps <= until)]
                delay = int(seen[0] - change) if len(seen) else None
                rows.append({"policy": name, "run": run, "change": int(change), "delay": delay})
    return pl.DataFrame(
        rows, schema={"policy": pl.String, "run": pl.Int64, "change": pl.Int64, "delay": pl.Int64}, orient="row"
    )


def detection_table(result: Simulation) -> pl.DataFrame:
    """One row a policy: mean delay, share of changes missed, false alarms per 10^5 steps, with 95 % intervals.

    The intervals are Student's, over runs, and for the share missed Wilson's; the delay is that of changes not missed.
    An event is a false alarm unless it
    is the first after a change and before the next one; where a policy restarts arms one by one, the first of an arm
    whose mean has changed.
    """
    import polars as pl

    delays, runs = detection_delays(result), result.runs
    columns: dict[str, list[Any]] = {"policy": [], "changes": []}
    for name, events in _detectors(result).items():
        mine = delays.filter(policy=name)
        by_run = [mine.filter(run=run)["delay"] for run in range(runs)]
        false_alarms = [
            _count_false_alarms(result.instance, events.filter(run=run)) * PER / result.instance.horizon
            for run in range(runs)
        ]
        measures = {
            "delay": [delay.drop_nulls().mean() for delay in by_run if delay.drop_nulls().len()],
            "missed": [delay.null_count() / delay.len() for delay in by_run if delay.len()],
            "false_alarms": false_alarms,
        }
        columns["policy"].append(name)
        columns["changes"].append(len(mine) // runs)
        for measure, values in measures.items():
            found: list[float | None] = [float(x) for x in mean_interval(values)] if values else [None] * 3
            if measure == "missed" and values:
                found[1:] = _ends_of_share(by_run, len(mine))
            for ending, value in zip(("", "_low", "_high"), found, strict=True):
                columns.setdefault(measure + ending, []).append(value)
    return pl.DataFrame(columns, strict=False)


def _ends_of_share(by_run: list[pl.Series], changes: int) -> list[float | None]:
    """The ends of Wilson's interval for the share missed, from its scatter over the runs."""
    shares = np.array([delay.null_count() / delay.len() for delay in by_run])
    error = shares.std(ddof=1) / len(shares) ** 0.5 if len(shares) > 1 else 0.0
    ends = share_mean_interval(shares.mean(), error, changes, t_quantile(len(shares) - 1))
    return [float(end) for end in ends]


def plot_detections(
    result: Simulation,
    *,
    ax: Axes | None = None,
    figsize: tuple[float, float] | None = None,
    policies: Sequence[str] | str | None = None,
    title: str | None = None,
) -> Figure:
    """The share of true changes that each policy has seen within so many steps; false alarms are in the legend.

    Drawn into the axes ``ax``, or a new figure of ``figsize`` inches, for the ``policies`` named, or all that detect.
    """
    from driftbandits._common import plotting as figures

    delays, table = detection_delays(result), detection_table(result)
    names = table["policy"].to_list()
    wanted = figures.chosen(names, policies)
    longest = max(1, delays["delay"].max() or 1)
    figure: Figure
    with figures.panel(ax, figsize, (6.4, 4.0), result.instance.name if title is None else title) as (figure, axes):
        for row in table.filter(table["policy"].is_in(wanted)).iter_rows(named=True):
            mine = delays.filter(policy=row["policy"])["delay"]
            seen = np.sort(mine.drop_nulls().to_numpy())
            x = np.concatenate([[0], seen, [longest]])
            y = np.concatenate([[0], np.arange(1, len(seen) + 1), [len(seen)]]) / max(1, len(mine))
            label = f"{row['policy']} ({row['false_alarms']:,.2g} false alarms per 100,000)"
            axes.step(x, y, where="post", label=label, **figures.line_style(names.index(row["policy"])))
        axes.set(xlabel="steps after a change", ylabel="share of changes seen", xlim=(0, longest), ylim=(0, 1.02))
        figures.thousands(axes.xaxis, figures.ticks_across(axes))
        changes = len(true_changes(result.instance))
        note = f"{result.runs:,} run{'s' * (result.runs > 1)} of {changes:,} change{'s' * (changes != 1)}"
        if ax is None:
            columns = 1 if figures.is_narrow(axes) else 2
            figure.legend(ncols=columns, fontsize=8, title=note, title_fontsize=8, loc="outside lower center")
        else:
            axes.legend(fontsize="small")
    return figure


def _detectors(result: Simulation) -> dict[str, pl.DataFrame]:
    found = {name: events for name, events in result.events.items() if {"step", "statistic"} <= set(events.columns)}
    if not found:
        raise InputError("no policy noted a detection: name one that detects changes, and give simulate events=True")
    return found


def _count_false_alarms(instance: Instance, events: pl.DataFrame) -> int:
    changes, explained = true_changes(instance), set()
    count = 0
    for step, arm in events.select("step", "arm").iter_rows():
        segment = int(np.searchsorted(changes, step))  # a step at a change still has the old means
        if segment == 0 or (segment, arm) in explained:
            count += 1
            continue
        change = changes[segment - 1]
        moved = instance.means[change] != instance.means[change - 1]
        count += not (arm < 0 or moved[arm])
        explained.add((segment, arm))
    return count

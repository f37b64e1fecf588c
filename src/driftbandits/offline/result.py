"""What a replay found: a table with intervals, paired differences, a figure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from driftbandits._common.arrays import Array
from driftbandits._common.intervals import share_mean_interval, t_quantile
from driftbandits._common.notebook import html_table, text_table
from driftbandits.errors import InputError
from driftbandits.offline.log import Log
from driftbandits.offline.trust import FEWEST, Evidence

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


LOG = "the log"
MOST_CURVES = 5
MOST_ROWS = 40
"""Rows of the table that are printed."""


@dataclass(frozen=True, eq=False, repr=False)
class Replay:
    """What every policy would have earned on a log.

    ``sums[name]`` and ``counts[name]``, both (1 + replicates, parts), hold the rewards and their number in equal parts
    of the log; the first row is the log itself, the others its replicates. ``turns`` replays were added up in each.
    """

    log: Log
    rows: Evidence
    policies: dict[str, Any]
    turns: int
    sums: dict[str, Array]
    counts: dict[str, Array]

    @property
    def horizon(self) -> int:
        """The steps of one replay: c N, c the least probability in the log of N usable rows."""
        return round(self.rows.least * len(self.rows))

    @property
    def speed(self) -> float:
        """How many steps of the log pass in one step of a replay, and so how many times as fast means drift there."""
        return 1.0 / self.rows.least

    def table(self) -> pl.DataFrame:
        """One row a policy: reward per step with its 95 % interval, the same less the log's own, and its rows.

        ``rows`` counts its evidence: for "replay" the steps of one replay, for "inverse propensity" the effective
        number, for the log all. Where fewer than 100 tell about an arm, its numbers are missing.
        """
        import polars as pl

        table = []
        for name in self.sums:
            known, estimator, rows = self._basis(name)
            row: dict[str, Any] = {"policy": name, "estimator": estimator, "rows": rows}
            row |= self._interval(self._average(name), ("reward", "low", "high"), known, rows if self._binary else None)
            against = self._average(name) - self._average(LOG)
            against_log = ("against_log", "against_low", "against_high")
            table.append(row | self._interval(against, against_log, known and name != LOG))
        numbers = ("reward", "low", "high", *against_log)
        schema: Any = {"policy": pl.String, "estimator": pl.String, "rows": pl.Int64} | dict.fromkeys(
            numbers, pl.Float64
        )
        return pl.DataFrame(table, schema=schema)

    def differences(self, baseline: str) -> pl.DataFrame:
        """Reward per step of every other policy less ``baseline``'s, paired by replicate, with its 95 % interval."""
        import polars as pl

        if baseline not in self.sums:
            raise InputError(f"no policy is called {baseline!r}; there are {', '.join(self.sums)}")
        rows = []
        for name in self.sums:
            if name != baseline:
                known = self._basis(name)[0] and self._basis(baseline)[0]
                between = self._average(name) - self._average(baseline)
                interval = self._interval(between, ("difference", "low", "high"), known)
                rows.append({"policy": name, "minus": baseline} | interval)
        return pl.DataFrame(rows)

    def notes(self) -> list[str]:
        """What a reader of the table must know about this log, in sentences."""
        notes = [f"{note}." for note in self.rows.notes]
        if self.policies:
            runs = f"; the mean of {self.turns} such replays is reported" if self.turns > 1 else ""
            notes.append(
                f"A replay uses one row of the log in {self.speed:.3g}: the policy lives through {self.horizon:,} "
                f"steps, and in each of them means drift {self.speed:.3g} times as far as in a step of the log, some "
                f"{self.speed * self.log.drift.drift:.2g}{runs}. What it would earn with all the traffic, where "
                "drift per step is slower, this log can't tell."
            )
        if not 0.0 <= min(self._arm_means()) <= max(self._arm_means()) <= 1.0:
            notes.append("Means lie outside [0, 1], for which few policies but BreakEven are tuned: scale the rewards.")
        unknown = [name for name in self.sums if not self._basis(name)[0]]
        if unknown:
            notes.append(f"Fewer than {FEWEST} effective rows tell about: {', '.join(unknown)}.")
        return notes

    def _arm_means(self) -> list[float]:
        return [float(self.rows.rewards[self.rows.arms == arm].mean()) for arm in range(len(self.rows.names))]

    def _basis(self, name: str) -> tuple[bool, str, int]:
        """Whether the log can tell, by which estimator, and from how many rows."""
        if name in self.policies:
            return True, "replay", int(self.counts[name][0].sum()) // self.turns
        if name == LOG:
            return True, "", len(self.rows)
        effective = self.rows.effective
        if name == "Uniform":
            weights = 1.0 / self.rows.probability
            return bool(effective.min() >= FEWEST), "inverse propensity", int(weights.sum() ** 2 / (weights**2).sum())
        mine = float(effective[self.rows.names.index(name.removeprefix("only "))])
        return mine >= FEWEST, "inverse propensity", int(mine)

    @property
    def _binary(self) -> bool:
        return bool(np.isin(self.rows.rewards, (0.0, 1.0)).all())

    def _average(self, name: str) -> Array:
        """Reward per step, on the log and on every replicate."""
        return self.sums[name].sum(axis=1) / self.counts[name].sum(axis=1)  # type: ignore[no-any-return]

    def _curve(self, name: str) -> Array:
        """The same for each part of the log."""
        return self.sums[name] / np.maximum(self.counts[name], 1)

    @staticmethod
    def _interval(
        values: Array, names: tuple[str, str, str], known: bool, count: int | None = None
    ) -> dict[str, float | None]:
        if not known:
            return dict.fromkeys(names)
        return dict(zip(names, map(float, with_interval(values, count)), strict=True))

    def plot(
        self,
        *,
        ax: Sequence[Axes] | None = None,
        figsize: tuple[float, float] | None = None,
        policies: Sequence[str] | str | None = None,
        title: str | None = None,
    ) -> Figure:
        """Left, the reward per step along the log; right, over the whole of it. Bands and bars are 95 % intervals.

        Drawn into two axes ``ax``, or a new figure of ``figsize`` inches. ``policies`` are rows of ``table`` to show.
        """
        from driftbandits._common import plotting as figures

        table = self.table().drop_nulls("reward")
        if policies is not None:
            wanted = figures.chosen(table["policy"], policies)
            table = table.filter(table["policy"].is_in(wanted))
        shown = self._curves_shown(table) if policies is None else table["policy"].to_list()
        style = {name: index for index, name in enumerate(shown)}
        height = 3.6 + 0.18 * max(0, len(table) - 6)
        size = (9.6, height) if figsize is None else figures.check_size(figsize)
        with figures.pair(ax, size, width_ratios=(3, 2)) as (figure, (left, right)):
            parts = self.sums[LOG].shape[1]
            middles = self.rows.places[((np.arange(parts) + 0.5) * len(self.rows) / parts).astype(np.int64)]
            for name in shown:
                counts = self.counts[name][0] / (self.turns if name in self.policies else 1)
                middle, low, high = with_interval(self._curve(name), counts if self._binary else None)
                left.plot(middles, middle, label=name, **figures.line_style(style[name]))
                figures.shade(left, middles, low, high, style[name])
            left.set(xlabel="row of the log", ylabel="reward per step", xlim=(0, len(self.log)), title="along the log")
            figures.thousands(left.xaxis, 4)
            if ax is None:
                note = "bands and bars: 95 % intervals"
                figure.legend(loc="outside lower center", ncols=min(len(shown), 5), title=note)
                figure.suptitle(title or "")
            else:
                left.legend(fontsize="small")
            for place, row in enumerate(table.iter_rows(named=True)):
                colour = figures.line_style(style[row["policy"]])["color"] if row["policy"] in style else "0.45"
                right.plot([row["low"], row["high"]], [place, place], color=colour)
                right.plot([row["reward"]], [place], "o", color=colour, markersize=5)
            right.set(xlabel="reward per step", title="over the whole log", ylim=(len(table) - 0.4, -0.6))
            right.set_yticks(range(len(table)), table["policy"].to_list())
            right.locator_params(axis="x", nbins=5)
        result: Figure = figure
        return result

    def __repr__(self) -> str:
        columns, rows = self._shown()
        return "\n".join([self._heading(), *text_table(columns, rows), "rewards are per step; notes() tells more"])

    def _repr_html_(self) -> str:
        return html_table(*self._shown(), self._heading(), " ".join(self.notes()))

    def _heading(self) -> str:
        used = "" if len(self.rows) == len(self.log) else f"{len(self.rows):,} of "
        return f"Replay of {used}{len(self.log):,} rows: {self.log.n_arms} arms, {self.horizon:,} steps a replay"

    def _shown(self) -> tuple[list[str], list[list[str]]]:
        rows = []
        for row in self.table().head(MOST_ROWS).iter_rows(named=True):
            known = row["reward"] is not None
            interval = f"{row['low']:.4f} to {row['high']:.4f}" if known else "too few rows"
            against = "" if row["against_log"] is None else f"{row['against_log']:+.4f}"
            rows.append([row["policy"], f"{row['reward']:.4f}" if known else "", interval, against, f"{row['rows']:,}"])
        return ["policy", "reward", "95 % interval", "less the log's", "rows"], rows

    def _curves_shown(self, table: pl.DataFrame) -> list[str]:
        """All policies and the log; of single arms the best ones, as long as the figure stays legible."""
        alone = table.filter(estimator="inverse propensity").sort("reward", descending=True)["policy"].to_list()
        room = max(1, MOST_CURVES - 1 - len(self.policies))
        best = [name for name in alone if name != "Uniform"][:room]
        return [*self.policies, LOG, *sorted(best)]


def with_interval(values: Array, count: Any = None) -> tuple[Any, Any, Any]:
    """The estimate, which comes first, with the ends of its 95 % interval, from the replicates that follow it.

    Of rewards that are 0 or 1 it has their ``count``, and gets Wilson's interval; else Student's.
    """
    spread, quantile = values[1:].std(axis=0, ddof=1), t_quantile(len(values) - 2)
    if count is None:
        return values[0], values[0] - quantile * spread, values[0] + quantile * spread
    middle = np.clip(values[0], 0.0, 1.0)
    return middle, *share_mean_interval(middle, spread, np.maximum(count, 1), quantile)

"""The command ``replay``; as in ``cli``, it imports what it needs when it runs."""

from __future__ import annotations

import math
import textwrap
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from driftbandits.cli.options import Whole, check_outputs


def replay(
    log: Path,
    policy: Annotated[list[str] | None, Parameter(negative="")] = None,
    *,
    columns: Annotated[list[str] | None, Parameter(negative="")] = None,
    logged: Literal["uniform"] | None = None,
    missing: float | None = None,
    drift: float | None = None,
    reward_range: tuple[float, float] | None = None,
    replicates: Whole = 30,
    seed: Whole = 0,
    workers: Whole | None = None,
    plot: Path | None = None,
    save: Path | None = None,
) -> None:
    """Estimate from a log what other policies would have earned, and each arm alone, with 95 % intervals.

    For example: driftbandits replay log.csv --policy BreakEven --policy SWUCBSharp --plot replay.png

    The log has a row for each decision, and the columns step, arm, reward (empty: it never came) and probability (with
    which the arm was chosen then). An experiment with explore=0.1 logs probabilities; rows without one are left out.
    Where there are none, or the policy that ran left nothing to chance, a log can't answer; then this command says so,
    with exit code 2.

    Parameters
    ----------
    log
        A .csv, .parquet or .jsonl file.
    policy
        The name of a policy; repeat it for more. Default: BreakEven.
    columns
        What the log calls a column, as in --columns step=time --columns arm=variant.
    logged
        Say uniform if a log has no probabilities, but each arm had the same chance whatever the rewards; it is tested.
    missing
        What a reward that never came is worth; such rows are left out unless given.
    drift
        The most that a mean moves in one step of the log, for policies that must know; read off the log unless given.
    reward_range
        The least and the largest reward, as in --reward-range 0 20. Policies defined for rewards in [0, 1] learn them
        rescaled.
    replicates
        Redrawn logs behind the intervals.
    seed
        The same seed gives the same result, bit for bit.
    workers
        Threads; all cores unless given. The result does not depend on it.
    plot
        Draw the rewards to this file (.png, .svg or .pdf).
    save
        Write the table to this .csv file.
    """
    import polars as pl

    from driftbandits._common.files import written_whole
    from driftbandits._common.plotting import figure_ending, save_figure
    from driftbandits._common.tables import print_table
    from driftbandits.errors import InputError
    from driftbandits.offline.log import read_log
    from driftbandits.offline.replay import replay
    from driftbandits.policies.registry import DEFAULT

    if plot is not None:
        figure_ending(plot)  # before the work, not after it
    if save is not None and save.suffix.lower() != ".csv":
        raise InputError(f"a table's name must end in .csv; got {str(save)!r}")
    read = read_log(log, _names(columns or []))
    check_outputs(figures=[plot], files=[save])
    print(f"{log}: {len(read):,} decisions, {read.n_arms} arms", flush=True)  # what comes next may take a while
    found = read.drift
    print(f"drift of the means: {found.drift:.2g} a step (95 % interval {found.low:.2g} to {found.high:.2g})")
    print(f"deviation of the rewards: {found.sigma:.2g}", flush=True)
    options: Any = {"logged": logged, "missing": missing, "drift": drift, "replicates": replicates}
    options["reward_range"] = reward_range
    result = replay(read, policy or [DEFAULT], **options, seed=seed, workers=workers)
    table = result.table()
    shown = [
        {
            "policy": row["policy"],
            "by": {"inverse propensity": "IPS"}.get(row["estimator"], row["estimator"]),
            "rows": row["rows"],
            "reward": _plus_minus(row["reward"], row["high"], ""),
            "less_the_log's": _plus_minus(row["against_log"], row["against_high"], "+"),
        }
        for row in table.iter_rows(named=True)
    ]
    print_table(
        pl.DataFrame(shown),
        "Reward per step",
        {"policy": "", "by": "", "rows": ",d", "reward": "", "less_the_log's": ""},
        caption="±: 95 % interval. IPS: inverse propensity, with its effective rows.",
    )
    for note in result.notes():
        print(textwrap.fill(note, 100))
    if save is not None:
        with written_whole(save) as temporary:
            table.write_csv(temporary)
        print(f"wrote {save}")
    if plot is not None:
        save_figure(result.plot(), plot)
        print(f"wrote {plot}")


def _names(given: list[str]) -> dict[str, str]:
    """OURS=THEIRS, for columns of the log."""
    from driftbandits.errors import InputError

    found: dict[str, str] = {}
    for each in given:
        ours, equals, theirs = each.partition("=")
        if not (ours and equals and theirs):
            raise InputError(f"--columns takes OURS=THEIRS, as in step=time; got {each!r}")
        if ours in found:
            raise InputError(f"--columns names {ours} twice: leave one out")
        found[ours] = theirs
    return found


def _plus_minus(middle: float | None, high: float | None, sign: str) -> str:
    """Both with two digits of the interval."""
    if middle is None or high is None:
        return ""
    reach = high - middle
    digits = max(0, 1 - math.floor(math.log10(reach))) if reach > 0 else 4
    return f"{middle:{sign},.{digits}f} ± {reach:,.{digits}f}"

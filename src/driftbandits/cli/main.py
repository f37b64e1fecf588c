"""The command line. Every command imports what it needs when it runs, so that --help answers at once."""

from __future__ import annotations

import io
import sys
import warnings
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import App, Parameter

from driftbandits.cli.demo import demo
from driftbandits.cli.league import league, recommend
from driftbandits.cli.replay import replay
from driftbandits.cli.serve import serve, token
from driftbandits.cli.store import experiments, export, store
from driftbandits.cli.sweep import sweep
from driftbandits.errors import DriftbanditsError, InputError

app = App(
    name="driftbandits",
    suppress_keyboard_interrupt=False,
    help="Bandits whose reward means drift slowly: run the paper's experiments, simulate your own, measure the cost.",
)
app.command(league)
app.command(recommend)
app.command(serve)
app.command(demo)
app.command(token)
app.command(store)
app.command(replay)
app.command(sweep)
app.command(experiments)
app.command(export)


@app.command
def reproduce(
    *,
    runs: int = 100,
    seed: int = 0,
    out: Path = Path("results"),
    only: str | None = None,
    workers: int | None = None,
    again: Annotated[bool, Parameter(negative="")] = False,
) -> None:
    """Run every experiment and study of the paper, and write a report.

    If it is stopped, the same command continues where it was. A part of other settings, of another version or cut
    short is run again.

    Parameters
    ----------
    runs
        How many runs of each policy; the paper has 10.
    seed
        The same seed gives the same result, bit for bit.
    out
        Where report.html, summary.json, the figures (SVG, PNG, PDF) and the runs (Parquet) go.
    only
        Run and report one experiment or study alone; an unknown name lists them.
    workers
        Threads; all cores unless given. The result does not depend on it.
    again
        Run finished parts once more.
    """
    import polars as pl

    from driftbandits._common.tables import print_table
    from driftbandits.research.paper.reproduce import reproduce

    content = reproduce(runs, seed, out, only=only, workers=workers, again=again)
    rows = [
        {"claim": claim.name} | {form: found.verdict for form, found in claim.verdicts.items()}
        for claim in content.claims
    ]
    if rows:
        print_table(pl.DataFrame(rows), "What the paper claims, for SnoozeIt as", dict.fromkeys(rows[0], ""))
    print(f"wrote {out / 'report.html'}")


@app.command
def simulate(
    instance: str = "toggling",
    policy: Annotated[list[str] | None, Parameter(negative="")] = None,
    *,
    drift: float | None = None,
    noise: Literal["gaussian", "bernoulli", "bounded"] = "gaussian",
    runs: int = 100,
    seed: int = 0,
    workers: int | None = None,
    plot: Path | None = None,
    keep: Annotated[Path | None, Parameter(alias="--save")] = None,
) -> None:
    """Simulate policies on an instance and print their regret.

    For example: driftbandits simulate walk --policy SnoozeIt --policy SWUCBSharp --runs 20 --plot regret.png

    Parameters
    ----------
    instance
        A family of instances (toggling, separated, sinusoid, walk, wave, fading, ...), or a file of means (.csv,
        .parquet or .npz: one row a step, one column an arm).
    policy
        The name of a policy; repeat it for more. SnoozeIt and its three rivals unless given.
    drift
        The drift limit that policies are told; unless given, the one the instance declares, or else the one it has.
    noise
        How rewards scatter around their mean.
    runs
        How many runs of each policy.
    seed
        The same seed gives the same result, bit for bit.
    workers
        Threads; all cores unless given. The result does not depend on it.
    plot
        Draw the regret to this file (.png, .svg or .pdf).
    keep
        Keep every run in this Parquet file; stopped with Ctrl-C, the same command goes on from there.
    """
    from driftbandits._common.plotting import figure_ending, save_figure
    from driftbandits.instances import noise as noises
    from driftbandits.policies import make_policy
    from driftbandits.simulation.simulate import simulate

    if plot is not None:
        figure_ending(plot)  # before the work, not after it
    built = _instance(instance)
    known = {} if drift is None else {"drift": drift}
    names = policy or ["SnoozeIt", "SWUCBSharp", "Rexp3", "Exp3S"]
    policies = {name: make_policy(name, built, **known) for name in names}
    model = {"gaussian": noises.Gaussian, "bernoulli": noises.Bernoulli, "bounded": noises.Bounded}[noise]()
    result = simulate(policies, built, model, runs=runs, seed=seed, workers=workers, keep=keep)
    _print_summary(result)
    if plot is not None:
        save_figure(result.plot(), plot)


def _instance(name: str) -> Any:
    from driftbandits import instances

    if name in instances.FAMILIES and name != "table":
        return instances.FAMILIES[name]()
    if Path(name).suffix:
        return instances.table(name)
    known = ", ".join(sorted(set(instances.FAMILIES) - {"table"}))
    raise InputError(f"unknown instance {name!r}; known: {known}; or name a file ending in .csv, .parquet or .npz")


def _print_summary(result: Any) -> None:
    from driftbandits._common.tables import print_table

    print_table(
        result.summary(),
        f"{result.instance.name}: T = {result.instance.horizon:,}, {result.runs:,} runs, seed {result.seed}",
        {"policy": "", "regret": ",.1f", "low": ",.1f", "high": ",.1f", "realised": ",.1f", "ns_per_step": ".1f"},
        caption="regret: mean dynamic pseudo-regret at T; low, high: its 95 % interval",
    )


@app.command
def gap(instance: str = "toggling", *, plot: Path = Path("gap.png")) -> None:
    """Show how hard an instance is: its gap, and its detectable gap, at four zoom levels.

    Parameters
    ----------
    instance
        A family of instances with two arms (toggling, separated, sinusoid, walk, ...), or a file of means.
    plot
        Draw the figure to this file (.png, .svg or .pdf).
    """
    import numpy as np

    from driftbandits._common.plotting import save_figure
    from driftbandits.theory.figures import plot_gap_profile
    from driftbandits.theory.gaps import gap_profile

    built = _instance(instance)
    profile = gap_profile(built)
    shown = profile.window > 0
    print(f"{built}")
    print(f"gap: median {np.median(built.gap):.3g}, largest {built.gap.max():.3g}")
    print(f"detectable gap: median {np.median(profile.gap):.3g}, least {profile.gap.min():.3g};")
    print(f"a window shows it at {shown.mean():.1%} of steps" + _median_window(profile.window[shown]))
    save_figure(plot_gap_profile(built), plot)
    print(f"wrote {plot}")


def _median_window(windows: Any) -> str:
    import numpy as np

    return f", half of the time in {int(np.median(windows)):,} steps or fewer" if len(windows) else ""


@app.command
def bounds(
    horizon: int = 162_755,
    drift: float = 1 / 48_000,
    *,
    instance: str | None = None,
    plot: Path | None = None,
    against_drift: Path | None = None,
    runs: int = 20,
) -> None:
    """Print the paper's regret bounds, with their terms, and draw them.

    Parameters
    ----------
    horizon
        T, the number of steps.
    drift
        delta, the drift limit.
    instance
        Also bound the regret on this instance (Theorem 1): a family with two arms, or a file of means. Its own horizon
        and drift limit are used throughout.
    plot
        Draw the bound on regret per step of an episode (the paper's appendix B) to this file.
    against_drift
        Measure SnoozeIt's regret for drifts from 1e-7 to 1e-3 on the lower bound's instances, and draw it between the
        upper and the lower bound to this file, with the fitted exponent.
    runs
        How many runs for that.
    """
    from driftbandits._common.plotting import save_figure
    from driftbandits.theory import bounds as theorems
    from driftbandits.theory.feasibility import explain_feasibility
    from driftbandits.theory.figures import plot_episode_bounds

    if instance is not None:
        built = _instance(instance)
        horizon, drift = built.horizon, built.drift_limit
        whole = theorems.instance_dependent(built, drift)
        in_blocks = f"{whole.per_block.sum():,.0f} in {len(whole.per_block)} blocks"
        print(f"Theorem 1, on {built.name}: {whole.total:,.0f} = {in_blocks}")
        print(f"    + {whole.episode_ends:,.0f} for ends of episodes + {whole.bad_event:,.0f} for the bad event")
    upper, lower = theorems.minimax_upper(horizon, drift), theorems.minimax_lower(horizon, drift)
    print(f"Theorem 2, any instance: {upper.total:,.0f} = {upper.all_steps:,.0f} ({upper.per_step:.4g} a step)")
    print(f"    + {upper.last_episode:,.0f} for the last episode + {upper.episode_ends:,.0f} for ends of episodes")
    print(f"    + {upper.bad_event:,.0f} for the bad event")
    tight = theorems.snoozeit_tight(horizon, drift)
    print(f"SnoozeItTight, any instance: {tight.total:,.0f} ({tight.per_step:.4g} a step); this package's own")
    print(f"Theorem 3, some instance, any policy: {lower.total:,.1f} = {lower.blocks:,} blocks x {lower.per_block:.4g}")
    print(f"An episode lasts at least {theorems.shortest_episode(horizon, drift):,.0f} steps,")
    print(f"    so there are at most {theorems.most_episodes(horizon, drift):,.1f} of them")
    print(explain_feasibility(horizon, drift))
    if plot is not None:
        save_figure(plot_episode_bounds(horizon, drift), plot)
        print(f"wrote {plot}")
    if against_drift is not None:
        import numpy as np

        from driftbandits.research.studies.regret_against_drift import plot_regret_against_drift, regret_against_drift

        least = max(1e-7, 0.6 / horizon**1.5)  # one block of the instance must fit into the horizon
        table = regret_against_drift(np.geomspace(least, 1e-3, 9).tolist(), horizon, runs=runs)
        save_figure(plot_regret_against_drift(table, f"lower bound instances, T = {horizon:,}"), against_drift)
        print(f"wrote {against_drift}")


@app.command
def bench(quick: bool = False) -> None:
    """Measure what a step costs: nanoseconds, and the multiple of drawing the reward itself.

    Parameters
    ----------
    quick
        Skip the long horizon of 10^7 steps.
    """
    from driftbandits.research.bench import print_benchmarks

    print_benchmarks(quick)


def _show_warning(message: Warning | str, *details: Any) -> None:
    print(f"note: {message}", file=sys.stderr)


def main() -> None:
    """Entry point: bad input is one line on standard error and exit code 2; what the machine lacks 1; Ctrl-C 130."""
    warnings.showwarning = _show_warning  # type: ignore[assignment]
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # no δ in a pipe of Windows; better a ? than a traceback
    try:
        app()
    except DriftbanditsError as error:
        print(f"driftbandits: {error}", file=sys.stderr)
        sys.exit(2 if isinstance(error, InputError) else 1)
    except KeyboardInterrupt:
        print("driftbandits: stopped", file=sys.stderr)
        sys.exit(130)

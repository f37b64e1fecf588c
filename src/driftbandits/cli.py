"""The command line. Every command imports what it needs when it runs, so that --help answers at once."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import App, Parameter

from driftbandits.errors import InputError

app = App(
    name="driftbandits",
    help="Bandits whose reward means drift slowly: run the paper's experiments, simulate your own, measure the cost.",
)


@app.command
def reproduce(runs: int = 100, seed: int = 0, out: Path = Path("results"), workers: int | None = None) -> None:
    """Run the paper's comparison on the toggling instance, print the table, and draw the regret.

    Parameters
    ----------
    runs
        How many runs of each policy; the paper has 10.
    seed
        The same seed gives the same result, bit for bit.
    out
        Where the figure (PNG) and the runs (Parquet) go.
    workers
        Threads; all cores unless given. The result does not depend on it.
    """
    from driftbandits import instances
    from driftbandits.figures import save_figure
    from driftbandits.paper.experiments import four_policies
    from driftbandits.simulation import simulate

    instance = instances.toggling()
    policies = four_policies(instance.horizon, 1 / 4_800)
    result = simulate(policies, instance, runs=runs, seed=seed, workers=workers, keep=out / "toggling.parquet")
    _print_summary(result)
    save_figure(result.plot(), out / "toggling.png")
    print(f"wrote {out / 'toggling.parquet'} and {out / 'toggling.png'}")


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
    save: Path | None = None,
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
        The drift limit that policies are told; the instance's own unless given.
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
    save
        Keep every run in this Parquet file; stopped with Ctrl-C, the same command goes on from there.
    """
    from driftbandits import noise as noises
    from driftbandits.figures import save_figure
    from driftbandits.policies import make_policy
    from driftbandits.simulation import simulate

    world = _instance(instance)
    known = {
        "horizon": world.horizon,
        "drift": world.drift_limit if drift is None else drift,
        "best_arms": world.best_arm,
    }
    names = policy or ["SnoozeIt", "SWUCBSharp", "Rexp3", "Exp3S"]
    policies = {name: make_policy(name, **known) for name in names}
    model = {"gaussian": noises.Gaussian, "bernoulli": noises.Bernoulli, "bounded": noises.Bounded}[noise]()
    result = simulate(policies, world, model, runs=runs, seed=seed, workers=workers, keep=save)
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
    from driftbandits.tables import print_table

    print_table(
        result.summary(),
        f"{result.instance.name}: T = {result.instance.horizon:,}, {result.runs:,} runs, seed {result.seed}",
        {"policy": "", "regret": ",.1f", "low": ",.1f", "high": ",.1f", "realised": ",.1f", "ns_per_step": ".1f"},
        caption="regret: mean dynamic pseudo-regret at T; low, high: its 95 % interval",
    )


@app.command
def bench(quick: bool = False) -> None:
    """Measure what a step costs: nanoseconds, and the multiple of drawing the reward itself.

    Parameters
    ----------
    quick
        Skip the long horizon of 10^7 steps.
    """
    from driftbandits.bench import print_benchmarks

    print_benchmarks(quick)


def main() -> None:
    """Entry point: bad input is one line on standard error and exit code 2; Ctrl-C is exit code 130."""
    try:
        app()
    except InputError as error:
        print(f"driftbandits: {error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        print("driftbandits: stopped", file=sys.stderr)
        sys.exit(130)

"""The good event (the paper's own Claim 1), measured: how small may SnoozeIt's radius be before means leave it?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from driftbandits._common.arrays import Array
from driftbandits._common.checks import check_horizon, check_whole
from driftbandits._common.intervals import share_interval
from driftbandits._numba.compiled import loop
from driftbandits.errors import InputError
from driftbandits.instances import Instance, stationary
from driftbandits.instances.base import check_always_there
from driftbandits.instances.noise import Gaussian, Noise
from driftbandits.policies import Oracle, SnoozeIt
from driftbandits.simulation.result import Simulation
from driftbandits.simulation.simulate import simulate
from driftbandits.simulation.trajectory import trajectory

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure


def good_event(
    horizon: int,
    confidences: Sequence[float],
    noise: Noise | None = None,
    *,
    runs: int = 200,
    seed: int = 0,
    instance: Instance | None = None,
) -> pl.DataFrame:
    """For each confidence, the share of runs in which the good event of Claim 1 fails, beside the union bound.

    A run fails at ``confidence`` if |muhat_(a,t)(w) - mu_(a,t)(w)| >= r(w) = confidence * sqrt(2 L/w), L = ln T, for
    some arm a, step t and window w. ``critical_confidences`` holds one number a run that answers this for all of them.

    Columns: confidence; failed, with its 95 % interval low .. high (Clopper and Pearson); union, Hoeffding's
    2 T^(-4 confidence^2) times the number of windows; claim, with the paper's rounder T^3 in place of that number, so
    2/T at confidence 1. Both bounds are cut at 1 and hold for 1/2-sub-Gaussian rewards, as Gaussian(0.5) and Bernoulli.

    >>> good_event(100, [0.3, 1.0], runs=20).select("confidence", "failed", "claim").rows()
    [(0.3, 1.0, 1.0), (1.0, 0.0, 0.02)]
    """
    import polars as pl

    critical = critical_confidences(horizon, noise, runs=runs, seed=seed, instance=instance)
    T, K = horizon, 2 if instance is None else instance.n_arms
    windows = K * sum(n * (n + 1) // 2 for n in (T // 2, (T + 1) // 2))
    rows = []
    for confidence in confidences:
        failed = int((critical >= confidence).sum())
        low, high = share_interval(failed, runs)
        tail = 2 * T ** (-4 * confidence**2)
        union, claim = min(1.0, windows * tail), min(1.0, T**3 * tail)
        measured = {"confidence": float(confidence), "failed": failed / runs, "low": low, "high": high}
        rows.append({**measured, "union": union, "claim": claim})
    return pl.DataFrame(rows)


def critical_confidences(
    horizon: int, noise: Noise | None = None, *, runs: int = 200, seed: int = 0, instance: Instance | None = None
) -> Array:
    """For each run the largest confidence at which the good event fails, exactly, shape (runs,).

    As in the proof of Claim 1 all rewards of all arms are drawn ahead, and a window is made of w steps of one parity:
    t, t-2, ..., t-2(w-1). With S the sums of (reward - mean) over the odd or over the even steps, the answer is the
    largest |S_e - S_s|/sqrt(e - s) over all arms, both parities and all s < e, divided by sqrt(2 L). (The claim's
    w <= t/2 leaves out one of these windows, that of all odd steps of an odd T.)

    ``noise`` is ``Gaussian(0.5)`` unless given, ``instance`` two arms that stay at 1/2.
    """
    T, runs = check_horizon(horizon, 2), check_whole("runs", runs, 1)
    noise = Gaussian(0.5) if noise is None else noise
    instance = stationary(T, (0.5, 0.5)) if instance is None else check_always_there(instance, "the good event")
    if instance.horizon != T:
        raise InputError(f"horizon={T:,} and the instance has {instance.horizon:,} steps: they must be the same")
    largest = np.empty(runs)
    always = [Oracle(np.full(1, arm)) for arm in range(instance.n_arms)]
    for run in range(runs):
        ratio = 0.0
        for arm, policy in enumerate(always):
            # The rewards of a policy that never leaves an arm are that arm's tape; each tape has a stream of its own.
            tape = (
                trajectory(policy, instance, noise, seed, run * instance.n_arms + arm).rewards - instance.means[:, arm]
            )
            for first in (0, 1):
                ratio = largest_ratio(np.concatenate([[0.0], np.cumsum(tape[first::2])]), ratio)
        largest[run] = ratio / math.sqrt(2 * math.log(T))
    return largest


@loop
def largest_ratio(sums: Array, known: float) -> float:
    """The largest |S_e - S_s|/sqrt(e - s) over all s < e, or ``known`` if that is larger: exactly, by branch and bound.

    Points are cut in halves again and again. For two blocks of b points, k blocks apart, no pair can exceed the larger
    max S - min S between them, divided by the root of the least distance (k-1) b + 1. Pairs of blocks that this bound
    rules out are left alone, nearly all that do not touch; so about 6 looks a point replace n/2.
    """
    low, high, size = _extremes(sums)
    best = known
    stack = np.empty((4 * 64, 3), np.int64)  # each of at most 62 halvings leaves three pairs waiting
    stack[0, 0], stack[0, 1], stack[0, 2] = 1, 1, size
    waiting = 1
    while waiting > 0:
        waiting -= 1
        left, right, width = stack[waiting, 0], stack[waiting, 1], stack[waiting, 2]
        if left < right:
            most = max(high[right] - low[left], high[left] - low[right])
            bound = most / math.sqrt((right - left - 1) * width + 1)
            if not bound > best:
                continue
            if width == 1:
                best = bound
                continue
        elif width == 1:
            continue
        half = width // 2
        for i in range(2):
            for j in range(2):
                if 2 * left + i <= 2 * right + j:
                    stack[waiting, 0], stack[waiting, 1], stack[waiting, 2] = 2 * left + i, 2 * right + j, half
                    waiting += 1
    return best


@loop
def _extremes(sums: Array) -> tuple[Array, Array, int]:
    """Least and largest sum of every block (node 1 is all, node i splits into 2i and 2i+1), and how many leaves."""
    size = 1
    while size < len(sums):
        size *= 2
    low, high = np.full(2 * size, np.inf), np.full(2 * size, -np.inf)
    low[size : size + len(sums)] = sums
    high[size : size + len(sums)] = sums
    for node in range(size - 1, 0, -1):
        low[node] = min(low[2 * node], low[2 * node + 1])
        high[node] = max(high[2 * node], high[2 * node + 1])
    return low, high, size


def unsafe_snoozes(
    policy: SnoozeIt, instance: Instance, noise: Noise | None = None, *, runs: int = 100, seed: int = 0
) -> pl.DataFrame:
    """How often Lemma 2 (snooze safety) fails: the snoozed arm was the better one at some step of its passive phase.

    On the good event it never does, if the instance keeps to the policy's delta; a confidence below 1 gives that up bit
    by bit. One row: confidence, snoozes and failures in all runs, rate = failures/snoozes with its 95 % interval low ..
    high (Clopper and Pearson). Every episode forgets what was before, so that its snooze fails or not by fresh rewards;
    that the chance differs from episode to episode makes the interval too wide, not too narrow.

    >>> from driftbandits import instances
    >>> policy = SnoozeIt(horizon=20_000, drift=1 / 48_000, confidence=0.3)
    >>> unsafe_snoozes(policy, instances.separated(20_000), runs=5).select("snoozes", "failures").rows()
    [(15, 0)]
    """
    import polars as pl

    if not isinstance(policy, SnoozeIt):
        raise InputError(f"Lemma 2 (snooze safety) is about the snoozes of SnoozeIt; got {type(policy).__name__}")
    played = simulate({"it": policy}, instance, noise, runs=runs, seed=seed, checkpoints=1, events=True)
    snoozes, failures = failed_snoozes(played, "it")
    low, high = share_interval(failures, snoozes) if snoozes else (0.0, 1.0)
    rate = failures / snoozes if snoozes else math.nan
    counts = {"confidence": policy.confidence, "snoozes": snoozes, "failures": failures}
    return pl.DataFrame([{**counts, "rate": rate, "low": low, "high": high}])


def failed_snoozes(simulation: Simulation, name: str) -> tuple[int, int]:
    """How many snoozes there were in all runs, and in how many the snoozed arm became the better one."""
    means, T = simulation.instance.means, simulation.instance.horizon
    some = simulation.events[name].filter(snoozed=1)
    # worse[a, t]: in how many of the first t steps arm a was strictly the worse one.
    worse = np.zeros((2, T + 1), np.int64)
    worse[:, 1:] = np.cumsum(means.T[::-1] > means.T, axis=1)
    arm, first = some["arm"].to_numpy(), some["passed"].to_numpy()
    last = np.minimum(np.ceil(some["until"].to_numpy()), T).astype(np.int64)
    return len(some), int((worse[arm, last] > worse[arm, first]).sum())


def plot_good_event(table: pl.DataFrame, title: str = "") -> Figure:
    """The table of ``good_event`` as a figure: the measured share of failing runs beside the two bounds."""
    from driftbandits._common import plotting as figures

    table = table.sort("confidence")
    at = table["confidence"]
    with figures.canvas(size=(5.0, 4.0)) as (figure, axes):
        axes.plot(at, table["failed"], label="measured", **figures.line_style(0))
        figures.shade(axes, at, table["low"], table["high"], 0)
        axes.plot(at, table["union"], label="union bound, windows counted", **figures.line_style(1))
        axes.plot(at, table["claim"], label="union bound of Claim 1 (good event)", **figures.line_style(2))
        axes.set(
            xlabel="confidence (1 = the paper's radius)", ylabel="share of runs that leave the radius", title=title
        )
        note = "band: 95 % interval (Clopper and Pearson)"
        figure.legend(ncols=1, loc="outside lower center", title=note, title_fontsize=8)
    return figure  # type: ignore[no-any-return]

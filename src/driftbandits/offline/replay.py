"""replay(log, policies): what other policies would have earned on a log, and how certain that is."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import numpy as np

from driftbandits._common.arrays import Array
from driftbandits._common.checks import (
    LARGEST_REWARD,
    check_drift,
    check_flag,
    check_range,
    check_seed,
    check_whole,
    is_reward,
    shown,
)
from driftbandits._common.rewards import first_not_taken, not_taken, rewards_of
from driftbandits._common.threads import cores, in_threads
from driftbandits.errors import FeasibilityWarning, InputError
from driftbandits.offline.estimators import Replayer, fixed_choices
from driftbandits.offline.log import Log, read_log
from driftbandits.offline.result import Replay
from driftbandits.offline.trust import FEWEST, Evidence, evidence
from driftbandits.policies import POLICIES, Oracle, Uniform, make_policy
from driftbandits.policies.registry import DEFAULT, name_policies, short_horizon

if TYPE_CHECKING:
    import polars as pl


MOST_PARTS = 40
PART = 25
"""Rows of a replay, at least, behind each point of the figure."""
BLOCK = 64
"""Rows among which a replicate draws: few enough that means hardly move meanwhile; more for more than eight arms."""


def replay(
    log: str | os.PathLike[str] | pl.DataFrame | Log | Any,
    policies: Mapping[str, Any] | Sequence[Any] | Any = (DEFAULT,),
    *,
    columns: Mapping[str, str] | None = None,
    logged: str | None = None,
    missing: float | None = None,
    drift: float | None = None,
    reward_range: Sequence[float] | None = None,
    replicates: int = 30,
    seed: int | None = 0,
    workers: int | None = None,
    progress: bool | None = None,
) -> Replay:
    """Estimate what each policy, each arm alone and Uniform would have earned per step on a log, with 95 % intervals.

    ``log`` is a .csv, .parquet or .jsonl file, or a data frame of polars or pandas, with columns step (numbers or time
    stamps), arm, reward and probability; see ``docs/replay.md``. ``columns`` says what the log calls them, as in
    ``{"step": "time", "arm": "variant"}``. ``policies`` maps names to policies, or lists policies and names of this
    package's; those are told the horizon and the drift of a replay, the drift from ``drift`` (per step of the log; the
    upper end of what ``estimate_drift`` says unless given).

    Each arm alone and Uniform choose without looking, and inverse propensity tells what they earn. A policy that learns
    is replayed: it is fed the rows with the arm that it wants, after rows were rejected so that all arms are equally
    likely. So it lives through the log in fewer steps, one in 1/c, c the least probability in the log.

    Intervals come from ``replicates`` of the log, in which every row is replaced by one drawn from its neighbourhood,
    and everything is done again. They cover the chance in the rewards, of the log's choices and of the policy.

    ``reward_range=(low, high)`` declares the least and the largest reward of the log: policies defined for rewards in
    [0, 1] learn (reward - low)/(high - low), while the result is on the scale of the log. Without it a reward that a
    policy is not defined for is an error.

    ``logged="uniform"`` vouches for a log without probabilities, and is tested. ``missing`` is what a reward that never
    came is worth; those rows are left out unless given. A log that can't answer raises InputError, which says why.

    >>> import polars as pl
    >>> rng = np.random.default_rng(0)
    >>> arm = rng.integers(0, 2, 4_000)
    >>> rows = {"step": range(4_000), "arm": arm, "reward": rng.random(4_000) < 0.3 + 0.4 * arm, "probability": 0.5}
    >>> result = replay(pl.DataFrame(rows), ["UCB1"])
    >>> found = result.table().row(by_predicate=pl.col("policy") == "UCB1", named=True)
    >>> found["low"] < 0.7 < found["high"], result.horizon
    (True, 2000)
    """
    replicates, seed = check_whole("replicates", replicates, 2), check_seed(seed)
    workers = cores() if workers is None else check_whole("workers", workers, 1)
    progress = check_flag("progress", progress, optional=True)
    limits = check_range("reward_range", reward_range)
    if missing is not None and not is_reward(missing):
        raise InputError(
            f"missing must be a finite number, at most {LARGEST_REWARD:g} in size: what a reward that never came is "
            f"worth; got {shown(missing)}"
        )
    log = read_log(log, columns)
    rows = evidence(log, logged, missing)
    drift = None if drift is None else check_drift(drift, max(1.0, float(np.ptp(rows.rewards))))
    learners = _learners(policies, log, rows, drift, limits)
    parts = int(max(1, min(MOST_PARTS, rows.least * len(rows) // PART)))
    replayers = {name: Replayer(policy, rows, seed, parts, limits) for name, policy in learners.items()}
    # As many replays of each replicate as it takes to use as much of the log as if it were uniform.
    turns = max(1, round(1 / (len(rows.names) * rows.least)))
    block = max(BLOCK, 8 * len(rows.names))

    def replicate(number: int, go_on: Callable[[int], bool]) -> tuple[Array, dict[str, tuple[Array, ...]]]:
        size = 1 if number == 0 else block
        fixed = fixed_choices(rows, size, seed, number, parts)
        found = {}
        for name, replayer in replayers.items():
            played = [replayer.play(number, turn, size, go_on) for turn in range(turns)]
            found[name] = tuple(np.sum(arrays, axis=0) for arrays in zip(*played, strict=True))
        return fixed, found

    work = len(rows) * turns * len(replayers) * (replicates + 1)
    done = in_threads(replicate, range(replicates + 1), workers, "replaying", work, progress)
    lengths = np.bincount(np.arange(len(rows)) * parts // len(rows), minlength=parts)
    sums, counts = {}, {}
    for name in learners:
        sums[name] = np.array([found[name][0] for _, found in done])
        counts[name] = np.array([found[name][1] for _, found in done])
    for index, name in enumerate(fixed_names(rows.names)):
        sums[name] = np.array([fixed[index] for fixed, _ in done])
        counts[name] = np.broadcast_to(lengths, sums[name].shape)
    return Replay(log, rows, learners, turns, sums, counts)


def fixed_names(arms: Sequence[str]) -> list[str]:
    """The names of fixed choices in the result."""
    return [*(f"only {arm}" for arm in arms), "Uniform", "the log"]


def _learners(
    policies: Any, log: Log, rows: Evidence, drift: float | None, limits: tuple[float, float] | None
) -> dict[str, Any]:
    """The policies to replay, by name; Uniform is none of them, as inverse propensity answers for it."""
    named = name_policies(policies, lambda name: _made(name, log, rows, drift, limits)) if policies else {}
    for name, policy in named.items():
        if isinstance(policy, Oracle):
            raise InputError("Oracle can't be replayed: it knows the means, and a log holds only rewards")
        if name in fixed_names(rows.names) and not isinstance(policy, Uniform):
            raise InputError(f"{name!r} is what the result calls something else: give the policy another name")
    learners = {name: policy for name, policy in named.items() if not isinstance(policy, Uniform)}
    for policy in learners.values():
        if (wrong := first_not_taken(policy, limits, rows.rewards.tolist())) is not None:
            got = f"{rows.rewards[wrong]:.6g} for {rows.names[rows.arms[wrong]]!r} in the log"
            raise not_taken(policy, limits, got)
    usable = rows.least * len(rows)
    for name, policy in learners.items():
        if (why := short_horizon(policy, max(1, round(usable)))) is not None:
            warnings.warn(f"policy {name!r}: {why}", FeasibilityWarning, stacklevel=3)
    if learners and usable < FEWEST:
        raise InputError(
            f"a replay could use about {usable:.0f} of {len(rows):,} rows, fewer than {FEWEST}: the least probability "
            f"in the log is {rows.least:.3g}, and every arm can only be used as often as that; take a longer log, "
            f"or one in which every arm has a chance of at least {FEWEST / len(rows):.2g} at every step"
        )
    return learners


def _made(name: str, log: Log, rows: Evidence, drift: float | None, limits: tuple[float, float] | None) -> Any:
    """A policy of this package, told what a replay is like: c N steps, in each of which means move 1/c times as far.

    One that learns rewards rescaled is told the drift on that scale.
    """
    if name == "Oracle":
        raise InputError("Oracle can't be replayed: it knows the means, and a log holds only rewards")
    known: dict[str, Any] = {"horizon": max(1, round(rows.least * len(rows)))}
    if name in POLICIES and "drift" in {field.name for field in fields(POLICIES[name])}:  # type: ignore[arg-type]
        faster = (log.drift.high if drift is None else drift) / rows.least
        low, high = limits or (0.0, 1.0)
        made = make_policy(name, **known, drift=min(1.0, faster / (high - low)))
        return made if rewards_of(made).rescaled else make_policy(name, **known, drift=faster)
    return make_policy(name, **known)

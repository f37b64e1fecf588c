"""Three runs of SnoozeIt, step by step: one episode, a gap that grows, and arms that swing."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import rankdata

import driftbandits as db
from reproduction.context import Context
from reproduction.experiments import HORIZON, SLOW

START = 0.62
"""The gap of the first episode's arms at first: large enough to show after some two thousand steps."""


@dataclass(frozen=True)
class EpisodeRow:
    """One episode in which the test passed, and the true gap when it passed and when the snooze ended."""

    start: int
    passed: int
    until: float
    arm: int
    snoozed: bool
    window: int
    gap: float
    true_gap: float
    gap_after: float


@dataclass(frozen=True)
class Story:
    """A run of the printed form. ``given``: its drift limit over the true one; ``phases``: rank correlations of
    lambda_hat with the lengths of active and passive phases, unknown with fewer than three snoozes."""

    horizon: int
    drift: float
    given: float
    episodes: tuple[EpisodeRow, ...]
    phases: tuple[float, float] | None

    def without_snooze(self) -> list[int]:
        """The numbers of the episodes that led to no snooze."""
        return [number for number, row in enumerate(self.episodes, start=1) if not row.snoozed]

    def first_snooze(self) -> EpisodeRow | None:
        """The first episode that led to a snooze."""
        return next((row for row in self.episodes if row.snoozed), None)


@dataclass(frozen=True)
class Trajectories:
    """The three runs."""

    episode: Story
    growing: Story
    swinging: Story


@dataclass(frozen=True)
class Run:
    """An instance, the drift limit that SnoozeIt is given there, and every step of run 0."""

    instance: db.Instance
    drift: float
    played: Any
    story: Story


def closing_arms(horizon: int) -> tuple[db.Instance, float]:
    """Two means that approach, cross and part again, always at the full pace; at the paper's horizon throughout."""
    moved = SLOW * np.arange(HORIZON)
    half = np.abs(moved % (2 * START) - START) - START / 2
    return db.Instance(np.column_stack([0.5 + half, 0.5 - half]), name="closing arms"), SLOW


def growing_gap(horizon: int) -> tuple[db.Instance, float]:
    """Arms that part from a gap of 0.3 to one of 0.96 at an even pace; SnoozeIt is given 2.5 times their drift."""
    half = np.linspace(0.15, 0.48, horizon)
    instance = db.Instance(np.column_stack([0.5 + half, 0.5 - half]), name="a gap that grows")
    return instance, 2.5 * instance.drift_limit


def swinging_arms(horizon: int) -> tuple[db.Instance, float]:
    """Two sinusoids in opposition that cross three times."""
    drift = 0.4 * 3 * np.pi / horizon
    return db.instances.sinusoid(horizon, drift), drift


MADE = {"episode": closing_arms, "growing": growing_gap, "swinging": swinging_arms}


def play(name: str, horizon: int, seed: int) -> Run:
    """Run 0 of the printed SnoozeIt (Algorithm 2)."""
    instance, drift = MADE[name](horizon)
    policy = db.SnoozeIt(instance.horizon, drift)
    result = db.simulate(
        {"it": policy}, instance, runs=1, seed=seed, workers=1, checkpoints=1, events=True, progress=False
    )
    episodes = tuple(_episode(instance, row) for row in result.events["it"].iter_rows(named=True))
    story = Story(instance.horizon, drift, drift / instance.drift_limit, episodes, _phases(episodes))
    return Run(instance, drift, db.trajectory(policy, instance, seed=seed), story)


def _episode(instance: db.Instance, row: dict[str, Any]) -> EpisodeRow:
    before, after = (float(instance.gap[min(int(row[key]), instance.horizon) - 1]) for key in ("passed", "until"))
    kept = {key: row[key] for key in ("start", "passed", "until", "arm", "window", "gap")}
    return EpisodeRow(**kept, snoozed=bool(row["snoozed"]), true_gap=before, gap_after=after)


def _phases(episodes: tuple[EpisodeRow, ...]) -> tuple[float, float] | None:
    """Whether, as the paper says, larger gaps make active phases shorter and passive ones longer: by rank."""
    some = [row for row in episodes if row.snoozed]
    if len(some) < 3:
        return None
    gaps = rankdata([row.gap for row in some])
    active, passive = ([row.passed - row.start for row in some], [row.until - row.passed for row in some])
    first, second = (float(np.corrcoef(gaps, rankdata(lengths))[0, 1]) for lengths in (active, passive))
    return first, second


def trajectories(context: Context) -> Trajectories:
    """Play the three runs."""
    T, seed = context.settings.horizon, context.settings.seed
    return Trajectories(**{name: play(name, T, seed).story for name in MADE})


def episode_starts(run: Run) -> Any:
    """The steps t_i after which episodes start, the last and unfinished one included."""
    ends = np.ceil([row.until for row in run.story.episodes]).astype(np.int64)
    return np.concatenate([[0], ends[ends < run.instance.horizon]])


def empirical_means(played: Any, starts: Any) -> Any:
    """Each arm's mean since its episode's start, shape (T, 2); not a number before its first pull there."""
    T = len(played.arms)
    means = np.full((T, 2), np.nan)
    for start, end in zip(starts, [*starts[1:], T], strict=True):
        for arm in (0, 1):
            pulled = played.arms[start:end] == arm
            count = np.cumsum(pulled)
            total = np.cumsum(np.where(pulled, played.rewards[start:end], 0.0))
            means[start:end, arm] = np.divide(total, count, out=np.full(end - start, np.nan), where=count > 0)
    return means

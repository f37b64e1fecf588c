"""What it costs that a visitor keeps an arm: regret under drift, for visitors who return, by the time they keep it.

Four banners whose means swing around 0.5, each in its own rhythm, as fast as the row says. A visitor comes, and comes
back after a while; everybody's visits fall on one clock of a visit a second. The policy is AutoTS, rewards are clicks.
"""

from __future__ import annotations

import argparse

import numpy as np
import polars as pl

import driftbandits as db
from driftbandits._common.tables import print_table

ARMS = ["a", "b", "c", "d"]
SWING = 0.2
PERIODS = {"slow": 20_000.0, "fast": 2_000.0}
"""Seconds in which the means of the slow and the fast world swing up and down once."""
STICKY: tuple[float | None, ...] = (None, 100.0, 1_000.0, 10_000.0)
BACK = 0.7
"""The chance that a visit is one of somebody who was there before."""
LAST = 500
"""Who comes back is one of the last so many visitors."""


def visits(rng: np.random.Generator, steps: int) -> list[int]:
    """Who comes at each second."""
    found, newest = [], 0
    for _ in range(steps):
        if newest and rng.random() < BACK:
            found.append(newest - int(rng.random() * min(newest, LAST)))
        else:
            newest += 1
            found.append(newest)
    return found


def regret(period: float, sticky: float | None, steps: int, seed: int) -> float:
    """Regret a thousand Decisions: what the best arm of each second would have had more, in means."""
    rng = np.random.Generator(np.random.SFC64(seed))
    who, phase = visits(rng, steps), rng.random(len(ARMS))
    when = np.arange(steps)[:, None] / period
    means = 0.5 + SWING * np.sin(2 * np.pi * (when * np.array([1.0, 0.8, 1.25, 0.9]) + phase))
    luck, lost = rng.random(steps), 0.0
    now = 0
    session = db.Session(arms=ARMS, seed=seed, sticky=sticky, clock=lambda: float(now))
    for now in range(steps):
        decision = session.ask(f"visitor-{who[now]}")
        mean = means[now, ARMS.index(decision.arm)]
        session.tell(decision, float(luck[now] < mean))
        lost += means[now].max() - mean
    return float(1_000.0 * lost / steps)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=10_000)
    parser.add_argument("--runs", type=int, default=10)
    given = parser.parse_args()
    rows = []
    for name, period in PERIODS.items():
        found = {
            sticky: np.array([regret(period, sticky, given.steps, seed) for seed in range(given.runs)])
            for sticky in STICKY
        }
        for sticky, each in found.items():
            more = each - found[None]  # of the same runs
            rows.append(
                {
                    "drift": name,
                    "sticky": "none" if sticky is None else f"{sticky:,.0f} s",
                    "regret": each.mean(),
                    "more": more.mean(),
                    "±": 1.96 * more.std(ddof=1) / np.sqrt(given.runs),
                }
            )
    print_table(
        pl.DataFrame(rows),
        "What stickiness costs: AutoTS, visitors who return",
        {"drift": "", "sticky": "", "regret": ".1f", "more": ".1f", "±": ".1f"},
        caption=f"regret: a thousand Decisions; more: than without stickiness, in the same {given.runs} runs of "
        f"{given.steps:,} visits, 95 % interval. Means swing by {SWING} around 0.5, once in "
        f"{PERIODS['slow']:,.0f} s (slow) or {PERIODS['fast']:,.0f} s (fast). {BACK:.0%} of visits are by one of the "
        f"last {LAST} visitors",
    )


if __name__ == "__main__":
    main()

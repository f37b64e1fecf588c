"""What late conversions cost when rates drift: waiting for the timeout, giving up early, or weighing silence by age.

Two banners' conversion rates cross every few days. A conversion is told some hours after its Decision, at most a day;
that it will not come is never told.
"""

from __future__ import annotations

import heapq
import math
from typing import Any

import numpy as np
import polars as pl

import driftbandits as db
from driftbandits._common.tables import print_table

DAY = 86_400.0
DAYS, A_DAY, SEEDS = 9, 1_500, 5
PERIOD = 6.0
"""Days until the rates are what they were."""
WAYS: dict[str, dict[str, Any]] = {
    "wait for the timeout, a day": {"timeout": DAY},
    "silence is failure after two hours": {"timeout": DAY / 12},
    "late=True": {"timeout": DAY, "late": True},
}
TRAFFIC = {"steady": 0.0, "doubles every 2 days": math.log(2) / 2}
SLOWER = {"alike": 1.0, "the second three times slower": 3.0}


def rates(day: float) -> tuple[float, float]:
    """Of both arms."""
    swing = 0.06 * math.sin(2 * math.pi * day / PERIOD)
    return 0.10 + swing, 0.10 - swing


def lost(declared: dict[str, Any], growth: float, slower: float, seed: int) -> tuple[float, float]:
    """The share of conversions lost against the better arm, and the share of Decisions that chose the worse one."""
    rng, now = np.random.Generator(np.random.SFC64(seed)), 0.0
    session = db.Session(arms=["a", "b"], seed=seed, default_reward=0.0, clock=lambda: now, **declared)
    coming: list[tuple[float, str]] = []
    regret = best = wrong = count = 0.0
    scale = DAYS * A_DAY / sum(math.exp(growth * part / 100) for part in range(100 * DAYS))
    for part in range(100 * DAYS):
        then = part * DAY / 100
        while coming and coming[0][0] <= then:
            now, id = heapq.heappop(coming)
            session.tell_many([(id, 1.0)])
        now = then
        mean = rates(part / 100)
        for decision in session.ask_many(max(1, round(scale * math.exp(growth * part / 100)))):
            arm = "ab".index(decision.arm)
            regret, best = regret + max(mean) - mean[arm], best + max(mean)
            wrong, count = wrong + (mean[arm] < max(mean)), count + 1
            delay = rng.exponential(0.15 * DAY * (slower if arm else 1.0))
            if rng.random() < mean[arm] and delay < DAY:
                heapq.heappush(coming, (now + delay, decision.id))
    return regret / best, wrong / count


def main() -> None:
    """Print the table."""
    rows = []
    for traffic, growth in TRAFFIC.items():
        for delays, slower in SLOWER.items():
            for way, declared in WAYS.items():
                found = np.array([lost(declared, growth, slower, seed) for seed in range(SEEDS)])
                error = found.std(axis=0, ddof=1) / math.sqrt(SEEDS)
                rows.append(
                    {"traffic": traffic, "delays": delays, "way": way}
                    | {"lost": 100 * found[:, 0].mean(), "lost_error": 100 * error[0]}
                    | {"wrong": 100 * found[:, 1].mean(), "wrong_error": 100 * error[1]}
                )
    print_table(
        pl.DataFrame(rows),
        "Late conversions under drift: AutoTS, two arms, conversions up to a day late",
        {
            "traffic": "",
            "delays": "",
            "way": "",
            "lost": ".1f",
            "lost_error": ".1f",
            "wrong": ".1f",
            "wrong_error": ".1f",
        },
        caption="lost: per cent of the better arm's conversions; wrong: per cent of Decisions that chose the worse; "
        f"each with its standard error, of {SEEDS} runs of {DAYS} days and about {DAYS * A_DAY:,} Decisions",
    )


if __name__ == "__main__":
    main()

"""What a Session costs: ask+tell in process, nothing on disk, beside the policy's own kernels called from Python."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import polars as pl

import driftbandits as db
from driftbandits._common.tables import print_table

SECONDS = 1.0
ROUNDS = 3
ARMS = ["red", "blue"]
SIZES = (1, 100, 1_000)
POLICIES: dict[str, Callable[[], db.Policy]] = {
    "AutoTS": db.AutoTS,
    "KalmanTS": lambda: db.KalmanTS(drift=1e-4),
    "SnoozeItK": lambda: db.SnoozeItK(horizon=10**6, drift=1e-6, confidence=0.1),
}


def rate(work: Callable[[], Any], pairs: int) -> float:
    """Pairs a second."""
    done, begun = 0, time.perf_counter()
    while (elapsed := time.perf_counter() - begun) < SECONDS:
        work()
        done += pairs
    return done / elapsed


def kernels(policy: db.Policy) -> Callable[[], None]:
    """The floor: select and update, compiled, one by one from Python."""
    play = db.Online(policy, n_arms=len(ARMS), seed=0)

    def work() -> None:
        play.update(play.select(), 0.5)

    return work


def session(policy: db.Policy, size: int) -> Callable[[], None]:
    """Asks and tells so many at once."""
    live = db.Session(policy, ARMS)

    def work() -> None:
        live.tell_many([(decision.id, 0.5) for decision in live.ask_many(size)])

    return work


def main() -> None:
    """Print the table."""
    rows = []
    for name, make in POLICIES.items():
        measured: dict[int, list[float]] = {size: [] for size in (0, *SIZES)}
        for _ in range(ROUNDS):
            measured[0].append(rate(kernels(make()), 1))
            for size in SIZES:
                measured[size].append(rate(session(make(), size), size))
        floor, *rates = (statistics.median(each) for each in measured.values())
        rows += [
            {"policy": name, "size": size, "pairs": found, "us": 1e6 / found, "floor": 1e6 / floor}
            for size, found in zip(SIZES, rates, strict=True)
        ]
    print_table(
        pl.DataFrame(rows),
        "A Session in process: ask+tell, two arms, no Store",
        {"policy": "", "size": ",", "pairs": ",.0f", "us": ".1f", "floor": ".1f"},
        caption="size: of a batch; pairs: ask+tell a second; us: microseconds a pair; floor: microseconds of the "
        "policy's own select and update, called one by one from Python by db.Online. "
        f"Medians of {ROUNDS} rounds of {SECONDS:g} s",
    )


if __name__ == "__main__":
    main()

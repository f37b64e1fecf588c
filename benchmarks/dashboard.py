"""What the dashboard's View of a day costs: ten million Decisions, drift, late rewards; time, memory, bytes."""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Callable, Iterator

import numpy as np
from rich import box
from rich.console import Console
from rich.progress import track
from rich.table import Table

import driftbandits as db
from driftbandits.live.decisions import Asked, Event, Told
from driftbandits.service.dashboard.view_json import view_json
from driftbandits.service.dashboard.view_snapshots import pack_view, unpack_view
from driftbandits.service.dashboard.views import View

DECISIONS = 10_000_000
DAY = 86_400.0
COMMIT = 200
"""Events in a commit."""
LATE = 500
"""Rewards come within so many steps, in a random order."""
CHECKS = 10
"""How often memory is measured on the way."""


def day(decisions: int) -> Iterator[list[Event]]:
    """The commits of a day: two arms with swinging means, chosen with the probability that a policy might give."""
    luck, waiting = np.random.default_rng(0), list[tuple[float, int, float]]()
    for start in range(0, decisions, 10_000):
        steps = np.arange(start + 1, min(start + 10_000, decisions) + 1)
        wave = np.sin(steps * (2 * math.pi * 24 / decisions))
        probability = np.clip(0.5 - 0.49 * wave, 0.01, 0.99)
        arm = (luck.random(len(steps)) < probability).astype(int)
        chosen = np.where(arm == 1, probability, 1 - probability)
        reward = (luck.random(len(steps)) < 0.5 - 0.3 * wave * (2 * arm - 1)).astype(float)
        times = steps * (DAY / decisions)
        asked = [
            (float(s), Asked(s, a, t, None, p))
            for s, a, t, p in zip(steps.tolist(), arm.tolist(), times.tolist(), chosen.tolist(), strict=True)
        ]
        came = steps + luck.random(len(steps)) * LATE
        waiting += zip(came.tolist(), steps.tolist(), reward.tolist(), strict=True)
        now = float(steps[-1])
        told = [(at, Told(s, r, at * (DAY / decisions))) for at, s, r in waiting if at <= now]
        waiting = [each for each in waiting if each[0] > now]
        ordered: list[tuple[float, Event]] = sorted([*asked, *told], key=lambda each: each[0])
        events = [event for _, event in ordered]
        for first in range(0, len(events), COMMIT):
            yield events[first : first + COMMIT]


def seconds(work: Callable[[], object], repeats: int = 5) -> float:
    """Processor time of the fastest of some calls."""
    best = math.inf
    for _ in range(repeats):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return best


def main() -> None:
    """Measure and print one table."""
    decisions = int(float(sys.argv[1])) if len(sys.argv) > 1 else DECISIONS
    session = db.Session(db.KalmanTS(drift=1e-6), ["red", "blue"], explore=0.1)
    session.tell(session.ask().id, 0.5)
    view = View(db.Session(db.KalmanTS(drift=1e-6), ["red", "blue"], explore=0.1))
    spent, sizes, number = 0.0, [], 0
    every = max(decisions // CHECKS, 1)
    commits = track(day(decisions), total=2 * decisions // COMMIT, description="a day", disable=not sys.stderr.isatty())
    for commit in commits:
        start = time.process_time()
        view.apply(commit, session)
        spent += time.process_time() - start
        if view.step // every > number:
            number = view.step // every
            sizes.append(len(pack_view(view)))
    whole, cursor = view_json(view)
    recent, _ = view_json(view, "recent")
    more, _ = view_json(view, "whole", cursor)
    packed = pack_view(view)
    table = Table(box=box.SIMPLE, title=f"A View of {decisions:,} Decisions with rewards, two arms")
    table.add_column("what")
    table.add_column("cost", justify="right")
    rows = {
        "take over an ask and its reward": f"{1e6 * spent / decisions:.2f} us",
        "the page's first JSON": f"{len(json.dumps(whole)) / 1e3:.0f} kB, "
        f"{1e3 * seconds(lambda: view_json(view)):.1f} ms",
        "the last steps' JSON": f"{len(json.dumps(recent)) / 1e3:.0f} kB",
        "what is sent twice a second": f"{len(json.dumps(more)) / 1e3:.1f} kB, "
        f"{1e3 * seconds(lambda: view_json(view, 'whole', cursor)):.1f} ms",
        "rows drawn": f"{len(whole['rows']['step'])} of {whole['width']:,} steps",
        "memory, as a snapshot": f"{len(packed) / 1e3:.0f} kB",
        "the largest on the way": f"{max(sizes, default=0) / 1e3:.0f} kB",
        "make the snapshot": f"{1e3 * seconds(lambda: pack_view(view)):.1f} ms",
        "restart from it": f"{1e3 * seconds(lambda: unpack_view(packed, session)):.1f} ms",
        "alarms": f"{view.alarm_count:,}",
    }
    for name, cost in rows.items():
        table.add_row(name, cost)
    Console().print(table)


if __name__ == "__main__":
    main()

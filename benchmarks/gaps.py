"""What the detectable gap costs: against the definition, which tries every window, and as the horizon grows."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from rich import box
from rich.console import Console
from rich.table import Table

import driftbandits as db
from driftbandits._numba.compiled import loop
from driftbandits.theory.gaps import gap_profile

DEFINITION_HORIZON = 50_000
"""Where trying every window takes a second or so."""
HORIZONS = (100_000, 1_000_000, 10_000_000)
WORLDS: dict[str, Callable[[int], db.Instance]] = {
    "toggling": lambda horizon: db.instances.toggling(horizon),
    "separated": lambda horizon: db.instances.separated(horizon),
    "walk, drift 1e-4": lambda horizon: db.instances.walk(horizon, 1e-4),
    "stationary, gap 0.05": lambda horizon: db.instances.stationary(horizon, (0.5, 0.45)),
}


@loop
def every_window(sums: Any, c: float, shortest: int) -> Any:
    """The shortest window that passes at each step, by trying all of them."""
    window = np.zeros(len(sums) - 1, np.int64)
    for t in range(1, len(sums)):
        for w in range(shortest, t + 1):
            if abs(sums[t] - sums[t - w]) >= math.sqrt(c * w):
                window[t - 1] = w
                break
    return window


def definition(instance: db.Instance) -> Any:
    """The windows by the definition."""
    sums = np.concatenate([[0.0], np.cumsum(instance.means[:, 0] - instance.means[:, 1])])
    c = 144 * math.log(instance.horizon)
    return every_window(sums, c, math.ceil(c))


def seconds(function: Callable[[], Any], repeats: int) -> tuple[float, Any]:
    """Processor time of the fastest of ``repeats`` calls, and what it answered."""
    best, answer = math.inf, None
    for _ in range(repeats):
        start = time.process_time()
        answer = function()
        best = min(best, time.process_time() - start)
    return best, answer


def main() -> None:
    """Measure and print one table."""
    definition(db.instances.toggling(2_000))  # compile before the clock starts
    gap_profile(db.instances.toggling(2_000))
    table = Table(box=box.SIMPLE_HEAD, title="Detectable gap: CPU time, best of three (one at 10^7)")
    for heading in ("instance", "T", "every window, s", "ours, s", "ours, ns a step", "ratio"):
        table.add_column(heading, justify="left" if heading == "instance" else "right", no_wrap=True)
    for name, build in WORLDS.items():
        for T in (DEFINITION_HORIZON, *HORIZONS):
            world = build(T)
            ours, found = seconds(lambda world=world: gap_profile(world), 1 if T >= 10**7 else 3)  # type: ignore[misc]
            slow, ratio = "", ""
            if T == DEFINITION_HORIZON:
                theirs, windows = seconds(lambda world=world: definition(world), 1)  # type: ignore[misc]
                if not np.array_equal(windows, found.window):
                    raise SystemExit(f"{name}: the windows differ from the definition's")
                slow, ratio = f"{theirs:.2f}", f"{theirs / ours:,.0f}"
            table.add_row(name, f"{T:,}", slow, f"{ours:.3f}", f"{ours / T * 1e9:,.0f}", ratio)
        table.add_section()
    Console(width=None if Console().is_terminal else 110).print(table)


if __name__ == "__main__":
    main()

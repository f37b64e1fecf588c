"""The same workload in other libraries: nanoseconds a step of river and pymab beside ours, in one table.

The libraries live in an environment of their own; ``make bench-peers`` makes it and runs this file.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from rich import box
from rich.console import Console
from rich.table import Table

import driftbandits as db

HERE = Path(__file__).resolve().parent
OURS = "driftbandits"
MODES = ("step by step", "simulator, whole call", "simulator, loop only")
KINDS = ("index", "weights", "blind")
SIGMA = 0.5
DRIFT = 1e-4


class Row(NamedTuple):
    """One measured entry, as the worker prints it."""

    library: str
    policy: str
    kind: str
    mode: str
    steps: int
    nanoseconds: float
    note: str


def main() -> int:
    """Measure all, print the table, and return the exit status."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--python", default=".peers/bin/python", help="the interpreter that has river and pymab")
    options.add_argument("--steps", type=int, default=160_000, help="T, the length of a run")
    given = options.parse_args()
    peers, T = given.python, given.steps
    progress = Console(stderr=True)
    if T < 2_000:
        progress.print(
            "--steps must be at least 2000: anything shorter measures the set-up", style="red", highlight=False
        )
        return 2
    if not _has_peers(peers):
        progress.print(
            f"{peers} cannot import river and pymab, so there is nothing to compare with. They are installed by "
            "`make bench-peers`, which needs a network or a local index that has what "
            "benchmarks/peers-requirements.txt lists.",
            style="red",
            highlight=False,
            soft_wrap=True,
        )
        return 2
    window = int(db.SWUCBSharp(T, DRIFT).parameters(2)["window_at_end"])
    rows: list[Row] = []
    try:
        with tempfile.TemporaryDirectory() as folder, progress.status("starting") as status:
            workload = Path(folder) / "workload.npz"
            noise = np.random.default_rng(0).normal(0.0, SIGMA, T)
            np.savez(workload, means=db.instances.sinusoid(T, DRIFT).means, noise=noise)
            for library, interpreter in (("ours", sys.executable), ("river", peers), ("pymab", peers)):
                for row in _measured(interpreter, library, workload, window):
                    rows.append(row)
                    if progress.is_terminal:
                        status.update(f"{row.library} {row.policy}, {row.mode}: {row.nanoseconds:,.0f} ns a step")
    except subprocess.CalledProcessError as error:
        progress.print(f"measuring {error.cmd[2]} failed:\n{error.stderr}", style="red", highlight=False, markup=False)
        return 1
    output = Console()
    output = output if output.is_terminal else Console(width=170)
    _show(output, rows, T, window)
    return 0


def _has_peers(interpreter: str) -> bool:
    try:
        command = [interpreter, "-c", "import river.bandit, pymab"]
        return subprocess.run(command, capture_output=True, check=False).returncode == 0
    except OSError:
        return False


def _measured(interpreter: str, library: str, workload: Path, window: int) -> Iterator[Row]:
    """The worker's rows, as they come."""
    command = [interpreter, str(HERE / "peers_worker.py"), library, str(workload), str(window)]
    with (
        tempfile.TemporaryFile("w+") as complaints,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=complaints, text=True) as worker,
    ):
        assert worker.stdout is not None
        for line in worker.stdout:
            yield Row(**json.loads(line))
        if worker.wait() != 0:
            complaints.seek(0)
            raise subprocess.CalledProcessError(worker.returncode, command, stderr=complaints.read())


def _show(output: Console, rows: list[Row], horizon: int, window: int) -> None:
    ours = _slowest(rows)
    table = Table(
        box=box.SIMPLE_HEAD, title=f"Two drifting Gaussian arms, sigma {SIGMA:g}, drift {DRIFT:g}, T = {horizon:,}"
    )
    for heading in ("library", "policy", "mode"):
        table.add_column(heading, no_wrap=True)
    for heading in ("ns/step", "ratio"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("to ours", no_wrap=True)
    table.add_column("note")
    for mode in MODES:
        for kind in KINDS:
            chosen = [row for row in rows if (row.mode, row.kind) == (mode, kind)]
            for row in sorted(chosen, key=lambda row: (row.library != OURS, row.nanoseconds)):
                fewer = f"over {row.steps:,} steps" if row.steps != horizon else ""
                ratio, beside = "", ""
                if row.library != OURS:
                    beside = ours[mode, kind].policy
                    ratio = _ratio(row, ours[mode, kind])
                style = "bold" if row.library == OURS else None
                note = "; ".join(part for part in (row.note, fewer) if part)
                cells = (row.library, row.policy, row.mode, f"{row.nanoseconds:,.0f}", ratio, beside, note)
                table.add_row(*cells, style=style)
        table.add_section()
    output.print(table)
    output.print(
        "CPU time, best of several. A peer's ratio is to the slowest of ours of its kind (index, weights, blind) "
        f"and mode; SWUCBSharp's window ends at {window:,}. A whole call includes what a library makes of its results; "
        "the loop alone is not public in pymab. pymab stores six numbers of every step, we sums at 200 points.",
        highlight=False,
    )
    for mode in MODES:
        peers = [row for row in rows if row.mode == mode and row.library != OURS and row.kind != "blind"]
        fastest = min(peers, key=lambda row: row.nanoseconds)
        own = ours[mode, fastest.kind]
        output.print(
            f"{mode}: fastest peer {fastest.library} {fastest.policy} at {fastest.nanoseconds:,.0f} ns; "
            f"ours ({own.policy}) at {own.nanoseconds:,.0f} ns; ratio {_ratio(fastest, own)}",
            highlight=False,
            soft_wrap=True,
        )


def _ratio(peer: Row, own: Row) -> str:
    ratio = peer.nanoseconds / own.nanoseconds
    return f"{ratio:,.1f}" if ratio >= 1 else f"{ratio:.2g}"


def _slowest(rows: list[Row]) -> dict[tuple[str, str], Row]:
    """Our slowest policy of each mode and kind: what every peer is compared with."""
    slowest: dict[tuple[str, str], Row] = {}
    for row in sorted((row for row in rows if row.library == OURS), key=lambda row: row.nanoseconds):
        slowest[row.mode, row.kind] = row
    return slowest


if __name__ == "__main__":
    sys.exit(main())

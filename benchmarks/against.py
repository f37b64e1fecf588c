"""What a step of every policy costs now, beside what it cost at another revision, both measured in one run.

    python benchmarks/against.py HEAD~5
    python benchmarks/against.py v0.1.0 --policy SnoozeIt --policy AutoTS

Two processes, one for each revision, take turns run by run, so that a busy moment harms both alike; the best run of
each counts. Only what the public functions tell is used, so any revision will do.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import polars as pl

HERE = Path(__file__).resolve().parent.parent
SECONDS_EACH = 0.4
ROUNDS = 5
"""At least so many runs of each."""
WORKER = """
import json, sys, warnings
import driftbandits as db
from driftbandits.policies import make_policy
warnings.simplefilter("ignore")
ABRUPT = {"changes": 5, "drift": None}
for line in sys.stdin:
    name, n_arms, run = json.loads(line)
    instance = db.instances.sinusoid(162_755, 1 / 4_800, n_arms)
    told = {"horizon": instance.horizon, "drift": 1 / 4_800, "best_arms": instance.best_arm}
    told |= dict.fromkeys(("kl", "test", "posterior"), "gaussian")  # as the noise is
    known = name in db.POLICIES
    policy = known and make_policy(name, **{**told, **(ABRUPT if name in ("CUSUMUCB", "MUCB") else {})})
    seconds = None
    if known and n_arms <= policy.arms[1]:
        result = db.simulate({"it": policy}, instance, runs=1, seed=run, workers=1, progress=False)
        seconds = float(result.seconds["it"][0])
    print(json.dumps(seconds), flush=True)
"""


class Worker:
    """A process that plays policies of the package in one folder."""

    def __init__(self, source: Path, cache: Path) -> None:
        environment = {**os.environ, "PYTHONPATH": str(source), "NUMBA_CACHE_DIR": str(cache)}
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        self.process = subprocess.Popen([sys.executable, "-c", WORKER], env=environment, text=True, **pipes)

    def seconds(self, name: str, n_arms: int, run: int) -> float | None:
        """Processor time of one run; None where there is no such policy, or not for so many arms."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps([name, n_arms, run]) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())  # type: ignore[no-any-return]


def compare(before: Worker, now: Worker, name: str, n_arms: int) -> tuple[float, float] | None:
    """Nanoseconds a step, before and now."""
    best, spent, run = [float("inf")] * 2, 0.0, 0
    while run < ROUNDS or spent < 2 * SECONDS_EACH:
        for index, worker in enumerate((before, now) if run % 2 == 0 else (now, before)):
            seconds = worker.seconds(name, n_arms, run)
            if seconds is None:
                return None
            side = index if run % 2 == 0 else 1 - index
            best[side] = min(best[side], seconds)
            spent += seconds
        run += 1
    return best[0] / 162_755 * 1e9, best[1] / 162_755 * 1e9


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("revision", help="a commit, tag or branch to compare with")
    parser.add_argument("--policy", action="append", help="only this one; may be given more than once")
    parser.add_argument("--arms", type=int, action="append", help="numbers of arms (default: 2 and 20)")
    arguments = parser.parse_args()
    from driftbandits._common.tables import print_table
    from driftbandits.policies import POLICIES

    rows = []
    with tempfile.TemporaryDirectory(prefix="driftbandits-against-") as folder:
        archive = subprocess.run(
            ["git", "archive", arguments.revision, "src"], cwd=HERE, capture_output=True, check=False
        )
        if archive.returncode != 0:
            sys.exit(f"git knows no revision {arguments.revision!r}: {archive.stderr.decode().strip()}")
        subprocess.run(["tar", "-x", "-C", folder], input=archive.stdout, check=True)
        before = Worker(Path(folder) / "src", Path(folder) / "before")
        now = Worker(HERE / "src", Path(folder) / "now")
        for name in arguments.policy or sorted(POLICIES):
            for n_arms in arguments.arms or (2, 20):
                found = compare(before, now, name, n_arms)
                if found is not None:
                    ratio = found[1] / found[0]
                    rows.append({"policy": name, "K": n_arms, "before": found[0], "now": found[1], "ratio": ratio})
                    print(f"{name:>22} {n_arms:3} {found[0]:9.1f} {found[1]:9.1f} {ratio:6.3f}", file=sys.stderr)
    formats = {"policy": "", "K": "", "before": ".1f", "now": ".1f", "ratio": ".3f"}
    note = f"nanoseconds a step at {arguments.revision} and now; sinusoid, T = 162,755, the best run of each"
    print_table(pl.DataFrame(rows), "A step of every policy, before and now", formats, note)


if __name__ == "__main__":
    main()

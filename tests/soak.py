"""The long forms of four tests: random policies, kills, exports beside asks, wrong requests (``make soak``)."""

from __future__ import annotations

import argparse
import tempfile
import time
import warnings
from collections import Counter
from contextlib import nullcontext
from pathlib import Path

import postgres
from beside_exports import ask_beside_exports
from crash import storm
from fuzz import check_memory, fuzz_at_random, fuzz_by_schema, prepare
from in_process import serving
from policy_fuzz import fuzz as fuzz_policies


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10, help="of random policies, some of them broken")
    parser.add_argument("--kills", type=int, default=100, help="of services, on each store")
    parser.add_argument("--requests", type=int, default=1_000_000, help="gone wrong at random")
    parser.add_argument("--examples", type=int, default=2000, help="of every operation, made up from the schema")
    parser.add_argument("--decisions", type=int, default=500_000, help="in a log that is exported by eight at a time")
    parser.add_argument("--seed", type=int, default=time.time_ns() % 2**32, help="to see a failure again")
    arguments = parser.parse_args()
    print(f"seed {arguments.seed}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # numpy says so when interpreted kernels overflow
        played = fuzz_policies(arguments.seed, 60 * arguments.minutes)
    print(f"random policies: {', '.join(f'{count:,} {kind}' for kind, count in sorted(played.items()))}; none crashed")
    stalls = max(1, arguments.kills // 10)
    with tempfile.TemporaryDirectory(prefix="driftbandits-soak-") as folder:
        url = f"sqlite:///{folder}/file.db"
        often = f"{arguments.kills} kills and {stalls} stalls"
        _report(f"SQLite, {often}", storm(url, arguments.kills, stalls, arguments.seed))
        with postgres.database() as url:
            _report(f"PostgreSQL, {often}", storm(url, arguments.kills, stalls, arguments.seed))
        for kind, place in (("SQLite", nullcontext(f"sqlite:///{folder}/big.db")), ("PostgreSQL", postgres.database())):
            with place as url, serving(url) as running:
                answered, waited = ask_beside_exports(running, arguments.decisions, 2000)
                _report(f"{kind}, asks beside exports, p99 {waited:.3f} s", answered)
                assert waited < 1, f"an ask took {waited:.2f} seconds beside exports"
        with serving() as running:
            prepare(running)
            port, seen = int(running.url.rpartition(":")[2]), Counter[int]()
            parts = max(1, arguments.requests // 50_000)
            for part in range(parts):
                seen += fuzz_at_random(port, arguments.seed + part, arguments.requests // parts)
                print(f"\r{seen.total():,} of {arguments.requests:,} requests", end="", flush=True)
            check_memory(running)
            _report("\rrequests gone wrong", seen)
            made_up = fuzz_by_schema(running.url, Path(folder), arguments.seed, arguments.examples)
            check_memory(running)
            print(f"requests made up from the schema: {made_up:,}, no failure")


def _report(what: str, seen: Counter[str] | Counter[int]) -> None:
    print(f"{what}: {', '.join(f'{count:,} {kind}' for kind, count in sorted(seen.items()))}; nothing lost, no failure")


if __name__ == "__main__":
    main()

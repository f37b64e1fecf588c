"""The long tests (``make soak``): random policies, kills, troubles under load, wrong requests; each can be run alone.

``python tests/soak.py disk-full frozen --short`` runs two of them in their short forms.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).with_name("support")))
sys.path.insert(0, str(Path(__file__).with_name("twins")))

import postgres
import troubles
from beside_exports import ask_beside_exports
from crash import storm
from floods import beside_floods
from fuzz import check_memory, fuzz_at_random, fuzz_by_schema, prepare
from in_process import serving
from many_examples import TIMES
from open_pages import beside_open_pages
from policy_fuzz import fuzz as fuzz_policies
from slow_readers import beside_slow_readers


class Size(NamedTuple):
    """How long each test is."""

    minutes: float
    kills: int
    times: int
    decisions: int
    asks: int
    requests: int
    examples: int


LONG = Size(minutes=10, kills=100, times=20, decisions=500_000, asks=2000, requests=1_000_000, examples=2000)
SHORT = Size(minutes=0.2, kills=3, times=1, decisions=50_000, asks=300, requests=10_000, examples=5)


def policies(size: Size, seed: int) -> None:
    """Random policies, some of them broken: none may crash the process."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # numpy says so when interpreted kernels overflow
        played = fuzz_policies(seed, 60 * size.minutes)
    print(f"random policies: {', '.join(f'{count:,} {kind}' for kind, count in sorted(played.items()))}; none crashed")


def examples(size: Size, seed: int) -> None:
    """Policies and Stores against their plain twins, on many other examples than ``make test`` draws."""
    folder = Path(__file__).parent
    files = [
        path for path in sorted(folder.rglob("test_*.py")) if "from many_examples import" in path.read_text("utf-8")
    ]
    words = ["-m", "pytest", "-n", "2", f"--hypothesis-seed={seed}", *map(str, files)]
    environment = os.environ | {TIMES: str(max(2, size.examples // 40))}
    subprocess.run([sys.executable, *words], check=True, cwd=folder.parent, env=environment)


def kills(size: Size, seed: int) -> None:
    """Services are killed with -9, and stalled until others take over."""
    stalls = max(1, size.kills // 10)
    for kind, url in _stores():
        _report(f"{kind}, {size.kills} kills and {stalls} stalls", storm(url, size.kills, stalls, seed))


def exports(size: Size, seed: int) -> None:
    """Asks beside exports of a long log: 99 of 100 wait for less than a second."""
    for kind, url in _stores():
        with troubles.service(url) as running:
            answered, waited = ask_beside_exports(running.url, size.decisions, size.asks)
        _report(f"{kind}, asks beside exports, p99 {waited:.3f} s", answered)
        assert waited < 1, f"an ask took {waited:.2f} seconds beside exports"


def pages(size: Size, seed: int) -> None:
    """300 open dashboards of an experiment that moves on: /healthz takes less than a second."""
    with tempfile.TemporaryDirectory(prefix="driftbandits-soak-") as folder:
        with troubles.service(f"sqlite:///{folder}/store.db") as running:
            seen, longest = beside_open_pages(running, 300, size.asks)
        _report(f"/healthz beside open pages, {longest:.3f} s at most", seen)
        assert longest < 1, f"/healthz took {longest:.2f} seconds beside open pages"


def disk_full(size: Size, seed: int) -> None:
    """The disk fills up and is given room (SQLite; needs root)."""
    _report(f"SQLite, {size.times} full disks", troubles.disk_full(size.times))


def frozen(size: Size, seed: int) -> None:
    """PostgreSQL stops responding, and goes on."""
    _report(f"PostgreSQL, frozen {size.times} times", troubles.frozen(size.times))


def frozen_holders(size: Size, seed: int) -> None:
    """A service is frozen in the middle of a commit, and another one takes over (PostgreSQL)."""
    times = max(1, size.times // 2)
    seen, answer, takeover = troubles.frozen_holders(times)
    longest = f"an ask waited {answer:.1f} s at most, a takeover took {takeover:.1f} s at most"
    _report(f"PostgreSQL, the holder frozen {times} times; {longest}", seen)
    assert answer < 5, f"an ask at another service took {answer:.1f} seconds"
    assert takeover < 20, f"a takeover took {takeover:.1f} seconds"


def restarted(size: Size, seed: int) -> None:
    """PostgreSQL crashes, and is started again."""
    _report(f"PostgreSQL, restarted {size.times} times", troubles.restarted(size.times))


def deleted(size: Size, seed: int) -> None:
    """The SQLite file, or the one that ends in -wal, is deleted under the service."""
    _report(f"SQLite, deleted {2 * size.times} times", troubles.deleted(size.times))


def clock(size: Size, seed: int) -> None:
    """The machine's clock jumps by days and years."""
    _report(f"SQLite, {size.times} rounds of clock jumps", troubles.clock_jumps(size.times))


def backup(size: Size, seed: int) -> None:
    """A backup made under load is restored, and goes on."""
    for _ in range(size.times):
        for kind, url in _stores():
            with tempfile.TemporaryDirectory(prefix="driftbandits-soak-") as folder:
                _report(f"{kind}, a backup restored", troubles.backed_up(url, Path(folder)))


def retention(size: Size, seed: int) -> None:
    """Events are archived and erased under load."""
    for kind, url in _stores():
        _report(f"{kind}, erased {4 * size.times} times", troubles.pruned(url, 4 * size.times))


def requests(size: Size, seed: int) -> None:
    """Requests gone wrong: no crash, no 500, no leak."""
    with serving() as running, tempfile.TemporaryDirectory(prefix="driftbandits-soak-") as folder:
        prepare(running)
        port, seen = int(running.url.rpartition(":")[2]), Counter[int]()
        parts = max(1, size.requests // 50_000)
        for part in range(parts):
            seen += fuzz_at_random(port, seed + part, size.requests // parts)
            print(f"\r{seen.total():,} of {size.requests:,} requests", end="", flush=True)
        check_memory(running)
        _report("\rrequests gone wrong", seen)
        made_up = fuzz_by_schema(running.url, Path(folder), seed, size.examples)
        check_memory(running)
        print(f"requests made up from the schema: {made_up:,}, no failure")


def slow_readers(size: Size, seed: int) -> None:
    """Exports read at 400 bytes a second keep nobody else from theirs, and are given up."""
    for kind, url in _stores():
        _report(f"{kind}, slow readers", beside_slow_readers(url, size.decisions // 10 + 50_000, size is LONG))


def header_floods(size: Size, seed: int) -> None:
    """Huge and many headers, wrong tokens, and bodies without one: memory stays flat, and others are served."""
    with tempfile.TemporaryDirectory(prefix="driftbandits-soak-") as folder:
        seen = beside_floods(f"sqlite:///{folder}/store.db", size.times, size.requests // 10)
    _report("header floods", seen)


TESTS: dict[str, Callable[[Size, int], None]] = {
    test.__name__.replace("_", "-"): test
    for test in (
        policies, examples, kills, exports, pages, disk_full, frozen, frozen_holders, restarted, deleted, clock, backup,
        retention, slow_readers, header_floods, requests,
    )
}  # fmt: skip


def main() -> None:
    listed = "\n".join(f"  {name:14} {test.__doc__}" for name, test in TESTS.items())
    parser = argparse.ArgumentParser(
        description=__doc__, epilog=f"tests:\n{listed}", formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("tests", nargs="*", metavar="TEST", help="all unless given")
    parser.add_argument("--short", action="store_true", help="some seconds each")
    parser.add_argument("--seed", type=int, default=time.time_ns() % 2**32, help="to see a failure again")
    given = parser.parse_args()
    if unknown := set(given.tests) - set(TESTS):
        parser.error(f"there is no test {', '.join(sorted(unknown))}; there are {', '.join(TESTS)}")
    print(f"seed {given.seed}")
    for name in given.tests or TESTS:
        TESTS[name](SHORT if given.short else LONG, given.seed)


def _stores() -> Any:
    """A new Store of each kind: its name, its URL."""
    with tempfile.TemporaryDirectory(prefix="driftbandits-soak-") as folder:
        for kind, place in (
            ("SQLite", nullcontext(f"sqlite:///{folder}/store.db")),
            ("PostgreSQL", postgres.database()),
        ):
            with place as url:
                yield kind, url


def _report(what: str, seen: Counter[str] | Counter[int]) -> None:
    print(f"{what}: {', '.join(f'{count:,} {kind}' for kind, count in sorted(seen.items()))}; nothing lost, no failure")


if __name__ == "__main__":
    main()

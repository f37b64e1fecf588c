"""What a request costs now, beside what it cost at another revision, and what metrics and the access log add to it.

    python benchmarks/load_against.py af975cd

All services run at the same time and are loaded in turns, round by round, so that a busy moment harms all alike. The
processor time of a pair of ask and tell is nearly the same on a busy machine as on an idle one; medians count.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import polars as pl
from load import SERVING, Load, Server, load

from driftbandits._common.tables import print_table

HERE = Path(__file__).resolve().parent.parent
PLAIN = "now, no metrics"
BARE = """
from prometheus_client import Counter, Histogram
from driftbandits.service.core.metrics import Metrics
for name in ("asks", "tells", "settled", "response"):
    setattr(Metrics, f"count_{name}", lambda *_: None)
Metrics.time_request = lambda *_: None
Counter.inc = Histogram.observe = lambda *_: None
from driftbandits.cli.main import main
main()
"""
"""The service without metrics."""


@contextlib.contextmanager
def service(words: list[str], source: Path, folder: Path, **settings: str) -> Iterator[Server]:
    """A service of the package in ``source`` with one experiment, until the block ends."""
    folder.mkdir()
    given = {"STORE": f"sqlite:///{folder}/load.db", "PORT": "0", "AUTH": "false", **settings}
    environment = os.environ | {f"DRIFTBANDITS_{name}": value for name, value in given.items()}
    environment |= {"PYTHONPATH": str(source), "NUMBA_CACHE_DIR": str(folder.parent / f"compiled-{source.parent.name}")}
    log = folder / "log"
    with open(log, "w") as file:
        process = subprocess.Popen([sys.executable, *words, "serve"], stderr=file, env=environment, cwd=folder)
    try:
        while not (found := SERVING.search(log.read_text()[:10_000])):
            if process.poll() is not None:
                sys.exit(log.read_text())
            time.sleep(0.1)
        server = Server(int(found[1]), process.pid)
        _send(server, "/v1/experiments", {"id": "load", "arms": ["red", "blue"]})
        _send(server, "/v1/experiments/load/ask", {})  # compiles
        yield server
    finally:
        process.terminate()
        process.wait()


def _send(server: Server, path: str, body: object) -> None:
    request = urllib.request.Request(f"http://127.0.0.1:{server.port}{path}", json.dumps(body).encode())
    request.add_header("Content-Type", "application/json")
    for attempt in range(600):
        try:
            with urllib.request.urlopen(request):
                return
        except (ConnectionError, urllib.error.URLError):
            if attempt == 599:
                raise
            time.sleep(0.1)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("revision", help="a commit, tag or branch to compare with")
    parser.add_argument("--seconds", type=float, default=2.0, help="of each measurement")
    parser.add_argument("--rounds", type=int, default=7, help="of which the medians are printed")
    arguments = parser.parse_args()
    found: dict[tuple[int, str], list[Load]] = {}
    with tempfile.TemporaryDirectory(prefix="driftbandits-load-") as name, contextlib.ExitStack() as stack:
        folder, plain = Path(name), ["-m", "driftbandits"]
        archive = subprocess.run(["git", "archive", arguments.revision, "src"], cwd=HERE, capture_output=True)
        if archive.returncode:
            sys.exit(f"git knows no revision {arguments.revision!r}: {archive.stderr.decode().strip()}")
        subprocess.run(["tar", "-x", "-C", folder], input=archive.stdout, check=True)
        servers = {
            arguments.revision: service(plain, folder / "src", folder / "before"),
            PLAIN: service(["-c", BARE], HERE / "src", folder / "bare"),
            "now": service(plain, HERE / "src", folder / "now"),
            "now, access log": service(plain, HERE / "src", folder / "log", ACCESS_LOG="true"),
        }
        running = {name: stack.enter_context(each) for name, each in servers.items()}
        for number in range(arguments.rounds):
            for batch, clients in ((1, 64), (100, 16)):
                for each in list(running)[:: 1 if number % 2 else -1]:
                    loaded = load(running[each], batch, clients, arguments.seconds)
                    found.setdefault((batch, each), []).append(loaded)
    rows = []
    for batch in (1, 100):
        for each in running:
            pairs, cpu = (
                statistics.median(getattr(one, what) for one in found[batch, each]) for what in ("pairs", "cpu")
            )
            ratio, added = (
                statistics.median(one.cpu / other.cpu for one, other in zip(found[batch, each], base, strict=True))
                for base in (found[batch, arguments.revision], found[batch, PLAIN])
            )
            row = {"size": batch, "service": each, "pairs": pairs, "cpu": cpu, "ratio": ratio}
            rows.append({**row, "added": None if each == arguments.revision else added - 1})
    print_table(
        pl.DataFrame(rows),
        f"Durable ask+tell over HTTP, SQLite; load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores",
        {"size": "", "service": "", "pairs": ",.0f", "cpu": ".0f", "ratio": ".3f", "added": "+.1%"},
        caption="size: of a batch; pairs: ask+tell a second; cpu: microseconds of the service's processor for a pair; "
        f"ratio: cpu to that of {arguments.revision} in the same round; added: to the cpu without metrics, in the same "
        f"round, of which 5 % is the most that is wanted. Medians of {arguments.rounds} rounds",
    )


if __name__ == "__main__":
    main()

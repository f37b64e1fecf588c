"""What a durable answer costs: ask+tell over HTTP, beside the same server answering a constant and the same insert.

Everything runs on this machine at the same time: the server, its database, and the clients that load it.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
from store import plainly

from driftbandits._common.tables import print_table
from driftbandits.store import Store

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

EXPERIMENT = "/v1/experiments/load"
FLOOR = str(Path(__file__).parent / "floor.py")
SERVING = re.compile(r"http://127\.0\.0\.1:(\d+)")


class Load(NamedTuple):
    """What clients saw: pairs of ask and tell a second, and milliseconds from request to answer."""

    pairs: float
    p50: float
    p99: float
    cpu: float
    """Microseconds of the server's processor for a pair: nearly the same on a busy machine as on an idle one."""


class Server(NamedTuple):
    """A server in a process of its own."""

    port: int
    pid: int

    def cpu(self) -> float:
        """Seconds of processor that it has used."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Client(asyncio.Protocol):
    """One connection that asks and tells, one after the other, until time is up. As little work as can be."""

    def __init__(self, batch: int, until: float, times: list[float]) -> None:
        self.batch, self.until, self.times, self.pairs = batch, until, times, 0
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._ask = _request("ask") if batch == 1 else _request("ask_many", b'{"count":%d}' % batch)
        self._asking, self._buffer, self._length = True, b"", -1

    def connection_made(self, transport: Any) -> None:
        self.transport = transport
        self._send(self._ask)

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.done.done():
            self.done.set_exception(exc or ConnectionError("closed by the server"))

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        if self._length < 0:
            head, found, _ = self._buffer.partition(b"\r\n\r\n")
            if not found:
                return
            self._length = len(head) + 4 + int(re.search(rb"content-length: (\d+)", head, re.I)[1])  # type: ignore[index]
        if len(self._buffer) >= self._length:
            self._answered(self._buffer)

    def _send(self, request: bytes) -> None:
        self._buffer, self._length, self._sent = b"", -1, time.perf_counter()
        self.transport.write(request)

    def _answered(self, answer: bytes) -> None:
        now = time.perf_counter()
        self.times.append(now - self._sent)
        if answer[9:12] != b"200":
            raise RuntimeError(answer.decode())
        self._asking = not self._asking
        if not self._asking:
            ids = re.findall(rb'"id":"([^"]+)"', answer)
            told = [b'{"id":"%s","reward":0.5}' % id for id in ids]
            one = self.batch == 1
            body = told[0] if one else b'{"rewards":[%s]}' % b",".join(told)
            self._send(_request("tell" if one else "tell_many", body))
            return
        self.pairs += self.batch
        if now < self.until:
            self._send(self._ask)
        else:
            self.done.set_result(None)
            self.transport.close()


def _request(verb: str, body: bytes = b"") -> bytes:
    head = f"POST {EXPERIMENT}/{verb} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


async def _load(server: Server, batch: int, clients: int, seconds: float) -> Load:
    times: list[float] = []
    loop = asyncio.get_running_loop()
    began, cpu = time.perf_counter(), server.cpu()
    connected = [
        (await loop.create_connection(lambda: Client(batch, began + seconds, times), "127.0.0.1", server.port))[1]
        for _ in range(clients)
    ]
    await asyncio.gather(*(client.done for client in connected))
    elapsed = time.perf_counter() - began
    times.sort()
    p50, p99 = (1e3 * times[int(len(times) * share)] for share in (0.5, 0.99))
    pairs = sum(client.pairs for client in connected)
    return Load(pairs / elapsed, p50, p99, 1e6 * (server.cpu() - cpu) / pairs)


def load(server: Server, batch: int, clients: int, seconds: float) -> Load:
    """Load a server from this process: a short while to warm up, then measured."""
    import uvloop

    uvloop.run(_load(server, batch, clients, min(1.0, seconds)))
    return uvloop.run(_load(server, batch, clients, seconds))


@contextlib.contextmanager
def served(*command: str) -> Iterator[Server]:
    """A server, until the block ends."""
    process = subprocess.Popen([sys.executable, *command], stderr=subprocess.PIPE, text=True)
    assert process.stderr
    try:
        for line in process.stderr:
            if found := SERVING.search(line):
                yield Server(int(found[1]), process.pid)
                break
        else:
            raise RuntimeError(f"{command} did not start")
    finally:
        process.terminate()
        process.communicate()


@contextlib.contextmanager
def service(store: str) -> Iterator[Server]:
    """A service with one experiment."""
    with served("-m", "driftbandits", "serve", "--store", store, "--port", "0", "--no-auth") as server:
        body = json.dumps({"id": "load", "arms": ["red", "blue"]}).encode()
        headers = {"Content-Type": "application/json"}
        url = f"http://127.0.0.1:{server.port}"
        for attempt in range(100):
            try:
                urllib.request.urlopen(urllib.request.Request(f"{url}/v1/experiments", body, headers))
                break
            except urllib.error.URLError:
                if attempt == 99:
                    raise
                time.sleep(0.1)
        yield server


def events_per_commit(port: int) -> float:
    """How many events the service wrote in one transaction, on average."""
    text = urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics").read().decode()
    total = float(re.search(r"driftbandits_commit_events_sum (\S+)", text)[1])  # type: ignore[index]
    return total / float(re.search(r"driftbandits_commit_seconds_count (\S+)", text)[1])  # type: ignore[index]


def insert_rate(url: str, rows: float) -> float:
    """Pairs a second that the bare driver inserts into the service's own table, ``rows`` rows in a transaction."""
    Store(url).close()  # makes the tables
    return plainly(url, max(1, round(rows / 2))) / 2


def measure(stores: dict[str, Callable[[], Any]], seconds: float, rounds: int) -> list[dict[str, Any]]:
    """Rows of the table: medians of so many rounds, each of which measures everything once, in turns."""
    rows = []
    for batch, clients in ((1, 64), (100, 16)):
        for name, fresh in stores.items():
            found = [_round(fresh, batch, clients, seconds) for _ in range(rounds)]
            medians = {key: statistics.median(each[key] for each in found) for key in found[0]}
            rows.append({"store": name, "size": batch, **medians})
    return rows


def _round(fresh: Callable[[], Any], batch: int, clients: int, seconds: float) -> dict[str, float]:
    with fresh() as url, service(url) as server:
        ours = load(server, batch, clients, seconds)
        group = events_per_commit(server.port)
    with served(FLOOR) as server:
        constant = load(server, batch, clients, seconds)
    with fresh() as url:
        Store(url).close()
        with served(FLOOR, url) as server:
            both = load(server, batch, clients, seconds)
    with fresh() as url:
        insert = insert_rate(url, group)
    return {
        "pairs": ours.pairs,
        "p50": ours.p50,
        "p99": ours.p99,
        "cpu": ours.cpu,
        "constant": constant.pairs,
        "insert": insert,
        "both": both.pairs,
        "of_both": ours.pairs / both.pairs,
        "of_less": ours.pairs / min(constant.pairs, insert),
    }


@contextlib.contextmanager
def sqlite_file() -> Iterator[str]:
    """The URL of a new SQLite file."""
    with tempfile.TemporaryDirectory(prefix="driftbandits-load-") as folder:
        yield f"sqlite:///{folder}/load.db"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=3.0, help="of each measurement")
    parser.add_argument("--store", choices=["sqlite", "postgres"], help="this one alone")
    parser.add_argument("--rounds", type=int, default=3, help="of which the medians are printed")
    arguments = parser.parse_args()
    stores: dict[str, Callable[[], Any]] = {"sqlite": sqlite_file}
    if arguments.store != "sqlite":
        from postgres import Server

        server = Server(fsync=True)
        stores["postgres"] = server.database
    chosen = {name: fresh for name, fresh in stores.items() if arguments.store in (None, name)}
    table = pl.DataFrame(measure(chosen, arguments.seconds, arguments.rounds))
    print_table(
        table,
        f"Durable ask+tell over HTTP; load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores",
        {
            "store": "",
            "size": "",
            "pairs": ",.0f",
            "p50": ".0f",
            "p99": ".0f",
            "cpu": ".0f",
            "constant": ",.0f",
            "insert": ",.0f",
            "both": ",.0f",
            "of_both": ".0%",
            "of_less": ".0%",
        },
        caption="size: of a batch; pairs: ask+tell a second; p50, p99: ms a request; cpu: microseconds of the "
        "service's processor for a pair; constant: pairs when the same server answers constants; insert: pairs that "
        "the bare driver inserts into the same table in such transactions, with no server; both: pairs when a server "
        "inserts the same rows by the bare driver, in groups, and then answers the constant; of_both, of_less: our "
        f"pairs as a share of that, and of the smaller of constant and insert. Medians of {arguments.rounds} rounds",
    )


if __name__ == "__main__":
    main()

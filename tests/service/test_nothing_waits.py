"""Exports and large batches make nobody else wait. On SQLite and PostgreSQL."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import httpx
import pytest

from driftbandits.live import session as live_session
from driftbandits.live.decisions import TooOldError
from driftbandits.service.http import exports as http_exports
from driftbandits.store import Store, export
from driftbandits.store import experiments as store_experiments
from driftbandits.store.history import History
from driftbandits.store.writers import Writers
from in_process import ARMS, Gated, Running, ask, serving, tell
from waiting import wait_until


def test_nothing_waits_for_exports(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """While as many exports run as may, and get nowhere, tokens, keys, probes, leases and asks go on."""
    go_on, plain = threading.Event(), History.stream

    def stuck(part: History, id: str, format: str, to: IO[bytes], since: int, shown: Any) -> int:
        to.write(b"first")
        assert go_on.wait(60)
        return plain(part, id, format, to, since, shown)

    with serving(url, lease=1.0) as running:
        path = running.create()
        ask(running, path, 1100)
        monkeypatch.setattr(History, "stream", stuck)
        with open_exports(running, path, http_exports.MOST + 2) as statuses:
            assert statuses == [200] * http_exports.MOST + [503] * 2
            assert running.http.get("/readyz").status_code == 200
            renewed = running.service.store.experiments.get("button").lease_until
            for number in range(4):
                keyed = running.http.post(f"{path}/ask", headers={"Idempotency-Key": f"k{number}"})
                assert keyed.status_code == 200
            wait_until(
                lambda: running.service.store.experiments.get("button").lease_until > renewed, "the lease to be renewed"
            )
            assert running.http.get(f"{path}/explain/button-1").status_code == 200
        go_on.set()  # nobody reads them any more
        wait_until(lambda: running.service.exports.running == 0, "exports to be given up")
        monkeypatch.setattr(History, "stream", plain)
        monkeypatch.setattr(export, "ROWS", 100)
        whole = running.http.get(f"{path}/export?format=csv").text.splitlines()
        assert len(whole) == len({line.split(",")[0] for line in whole}) == 1105


@pytest.mark.parametrize(
    ("part", "verb", "method", "path", "body"),
    [
        (Store, "create", "POST", "", {"id": "new-{}", "arms": ARMS}),
        (Writers, "acquire", "POST", "/cold-{}/ask", None),
        (History, "explain", "GET", "/button/explain/button-{}", None),
        (Writers, "correct", "POST", "/warm-{}/correct", {"corrections": [{"id": "warm-{}-1", "reward": 0}]}),
        (Writers, "erase", "POST", "/warm-{}/erase", {"unit": "user-17"}),
        (Writers, "delete", "DELETE", "/warm-{}?confirm=warm-{}", None),
    ],
)
def test_look_ups_wait_for_nothing_slow(
    part: type, verb: str, method: str, path: str, body: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While more of such requests than there are threads get nowhere, tokens and keys are looked up, and asks go on."""
    url = f"sqlite:///{tmp_path / 'store.db'}"
    with Store(url) as store:
        known, late = (store.tokens.add(name, "admin") for name in ("known", "late"))
    with serving(url) as running:
        running.http.headers["Authorization"] = f"Bearer {known}"
        asked = running.create()
        ask(running, asked, 20)
        for number in range(1, 11):
            running.service.store.create(f"cold-{number}", arms=ARMS)
            if "warm" in path:
                warm = running.create(f"warm-{number}")
                tell(running, warm, ask(running, warm)[0], 1.0)
        if verb == "explain":
            monkeypatch.setattr(live_session.Session, "explain", _forgot)
        stuck = Gated(monkeypatch, part, verb)

        def send(number: int) -> int:
            given = json.loads(json.dumps(body).replace("{}", str(number)))
            numbered = f"/v1/experiments{path.replace('{}', str(number))}"
            return running.http.request(method, numbered, json=given).status_code

        with ThreadPoolExecutor(10) as senders:
            sent = [senders.submit(send, number) for number in range(1, 11)]
            try:
                assert stuck.reached.wait(60)
                headers = {"Authorization": f"Bearer {late}", "Idempotency-Key": "late"}
                assert running.http.post(f"{asked}/ask", headers=headers, timeout=30).status_code == 200
            finally:
                stuck.go_on.set()
            assert all(each.result() in (200, 201, 204, 410) for each in sent)


def _forgot(*_: object) -> Any:
    raise TooOldError("the Session has forgotten it")


def test_an_export_waits_for_its_reader_and_ends_with_it() -> None:
    """So its memory is bounded, and a client that went away costs nothing."""

    async def check() -> None:
        pipe = http_exports.Pipe(asyncio.get_running_loop())
        written: list[int] = []
        page = b"x" * (http_exports.ROOM // 4)

        def write() -> None:
            try:
                for number in range(1000):
                    pipe.write(page)
                    written.append(number)
                    pipe.wait()
            except BrokenPipeError:
                written.append(-1)

        thread = threading.Thread(target=write)
        thread.start()
        assert await pipe.read() == page
        await asyncio.to_thread(wait_until, lambda: len(written) == 6 and pipe.waiting, "the writer to wait")
        pipe.give_up()
        await asyncio.to_thread(thread.join, 60)
        assert written[-1] == -1
        assert len(written) == 7

    asyncio.run(check())


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="Linux lists a process's open files there")
@pytest.mark.parametrize("format", ["jsonl", "csv", "parquet"])
def test_an_export_makes_no_file(format: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While its rows are on the way, the only files open that were not are the Store's own."""
    monkeypatch.setattr(export, "ROWS", 100)
    store, seen, plain = tmp_path / "store.db", set[str](), http_exports.Pipe.write

    def watched(pipe: http_exports.Pipe, data: object) -> int:
        seen.update(open_files())
        return plain(pipe, data)

    with serving(f"sqlite:///{store}") as running:
        path = running.create()
        ask(running, path, 5000)
        before = open_files()
        monkeypatch.setattr(http_exports.Pipe, "write", watched)
        assert running.http.get(f"{path}/export?format={format}").status_code == 200
    assert seen
    assert {file for file in seen - before if not file.startswith(str(store))} == set()


def open_files() -> set[str]:
    """The files that this process has open, also those that have no name any more."""
    found = set()
    for link in Path("/proc/self/fd").iterdir():
        try:
            target = str(link.readlink())
        except OSError:  # closed meanwhile
            continue
        if target.startswith("/") and not target.startswith(("/dev/", "/proc/")):
            found.add(target)
    return found


@contextmanager
def open_exports(running: Running, path: str, count: int) -> Iterator[list[int]]:
    """So many exports at once, of which nothing is read but the status."""
    clients = [httpx.Client(base_url=running.url, timeout=60) for _ in range(count)]
    try:
        yield [
            client.send(client.build_request("GET", f"{path}/export?format=jsonl"), stream=True).status_code
            for client in clients
        ]
    finally:
        for client in clients:
            client.close()


def test_large_batches_leave_the_event_loop_to_others(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A batch that waits in its thread, however long, holds up its own experiment alone."""
    begun, go_on = threading.Event(), threading.Event()
    plain = live_session.Session.ask_many

    def slow(session: live_session.Session, count: int, *more: Any) -> Any:
        if count > 1000:
            begun.set()
            assert go_on.wait(60)
        return plain(session, count, *more)

    with serving(url) as running:
        path = running.create(arms=[f"arm {i}" for i in range(10)], explore=0.1)
        other = running.create("other")
        ask(running, path, 10)
        monkeypatch.setattr(live_session.Session, "ask_many", slow)
        batch = threading.Thread(target=ask, args=(running, path, 2000))
        batch.start()
        assert begun.wait(60)
        assert httpx.get(f"{running.url}/healthz", timeout=60).status_code == 200
        assert httpx.post(f"{running.url}{other}/ask", timeout=60).status_code == 200
        waiting = threading.Thread(target=ask, args=(running, path, 1))
        waiting.start()
        go_on.set()
        for thread in (batch, waiting):
            thread.join(60)
        assert running.http.get(path).json()["step"] == 2011


def test_forgotten_decisions_are_looked_up_at_once(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_experiments, "REMEMBER", 5)
    with serving(url) as running:
        path = running.create()
        rewards = [{"id": id, "reward": 1} for id in ask(running, path, 600)]
        assert running.http.post(f"{path}/tell_many", json={"rewards": rewards}).json()["outcomes"] == ["new"] * 600
        looked_up, plain = list[int](), History.outcomes

        def counted(part: History, id: str, told: Any) -> Any:
            looked_up.append(len(told))
            return plain(part, id, told)

        monkeypatch.setattr(History, "outcomes", counted)
        again = running.http.post(f"{path}/tell_many", json={"rewards": rewards})
        assert again.json()["outcomes"] == ["again"] * 600
        assert looked_up == [595]

"""What an operator would stop a launch for: each was seen, and must not come back. On SQLite and PostgreSQL."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import httpx
import pytest

import postgres
from driftbandits.live import session as live_session
from driftbandits.service.core import probe as core_probe
from driftbandits.service.http import exports as http_exports
from driftbandits.store import Store, StoreError, export
from driftbandits.store import experiments as store_experiments
from in_process import ARMS, Gated, Running, serving
from waiting import wait_until

TIGHT: dict[str, Any] = {"policy": "SnoozeItTight", "policy_settings": {"horizon": 10_000, "drift": 1e-5}}


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'store.db'}"
    else:
        with postgres.database() as found:
            yield found


def ask(running: Running, path: str, count: int = 1) -> list[str]:
    found = running.http.post(f"{path}/ask_many", json={"count": count})
    assert found.status_code == 200, found.text
    return [decision["id"] for decision in found.json()["decisions"]]


def tell(running: Running, path: str, id: str, reward: float) -> httpx.Response:
    return running.http.post(f"{path}/tell", json={"id": id, "reward": reward})


# One bad reward


def test_a_reward_outside_the_declared_range_is_refused(url: str) -> None:
    with serving(url) as running:
        path = running.create(**TIGHT)
        assert running.http.get(path).json()["reward_range"] == [0, 1]
        (id,) = ask(running, path)
        refused = tell(running, path, id, 5000)
        assert (refused.status_code, refused.json()["error"]) == (422, "input")
        assert "between 0 and 1" in refused.json()["message"]
        many = running.http.post(f"{path}/tell_many", json={"rewards": [{"id": id, "reward": -0.1}]})
        assert many.json() == {"outcomes": ["invalid"]}
        assert tell(running, path, id, 1).json() == {"outcome": "new"}
        free = running.create("free")  # AutoTS learns the scale
        assert running.http.get(free).json()["reward_range"] is None
        assert tell(running, free, ask(running, free)[0], 5000).status_code == 200
        wide = running.create("wide", **TIGHT, reward_range=[0, 10_000])
        assert tell(running, wide, ask(running, wide)[0], 5000).status_code == 200


def test_a_bad_reward_can_be_corrected(url: str) -> None:
    """After it the service decides as if the reward had been right at first; also after a restart."""
    with serving(url) as running:
        paths = [running.create(id, **TIGHT, reward_range=None) for id in ("good", "bad")]
        for step in range(40):
            for path in paths:
                (id,) = ask(running, path)
                reward = 5000.0 if path.endswith("bad") and step == 25 else step % 2 / 2 + 0.1
                assert tell(running, path, id, reward).status_code == 200
        bad = "/v1/experiments/bad"
        wrong = running.held("bad").session.snapshot()
        refused = running.http.post(f"{bad}/correct", json={"corrections": [{"id": "bad-99", "reward": 1}]})
        assert refused.status_code == 404
        assert running.held("bad").session.snapshot() == wrong
        fixed = running.http.post(f"{bad}/correct", json={"corrections": [{"id": "bad-26", "reward": 0.6}]})
        assert fixed.status_code == 200, fixed.text
        good, corrected = (running.held(id).session for id in ("good", "bad"))
        assert corrected.learnt <= good.learnt
        assert max(abs(estimate.estimate or 0) for estimate in corrected.explain("bad-40").arms) < 2
        before = corrected.snapshot()
        again = tell(running, bad, "bad-26", 0.6)
        assert again.json() == {"outcome": "again"}
        retracted = running.http.post(f"{bad}/correct", json={"corrections": [{"id": "bad-26", "reward": None}]})
        assert retracted.status_code == 200
        assert running.held("bad").session.snapshot() != before
        rows = [json.loads(line) for line in running.http.get(f"{bad}/export").text.splitlines()]
        assert (rows[25]["reward"], rows[25]["settled"]) == (None, "retracted")
        after = running.held("bad").session.snapshot()
    with serving(url) as running:
        ask(running, "/v1/experiments/bad", 1)
        restored = running.held("bad").session
        assert len(list(running.service.store.events("bad"))) == 83
        assert restored.seq == 83
        assert len(after) > 0


def test_leases_renewed_while_rewards_are_corrected_are_not_taken_for_lost(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To fold the log anew the service takes over from itself."""
    with serving(url) as running:
        path = running.create()
        tell(running, path, ask(running, path)[0], 1)
        leases, plain = running.service.holdings.leases, Store.correct

        def renewed_meanwhile(*given: Any) -> Any:
            writer = plain(*given)
            leases.renew()
            return writer

        monkeypatch.setattr(Store, "correct", renewed_meanwhile)
        for reward in (0.5, None):
            body = {"corrections": [{"id": "button-1", "reward": reward}]}
            assert running.http.post(f"{path}/correct", json=body).status_code == 200
        held = running.held()
        leases.renew()
        assert running.http.get(path).json()["learnt"] == 0
        assert running.http.patch(path, json={"timeout": 60}).status_code == 200
        assert running.held() is held


# The default


def test_the_default_does_not_fill_up_and_settings_change_while_it_runs(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_session, "MOST_OPEN", 30)
    monkeypatch.setattr("driftbandits.service.core.held.MOST_OPEN", 30)
    with serving(url) as running:
        path = running.create()
        found = running.http.get(path).json()
        assert (found["timeout"], found["default_reward"]) == (86_400, 0)
        path = running.create("forever", timeout=None)
        ask(running, path, 2)
        assert running.http.get(path).json()["warnings"] == []
        ask(running, path, 28)
        assert "30 Decisions wait" in running.http.get(path).json()["warnings"][0]
        assert running.http.post(f"{path}/ask").status_code == 422
        changed = running.http.patch(path, json={"timeout": 0.01, "default_reward": 0.5})
        assert (changed.status_code, changed.json()["timeout"], changed.json()["default_reward"]) == (200, 0.01, 0.5)
        wait_until(lambda: running.http.post(f"{path}/ask").status_code == 200, "old Decisions to be settled")
        assert running.http.patch(path, json={"reward_range": [1, 0]}).status_code == 422
        assert running.http.patch(path, json={"seed": 3}).status_code == 422
    with serving(url) as running:
        assert running.http.get(path).json()["timeout"] == 0.01


# Exports and other long work


def test_nothing_waits_for_exports(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """While as many exports run as may, and get nowhere, tokens, keys, probes, leases and asks go on."""
    go_on, plain = threading.Event(), Store.stream

    def stuck(store: Store, id: str, format: str, to: IO[bytes]) -> int:
        to.write(b"first")
        assert go_on.wait(60)
        return plain(store, id, format, to)

    with serving(url, lease=1.0) as running:
        path = running.create()
        ask(running, path, 1100)
        monkeypatch.setattr(Store, "stream", stuck)
        with open_exports(running, path, http_exports.MOST + 2) as statuses:
            assert statuses == [200] * http_exports.MOST + [503] * 2
            assert running.http.get("/readyz").status_code == 200
            renewed = running.service.store.experiment("button").lease_until
            for number in range(4):
                keyed = running.http.post(f"{path}/ask", headers={"Idempotency-Key": f"k{number}"})
                assert keyed.status_code == 200
            wait_until(
                lambda: running.service.store.experiment("button").lease_until > renewed, "the lease to be renewed"
            )
            assert running.http.get(f"{path}/explain/button-1").status_code == 200
        go_on.set()  # nobody reads them any more
        wait_until(lambda: running.service.exports.running == 0, "exports to be given up")
        monkeypatch.setattr(Store, "stream", plain)
        monkeypatch.setattr(export, "ROWS", 100)
        whole = running.http.get(f"{path}/export?format=csv").text.splitlines()
        assert len(whole) == len({line.split(",")[0] for line in whole}) == 1105


def test_an_export_waits_for_its_reader_and_ends_with_it() -> None:
    """So its memory is bounded, and a client that went away costs nothing."""

    async def check() -> None:
        pipe = http_exports.Pipe(asyncio.get_running_loop())
        written: list[int] = []

        def write() -> None:
            try:
                for number in range(1000):
                    pipe.write(b"x")
                    written.append(number)
            except BrokenPipeError:
                written.append(-1)

        thread = threading.Thread(target=write)
        thread.start()
        assert await pipe.read() == b"x"
        await asyncio.to_thread(wait_until, lambda: len(written) == http_exports.CHUNKS + 1, "the writer to wait")
        pipe.give_up()
        await asyncio.to_thread(thread.join, 60)
        assert written[-1] == -1
        assert len(written) <= http_exports.CHUNKS + 3

    asyncio.run(check())


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

    def slow(session: live_session.Session, count: int) -> Any:
        if count > 1000:
            begun.set()
            assert go_on.wait(60)
        return plain(session, count)

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
        looked_up, plain = list[int](), Store.outcomes

        def counted(store: Store, id: str, told: Any) -> Any:
            looked_up.append(len(told))
            return plain(store, id, told)

        monkeypatch.setattr(Store, "outcomes", counted)
        again = running.http.post(f"{path}/tell_many", json={"rewards": rewards})
        assert again.json()["outcomes"] == ["again"] * 600
        assert looked_up == [595]


# Ready when it is not


def test_readiness_is_a_write_with_a_deadline(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(core_probe, "FRESH", 0.0)
    with serving(url) as running:
        assert running.http.get("/readyz").status_code == running.http.head("/readyz").status_code == 200
        assert running.http.head("/healthz").status_code == 200
        plain = Store.try_to_write

        def fails(store: Store) -> None:
            error = StoreError("postgresql://secret@host: full")
            error.reason = "the disk is full"
            raise error

        monkeypatch.setattr(Store, "try_to_write", fails)
        refused = running.http.get("/readyz")
        assert (refused.status_code, refused.json()["message"]) == (503, "the store: the disk is full")
        monkeypatch.setattr(Store, "try_to_write", plain)
        monkeypatch.setattr(core_probe, "DEADLINE", 0.05)
        frozen = Gated(monkeypatch, "try_to_write")
        refused = running.http.get("/readyz")
        assert (refused.status_code, "has not responded" in refused.json()["message"]) == (503, True)
        assert running.http.get("/healthz").status_code == 200
        frozen.go_on.set()
        monkeypatch.setattr(core_probe, "DEADLINE", 60)
        assert running.http.get("/readyz").status_code == 200


def test_a_store_that_cannot_be_written_is_not_ready(url: str) -> None:
    with serving(url) as running:
        with running.service.store._database.writing() as connection:
            connection.exec_driver_sql("DROP TABLE alembic_version")
        assert running.http.get("/readyz").status_code == 503


def test_a_file_deleted_under_the_service_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with serving(f"sqlite:///{path}") as running:
        at = running.create()
        ask(running, at)
        path.rename(tmp_path / "moved.db")
        refused = running.http.post(f"{at}/ask")
        assert (refused.status_code, "was deleted" in refused.json()["message"]) == (503, True)
        assert running.http.get("/readyz").status_code == 503
        assert not path.exists()  # nor is a new one made


def test_a_damaged_file_is_said_to_be_damaged(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    store = Store(f"sqlite:///{path}")
    store.create("button", arms=ARMS)
    with store.open("button") as session:
        session.ask_many(20_000)
    store.close()
    with open(path, "r+b") as file:
        size = file.seek(0, 2)
        file.seek(size // 2)
        file.write(b"\xff" * 400_000)
    with serving(f"sqlite:///{path}") as running:
        refused = running.http.get("/v1/experiments/button/export")
        assert (refused.status_code, "damaged" in refused.json()["message"]) == (503, True)


def test_what_fails_at_every_request_is_logged_rarely(monkeypatch: pytest.MonkeyPatch) -> None:
    from structlog.testing import capture_logs

    from driftbandits.service.core import logs

    monkeypatch.setattr(logs, "_said", {})
    with serving() as running:
        path = running.create()
        ask(running, path)

        def fails(*_: Any) -> None:
            raise StoreError("the disk is full")

        monkeypatch.setattr(Store, "append", fails)
        with capture_logs() as said:
            for _ in range(20):
                assert running.http.post(f"{path}/ask").status_code == 503
        assert 1 <= len([line for line in said if line["log_level"] in ("warning", "error")]) <= 3


# Access


def test_without_tokens_no_request_through_a_proxy_is_taken() -> None:
    with serving() as running:
        for header in ("X-Forwarded-For", "Forwarded", "Via", "X-Real-IP"):
            assert running.http.get("/v1/experiments", headers={header: "203.0.113.7"}).status_code == 403


@pytest.mark.parametrize("prefix", ["/bandits", ""])
def test_a_path_prefix_works_for_page_and_api(prefix: str) -> None:
    """Whether the proxy takes it off or leaves it on."""
    with serving(root_path="/bandits") as running:
        made = running.http.post(f"{prefix}/v1/experiments", json={"id": "button", "arms": ARMS})
        assert made.headers["location"] == "/bandits/v1/experiments/button"
        assert running.http.post(f"{prefix}/v1/experiments/button/ask").json()["id"] == "button-1"
        page = running.http.get(f"{prefix}/").text
        assert '"/static' not in page
        assert 'src="static/app.js"' in page
        assert running.http.get(f"{prefix}/static/app.js").status_code == 200
        assert running.http.get(f"{prefix}/openapi.json").json()["servers"] == [{"url": "/bandits"}]
        bare = running.http.get("/bandits", follow_redirects=False)
        assert (bare.status_code, bare.headers["location"]) == (308, "/bandits/")


def test_half_a_request_is_not_waited_for() -> None:
    from uvicorn import Config, Server

    from driftbandits.service.core.connections import with_deadline

    async def nothing(scope: Any, receive: Any, send: Any) -> None:
        raise AssertionError("no request came whole")

    with socket.create_server(("127.0.0.1", 0)) as listening:
        server = Server(Config(nothing, http=with_deadline(0.1), lifespan="off", log_config=None))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        for sent in (b"", b"GET / HT", b"POST / HTTP/1.1\r\nHost: x\r\n", b"GET / HTTP/1.1\r\n"):
            with socket.create_connection(listening.getsockname()) as client:
                client.settimeout(60)
                client.sendall(sent)
                assert client.recv(100) == b""  # closed by the service
        server.should_exit = True
        thread.join(60)


# A wrong clock


@pytest.mark.parametrize("wrong", [86_400.0, -86_400.0])
def test_one_start_with_a_wrong_clock_does_not_stop_time(
    url: str, wrong: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    import time

    true_time = time.time
    with serving(url) as running:
        path = running.create(timeout=3600)
        ask(running, path)
    monkeypatch.setattr(time, "time", lambda: true_time() + wrong)
    with serving(url) as running:
        late = running.http.post(f"{path}/ask").json()
    monkeypatch.setattr(time, "time", true_time)
    with serving(url) as running:
        found = running.http.post(f"{path}/ask").json()
        assert abs(found["due"] - true_time() - 3600) < 600
        session = running.held().session
        waiting = session.waiting()
        assert [event.step for event in waiting] == ([2, 3] if wrong > 0 else [1, 2, 3])  # a day seemed to have passed
        due = [event.due or 0 for event in waiting]
        assert due == sorted(due)
        assert abs(due[-2] - true_time() - 3600) < 600, late

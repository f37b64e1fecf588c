"""The service's verbs: what a client sees, and what is in the log."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from driftbandits.live.decisions import Asked, Settled, Told
from driftbandits.service.core.holdings import Holdings
from driftbandits.store import FencedError, Store, StoreError
from driftbandits.store import experiments as store_experiments
from driftbandits.store.writers import Writers
from in_process import ARMS, Running, serving
from waiting import PATIENCE, wait_until


@pytest.fixture
def running() -> Iterator[Running]:
    with serving() as running:
        yield running


def test_ask_tell_and_why(running: Running) -> None:
    path = running.create()
    first = running.http.post(f"{path}/ask").json()
    assert first["id"] == "button-1"
    assert first["arm"] in ARMS
    assert running.http.post(f"{path}/tell", json={"id": "button-1", "reward": 0.7}).json() == {"outcome": "new"}
    assert running.http.post(f"{path}/tell", json={"id": "button-1", "reward": 0.7}).json() == {"outcome": "again"}
    many = running.http.post(f"{path}/ask_many", json={"count": 3}).json()["decisions"]
    assert [each["step"] for each in many] == [2, 3, 4]
    rewards = [{"id": "button-3", "reward": 1}, {"id": "button-1", "reward": 0.1}, {"id": "button-99", "reward": 1}]
    told = running.http.post(f"{path}/tell_many", json={"rewards": rewards}).json()
    assert told == {"outcomes": ["new", "conflict", "unknown"]}
    why = running.http.get(f"{path}/explain/button-3").json()
    assert (why["arm"], why["learnt"]) == (many[1]["arm"], 1)
    events = list(running.service.store.history.events("button"))
    assert [type(event) for event in events] == [Asked, Told, Asked, Asked, Asked, Told]
    assert [event.reward for event in events if isinstance(event, Told)] == [0.7, 1.0]


def test_experiments_are_listed_in_pages_and_shown(running: Running) -> None:
    for name in ("a", "b", "c"):
        running.create(name, title=f"the {name}", policy="SnoozeIt", policy_settings={"horizon": 1e5, "drift": 1e-5})
    page = running.http.get("/v1/experiments", params={"limit": 2}).json()
    assert [each["id"] for each in page["experiments"]] == ["a", "b"]
    rest = running.http.get("/v1/experiments", params={"after": page["next"]}).json()
    assert [each["id"] for each in rest["experiments"]] == ["c"]
    assert rest["next"] is None
    running.http.post("/v1/experiments/a/ask")
    shown = running.http.get("/v1/experiments/a").json()
    assert (shown["title"], shown["events"], shown["step"], shown["open"], shown["learnt"]) == ("the a", 1, 1, 1, 0)
    assert shown["policy"]["class"] == "SnoozeIt"


def test_paused_takes_rewards_and_archived_takes_nothing(running: Running) -> None:
    path = running.create()
    running.http.post(f"{path}/ask_many", json={"count": 2})
    assert running.http.post(f"{path}/pause").json()["status"] == "paused"
    assert running.http.post(f"{path}/ask").status_code == 409
    assert running.http.post(f"{path}/tell", json={"id": "button-1", "reward": 1}).status_code == 200
    assert running.http.post(f"{path}/archive").json()["status"] == "archived"
    assert running.http.post(f"{path}/ask").status_code == 410
    assert running.http.post(f"{path}/tell", json={"id": "button-2", "reward": 1}).status_code == 410
    assert running.http.post(f"{path}/resume").json()["status"] == "running"
    assert running.http.post(f"{path}/ask").json()["step"] == 3


def test_status_outlives_the_service(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/file.db"
    with serving(store) as running:
        running.http.post(f"{running.create()}/pause")
    with serving(store) as running:
        assert running.http.post("/v1/experiments/button/ask").status_code == 409


# The same request twice


def test_the_same_key_is_done_once_and_answered_the_same(tmp_path: Path) -> None:
    store, key = f"sqlite:///{tmp_path}/file.db", {"Idempotency-Key": "k-1"}
    with serving(store) as running:
        path = running.create()
        first = running.http.post(f"{path}/ask", headers=key)
        assert running.http.post(f"{path}/ask", headers=key).text == first.text
        other = running.http.post(f"{path}/ask_many", json={"count": 2}, headers=key)
        assert (other.status_code, other.json()["error"]) == (409, "reused_key")
        told = {"rewards": [{"id": "button-1", "reward": 1}]}
        for _ in range(2):
            again = running.http.post(f"{path}/tell_many", json=told, headers={"Idempotency-Key": "k-2"})
            assert again.json() == {"outcomes": ["new"]}
    with serving(store) as running:  # and after a restart
        assert running.http.post(f"{path}/ask", headers=key).text == first.text
        assert running.http.post(f"{path}/ask").json()["step"] == 2


def test_a_refused_request_may_use_its_key_again(running: Running) -> None:
    path = running.create()
    running.http.post(f"{path}/pause")
    key = {"Idempotency-Key": "k"}
    assert running.http.post(f"{path}/ask", headers=key).status_code == 409
    running.http.post(f"{path}/resume")
    assert running.http.post(f"{path}/ask", headers=key).json()["step"] == 1


def test_many_at_once_with_one_key_are_one(running: Running) -> None:
    path = running.create()

    def ask(_: int) -> str:
        return running.http.post(f"{path}/ask", headers={"Idempotency-Key": "same"}).text

    with ThreadPoolExecutor(16) as pool:
        answers = set(pool.map(ask, range(48)))
    assert len(answers) == 1
    assert running.held().session.step == 1


def test_creating_twice_with_one_key_is_fine_and_without_is_not(tmp_path: Path) -> None:
    store, key = f"sqlite:///{tmp_path}/file.db", {"Idempotency-Key": "k"}
    declared = {"id": "button", "arms": ARMS}
    with serving(store) as running:
        first = running.http.post("/v1/experiments", json=declared, headers=key)
        assert first.status_code == 201
    with serving(store) as running:
        again = running.http.post("/v1/experiments", json=declared, headers=key)
        assert (again.status_code, again.text) == (201, first.text)
        assert running.http.post("/v1/experiments", json=declared).status_code == 409
        other = running.http.post("/v1/experiments", json=declared | {"id": "other"}, headers=key)
        assert (other.status_code, other.json()["error"]) == (409, "reused_key")
        assert [each.id for each in running.service.store.experiments.all()] == ["button"]
        assert len(running.service.store.audit.of("button", ["created"], 0.0, 10)) == 1  # once, not twice


# Late, and long ago


def test_what_is_due_is_settled_in_the_background(running: Running) -> None:
    path = running.create(timeout=0.05, default_reward=0.25)
    running.http.post(f"{path}/ask")
    wait_until(lambda: len(list(running.service.store.history.events("button"))) == 2, "the Decision to be settled")
    settled = list(running.service.store.history.events("button"))[1]
    assert isinstance(settled, Settled)
    assert settled.reward == 0.25
    late = running.http.post(f"{path}/tell", json={"id": "button-1", "reward": 1})
    assert (late.status_code, late.json()["error"]) == (410, "expired")


def test_clock_jumps_settle_nothing(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    path = running.create(timeout=3600)
    running.http.post(f"{path}/ask_many", json={"count": 2})
    before = running.everything()
    wall, tick, looks = time.time, Holdings._tick, list[None]()

    async def noted(holdings: Holdings) -> None:
        await tick(holdings)
        looks.append(None)

    def jump(seconds: float) -> None:
        monkeypatch.setattr(time, "time", lambda: wall() + seconds)
        enough = len(looks) + 2  # the first may have begun before
        wait_until(lambda: len(looks) >= enough, "looks at what is due")

    monkeypatch.setattr(Holdings, "_tick", noted)
    for seconds in (864_000.0, -864_000.0):
        jump(seconds)
        assert running.everything() == before
    assert running.http.post(f"{path}/tell", json={"id": "button-1", "reward": 1}).json() == {"outcome": "new"}


def test_the_log_answers_for_what_the_session_forgot(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_experiments, "REMEMBER", 2)
    with serving() as running:
        path = running.create()
        running.http.post(f"{path}/ask_many", json={"count": 5})
        told = {"rewards": [{"id": f"button-{step}", "reward": 0.5} for step in range(1, 6)]}
        assert running.http.post(f"{path}/tell_many", json=told).json() == {"outcomes": ["new"] * 5}
        assert not running.held().session.remembers("button-1")
        assert running.http.post(f"{path}/tell_many", json=told).json() == {"outcomes": ["again"] * 5}
        assert running.http.post(f"{path}/tell", json={"id": "button-1", "reward": 0.5}).json() == {"outcome": "again"}
        assert running.http.post(f"{path}/tell", json={"id": "button-1", "reward": 0.6}).status_code == 409
        assert running.http.get(f"{path}/explain/button-1").json()["learnt"] == 0


# Memory and log


def test_a_failed_commit_is_nobodys_answer(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    path = running.create()
    running.http.post(f"{path}/ask")
    before = running.everything()
    append = Writers.append

    def fails(*_: Any) -> None:
        raise StoreError("the disk is on fire")

    monkeypatch.setattr(Writers, "append", fails)
    for request in (("ask", None), ("tell", {"id": "button-1", "reward": 1}), ("ask_many", {"count": 3})):
        refused = running.http.post(f"{path}/{request[0]}", json=request[1])
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
    monkeypatch.setattr(Writers, "append", append)
    assert running.http.get(path).json()["events"] == 1
    assert running.http.post(f"{path}/tell", json={"id": "button-9", "reward": 1}).status_code == 404
    assert running.everything() == before
    assert running.http.post(f"{path}/ask").json()["step"] == 2


def test_a_takeover_of_one_experiment_disturbs_no_other(running: Running) -> None:
    paths = [running.create(name) for name in ("mine", "lost")]
    for path in paths:
        running.http.post(f"{path}/ask")
    held = {name: running.held(name) for name in ("mine", "lost")}
    running.service.store.writers.reload(held["lost"].writer)  # raises the epoch, as another service would

    async def both() -> list[Any]:
        """In one group."""
        for each in held.values():
            each.session.ask()
        waits = [running.service.holdings.committer.durable(each) for each in held.values()]
        return await asyncio.gather(*waits, return_exceptions=True)

    fine, fenced = running.on_loop(both())
    assert fine is None
    assert isinstance(fenced, FencedError)
    assert [len(list(running.service.store.history.events(name))) for name in ("mine", "lost")] == [2, 1]


def test_what_was_staged_behind_a_failed_write_is_not_written(
    running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It rests on what was not written, and would fit exactly where that should have been."""
    path = running.create("mine")
    running.http.post(f"{path}/ask")
    held, store, committer = running.held("mine"), running.service.store, running.service.holdings.committer
    append, writing, go_on = store.writers.append, threading.Event(), threading.Event()

    def failing(*arguments: Any) -> None:
        monkeypatch.setattr(store.writers, "append", append)
        writing.set()
        assert go_on.wait(PATIENCE)
        raise StoreError("the disk is gone")

    async def two() -> list[Any]:
        monkeypatch.setattr(store.writers, "append", failing)
        held.session.ask()
        first = asyncio.ensure_future(committer.durable(held))
        assert await asyncio.to_thread(writing.wait, PATIENCE)
        held.session.ask()
        second = asyncio.ensure_future(committer.durable(held))
        await asyncio.sleep(0)
        assert held.staged is not None
        go_on.set()
        return list(await asyncio.gather(first, second, return_exceptions=True))

    found = running.on_loop(two())
    assert [str(error) for error in found] == ["the disk is gone"] * 2
    assert len(list(store.history.events("mine"))) == 1
    assert running.http.post(f"{path}/ask").json()["step"] == 2


def test_who_does_nothing_new_waits_for_what_is_being_written(
    running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reward told again is answered "again" only when the first is on disk."""
    running.http.post(f"{running.create('mine')}/ask")
    held, store, committer = running.held("mine"), running.service.store, running.service.holdings.committer
    append, writing, go_on = store.writers.append, threading.Event(), threading.Event()

    def slow(*arguments: Any) -> None:
        writing.set()
        assert go_on.wait(PATIENCE)
        append(*arguments)

    async def two() -> list[bool]:
        monkeypatch.setattr(store.writers, "append", slow)
        held.session.ask()
        first = asyncio.ensure_future(committer.durable(held))
        assert await asyncio.to_thread(writing.wait, PATIENCE)
        second = asyncio.ensure_future(committer.durable(held))
        await asyncio.sleep(0.01)
        early = [first.done(), second.done()]
        go_on.set()
        await asyncio.gather(first, second)
        return early

    assert running.on_loop(two()) == [False, False]


def test_another_service_is_told_who_holds_it_and_takes_over_when_free(tmp_path: Path) -> None:
    store, lease = f"sqlite:///{tmp_path}/file.db", 1e6
    with serving(store, lease=lease) as second:
        with serving(store, lease=lease) as first:
            path = first.create()
            first.http.post(f"{path}/ask")
            busy = second.http.post(f"{path}/ask")
            assert (busy.status_code, busy.json()["error"], busy.headers["retry-after"]) == (503, "busy", "1")
            assert busy.json()["url"] == first.url
            assert second.http.get(path).json()["events"] == 1
            assert second.http.get(f"{path}/explain/button-1").status_code == 200  # reading needs no lease
        assert second.http.post(f"{path}/ask").json()["step"] == 2


def test_idle_experiments_are_let_go_and_come_back(running: Running) -> None:
    path = running.create()
    running.http.post(f"{path}/ask")
    before = running.held().session.snapshot()
    running.held().used -= 1000
    wait_until(lambda: running.service.store.experiments.get("button").holder is None, "the experiment to be let go")
    assert "button" not in running.service.holdings.held
    assert running.http.post(f"{path}/tell", json={"id": "button-9", "reward": 1}).status_code == 404
    assert running.held().session.snapshot() == before
    assert running.held().writer.saved == 1  # from the snapshot, not from the log


def test_no_more_experiments_in_memory_than_allowed() -> None:
    with serving(most_loaded=3) as running:
        paths = [running.create(f"e{i}") for i in range(6)]
        for _ in range(2):
            for path in paths:
                assert running.http.post(f"{path}/ask").status_code == 200
                assert len(running.service.holdings.held) <= 3


def test_stopping_snapshots_and_releases(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/file.db"
    with serving(url) as running:
        running.http.post(f"{running.create()}/ask_many", json={"count": 7})
        memory = running.held().session.snapshot()
    store = Store(url)
    assert store.experiments.get("button").holder is None
    writer = store.writers.acquire("button")
    assert writer.saved == writer.seq == 7
    assert writer.session.snapshot() == memory
    store.close()


def test_everything_can_be_exported(running: Running, tmp_path: Path) -> None:
    path = running.create()
    running.http.post(f"{path}/ask_many", json={"count": 4})
    running.http.post(f"{path}/tell", json={"id": "button-2", "reward": 0.5})
    for format, read in (("jsonl", pl.read_ndjson), ("csv", pl.read_csv), ("parquet", pl.read_parquet)):
        response = running.http.get(f"{path}/export", params={"format": format})
        assert f"button.{format}" in response.headers["content-disposition"]
        (tmp_path / "file").write_bytes(response.content)
        table: Any = read(tmp_path / "file")
        assert table["reward"].to_list() == [None, 0.5, None, None]


def test_probes_metrics_and_reference(running: Running) -> None:
    path = running.create()
    running.http.post(f"{path}/ask_many", json={"count": 5})
    running.http.post(f"{path}/tell", json={"id": "button-1", "reward": 0.5})
    assert running.http.get("/healthz").json() == {"status": "ok"}
    assert running.http.get("/readyz").json() == {"status": "ready"}
    metrics = running.http.get("/metrics").text
    for line in (
        "driftbandits_asks_total 5.0",
        'driftbandits_tells_total{outcome="new"} 1.0',
        "driftbandits_open_decisions 4.0",
        "driftbandits_commit_events_sum 6.0",
        "driftbandits_commit_seconds_count 2.0",
        'driftbandits_responses_total{status="201"} 1.0',
    ):
        assert line in metrics
    assert running.http.get("/openapi.json").json()["info"]["title"] == "driftbandits"

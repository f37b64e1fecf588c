"""Idempotency keys when requests meet: at once, on other paths, beside those that fail or go away."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from driftbandits.service.http.answers import digest_of
from driftbandits.store import StoreError
from driftbandits.store.answers import Answers
from driftbandits.store.writers import Writers
from in_process import Gated, Running, serving
from waiting import wait_until

KEY = {"Idempotency-Key": "k"}


@pytest.fixture
def running() -> Iterator[Running]:
    with serving() as running:
        yield running


@pytest.mark.parametrize(("part", "verb"), [(Answers, "find"), (Writers, "append")])  # looked up, written
def test_one_key_with_two_bodies_at_once(
    running: Running, monkeypatch: pytest.MonkeyPatch, part: type, verb: str
) -> None:
    path = running.create()
    gated = Gated(monkeypatch, part, verb)

    def ask(count: int) -> Any:
        answer = httpx.post(f"{running.url}{path}/ask_many", json={"count": count}, headers=KEY, timeout=60)
        return answer.status_code, answer.json()

    with ThreadPoolExecutor(2) as pool:
        first: Future[Any] = pool.submit(ask, 2)
        assert gated.reached.wait(60)
        status, refused = ask(3)  # it need not wait for the first
        assert (status, refused["error"]) == (409, "reused_key")
        assert not first.done()
        same: Future[Any] = pool.submit(ask, 2)
        gated.go_on.set()
        assert first.result(60) == same.result(60)
    status, decisions = first.result()
    assert (status, [each["step"] for each in decisions["decisions"]]) == (200, [1, 2])
    assert running.held().session.step == 2


def test_one_key_on_two_paths(running: Running) -> None:
    """The same body means something else there."""
    assert digest_of("/x/ask", b"{}") != digest_of("/x/ask_many", b"{}")
    path = running.create()
    assert running.http.post(f"{path}/ask", headers=KEY).json()["step"] == 1
    other = running.http.post(f"{path}/ask_many", json={"count": 2}, headers=KEY)
    assert (other.status_code, other.json()["error"]) == (409, "reused_key")
    assert running.held().session.step == 1


def test_every_experiment_has_keys_of_its_own(running: Running) -> None:
    """So has what belongs to none: the making of experiments."""
    for name in ("a", "b"):
        made = running.http.post(
            "/v1/experiments", json={"id": name, "arms": ["x", "y"]}, headers={"Idempotency-Key": name}
        )
        assert made.status_code == 201
    for key in ("a", "b"):
        for name in ("a", "b"):
            asked = running.http.post(f"/v1/experiments/{name}/ask", headers={"Idempotency-Key": key})
            assert asked.json()["id"] == f"{name}-{1 + (key == 'b')}"


def test_a_store_that_cannot_be_asked_refuses_and_is_asked_again(
    running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = running.create()

    def fails(*_: object) -> None:
        raise StoreError("the disk is on fire")

    with monkeypatch.context() as patched:
        patched.setattr(Answers, "find", fails)
        for _ in range(2):
            assert running.http.post(f"{path}/ask", headers=KEY).status_code == 503
    assert running.http.post(f"{path}/ask", headers=KEY).json()["step"] == 1
    assert running.http.post(f"{path}/ask", headers=KEY).json()["step"] == 1


def test_who_waits_for_an_answer_that_fails_is_told_too(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """And may try again with the same key."""
    path = running.create()
    running.http.post(f"{path}/ask")
    gated = Gated(monkeypatch, Writers, "append")

    def ask() -> int:
        return httpx.post(f"{running.url}{path}/ask", headers=KEY, timeout=60).status_code

    async def waiting() -> int:
        return sum(len(future._callbacks or []) for _, future in running.service.answers._under_way.values())

    with ThreadPoolExecutor(2) as pool:
        asked = [pool.submit(ask)]
        assert gated.reached.wait(60)
        asked.append(pool.submit(ask))
        wait_until(lambda: running.on_loop(waiting()) == 1, "the second request to wait")
        running.service.store.writers.reload(
            running.held().writer
        )  # another takes over: what is being written is fenced
        gated.go_on.set()
        assert [each.result(60) for each in asked] == [503, 503]
    assert running.service.answers._under_way == {}


def test_who_goes_away_takes_no_one_with_him(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    running.http.post(f"{running.create()}/ask")
    held, answers, gated = running.held(), running.service.answers, Gated(monkeypatch, Answers, "find")
    scope = held.writer.experiment.key

    async def ask() -> str:
        return held.session.ask().id

    async def never() -> str:
        raise AssertionError("another asked already")

    async def three() -> list[Any]:
        """The first looks the key up, the others wait for it, and one of these does not wait long."""
        asks = [asyncio.ensure_future(answers.once(scope, "k", "digest", ask))]
        assert await asyncio.to_thread(gated.reached.wait, 60)
        asks += [asyncio.ensure_future(answers.once(scope, "k", "digest", never)) for _ in range(2)]
        await asyncio.sleep(0.01)
        asks[1].cancel()
        gated.go_on.set()
        return await asyncio.gather(*asks, return_exceptions=True)

    first, gone, other = running.on_loop(three())
    assert (first, other) == ("button-2", "button-2")
    assert isinstance(gone, asyncio.CancelledError)

"""The clients: the verbs and exceptions of a Session, over HTTP, and retries that never count twice."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest

from driftbandits.client import AsyncClient, Client, RefusedError, UnavailableError, aio, sync
from driftbandits.errors import FeasibilityWarning, InputError
from driftbandits.live.decisions import ConflictError, Decision, ExpiredError, Outcome, UnknownDecisionError
from driftbandits.store import StoreError
from driftbandits.store.writers import Writers
from in_process import Running, serving
from waiting import PATIENCE

SNOOZE = {"horizon": 100_000, "drift": 1e-5}


@pytest.fixture(scope="module")
def running() -> Iterator[Running]:
    with serving() as running:
        yield running


@pytest.fixture
def client(running: Running) -> Iterator[Client]:
    with Client(running.url, patience=PATIENCE) as client:
        yield client


def test_the_verbs_of_a_session(client: Client, tmp_path: Path) -> None:
    button = client.open("button", arms=["red", "blue"])
    decision = button.ask()
    assert (decision.id, decision.step, decision.due is None) == ("button-1", 1, False)
    assert button.tell(decision.id, 0.5) is Outcome.NEW
    assert button.tell(decision.id, 0.5) is Outcome.AGAIN
    assert [each.step for each in button.ask_many(3)] == [2, 3, 4]
    told = [("button-2", 1.0), ("button-3", float("nan")), ("x", 1.0), ("button-1", 0.7)]
    assert button.tell_many(told) == [Outcome.NEW, Outcome.INVALID, Outcome.UNKNOWN, Outcome.CONFLICT]
    said = "^1 of 1 rewards were not accepted: each must be a finite number within the reward_range of 'button'"
    with pytest.warns(FeasibilityWarning, match=said):
        assert button.tell_many([("button-3", float("inf"))]) == [Outcome.INVALID]
    unit = client.open("unit", arms=["red", "blue"], policy="KLUCB")
    with pytest.warns(FeasibilityWarning, match="^1 of 2 rewards were not accepted: .*tell one of them alone"):
        assert unit.tell_many([(unit.ask().id, 3.0), ("unit-9", 0.5)]) == [Outcome.INVALID, Outcome.UNKNOWN]
    assert button.explain(decision)["arm"] == decision.arm
    client.export("button", tmp_path / "log.jsonl")
    assert len((tmp_path / "log.jsonl").read_text().splitlines()) == 4


def test_the_exceptions_of_a_session(client: Client) -> None:
    hasty = client.open("hasty", arms=["red", "blue"], timeout=1e-3)
    client.open("hasty", arms=("red", "blue"), policy="BreakEven", timeout=1e-3)  # it is there, and the same
    with pytest.raises(InputError, match=r"arms=\['red', 'blue'\]; got \['red', 'green'\]"):
        client.open("hasty", arms=["red", "green"])
    hasty.ask()
    time.sleep(0.002)
    with pytest.raises(UnknownDecisionError, match="hasty-9"):
        hasty.tell("hasty-9", 1.0)
    with pytest.raises(ExpiredError):
        hasty.tell("hasty-1", 1.0)
    slow = client.open("slow", arms=["red", "blue"], policy="SnoozeIt", policy_settings=SNOOZE)
    client.open("slow", arms=["red", "blue"], policy="SnoozeIt", policy_settings=SNOOZE)
    with pytest.raises(InputError, match="drift"):
        client.open("slow", arms=["red", "blue"], policy="SnoozeIt", policy_settings=SNOOZE | {"drift": 1e-4})
    slow.tell(slow.ask().id, 0.0)
    with pytest.raises(ConflictError):
        slow.tell("slow-1", 1.0)
    for bad in (float("nan"), "x", None, 1e101):
        with pytest.raises(InputError, match="finite"):
            slow.tell("slow-1", bad)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="count"):
        slow.ask_many(0)


def test_experiments(client: Client) -> None:
    made = client.create("shelf", arms=["a", "b"], policy="UCB1", title="a shelf")
    assert client.experiment("shelf") == made
    assert "shelf" in [each["id"] for each in client.experiments()]
    assert client.pause("shelf")["status"] == "paused"
    with pytest.raises(RefusedError) as refused:
        client.open("shelf").ask()
    assert (refused.value.status, refused.value.code) == (409, "paused")
    assert client.archive("shelf")["status"] == "archived"
    assert client.resume("shelf")["status"] == "running"
    with pytest.raises(RefusedError, match="nobody"):
        client.open("nobody").ask()


def test_the_same_for_asyncio(running: Running, tmp_path: Path) -> None:
    async def everything() -> None:
        async with AsyncClient(running.url, patience=PATIENCE) as client:
            cup = await client.open("cup", arms=["red", "blue"])
            decisions = await asyncio.gather(*(cup.ask() for _ in range(20)))
            assert sorted(each.step for each in decisions) == list(range(1, 21))
            assert await cup.tell("cup-1", 0.5) is Outcome.NEW
            assert [each.step for each in await cup.ask_many(2)] == [21, 22]
            assert await cup.tell_many([("cup-2", 1.0), ("cup-3", float("nan"))]) == [Outcome.NEW, Outcome.INVALID]
            assert await cup.tell_many([("cup-3", float("nan"))]) == [Outcome.INVALID]
            assert (await cup.explain("cup-1"))["step"] == 1
            assert (await client.experiment("cup"))["step"] == 22
            assert "cup" in [each["id"] async for each in client.experiments()]
            await client.pause("cup")
            await client.archive("cup")
            await client.resume("cup")
            await client.export("cup", tmp_path / "log.csv")
            assert len((tmp_path / "log.csv").read_text().splitlines()) == 23
            with pytest.raises(UnknownDecisionError):
                await cup.tell("x", 1.0)
            with pytest.raises(RefusedError):
                await client.export("nobody", tmp_path / "nobody.csv")

    asyncio.run(everything())


def test_an_answer_that_got_lost_counts_once(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    send, lost = httpx.HTTPTransport.handle_request, 0

    def loses_every_other(self: Any, request: httpx.Request) -> httpx.Response:
        nonlocal lost
        response = send(self, request)
        lost += 1
        if lost % 2:
            response.read()
            raise httpx.ReadError("the line went dead")
        return response

    monkeypatch.setattr(httpx.HTTPTransport, "handle_request", loses_every_other)
    with Client(running.url, patience=PATIENCE) as client:
        lamp = client.open("lamp", arms=["red", "blue"])
        assert [lamp.ask().step for _ in range(5)] == [1, 2, 3, 4, 5]
        assert lamp.tell_many([("lamp-1", 1.0)]) == [Outcome.NEW]
    assert running.held("lamp").session.step == 5


def test_patience(running: Running, client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    chair = client.open("chair", arms=["red", "blue"])
    append, failures = Writers.append, iter([StoreError("away")] * 2)

    def fails_twice(*arguments: Any) -> None:
        for failure in failures:
            raise failure
        append(*arguments)

    monkeypatch.setattr(Writers, "append", fails_twice)
    assert chair.ask().step == 1
    monkeypatch.setattr(Writers, "append", append)
    with Client("http://127.0.0.1:9", patience=0.3) as nobody, pytest.raises(UnavailableError, match=":9"):
        nobody.experiment("chair")


class Weather:
    """A service that answers as told, for both clients, and a clock that only their pauses move."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *answers: httpx.Response | Exception) -> None:
        self.answers, self.pauses, self.keys, self.now = list(answers), list[float](), list[str | None](), 0.0
        self.asked: list[str] = []

        def handle(_: object, request: httpx.Request) -> httpx.Response:
            self.asked.append(request.url.host)
            self.keys.append(request.headers.get("idempotency-key"))
            answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]  # the last one for ever
            if isinstance(answer, Exception):
                raise answer
            return httpx.Response(answer.status_code, headers=answer.headers, content=answer.content)

        async def handle_async(_: object, request: httpx.Request) -> httpx.Response:
            return handle(_, request)

        def sleep(seconds: float) -> None:
            self.pauses.append(seconds)
            self.now += seconds

        async def sleep_async(seconds: float) -> None:
            sleep(seconds)

        monkeypatch.setattr(httpx.HTTPTransport, "handle_request", handle)
        monkeypatch.setattr(httpx.AsyncHTTPTransport, "handle_async_request", handle_async)
        monkeypatch.setattr(sync, "time", SimpleNamespace(monotonic=lambda: self.now, sleep=sleep))
        monkeypatch.setattr(aio, "time", SimpleNamespace(monotonic=lambda: self.now))
        monkeypatch.setattr(aio, "asyncio", SimpleNamespace(sleep=sleep_async))

    def ask(self, kind: str, patience: float = 30.0) -> Decision:
        if kind == "sync":
            with Client("http://far.away", patience=patience) as client:
                return client.open("cup").ask()

        async def ask() -> Decision:
            async with AsyncClient("http://far.away", patience=patience) as client:
                return await (await client.open("cup")).ask()

        return asyncio.run(ask())


DECIDED = httpx.Response(200, json={"id": "cup-1", "arm": "red", "step": 1, "due": None})
BUSY = {"error": "busy", "message": "another service holds 'cup'"}
both_kinds = pytest.mark.parametrize("kind", ["sync", "async"])


@both_kinds
def test_what_passes_is_tried_again_with_the_same_key(monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    failures = [httpx.Response(status) for status in (502, 503, 504)]
    weather = Weather(monkeypatch, *failures, httpx.ConnectError("refused"), httpx.ReadTimeout("slow"), DECIDED)
    assert weather.ask(kind).id == "cup-1"
    assert len(weather.keys) == 6
    assert len(set(weather.keys)) == 1
    assert weather.keys[0]
    for pause, most in zip(weather.pauses, (0.05, 0.1, 0.2, 0.4, 0.8), strict=True):
        assert most / 2 <= pause <= most


@both_kinds
@pytest.mark.parametrize("status", [400, 404, 409, 422, 429, 500, 501])
def test_what_stays_is_refused_at_once(monkeypatch: pytest.MonkeyPatch, kind: str, status: int) -> None:
    weather = Weather(monkeypatch, httpx.Response(status), DECIDED)
    with pytest.raises(RefusedError, match=f"answered {status}, and not as the service does"):
        weather.ask(kind)
    assert weather.pauses == []


@both_kinds
def test_the_service_says_how_long_to_wait_within_reason(monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    said = [
        httpx.Response(503, headers={"Retry-After": value}) for value in ("1", "60", "Fri, 31 Dec 1999 23:59:59 GMT")
    ]
    weather = Weather(monkeypatch, *said, DECIDED)
    assert weather.ask(kind).id == "cup-1"
    for pause, most in zip(weather.pauses, (1.0, 5.0, 0.2), strict=True):
        assert most / 2 <= pause <= most


@both_kinds
@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (httpx.Response(503, json=BUSY, headers={"Retry-After": "1"}), "another service holds 'cup'"),
        (httpx.Response(502, html="<h1>Bad Gateway</h1>"), "answered 502, and not as the service does"),
        (httpx.ConnectError("refused"), "http://far.away does not answer: refused"),
    ],
)
def test_patience_ends(
    monkeypatch: pytest.MonkeyPatch, kind: str, answer: httpx.Response | Exception, said: str
) -> None:
    weather = Weather(monkeypatch, answer)
    with pytest.raises(UnavailableError, match=said):
        weather.ask(kind, patience=20.0)
    assert 15.0 < sum(weather.pauses) <= 20.0  # the next pause, of 5 at most, would have been too much
    assert max(weather.pauses) <= 5.0


def held_by(url: str) -> httpx.Response:
    return httpx.Response(503, json=BUSY | {"holder": "other", "url": url}, headers={"Retry-After": "1"})


HOME, THERE = "far.away", "other.example"


@both_kinds
@pytest.mark.parametrize(
    ("answers", "asked", "pauses"),
    [
        ([held_by("http://other.example:8000/")], [HOME, THERE], 0),
        ([held_by("https://other.example/bandits")], [HOME, THERE], 0),
        # It does not answer, or holds it no longer: home again, after a pause.
        ([held_by("http://other.example"), httpx.ConnectError("refused")], [HOME, THERE, HOME], 1),
        ([held_by("http://other.example"), held_by("http://far.away")], [HOME, THERE, HOME], 1),
        # Somebody else is there by now.
        ([held_by("http://other.example"), httpx.Response(404, html="<h1>Not Found</h1>")], [HOME, THERE, HOME], 1),
        *[
            ([held_by(url)], [HOME, HOME], 1)
            for url in ("ftp://other.example", "http://", "http://[", "http://far.away/")
        ],
    ],
)
def test_the_holder_is_asked(
    monkeypatch: pytest.MonkeyPatch, kind: str, answers: list[Any], asked: list[str], pauses: int
) -> None:
    weather = Weather(monkeypatch, *answers, DECIDED)
    assert weather.ask(kind).id == "cup-1"
    assert (weather.asked, len(weather.pauses)) == (asked, pauses)
    assert len(set(weather.keys)) == 1


def test_a_token_that_went_over_tls_does_not_go_without(monkeypatch: pytest.MonkeyPatch) -> None:
    weather = Weather(monkeypatch, held_by("http://other.example"), DECIDED)
    with Client("https://far.away", "secret") as client:
        client.open("cup").ask()
    assert weather.asked == [HOME, HOME]


def test_a_client_of_one_service_reaches_what_another_holds(tmp_path: Path) -> None:
    store, lease = f"sqlite:///{tmp_path}/file.db", 1e6
    with serving(store, lease=lease) as second, Client(second.url, patience=PATIENCE) as client:
        with serving(store, lease=lease) as first:
            first.http.post(f"{first.create()}/ask")
            button = client.open("button")
            assert [button.ask().step, button.ask().step] == [2, 3]
            assert first.held().session.step == 3
            with pytest.raises(UnknownDecisionError):
                button.tell("button-99", 1.0)  # the holder's own refusal
            assert client.pause("button")["status"] == "paused"
            assert client.resume("button")["status"] == "running"
            refused = 'driftbandits_responses_total{status="503"} 1.0'
            assert refused in second.http.get("/metrics").text  # once: then it knew
        assert button.ask().step == 4  # the holder is gone, and this service takes over
        assert second.held().session.step == 4


def test_it_stands_alone() -> None:
    heavy = ("numba", "numpy", "sqlalchemy", "fastapi", "driftbandits.store", "driftbandits.service")
    code = f"import sys, driftbandits.client; sys.exit(any(name in sys.modules for name in {heavy!r}))"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0

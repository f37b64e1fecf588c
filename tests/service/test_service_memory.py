"""What the service has in memory, and that it never rests on more than the log holds."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from driftbandits.live.decisions import Asked, Settled
from driftbandits.service.core.held import Held
from driftbandits.service.core.holdings import Holdings
from driftbandits.service.http import decisions
from driftbandits.store import Store, StoreError
from driftbandits.store.writers import Writers
from in_process import Gated, Running, serving
from stores import kept_answer
from waiting import wait_until


@pytest.fixture
def running() -> Iterator[Running]:
    with serving() as running:
        yield running


def on_fire(*_: object, **__: object) -> None:
    """In place of a verb of the Store."""
    raise StoreError("the disk is on fire")


def test_an_idle_experiment_stays_until_its_timed_decisions_are_settled(running: Running) -> None:
    holdings, store = running.service.holdings, running.service.store
    due = running.http.post(f"{running.create(timeout=200, default_reward=0.25)}/ask").json()["due"]
    held = running.held()
    held.used -= 10 * running.service.settings.idle
    running.on_loop(holdings._tick())
    assert holdings.held == {"button": held}  # nobody else would settle it
    held.session.clock = lambda: due + 1
    running.on_loop(holdings._tick())
    wait_until(lambda: store.experiments.get("button").last_seq == 2, "the Decision to be settled")
    settled = list(store.history.events("button"))[1]
    assert isinstance(settled, Settled)
    assert (settled.step, settled.reward) == (1, 0.25)
    wait_until(lambda: store.experiments.get("button").holder is None, "the experiment to be let go")
    assert holdings.held == {}


def test_an_experiment_in_use_is_not_let_go(running: Running) -> None:
    """However long ago it was loaded."""
    path = running.create()
    running.http.post(f"{path}/ask")
    held = running.held()
    held.used -= 10 * running.service.settings.idle
    running.http.post(f"{path}/ask")
    running.on_loop(running.service.holdings._tick())
    assert running.held() is held


def test_work_that_fails_halfway_leaves_nothing_behind(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """The Session had made the Decision, and nobody was told of it: the next request rests on the log."""
    path = running.create()
    first = running.http.post(f"{path}/ask").json()
    held = running.held()

    def broken(_: object) -> str:
        raise RuntimeError("a bug")

    with monkeypatch.context() as patched:
        patched.setattr(decisions, "_decisions", broken)
        failed = running.http.post(f"{path}/ask")
    assert (failed.status_code, failed.json()["error"]) == (500, "bug")
    assert held.session.step == 2
    again = running.http.post(f"{path}/ask").json()
    assert (first["step"], again["step"]) == (1, 2)
    assert running.held() is not held
    asked = [event.step for event in running.service.store.history.events("button") if isinstance(event, Asked)]
    assert asked == [1, 2]


def test_who_waits_beside_work_that_failed_is_told_and_nothing_is_written(running: Running) -> None:
    path = running.create()
    running.http.post(f"{path}/ask")
    held, holdings = running.held(), running.service.holdings

    def good(held: Held) -> str:
        return held.session.ask().id

    def bad(held: Held) -> str:
        held.session.ask()
        raise RuntimeError("a bug")

    async def both() -> list[Any]:
        """The good one waits for a commit that did not begin yet."""
        return list(
            await asyncio.gather(holdings.durably(held, good), holdings.durably(held, bad), return_exceptions=True)
        )

    assert [str(error) for error in running.on_loop(both())] == ["a bug", "a bug"]
    assert len(list(running.service.store.history.events("button"))) == 1
    assert running.http.post(f"{path}/ask").json()["step"] == 2


def test_a_refusal_waits_until_what_it_rests_on_is_on_disk(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """To be told that a Decision's time was up is to be told that it was settled."""
    path = running.create(timeout=3600)
    due = running.http.post(f"{path}/ask").json()["due"]
    running.held().session.clock = lambda: due + 1
    late = {"id": "button-1", "reward": 1}
    with monkeypatch.context() as patched:
        patched.setattr(Writers, "append", on_fire)
        assert running.http.post(f"{path}/tell", json=late).status_code == 503
    assert running.http.get(path).json()["events"] == 1
    assert running.http.post(f"{path}/tell", json=late).json() == {"outcome": "new"}  # by the true clock it is in time


def test_an_experiment_that_cannot_be_loaded_now_can_be_later(
    running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is ours already: nobody must wait for our own lease to run out."""
    path = running.create()
    with monkeypatch.context() as patched:
        patched.setattr("driftbandits.service.core.holdings.open_view", on_fire)
        assert running.http.post(f"{path}/ask").status_code == 503
    assert running.http.post(f"{path}/ask").json()["step"] == 1


def failed_commit(running: Running, monkeypatch: pytest.MonkeyPatch) -> str:
    """The path of an experiment of one event, whose last request could not be written."""
    path = running.create()
    running.http.post(f"{path}/ask")
    with monkeypatch.context() as patched:
        patched.setattr(Writers, "append", on_fire)
        assert running.http.post(f"{path}/ask").status_code == 503
    return path


def test_a_log_that_cannot_be_read_again_now_can_be_later(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    path = failed_commit(running, monkeypatch)
    with monkeypatch.context() as patched:
        patched.setattr(Writers, "reload", on_fire)
        for _ in range(2):
            refused = running.http.post(f"{path}/ask")
            assert (refused.status_code, refused.json()["error"]) == (503, "store")
    assert running.http.post(f"{path}/ask").json()["step"] == 2


def test_after_a_failure_another_may_have_had_it(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    path = failed_commit(running, monkeypatch)
    other = Store(f"sqlite:///{running.service.store.database.engine.url.database}")
    other.database.clock = lambda: 1e12  # there the lease has run out
    writer = other.writers.acquire("button")
    writer.session.ask()
    other.writers.append([(writer, writer.session.journal or [])])
    other.writers.release(writer)
    other.close()
    assert running.http.post(f"{path}/ask").json()["step"] == 3


def test_what_is_being_written_is_not_let_go(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    path = running.create()
    running.http.post(f"{path}/ask")
    held, gated = running.held(), Gated(monkeypatch, Writers, "append")
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(running.http.post, f"{path}/ask")
        assert gated.reached.wait(60)
        held.used -= 10 * running.service.settings.idle
        running.on_loop(running.service.holdings._tick())
        assert running.held() is held
        gated.go_on.set()
        assert asked.result(60).json()["step"] == 2


def test_who_comes_while_it_is_let_go_waits(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """And is not told that it is busy: with whom but us?"""
    running.http.post(f"{running.create()}/ask")
    before, holdings, gated = running.held(), running.service.holdings, Gated(monkeypatch, Writers, "release")
    before.used -= 10 * running.service.settings.idle

    async def come() -> Held:
        await holdings._tick()
        assert await asyncio.to_thread(gated.reached.wait, 60)
        coming = asyncio.ensure_future(holdings.get("button"))
        await asyncio.sleep(0.05)
        assert not coming.done()
        gated.go_on.set()
        return await coming

    again = running.on_loop(come())
    assert again is not before
    assert again.session.snapshot() == before.session.snapshot()


def test_those_not_used_for_the_longest_time_are_let_go_first() -> None:
    with serving(most_loaded=2) as running:
        paths = {name: running.create(name) for name in "abc"}
        for name in "abac":
            assert running.http.post(f"{paths[name]}/ask").status_code == 200
        assert set(running.service.holdings.held) == {"a", "c"}


# In the background


def test_leases_are_renewed_in_time_and_not_at_every_tick() -> None:
    def ends(running: Running) -> float:
        return running.service.store.experiments.get("button").lease_until

    with serving(lease=36_000) as seldom, serving(lease=1.0) as often:
        for running in (seldom, often):
            running.http.post(f"{running.create()}/ask")
        first, before = ends(seldom), ends(often)
        wait_until(lambda: ends(often) > before, "the lease to be renewed")
        seldom.on_loop(seldom.service.holdings._tick())
        assert ends(seldom) == first


def test_keys_are_forgotten_in_the_end() -> None:
    with serving(keep_answers=0.05) as running:
        path, key = running.create(), {"Idempotency-Key": "k"}
        running.http.post(f"{path}/ask", headers=key)
        wait_until(lambda: kept_answer(running.service.store, "button", "k") is None, "the answer to be forgotten")
        assert running.http.post(f"{path}/ask", headers=key).json()["step"] == 2


def test_an_error_does_not_end_the_work_in_the_background(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks, errors = list[int](), iter([StoreError("away"), RuntimeError("a bug")])

    async def tick(_: Holdings) -> None:
        ticks.append(1)
        for error in errors:
            raise error

    monkeypatch.setattr("driftbandits.service.core.holdings.TICK", 0.001)
    monkeypatch.setattr(Holdings, "_tick", tick)
    with serving():
        wait_until(lambda: len(ticks) >= 4, "four ticks")


def test_what_another_service_took_over_is_dropped_when_leases_are_renewed(tmp_path: Path) -> None:
    with serving(f"sqlite:///{tmp_path}/file.db") as running:
        for name in ("mine", "lost"):
            running.http.post(f"{running.create(name)}/ask")
        other = Store(f"sqlite:///{tmp_path}/file.db")
        other.database.clock = lambda: 1e12  # there the lease has run out
        other.writers.acquire("lost")
        running.service.holdings.leases.renew()
        wait_until(lambda: list(running.service.holdings.held) == ["mine"], "the lost one to be dropped")
        busy = running.http.post("/v1/experiments/lost/ask")
        assert (busy.status_code, busy.json()["error"]) == (503, "busy")
        assert running.http.post("/v1/experiments/mine/ask").json()["step"] == 2
        other.close()

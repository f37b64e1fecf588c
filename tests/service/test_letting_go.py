"""A service that stops lets everything go in a few transactions: it has seconds, and may hold thousands. Both kinds."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from sqlalchemy import event

from driftbandits.service.core import holdings as core_holdings
from driftbandits.service.dashboard.loading import open_view
from driftbandits.store import Store
from in_process import ARMS, Running, serving

COUNT = 40


@contextmanager
def stopping(url: str, **settings: Any) -> Iterator[tuple[Running, list[object]]]:
    """A service with many experiments that have changed since they were loaded; and the commits after the block."""
    commits = list[object]()
    with serving(url, **settings) as running:
        for number in range(COUNT):
            running.service.store.create(f"x-{number}", arms=ARMS)
            for _ in range(number % 3 + 1):
                assert running.http.post(f"/v1/experiments/x-{number}/ask").status_code == 200
        yield running, commits
        event.listen(running.service.store.database.engine, "commit", commits.append)


def test_a_stop_takes_a_few_transactions(url: str) -> None:
    with stopping(url) as (running, commits):
        memory = {id: held.session.snapshot() for id, held in running.service.holdings.held.items()}
    assert 1 <= len(commits) <= 3
    with Store(url) as store:
        assert {each.holder for each in store.experiments.all()} == {None}
        for number in range(COUNT):
            writer = store.writers.acquire(f"x-{number}")
            assert writer.saved == writer.seq == number % 3 + 1
            assert writer.session.snapshot() == memory[writer.experiment.id]
            assert open_view(store, writer).step == writer.seq


def test_when_time_is_up_the_rest_is_left_to_the_log(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is lost, and all are released; the next start has more to read."""
    monkeypatch.setattr(core_holdings, "SAVING", -1.0)
    with stopping(url) as (_, commits):
        pass
    assert 1 <= len(commits) <= 3
    with Store(url) as store:
        assert {each.holder for each in store.experiments.all()} == {None}
        writer = store.writers.acquire("x-2")
        assert (writer.saved, writer.seq, writer.session.step) == (0, 3, 3)


def test_one_that_cannot_be_saved_keeps_no_other(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bug in one, another that was taken over: all others are saved and released."""
    with stopping(url) as (running, _):
        held = running.service.holdings.held
        monkeypatch.setattr(held["x-0"].writer.session, "snapshot", lambda: 1 / 0)
        with Store(url) as other:
            other.database.clock = lambda: 1e12  # there the lease has run out
            other.writers.acquire("x-1")
    with Store(url) as store:
        holders = {each.id: each.holder for each in store.experiments.all()}
        assert holders.pop("x-1") == other.writers.holder
        assert set(holders.values()) == {None}
        assert [store.writers.acquire(f"x-{number}").saved for number in (0, 2)] == [0, 3]
        store.database.clock = lambda: 1e13
        assert store.writers.acquire("x-1").saved == 0


def test_those_let_go_while_it_runs_go_together(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ones that are idle, in groups; whoever comes back waits for a group."""
    monkeypatch.setattr(core_holdings, "TOGETHER", 15)
    with stopping(url) as (running, _):
        commits, holdings = list[object](), running.service.holdings
        event.listen(running.service.store.database.engine, "commit", commits.append)
        for held in holdings.held.values():
            held.used -= 10 * running.service.settings.idle

        async def tick() -> None:
            await holdings._tick()
            assert (await holdings.get("x-5")).session.step == 3

        running.on_loop(tick())
        assert set(holdings.held) == {"x-5"}
        assert len(commits) <= 10  # of 40, in 3 groups; one is loaded, and answers to keys are pruned

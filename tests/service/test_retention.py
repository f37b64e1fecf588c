"""How long events are kept, over HTTP, and erased by a running service."""

from __future__ import annotations

import time
from pathlib import Path

import structlog

from driftbandits import RoundRobin, Store
from driftbandits.service.core.settings import Settings
from in_process import serving

DAY = 86_400.0


def test_a_running_service_erases_what_is_no_longer_kept(tmp_path: Path) -> None:
    with serving(f"sqlite:///{tmp_path / 'store.db'}", keep="90d", archive=tmp_path / "old") as running:
        path = running.create()
        assert running.http.get(path).json()["keep"] == 90 * DAY
        assert running.http.get(running.create("other", keep=None)).json()["keep"] is None
        changed = running.http.patch(path, json={"keep": 5 * DAY})
        assert (changed.status_code, changed.json()["keep"]) == (200, 5 * DAY)
        assert running.http.patch(path, json={"keep": 0}).status_code == 422
        for _ in range(3):
            decision = running.http.post(f"{path}/ask").json()
            assert running.http.post(f"{path}/tell", json={"id": decision["id"], "reward": 1}).status_code == 200
        held = running.held()
        before, store = held.session.snapshot(), running.service.store
        running.service.holdings.retention.prune()
        assert store.experiments.get("button").folded == 0
        right = store.database.clock
        store.database.clock = lambda: right() + 6 * DAY
        running.service.holdings.retention.prune()
        store.database.clock = right
        assert running.http.get(path).json()["folded"] == 6
        assert [file.name for file in (tmp_path / "old").iterdir()] == ["button-events-1-6.parquet"]
        # It goes on; of what was erased nothing is known, and that is said.
        assert running.held().session.snapshot() == before
        assert running.http.post(f"{path}/ask").json()["step"] == 4
        held.session._closed.clear()  # as after many more Decisions
        for answer in (
            running.http.get(f"{path}/explain/button-1"),
            running.http.post(f"{path}/correct", json={"corrections": [{"id": "button-1", "reward": 0}]}),
        ):
            assert (answer.status_code, answer.json()["error"]) == (410, "too_old"), answer.text
            assert "past retention" in answer.json()["message"]
        assert running.http.post(f"{path}/tell", json={"id": "button-1", "reward": 1}).json()["error"] == "expired"
        running.on_loop(running.service.holdings._at_rest("button"))
    with serving(f"sqlite:///{tmp_path / 'store.db'}") as running:
        assert running.http.post(f"{path}/ask").json()["step"] == 5


def test_a_clock_that_is_a_year_ahead_erases_a_day_of_the_log_at_a_time(tmp_path: Path) -> None:
    url, now = f"sqlite:///{tmp_path / 'store.db'}", time.time()
    store = Store(url)
    store.database.clock = lambda: now - 10 * DAY
    store.create("button", arms=["red", "blue"], policy=RoundRobin(), keep=90 * DAY)
    writer = store.writers.acquire("button")
    for day in range(10):
        writer.session.clock = lambda day=day: now + (day - 10) * DAY  # type: ignore[misc]
        writer.session.tell(writer.session.ask().id, 1)
    events, writer.session.journal = writer.session.journal or [], []
    store.writers.append([(writer, events)])
    store.writers.release(writer)
    store.close()
    with serving(url) as running, structlog.testing.capture_logs() as said:
        retention, store = running.service.holdings.retention, running.service.store
        retention.prune()
        assert (store.experiments.get("button").folded, retention.left, said) == (0, 0.0, [])
        right = store.database.clock
        store.database.clock = lambda: right() + 365 * DAY
        retention.prune()
        assert store.experiments.get("button").folded == 2
        assert "driftbandits_retention_left_seconds 2.4" in running.http.get("/metrics").text
        store.database.clock = right
        retention.prune()
        assert (store.experiments.get("button").folded, retention.left) == (2, 0.0)
    warned = next(each for each in said if each["event"] == "erasing is behind")
    assert "284.0 days" in warned["left"]
    assert warned["date"] == time.strftime("%Y-%m-%d", time.gmtime(now + 365 * DAY))


def test_how_long_is_a_number_and_a_unit() -> None:
    assert Settings(keep="12h").keep == 43_200.0  # type: ignore[arg-type]
    assert Settings(keep="forever").keep is None  # type: ignore[arg-type]

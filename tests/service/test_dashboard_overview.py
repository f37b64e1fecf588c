"""What the dashboard is told besides curves: all experiments at a glance, what happened, what is expected."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import driftbandits as db
from clock import Clock
from driftbandits.client import Client
from driftbandits.live.session import Session
from driftbandits.policies._parts.belief import Belief, Crossing
from driftbandits.service.dashboard import overview as overview_rows
from driftbandits.service.dashboard import timeline, views
from driftbandits.service.dashboard.ahead import ahead_json
from driftbandits.service.dashboard.overview import Listing
from driftbandits.service.dashboard.view_json import view_json
from driftbandits.service.dashboard.views import View
from driftbandits.store import Store
from in_process import Running, ask, serving
from waiting import PATIENCE


def told_all(running: Running, path: str, count: int, reward: float) -> None:
    rewards = [{"id": id, "reward": reward} for id in ask(running, path, count)]
    assert running.http.post(f"{path}/tell_many", json={"rewards": rewards}).status_code == 200


def overview(running: Running, token: str | None = None) -> dict[str, Any]:
    """What a page that is opened now is told."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    with running.http.stream("GET", "/v1/live", headers=headers) as answer:
        text = ""
        for piece in answer.iter_text():
            text += piece
            if found := re.search("event: overview\ndata: (.*)\n\n", text):
                return {row["id"]: row for row in json.loads(found[1])["rows"]}
    raise AssertionError(text)


def test_experiments_are_summed_up_also_when_they_are_not_in_memory(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'store.db'}"
    with serving(url) as running, Client(running.url, patience=PATIENCE) as client:
        path = running.create("shop", title="A shop", drift=1e-6)
        running.create("empty")
        shop = client.open("shop")
        shop.hold_out(0.5, "red")
        for reward in (0.0, 1.0):
            told_all(running, path, 400, reward)
        shop.force_arm("blue")
        here = overview(running)
    with serving(url) as running:
        later = overview(running)
        assert not running.service.holdings.held  # nothing was loaded for it
    assert (here["shop"]["here"], later["shop"]["here"]) == (True, False)
    assert later["shop"]["summary"] == here["shop"]["summary"]
    assert later["empty"]["summary"] is None
    found = later["shop"]["summary"]
    assert (found["step"], found["rewards"], found["forced"], found["holdout"]) == (800, 800, "blue", [0.5, "red"])
    known = [point for point in found["spark"] if point is not None]
    assert (known[0], known[-1], len(found["spark"])) == (0.0, 1.0, 32)
    assert found["alarms"] > 0
    assert found["lift"][1] <= found["lift"][0] <= found["lift"][2]
    assert abs(found["last"] - time.time()) < PATIENCE


def test_a_page_is_sent_what_changed_and_sees_what_its_token_may(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'store.db'}"
    store = Store(url)
    token = store.tokens.add("guest", "read", experiments=["a*"])
    for name in ("apple", "berry"):
        store.create(name, arms=["x", "y"])
    with serving(url) as running:
        assert list(overview(running, token)) == ["apple"]
        running.service.overview._readings.clear()
        listing = Listing(running.service.overview)

        def news() -> Any:
            running.service.overview._readings.clear()
            text = running.on_loop(listing.news(None))
            return text and json.loads(text)

        assert [row["id"] for row in news()["rows"]] == ["apple", "berry"]
        assert news() is None
        store.experiments.update("berry", title="Berries")
        found = news()
        assert [row["title"] for row in found["rows"]] == ["Berries"]
        assert (found["whole"], found["gone"]) == (False, [])
        store.writers.delete(store.writers.acquire("apple"))
        assert news() == {"rows": [], "gone": ["apple"], "whole": False, "more": False}
    store.close()


def test_a_page_says_that_there_are_more_only_if_there_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(overview_rows, "MOST", 2)
    url = f"sqlite:///{tmp_path / 'store.db'}"
    with Store(url) as store, serving(url) as running:
        for count, name in enumerate("abc", 1):
            store.create(name, arms=["x", "y"])
            running.service.overview._readings.clear()
            found = running.on_loop(running.service.overview.rows())
            assert list(found.by_id) == ["a", "b", "c"][: min(count, 2)]
            assert found.more == (count == 3)


def test_the_timeline_tells_what_happened_and_who_did_it(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'store.db'}"
    store = Store(url)
    admin, guest = store.tokens.add("Ada", "admin"), store.tokens.add("guest", "read")
    store.close()
    with serving(url) as running:
        running.http.headers["Authorization"] = f"Bearer {admin}"
        path = running.create("shop", drift=1e-6)
        for method, what, body in [
            ("POST", "/arms", {"arm": "green"}),
            ("PATCH", "/arms", {"arm": "red", "status": "off"}),
            ("PATCH", "/arms", {"arm": "red", "status": "on"}),
            ("PATCH", "/arms", {"arm": "green", "status": "removed"}),
            ("PUT", "/force", {"arm": "red"}),
            ("PUT", "/force", {"arm": None}),
            ("PUT", "/holdout", {"share": 0.1, "arm": "red"}),
            ("PATCH", "", {"policy": "UCB1", "timeout": 60.0}),
            ("PATCH", "", {"title": "A shop"}),
            ("POST", "/pause", None),
            ("POST", "/resume", None),
            ("PATCH", "", {"late": True}),
            ("PATCH", "", {"late": False, "sticky": 60.0}),
        ]:
            answer = running.http.request(method, path + what, json=body)
            assert answer.status_code == 200, answer.text
        for reward in (0.0, 1.0):
            told_all(running, path, 400, reward)
        corrections = {"corrections": [{"id": f"shop-{step}", "reward": 0.5} for step in (1, 2)]}
        assert running.http.post(f"{path}/correct", json=corrections).status_code == 200
        found = running.http.get("/v1/live/timeline?experiment=shop").json()
        for_guest = running.http.get(
            "/v1/live/timeline?experiment=shop", headers={"Authorization": f"Bearer {guest}"}
        ).json()
        assert running.http.get("/v1/live/timeline?experiment=none").status_code == 404
    kinds = [entry["kind"] for entry in found]
    assert kinds[:12] == [
        *("created", "arm", "arm", "arm", "arm", "forced", "forced", "held out", "policy", "settings", "settings"),
        "paused",
    ]
    assert kinds[12] == "resumed"
    assert [entry["settings"] for entry in found[13:16]] == [{"late": True}, {"late": False}, {"sticky": 60.0}]
    assert "alarm" in kinds
    assert [(entry["status"], entry["new"]) for entry in found[1:5]] == [
        ("on", True),
        ("off", False),
        ("on", False),
        ("removed", False),
    ]
    assert (found[8]["before"], found[8]["policy"]) == ("BreakEven", "UCB1")
    assert (found[9]["settings"], found[10]["settings"]) == ({"timeout": 60.0}, {"title": "A shop"})
    assert [entry["count"] for entry in found if entry["kind"] == "corrected"] == [2]
    assert {entry["who"] for entry in found if entry["kind"] not in ("alarm", "corrected")} == {"Ada"}
    assert not any("who" in entry for entry in for_guest)


def test_refunds_push_nothing_out_of_the_timeline(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are one entry a day, however many; nor do the notes of who made them hide those of who paused."""
    monkeypatch.setattr(timeline, "MOST", 30)  # fewer than there are refunds
    with serving() as running:
        clock = running.service.store.database.clock = Clock()
        clock.now = 20_000 * 86_400.0
        path = running.create("shop")
        running.on_loop(running.service.holdings.get("shop"))
        running.held("shop").session.clock = clock
        told_all(running, path, 100, 1.0)
        running.http.post(f"{path}/arms", json={"arm": "green"})
        running.http.post(f"{path}/pause")
        running.http.post(f"{path}/resume")
        for step in range(1, 101):
            clock.now += 1800.0
            running.held("shop").session.clock = clock
            body = {"corrections": [{"id": f"shop-{step}", "reward": 0.0}]}
            assert running.http.post(f"{path}/correct", json=body).status_code == 200
        found = running.http.get("/v1/live/timeline?experiment=shop").json()
    assert [entry["kind"] for entry in found] == ["created", "arm", "paused", "resumed", *["corrected"] * 3]
    assert [entry["count"] for entry in found if entry["kind"] == "corrected"] == [47, 48, 5]
    assert [entry["time"] for entry in found if entry["kind"] == "corrected"][-1] == clock.now


@pytest.mark.usefixtures("interpreted")
def test_the_fan_is_what_the_policy_forecasts() -> None:
    session = Session(db.BreakEven(), ["falls", "rises"], seed=1)
    for step in range(600):
        decision = session.ask()
        session.tell(decision, 0.9 - 0.0006 * step if decision.arm == "falls" else 0.2 + 0.0003 * step)
    now = session.belief()
    found = ahead_json(session, 600, (1, 0))
    assert found
    assert found["steps"][-1] == 120
    assert now.low is not None
    assert now.high is not None
    for place, arm in enumerate((1, 0)):
        widths = np.array(found["high"][place]) - np.array(found["low"][place])
        assert (np.diff(widths) > 0).all()  # what is not looked at becomes less certain
        assert widths[0] >= now.high[arm] - now.low[arm]
    assert found["mean"][1][-1] < found["mean"][1][0]
    session.add_arm("new")  # nothing is known of it yet
    ahead = session.belief(10).estimate
    assert ahead is not None
    assert np.isnan(ahead).tolist() == [False, False, True]


def test_the_next_crossing_is_told() -> None:
    session = Session(arms=["red", "blue"])
    view = View(session)
    assert view_json(view)[0]["crossing"] is None
    view.belief = Belief(crossing=Crossing(1, 0, 250))
    assert view_json(view)[0]["crossing"] == {"arm": "blue", "other": "red", "steps": 250}


def test_a_belief_that_takes_long_is_read_rarely() -> None:
    clock, looks = Clock(), list[float]()

    class Slow(Session):
        def belief(self, ahead: int = 0) -> Belief:
            began = time.thread_time()
            while time.thread_time() - began < 0.01:
                pass
            looks.append(clock.now)
            return super().belief(ahead)

    session = Slow(arms=["red", "blue"], clock=clock)
    session.journal = []
    view = View(session)
    for _ in range(100):
        session.ask_many(8)
        clock.now += views.LOOK
        view.apply(session.journal, session)
        session.journal = []
    assert min(np.diff(looks[1:]), default=np.inf) >= 0.01 * views.REST


def test_the_belief_is_that_of_the_last_events_soon_after_they_came() -> None:
    clock = Clock()
    session = Session(arms=["red", "blue"], clock=clock)
    session.journal, view = [], View(session)
    for _ in range(21):
        clock.now += views.LOOK / 100
        session.tell(session.ask(), 1.0)
        view.apply(session.journal, session)
        session.journal = []
    estimate = session.belief().estimate
    assert estimate is not None
    assert view.belief.estimate is None or not np.array_equal(view.belief.estimate, estimate)
    view.catch_up(session)
    assert view.looked < clock.now, "too early"
    clock.now += views.LONG_LOOK
    view.catch_up(session)
    assert view.belief.estimate is not None
    np.testing.assert_array_equal(view.belief.estimate, estimate)

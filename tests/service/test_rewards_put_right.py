"""One bad reward does not ruin an experiment, and the defaults do not fill up. On SQLite and PostgreSQL."""

from __future__ import annotations

import json
from typing import Any

import pytest

from driftbandits.live import session as live_session
from driftbandits.store.writers import Writers
from in_process import ask, serving, tell
from waiting import wait_until

TIGHT: dict[str, Any] = {"policy": "SnoozeItTight", "policy_settings": {"horizon": 10_000, "drift": 1e-5}}


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
                reward = 5.0 if path.endswith("bad") and step == 25 else step % 2 / 2 + 0.1
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
        restored, log = running.held("bad").session, list(running.service.store.history.events("bad"))
        assert restored.seq == len(log) == 83
        went_on = live_session.Session.restore(after)
        went_on.apply(log[-1])
        assert restored.snapshot() == went_on.snapshot()


def test_leases_renewed_while_rewards_are_corrected_are_not_taken_for_lost(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To fold the log anew the service takes over from itself."""
    with serving(url) as running:
        path = running.create()
        tell(running, path, ask(running, path)[0], 1)
        leases, plain = running.service.holdings.leases, Writers.correct

        def renewed_meanwhile(*given: Any) -> Any:
            writer = plain(*given)
            leases.renew()
            return writer

        monkeypatch.setattr(Writers, "correct", renewed_meanwhile)
        for reward in (0.5, None):
            body = {"corrections": [{"id": "button-1", "reward": reward}]}
            assert running.http.post(f"{path}/correct", json=body).status_code == 200
        held = running.held()
        leases.renew()
        assert running.http.get(path).json()["learnt"] == 0
        assert running.http.patch(path, json={"timeout": 60}).status_code == 200
        assert running.held() is held


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
        ask(running, path, 1)  # a tenth of what there may be
        assert "3 Decisions wait" in running.http.get(path).json()["warnings"][0]
        ask(running, path, 27)
        assert "30 Decisions wait" in running.http.get(path).json()["warnings"][0]
        assert running.http.post(f"{path}/ask").status_code == 422
        changed = running.http.patch(path, json={"timeout": 0.01, "default_reward": 0.5})
        assert (changed.status_code, changed.json()["timeout"], changed.json()["default_reward"]) == (200, 0.01, 0.5)
        wait_until(lambda: running.http.post(f"{path}/ask").status_code == 200, "old Decisions to be settled")
        assert running.http.patch(path, json={"reward_range": [1, 0]}).status_code == 422
        assert running.http.patch(path, json={"seed": 3}).status_code == 422
    with serving(url) as running:
        assert running.http.get(path).json()["timeout"] == 0.01

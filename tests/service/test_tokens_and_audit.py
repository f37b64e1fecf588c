"""Tokens for some experiments only, and the list of who did what."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from driftbandits.store import Store
from in_process import ARMS, serving
from waiting import wait_until


def test_a_token_for_some_experiments_sees_no_others(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'store.db'}"
    store = Store(url)
    for id in ("eu-1", "us-1"):
        store.create(id, arms=ARMS)
    secrets = {"all": store.tokens.add("all", "admin"), "none": "db_unknown"}
    secrets["eu"] = store.tokens.add("eu", "admin", experiments=["eu-*"])
    store.close()
    with serving(url) as running:

        def call(who: str, method: str, path: str, body: Any = None) -> Any:
            headers = {"Authorization": f"Bearer {secrets[who]}"}
            return running.http.request(method, path, json=body, headers=headers)

        listed = call("eu", "GET", "/v1/experiments").json()["experiments"]
        assert [each["id"] for each in listed] == ["eu-1"]
        assert len(call("all", "GET", "/v1/experiments").json()["experiments"]) == 2
        assert call("eu", "POST", "/v1/experiments/eu-1/ask").status_code == 200
        for method, path in (
            ("POST", "/v1/experiments/us-1/ask"),
            ("GET", "/v1/experiments/us-1"),
            ("GET", "/v1/experiments/us-1/export"),
            ("POST", "/v1/experiments/us-1/pause"),
            ("POST", "/v1/experiments/us-1/tell"),
            ("DELETE", "/v1/experiments/us-1?confirm=us-1"),
            ("GET", "/v1/live?experiment=us-1"),
            ("GET", "/metrics"),
            ("GET", "/v1/audit"),
        ):
            assert call("eu", method, path).status_code == 403, path
            assert call("none", method, path).status_code == 401, path
        assert call("eu", "POST", "/v1/experiments", {"id": "us-2", "arms": ARMS}).status_code == 403
        assert call("eu", "POST", "/v1/experiments", {"id": "eu-2", "arms": ARMS}).status_code == 201
        assert call("eu", "PATCH", "/v1/experiments/eu-2", {"timeout": 60}).status_code == 200
        assert call("eu", "DELETE", "/v1/experiments/eu-2").status_code == 422  # not asked twice
        assert call("eu", "DELETE", "/v1/experiments/eu-2?confirm=eu-2").status_code == 204
        assert call("eu", "POST", "/v1/experiments/eu-2/ask").status_code == 404
        assert call("all", "POST", "/v1/experiments/us-1/pause").status_code == 200
        deeds = call("all", "GET", "/v1/audit").json()
        assert [(deed["who"], deed["did"], deed["experiment"]) for deed in deeds] == [
            ("eu", "created", "eu-2"),
            ("eu", "changed", "eu-2"),
            ("eu", "deleted", "eu-2"),
            ("all", "paused", "us-1"),
        ]
        assert deeds[1]["details"] == {"timeout": 60.0}


def test_a_token_is_rotated_while_the_service_runs(tmp_path: Path) -> None:
    """The new one works beside the old one; then the old one is revoked, and no request was refused in between."""
    url = f"sqlite:///{tmp_path / 'store.db'}"
    store = Store(url)
    store.create("button", arms=ARMS)
    old = store.tokens.add("shop-1", "write")
    with serving(url) as running:

        def ask(secret: str) -> int:
            headers = {"Authorization": f"Bearer {secret}"}
            return int(running.http.post("/v1/experiments/button/ask", headers=headers).status_code)

        assert ask(old) == 200
        new = store.tokens.add("shop-2", "write")
        assert (ask(new), ask(old)) == (200, 200)
        store.tokens.revoke("shop-1")
        wait_until(lambda: ask(old) == 401, "the old token to be refused")
        assert ask(new) == 200
    store.close()

"""What must be refused is refused with the right status, and changes nothing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest

from driftbandits.errors import InputError
from driftbandits.service import Settings
from driftbandits.service.http import access
from driftbandits.service.http.access import auth_needed, first_token
from driftbandits.store import Store, Token
from driftbandits.store.tokens import Tokens
from in_process import ARMS, Running, serving

LONG = 4096


@pytest.fixture(scope="module")
def running() -> Iterator[Running]:
    with serving(most_body=LONG, most_batch=50) as running:
        running.create("button")
        running.create("other")
        running.http.post("/v1/experiments/button/ask_many", json={"count": 3})
        running.http.post("/v1/experiments/other/ask_many", json={"count": 9})
        running.http.post("/v1/experiments/button/tell", json={"id": "button-1", "reward": 0.5})
        yield running


def told(reward: str, id: str = "button-2") -> str:
    return f'{{"id": "{id}", "reward": {reward}}}'


REFUSED = [
    *[
        ("tell", told(value), 422, "input")
        for value in ("NaN", "Infinity", "-Infinity", "1e101", '"1"', "true", "null")
    ],
    ("tell", told("1", "button-4"), 404, "unknown_decision"),
    ("tell", told("1", "button-0"), 404, "unknown_decision"),
    ("tell", told("1", "button--1"), 404, "unknown_decision"),
    ("tell", told("1", "other-9"), 404, "unknown_decision"),
    ("tell", told("1", "2"), 404, "unknown_decision"),
    ("tell", told("1", "x" * 101), 422, "input"),
    ("tell", told("0.6", "button-1"), 409, "conflict"),
    ("tell", '{"id": "button-2"}', 422, "input"),
    ("tell", '{"id": "button-2", "reward": 1, "more": 2}', 422, "input"),
    ("tell", '{"id": "\\ud800", "reward": 1}', 422, "input"),
    ("tell", "", 422, "input"),
    ("tell", "[]", 422, "input"),
    ("tell", '{"id": "button-2", "reward": 1', 422, "input"),
    ("tell_many", '{"rewards": [' + told("1") + "," + told("NaN", "button-3") + "]}", 422, "input"),
    ("tell_many", '{"rewards": []}', 422, "input"),
    ("tell_many", json.dumps({"rewards": [{"id": "button-2", "reward": 1}] * 51}), 422, "input"),
    ("tell_many", json.dumps({"rewards": [{"id": "x" * 90, "reward": 1}] * 50}), 413, "too_large"),
    *[
        ("ask_many", f'{{"count": {count}}}', 422, "input")
        for count in (0, -1, 51, 1.5, '"1"', "true", "null", "1e400")
    ],
    ("ask_many", "", 422, "input"),
]


@pytest.mark.parametrize(("verb", "body", "status", "code"), REFUSED)
def test_bad_bodies(running: Running, verb: str, body: str, status: int, code: str) -> None:
    before = running.everything()
    for headers in ({}, {"Idempotency-Key": "any"}):
        response = running.http.post(
            f"/v1/experiments/button/{verb}",
            content=body.encode(errors="surrogatepass"),
            headers={"Content-Type": "application/json", **headers},
        )
        assert (response.status_code, response.json()["error"]) == (status, code)
        assert response.json()["message"]
    assert running.everything() == before


def test_a_body_that_does_not_say_how_long_it_is(running: Running) -> None:
    before = running.everything()
    pieces = (b'{"rewards": [' + b" " * 1000 for _ in range(10))
    response = running.http.post("/v1/experiments/button/tell_many", content=pieces)
    assert (response.status_code, response.json()["error"]) == (413, "too_large")
    assert running.http.post("/v1/experiments", content=(b" " * 1000 for _ in range(10))).status_code == 413
    assert running.everything() == before


NEW = {"id": "new", "arms": ARMS}


@pytest.mark.parametrize(
    ("declared", "status"),
    [
        (NEW | {"id": "button"}, 409),
        (NEW | {"id": "no spaces"}, 422),
        (NEW | {"id": "x" * 65}, 422),
        ({"id": "new"}, 422),
        (NEW | {"arms": []}, 422),
        (NEW | {"arms": ["red", "red"]}, 422),
        (NEW | {"arms": "red"}, 422),
        (NEW | {"arms": [""]}, 422),
        (NEW | {"arms": [str(i) for i in range(1001)]}, 413),
        (NEW | {"title": "a\0b"}, 422),
        (NEW | {"policy": "NoSuchPolicy"}, 422),
        (NEW | {"policy": "Oracle"}, 422),
        (NEW | {"policy": "SnoozeIt"}, 422),
        (NEW | {"policy": "SnoozeIt", "policy_settings": {"horizon": "x", "drift": 1e-5}}, 422),
        (NEW | {"policy": "SnoozeIt", "policy_settings": {"horizon": [1], "drift": 1e-5}}, 422),
        (NEW | {"policy": "SnoozeIt", "policy_settings": {"horizon": 1000, "drift": 1e-5, "wings": 2}}, 422),
        (NEW | {"timeout": 0}, 422),
        (NEW | {"timeout": "soon"}, 422),
        (NEW | {"drift": 2}, 422),
        (NEW | {"seed": -1}, 422),
        (NEW | {"seed": 2**64}, 422),
        (NEW | {"default_reward": "none"}, 422),
        (NEW | {"wings": 2}, 422),
    ],
)
def test_bad_declarations(running: Running, declared: dict[str, Any], status: int) -> None:
    before = running.everything()
    response = running.http.post("/v1/experiments", json=declared)
    assert response.status_code == status, response.text
    assert response.json()["message"]
    assert running.everything() == before


@pytest.mark.parametrize("verb", ["ask", "tell", "ask_many", "tell_many", "pause", "resume", "archive"])
@pytest.mark.parametrize("id", ["nobody", "a%00b", "..", "%2e%2e", "x" * 65])
def test_unknown_experiments(running: Running, verb: str, id: str) -> None:
    bodies: dict[str, Any] = {
        "tell": {"id": "nobody-1", "reward": 1},
        "ask_many": {"count": 1},
        "tell_many": {"rewards": [{"id": "nobody-1", "reward": 1}]},
    }
    before = running.everything()
    url = f"{running.url}/v1/experiments/{id}/{verb}"
    assert running.http.post(httpx.URL(url), json=bodies.get(verb)).status_code in (404, 405)
    assert running.everything() == before


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/v1/experiments/nobody", 404),
        ("/v1/experiments/nobody/explain/nobody-1", 404),
        ("/v1/experiments/button/explain/button-99", 404),
        ("/v1/experiments/button/explain/other-1", 404),
        ("/v1/experiments/nobody/export", 404),
        ("/v1/experiments/button/export?format=xls", 422),
        ("/v1/experiments?limit=0", 422),
        ("/v1/experiments/button/ask", 405),
        ("/nowhere", 404),
    ],
)
def test_refused_looks(running: Running, path: str, status: int) -> None:
    before = running.everything()
    response = running.http.get(path)
    assert (response.status_code, set(response.json())) == (status, {"error", "message"})
    assert running.everything() == before


def test_a_key_too_long_is_refused(running: Running) -> None:
    before = running.everything()
    headers = {"Idempotency-Key": "k" * 256}
    assert running.http.post("/v1/experiments/button/ask", headers=headers).status_code == 422
    assert running.http.post("/v1/experiments", json=NEW, headers=headers).status_code == 422
    assert running.everything() == before


# Who may

SCOPES = {"read": 0, "write": 1, "admin": 2}
NEEDS = [
    ("GET", "/v1/experiments", None, "read"),
    ("GET", "/v1/experiments/button", None, "read"),
    ("GET", "/v1/experiments/button/explain/button-1", None, "read"),
    ("GET", "/v1/experiments/button/export", None, "read"),
    ("GET", "/metrics", None, "read"),
    ("POST", "/v1/experiments/button/ask", None, "write"),
    ("POST", "/v1/experiments/button/ask_many", {"count": 1}, "write"),
    ("POST", "/v1/experiments/button/tell", {"id": "button-1", "reward": 1}, "write"),
    ("POST", "/v1/experiments/button/tell_many", {"rewards": [{"id": "button-1", "reward": 1}]}, "write"),
    ("POST", "/v1/experiments", {"id": "new", "arms": ARMS}, "admin"),
    ("POST", "/v1/experiments/button/pause", None, "admin"),
    ("POST", "/v1/experiments/button/resume", None, "admin"),
    ("POST", "/v1/experiments/button/archive", None, "admin"),
]


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Running, dict[str, str]]]:
    url = f"sqlite:///{tmp_path_factory.mktemp('guarded')}/file.db"
    store = Store(url)
    secrets = {scope: store.tokens.add(scope, scope) for scope in SCOPES}
    secrets["revoked"] = store.tokens.add("revoked", "admin")
    store.tokens.revoke("revoked")
    store.create("button", arms=ARMS)
    store.close()
    with serving(url) as running:
        running.http.post("/v1/experiments/button/ask", headers=bearer(secrets["write"]))
        yield running, secrets


def bearer(secret: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {secret}"}


@pytest.mark.parametrize(("method", "path", "body", "scope"), NEEDS)
def test_tokens_and_scopes(
    guarded: tuple[Running, dict[str, str]], method: str, path: str, body: Any, scope: str
) -> None:
    running, secrets = guarded
    before = running.everything()
    wrong: list[dict[str, str]] = [{}, bearer("db_unknown"), {"Authorization": "Bearer"}, bearer(secrets["revoked"])]
    wrong += [{"Authorization": "Basic eDp5"}, {"Authorization": secrets["admin"]}]
    for headers in wrong:
        refused = running.http.request(method, path, json=body, headers=headers)
        assert (refused.status_code, refused.headers["www-authenticate"]) == (401, "Bearer")
    for name, rank in SCOPES.items():
        if rank < SCOPES[scope]:
            refused = running.http.request(method, path, json=body, headers=bearer(secrets[name]))
            assert (refused.status_code, refused.json()["error"]) == (403, "forbidden")
    assert running.everything() == before
    assert running.http.request(method, path, json=body, headers=bearer(secrets[scope])).status_code in (200, 201)


def test_a_token_revoked_while_the_service_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is good for a few seconds more; to look up every token at every request would cost more than the request."""
    store = Store(f"sqlite:///{tmp_path}/file.db")
    secret = store.tokens.add("mine", "read")
    now, looked_up, token = 1000.0, list[str](), Tokens.find

    def counted(part: Tokens, secret: str) -> Token | None:
        looked_up.append(secret)
        return token(part, secret)

    monkeypatch.setattr(access, "time", SimpleNamespace(monotonic=lambda: now))
    monkeypatch.setattr(Tokens, "find", counted)
    with serving(store.url) as running:
        for _ in range(3):
            assert running.http.get("/v1/experiments", headers=bearer(secret)).status_code == 200
        store.tokens.revoke("mine")
        now += access.FRESH
        assert running.http.get("/v1/experiments", headers=bearer(secret)).status_code == 200
        assert looked_up == [secret]
        now += 0.1
        for _ in range(3):
            refused = running.http.get("/v1/experiments", headers=bearer(secret))
            assert (refused.status_code, refused.json()["error"]) == (401, "no_token")
        assert looked_up == [secret] * 4  # one that is no good is not remembered: there are too many of them
    store.close()


def test_guessed_tokens_do_not_fill_the_memory(
    guarded: tuple[Running, dict[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    running, secrets = guarded
    monkeypatch.setattr(access, "MOST_CACHED", 3)
    for guess in range(10):
        assert running.http.get("/v1/experiments", headers=bearer(f"guess {guess}")).status_code == 401
        assert len(running.service.access._known) <= 3
    lower = {"authorization": f"bearer {secrets['read']}"}  # names of schemes are the same in small letters
    assert running.http.get("/v1/experiments", headers=lower).status_code == 200


def test_probes_need_no_token(guarded: tuple[Running, dict[str, str]]) -> None:
    for path in ("/healthz", "/readyz", "/docs", "/openapi.json"):
        assert guarded[0].http.get(path).status_code == 200


def test_other_sites_pages_cannot_reach_a_service_without_tokens(running: Running) -> None:
    before = running.everything()
    for headers in ({"Origin": "https://evil.example"}, {"Host": "evil.example"}, {"Host": "[::"}, {"Origin": "null"}):
        assert running.http.post("/v1/experiments/button/ask", headers=headers).status_code == 403
        assert running.http.get("/v1/experiments", headers=headers).status_code == 403
    assert running.everything() == before
    assert running.http.get("/v1/experiments", headers={"Origin": "http://localhost:3000"}).status_code == 200


def test_when_tokens_are_needed() -> None:
    store = Store("sqlite://")
    for settings in (Settings(), Settings(host="0.0.0.0"), Settings(auth=True), Settings(host="0.0.0.0", auth=False)):
        with pytest.raises(InputError, match=r"token|--no-auth"):
            auth_needed(settings, store)
    assert first_token(Settings(auth=False), store) is None
    secret = first_token(Settings(), store)
    assert secret is not None
    assert store.tokens.find(secret).scope == "admin"  # type: ignore[union-attr]
    assert first_token(Settings(), store) is None  # once
    assert auth_needed(Settings(), store) is True
    assert auth_needed(Settings(auth=False), store) is False
    assert auth_needed(Settings(host="0.0.0.0"), store) is True
    with pytest.raises(InputError, match="--no-auth"):
        auth_needed(Settings(host="0.0.0.0", auth=False), store)
    store.close()

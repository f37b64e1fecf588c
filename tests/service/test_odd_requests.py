"""Requests that are odd, and not wrong enough to be a bug of ours: each is told what is wrong, or is understood."""

from __future__ import annotations

import csv
import io
import json
import re
import socket
import time
from collections.abc import Iterator
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from structlog.testing import capture_logs

import postgres
from driftbandits.offline.log import read_log
from driftbandits.policies import POLICIES
from driftbandits.service.core.invalid import explain_invalid
from in_process import ARMS, Running, serving
from waiting import wait_until

HUGE = ["9" * 20, "9" * 40, "9" * 400, "9" * 5000, "1e400", "-1e400", "-" + "9" * 40, "1e30"]


@pytest.fixture(params=["sqlite", "postgresql"], scope="module")
def running(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    if request.param == "sqlite":
        with serving(f"sqlite:///{tmp_path_factory.mktemp('odd')}/store.db") as found:
            found.http.post(f"{found.create()}/ask")
            yield found
    else:
        with postgres.database() as url, serving(url) as found:
            found.http.post(f"{found.create()}/ask")
            yield found


@pytest.mark.parametrize("number", HUGE)
def test_numbers_that_no_column_holds(running: Running, number: str) -> None:
    """In queries, paths and bodies; nothing changes, and the store is not blamed."""
    before, path, absurd = running.everything(), "/v1/experiments/button", abs(float(number)) > 1e100
    for query in (
        f"/v1/audit?after={number}",
        f"/v1/audit?limit={number}",
        f"/v1/experiments?limit={number}",
        f"{path}/export?since={number}",
    ):
        refused = running.http.get(query)
        assert (refused.status_code, refused.json()["error"]) == (422, "input"), (query, refused.text)
    id = f"button-{number}"
    assert running.http.get(f"{path}/explain/{id}").status_code == 404
    bodies = {
        "tell": [f'{{"id": "{id}", "reward": 1}}', f'{{"id": "button-1", "reward": {number}}}'],
        "tell_many": [f'{{"rewards": [{{"id": "button-1", "reward": {number}}}]}}'],
        "ask_many": [f'{{"count": {number}}}'],
        "ask": [f'{{"metadata": {{"x": {number}}}, "unit": {number}}}'],
        "correct": [
            f'{{"corrections": [{{"id": "{id}", "reward": 1}}]}}',
            f'{{"corrections": [{{"id": "button-1", "reward": {number}}}]}}',
        ],
    }
    sent = [("POST", f"{path}/{verb}", body) for verb, texts in bodies.items() for body in texts]
    for name in ("seed", "timeout", "keep", "sticky", "explore", "drift", "default_reward"):
        sent.append(("POST", "/v1/experiments", f'{{"id": "new", "arms": ["a", "b"], "{name}": {number}}}'))
        sent.append(("PATCH", path, f'{{"{name}": {number}}}'))
    sent.append(("PUT", f"{path}/holdout", f'{{"share": {number}, "arm": "red"}}'))
    for method, where, body in sent:
        answer = running.http.request(method, where, content=body)
        # A reward of 1e40 is one; numbers that are too large for that change nothing.
        assert answer.status_code in ((404, 422) if absurd else (200, 201, 404, 409, 422)), (where, body, answer.text)
        assert answer.status_code < 400 or len(answer.json()["message"]) < 700
        if answer.status_code == 201:
            assert running.http.delete("/v1/experiments/new?confirm=new").status_code == 204
    assert not absurd or running.everything() == before


def test_an_audit_is_read_to_its_end_and_beyond(running: Running) -> None:
    for after in (2**31 - 1, 2**31, 2**62, 2**63 - 1):
        answer = running.http.get(f"/v1/audit?after={after}")
        assert (answer.status_code, answer.json()) == (200, [])


@pytest.mark.parametrize("name", sorted(POLICIES))
def test_settings_of_policies_that_are_no_numbers_to_them(running: Running, name: str) -> None:
    settings: dict[str, Any] = {"horizon": 1000, "drift": 1e-5}
    known = [field.name for field in fields(POLICIES[name]) if field.default is MISSING]  # type: ignore[arg-type]
    good = {key: settings.get(key, 2) for key in known}
    for field in fields(POLICIES[name]):  # type: ignore[arg-type]
        for number in ("1e400", "9" * 40, "-" + "9" * 40, "-1", "0", '"x"', "[]", "null", "true", "0.5"):
            text = json.dumps(good | {field.name: "HERE"}).replace('"HERE"', number)
            body = f'{{"id": "new", "arms": ["a", "b"], "policy": "{name}", "policy_settings": {text}}}'
            answer = running.http.post("/v1/experiments", content=body)
            assert answer.status_code in (201, 422), (body, answer.text)
            if answer.status_code == 201:
                assert running.http.delete("/v1/experiments/new?confirm=new").status_code == 204


# Bodies


@pytest.mark.parametrize("kind", ["application/x-www-form-urlencoded", "text/plain", "application/json", "", None, "x"])
def test_a_body_is_json_whatever_its_content_type_says(running: Running, kind: str | None) -> None:
    """As ``curl -d`` sends it; in every request alike."""
    headers = {} if kind is None else {"Content-Type": kind}

    def send(method: str, path: str, body: Any) -> int:
        return running.http.request(method, path, content=json.dumps(body), headers=headers).status_code

    path = "/v1/experiments/curl"
    assert send("POST", "/v1/experiments", {"id": "curl", "arms": ARMS}) == 201
    assert send("POST", f"{path}/ask", {"unit": "user-1"}) == 200
    assert send("POST", f"{path}/tell", {"id": "curl-1", "reward": 1}) == 200
    assert send("POST", f"{path}/arms", {"arm": "green"}) == 200
    assert send("PATCH", f"{path}/arms", {"arm": "green", "status": "off"}) == 200
    assert send("PUT", f"{path}/force", {"arm": "red"}) == 200
    assert send("PUT", f"{path}/holdout", {"share": 0.1, "arm": "red"}) == 200
    assert send("PATCH", path, {"timeout": 60}) == 200
    assert send("POST", f"{path}/correct", {"corrections": [{"id": "curl-1", "reward": 0}]}) == 200
    assert send("POST", f"{path}/erase", {"unit": "user-1"}) == 200
    assert running.http.delete(f"{path}?confirm=curl").status_code == 204


@pytest.mark.parametrize("verb", ["/button/ask", "/button/tell", "/button/arms", ""])
def test_bodies_that_are_packed_or_in_parts(running: Running, verb: str) -> None:
    before, path = running.everything(), f"/v1/experiments{verb}"
    for encoding in ("gzip", "br", "deflate", "identity, gzip"):
        refused = running.http.post(path, content=b"\x1f\x8b", headers={"Content-Encoding": encoding})
        assert (refused.status_code, refused.json()["error"]) == (415, "unsupported")
        assert "uncompressed" in refused.json()["message"]
    refused = running.http.post(path, files={"body": b"{}"})
    assert (refused.status_code, refused.json()["error"]) == (415, "unsupported")
    assert "multipart" in refused.json()["message"]
    assert running.everything() == before
    same = running.http.post("/v1/experiments/button/ask", headers={"Content-Encoding": "Identity"})
    assert same.status_code == 200


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ('{"id": "new" "arms": []}', "delimiter|expected `,`"),
        ("{'id': 1}", "enclosed in double quotes|key must be a string"),
        ('{"id": ', "expecting value|EOF"),
        ("id=new", "expecting value|expected"),
        ('{"id": "x"} more', "extra data|trailing"),
    ],
)
@pytest.mark.parametrize("verb", ["/button/tell", "/button/ask", "/button/arms", ""])
def test_what_is_not_json_is_told_where(running: Running, verb: str, body: str, reason: str) -> None:
    refused = running.http.post(f"/v1/experiments{verb}", content=body)
    assert (refused.status_code, refused.json()["error"]) == (422, "input")
    message = refused.json()["message"]
    assert message.startswith("the body is not JSON (")
    assert re.search(reason, message), message
    assert re.search(r"at (character|line 1 column) \d+\)", message), message
    assert "jSON" not in message


def test_a_body_that_is_missing(running: Running) -> None:
    for verb in ("/button/tell", "/button/arms", "", "/button/ask_many"):
        refused = running.http.post(f"/v1/experiments{verb}")
        assert refused.status_code == 422
        assert refused.json()["message"] == "the body is missing: send an object of JSON"


def test_words_of_capitals_stay_so() -> None:
    found = [{"type": "value_error", "loc": ("body", "url"), "msg": "URL is too long", "input": "x"}]
    assert explain_invalid(found) == "url: URL is too long; got 'x'"


# Sites, tables, clocks


def test_every_method_may_be_called_from_allowed_sites() -> None:
    with serving(cors_origin="https://shop.example") as running:
        paths = running.http.get("/openapi.json").json()["paths"]
        for path, methods in paths.items():
            for method in methods:
                asks = {"Origin": "https://shop.example", "Access-Control-Request-Method": method.upper()}
                asks["Access-Control-Request-Headers"] = "authorization,content-type,idempotency-key"
                assert running.http.options(path.format(experiment="x", decision="x"), headers=asks).status_code == 200


FORMULAS = ["=1+1", "+1", "-1", "@SUM(A1)", "'", "'=1", "''", "-0.5", "red", "a=b", '=A("x","y")']


def test_a_spreadsheet_finds_no_formula_and_what_is_read_back_is_the_same(tmp_path: Path) -> None:
    with serving(f"sqlite:///{tmp_path}/store.db") as running:
        path = running.create(arms=FORMULAS, explore=1.0, timeout=None)
        decisions = running.http.post(f"{path}/ask_many", json={"count": 300, "metadata": [{"=x": "=1"}] * 300}).json()
        rewards = [{"id": each["id"], "reward": -0.5} for each in decisions["decisions"]]
        running.http.post(f"{path}/tell_many", json={"rewards": rewards})
        served = running.http.get(f"{path}/export?format=csv").text
        files = {}
        for format in ("csv", "jsonl", "parquet"):
            files[format] = tmp_path / f"log.{format}"
            running.service.store.history.export("button", files[format])
    assert files["csv"].read_bytes().decode() == served
    rows = list(csv.DictReader(io.StringIO(served, newline="")))
    assert {row["arm"] for row in rows} == {f"'{arm}" if arm[0] in "='+-@" else arm for arm in FORMULAS}
    assert {row["reward"] for row in rows} == {"-0.5"}  # a number is no formula
    for row in rows:
        assert not any(cell[:1] in ("=", "+", "@", "\t", "\r") for cell in row.values())
    logs = [read_log(file) for file in files.values()]
    assert sorted(logs[0].names) == sorted(FORMULAS)
    for log in logs[1:]:
        assert log.names == logs[0].names
        assert log.arms.tolist() == logs[0].arms.tolist()
        assert log.rewards.tolist() == logs[0].rewards.tolist()
    assert set(pl.read_parquet(files["parquet"])["arm"]) == set(FORMULAS)


def test_a_clock_that_jumps_makes_no_lease_old(tmp_path: Path) -> None:
    with serving(f"sqlite:///{tmp_path}/store.db", lease=3600) as running:
        running.create()
        running.service.store.database.clock = lambda: time.time() + 4e7
        (line,) = [
            line
            for line in running.http.get("/metrics").text.splitlines()
            if line.startswith("driftbandits_lease_age_seconds ")
        ]
        assert 0 <= float(line.split()[1]) < 600


def test_paths_in_the_access_log_are_cut(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with serving(access_log=True) as running:
        running.http.get("/" + "x" * 8000)
    (line,) = [json.loads(line) for line in capsys.readouterr().err.splitlines() if '"event":"request"' in line]
    assert len(line["path"]) < 400
    assert line["path"].endswith("...")


def test_one_who_goes_away_in_the_middle_of_a_body_is_no_bug() -> None:
    with serving() as running, capture_logs() as said:
        for path in (f"{running.create()}/tell", "/v1/experiments"):
            before = running.server.server_state.total_requests
            with socket.create_connection(("127.0.0.1", int(running.url.rpartition(":")[2]))) as client:
                client.sendall(f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100\r\n\r\n{{".encode())
                wait_until(lambda: len(running.server.server_state.tasks) == 1, "the request to begin")
            wait_until(lambda: not running.server.server_state.tasks, "the request to end")
            assert running.server.server_state.total_requests == before
    assert [line for line in said if line["log_level"] in ("error", "critical")] == []

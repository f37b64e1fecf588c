"""What speaks against an experiment is in its ``warnings``; what Python warns of is a line of the JSON log."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import driftbandits as db
import systems
from driftbandits.client import Client
from in_process import Running, serving
from waiting import INTERPRETED, PATIENCE, started

IMPOSSIBLE = {"policy": "SnoozeIt", "policy_settings": {"horizon": 1_000, "drift": 0.01}}
SAID = "SnoozeIt (modified) can never snooze at T=1,000, drift=0.01, confidence=1"


@pytest.fixture
def running() -> Iterator[Running]:
    with serving("sqlite://") as running:
        yield running


def test_a_policy_that_cannot_snooze_is_warned_of_in_the_answer(running: Running) -> None:
    body: dict[str, Any] = {"id": "never", "arms": ["red", "blue"], **IMPOSSIBLE}
    for key in (None, "key-1"):
        made = running.http.post("/v1/experiments", json=body, headers={"Idempotency-Key": key} if key else {})
        assert made.status_code == 201
        assert [warning.partition(":")[0] for warning in made.json()["warnings"]] == [SAID]
        body = {**body, "id": "again"}
    for path in ("never", "again"):
        assert running.http.get(f"/v1/experiments/{path}").json()["warnings"] == made.json()["warnings"]
    listed = running.http.get("/v1/experiments").json()["experiments"]
    assert [each["warnings"] for each in listed] == [made.json()["warnings"]] * 2
    good = {"id": "good", "arms": ["red", "blue"], "policy": "SnoozeIt"}
    made = running.http.post("/v1/experiments", json=good | {"policy_settings": {"horizon": 10**6, "drift": 1e-7}})
    assert (made.status_code, made.json()["warnings"]) == (201, [])
    changed = running.http.patch("/v1/experiments/good", json=IMPOSSIBLE)
    assert [warning.partition(":")[0] for warning in changed.json()["warnings"]] == [SAID]


def test_an_experiment_whose_horizon_is_over_says_so(running: Running) -> None:
    told = {"policy": "DriftUCB", "policy_settings": {"horizon": 3, "drift": 1e-4}}
    running.http.post("/v1/experiments", json={"id": "short", "arms": ["red", "blue"], **told})
    for number in range(1, 4):
        assert running.http.get("/v1/experiments/short").json()["warnings"] == []
        running.http.post("/v1/experiments/short/ask")
        running.http.post("/v1/experiments/short/tell", json={"id": f"short-{number}", "reward": 1.0})
    warnings = running.http.get("/v1/experiments/short").json()["warnings"]
    assert [warning.partition(",")[0] for warning in warnings] == [
        "DriftUCB was told horizon=3 and has learnt 3 rewards"
    ]


@systems.signals
def test_every_line_of_the_log_is_json(tmp_path: Path) -> None:
    words = ("-m", "driftbandits", "serve", "--store", f"sqlite:///{tmp_path}/file.db", "--port", "0", "--no-auth")
    with started(*words, stderr=subprocess.PIPE, env=INTERPRETED) as process:
        assert process.stderr
        first = process.stderr.readline()
        with Client(json.loads(first)["url"], patience=PATIENCE) as client:
            client.create("never", arms=["red", "blue"], **IMPOSSIBLE)
            told = {"policy": "DriftUCB", "policy_settings": {"horizon": 1, "drift": 1e-4}}
            client.create("short", arms=["red", "blue"], **told)
            short = client.open("short")
            short.tell(short.ask(), 1.0)
            short.ask()
        process.send_signal(signal.SIGTERM)
        _, rest = process.communicate()
    lines = [json.loads(line) for line in rest.splitlines()]
    warned = [line for line in lines if line.get("category") == db.FeasibilityWarning.__name__]
    assert {line["level"] for line in warned} == {"warning"}
    assert {line["event"].partition(":")[0] for line in warned} == {
        SAID,
        "DriftUCB was told horizon=1 and has learnt 1 rewards, beyond which it was not tuned",
    }
    assert len(warned) <= 4, "the same is not said with every request"
    assert all(line["where"].rpartition(":")[2].isdigit() and line["timestamp"] for line in warned)

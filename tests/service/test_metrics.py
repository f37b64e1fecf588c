"""What /metrics shows, and that the alert rules and the Grafana dashboard ask for nothing else."""

from __future__ import annotations

import asyncio
import json
import math
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]
from prometheus_client.parser import text_string_to_metric_families

from driftbandits.service.core.arm_metrics import ArmMetrics
from in_process import Running, serving

DEPLOY = Path(__file__).parents[2] / "deploy"


@pytest.fixture(scope="module")
def running() -> Iterator[Running]:
    with serving(most_arms_shown=5) as running:
        yield running


def samples(running: Running) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    families = text_string_to_metric_families(running.http.get("/metrics").text)
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in families
        for sample in family.samples
    }


def test_arms_of_the_experiments_used_last_are_shown(running: Running) -> None:
    for name in ("old", "middle", "new"):
        path = running.create(name, drift=1e-6)
        asked = running.http.post(f"{path}/ask_many", json={"count": 600}).json()["decisions"]
        # The means jump by 1 after half of the steps: no such drift was declared.
        told = [{"id": each["id"], "reward": 10.0 + (each["step"] > 300)} for each in asked[:-1]]
        running.http.post(f"{path}/tell_many", json={"rewards": told})
    found = samples(running)
    arms = {labels for name, labels in found if name == "driftbandits_arm_asks_total"}
    assert {dict(labels)["experiment"] for labels in arms} == {"middle", "new"}
    assert found["driftbandits_hidden_experiments", ()] == 1

    def total(name: str) -> float:
        return sum(value for (each, labels), value in found.items() if each == name and ("experiment", "new") in labels)

    assert total("driftbandits_arm_asks_total") == 600
    assert total("driftbandits_arm_rewards_total") == 599
    assert total("driftbandits_arm_recent_share") == pytest.approx(1)
    counts = {labels: value for (name, labels), value in found.items() if name == "driftbandits_arm_rewards_total"}
    mean = sum(
        found["driftbandits_arm_recent_mean", labels] * counts[labels] for labels in counts if labels[1][1] == "new"
    )
    assert mean / 599 == pytest.approx((300 * 10 + 299 * 11) / 599)
    assert total("driftbandits_drift_alarms_total") >= 1
    assert found["driftbandits_open_decisions", ()] == 3
    assert found["driftbandits_group_events_sum", ()] == 3 * 1199
    assert found["driftbandits_request_seconds_count", (("route", "ask_many"),)] == 3
    assert found["driftbandits_waiting_requests", ()] == 0
    assert found["process_resident_memory_bytes", ()] > 0


def test_no_arms_can_be_shown(running: Running) -> None:
    none = ArmMetrics(0)
    asyncio.run(none.look(list(running.service.holdings.held.values())))
    assert not [sample for family in none.collect() for sample in family.samples if sample.name.endswith("asks_total")]


def names_in(expression: str) -> set[str]:
    return set(re.findall(r"\b(?:driftbandits|process)_\w+", expression))


def test_rules_and_dashboard_ask_for_what_there_is(running: Running) -> None:
    running.http.post(f"{running.create('asked')}/ask")
    there = {name for name, _ in samples(running)}
    rules = yaml.safe_load((DEPLOY / "alerts.yml").read_text())["groups"][0]["rules"]
    board: dict[str, Any] = json.loads((DEPLOY / "grafana.json").read_text())
    queries = [target["expr"] for panel in board["panels"] for target in panel.get("targets", [])]
    variables = [each["definition"] for each in board["templating"]["list"] if "definition" in each]
    asked = set[str]().union(*(names_in(text) for text in [*queries, *variables, *(rule["expr"] for rule in rules)]))
    assert len(asked) > 25
    assert asked - there == set()
    ours = {name for name in there if name.startswith("driftbandits_") and not name.endswith("_created")}
    own = {re.sub(r"_(bucket|count|sum)$", "", name) for name in ours}
    shown = {re.sub(r"_(bucket|count|sum)$", "", name) for name in asked}
    assert own - shown == {"driftbandits_commit_events"}  # of one experiment; all others are shown or watched
    boxes = [panel["gridPos"] for panel in board["panels"]]
    cells = [
        (x, y)
        for box in boxes
        for x in range(box["x"], box["x"] + box["w"])
        for y in range(box["y"], box["y"] + box["h"])
    ]
    assert len(cells) == len(set(cells)), "panels lie over each other"
    assert max(x for x, _ in cells) < 24


NEEDS_PROMTOOL = pytest.mark.skipif(
    shutil.which("promtool") is None, reason="install prometheus: its promtool checks rules"
)


@NEEDS_PROMTOOL
def test_promtool_takes_rules_queries_and_metrics(running: Running, tmp_path: Path) -> None:
    board = json.loads((DEPLOY / "grafana.json").read_text())
    queries = [target["expr"] for panel in board["panels"] for target in panel.get("targets", [])]
    as_rules = [{"record": f"query_{index}", "expr": _filled(expr)} for index, expr in enumerate(queries)]
    (tmp_path / "queries.yml").write_text(json.dumps({"groups": [{"name": "queries", "rules": as_rules}]}))
    for rules in (DEPLOY / "alerts.yml", tmp_path / "queries.yml"):
        done = subprocess.run(["promtool", "check", "rules", rules], capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
    text = running.http.get("/metrics").text
    done = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


TROUBLES = {
    "DriftbanditsDown": ("up", "", "1x30 0x60"),
    "DriftbanditsCommitsFail": ("driftbandits_failed_commits_total", "", "0x30 1x60"),
    "DriftbanditsCommitHangs": ("driftbandits_writing_seconds", "", "0x30 6x60"),
    "DriftbanditsLeasesNotRenewed": ("driftbandits_lease_age_seconds", "", "5x30 12x60"),
    "DriftbanditsRefuses": ("driftbandits_responses_total", "503", "0x30 0+120x60"),
    "DriftbanditsBug": ("driftbandits_responses_total", "500", "0x30 1x60"),
    "DriftbanditsSlowAsks": ("driftbandits_request_seconds_bucket", "+Inf", "0x30 0+9x60"),
    "DriftbanditsOpenDecisions": ("driftbandits_open_decisions", "", "0x30 100001x60"),
    "DriftbanditsNoRewards": ("driftbandits_asks_total", "", "0x5 0+9x85"),
    "DriftbanditsDrift": ("driftbandits_drift_alarms_total", "button", "0x30 1x60"),
    "DriftbanditsRetentionBehind": ("driftbandits_retention_left_seconds", "", "0x30 700000x60"),
    "DriftbanditsFiles": ("process_open_fds", "", "40x30 900000x60"),
}
"""What of a new service's metrics is seen a minute apart, for half an hour and after, and the alert that must come."""


@NEEDS_PROMTOOL
def test_each_alert_fires_when_it_should_and_only_then(tmp_path: Path) -> None:
    with serving() as new:
        new.http.get(new.create() + "/lift")  # loaded, and never asked
        fresh = {key: value for key, value in samples(new).items() if not math.isnan(value)}
    fresh["up", ()] = 1
    rules = yaml.safe_load((DEPLOY / "alerts.yml").read_text())["groups"][0]["rules"]
    assert {rule["alert"] for rule in rules} == set(TROUBLES)
    tests = []
    for alert, (metric, label, values) in TROUBLES.items():
        changed = {key for key in fresh if key[0] == metric and (not label or label in dict(key[1]).values())}
        assert changed, f"a new service does not show {metric} {label}, and what appears has not grown"
        shown = {key: values if key in changed else f"{value}x90" for key, value in fresh.items()}
        firing = 'count by (alertname) (ALERTS{alertstate="firing"})'
        found = [{"labels": f'{{alertname="{alert}"}}', "value": 1}]
        ends = alert in ("DriftbanditsCommitsFail", "DriftbanditsBug")  # by itself, when nothing more happens
        tests.append(
            {
                "name": alert,
                "interval": "1m",
                "input_series": [{"series": _series(*key), "values": each} for key, each in shown.items()],
                "promql_expr_test": [
                    {"expr": firing, "eval_time": "30m", "exp_samples": []},
                    {"expr": firing, "eval_time": "32m" if ends else "89m", "exp_samples": found},
                ],
            }
        )
    made = {"rule_files": [str(DEPLOY / "alerts.yml")], "evaluation_interval": "1m", "tests": tests}
    (tmp_path / "tests.yml").write_text(json.dumps(made))
    done = subprocess.run(["promtool", "test", "rules", tmp_path / "tests.yml"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def _series(name: str, labels: tuple[tuple[str, str], ...]) -> str:
    named = {**dict(labels), "job": "driftbandits", "instance": "here"}
    return f"{name}{{{', '.join(f'{key}={json.dumps(value)}' for key, value in named.items())}}}"


def _filled(query: str) -> str:
    """As Grafana sends it."""
    return query.replace("$__rate_interval", "5m").replace("$instance", ".*").replace("$experiment", ".*")

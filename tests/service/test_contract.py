"""The OpenAPI description: a client generated from it, its examples, its scopes, and the reference at /docs."""

from __future__ import annotations

import hashlib
import importlib
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from browser import open_browser, open_context
from driftbandits.service.http import reference
from driftbandits.store import Store
from in_process import Running, serving

SCOPES = ["read", "write", "admin"]


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Running, dict[str, str]]]:
    url = f"sqlite:///{tmp_path_factory.mktemp('contract')}/file.db"
    store = Store(url)
    secrets = {scope: store.tokens.add(scope, scope) for scope in SCOPES}
    store.close()
    with serving(url, root_path="/bandits") as running:
        yield running, secrets


def operations(running: Running) -> Iterator[tuple[str, str, dict[str, Any]]]:
    found = running.http.get("/openapi.json").json()
    for path, methods in found["paths"].items():
        for method, operation in methods.items():
            yield method, path.format(experiment="button", decision="button-1"), operation


def test_a_generated_client_works(
    guarded: tuple[Running, dict[str, str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    running, secrets = guarded
    (tmp_path / "openapi.json").write_text(running.http.get("/openapi.json").text)
    (tmp_path / "config.yml").write_text("post_hooks: []\n")  # which make it pretty, and take longer than all else
    command = [str(Path(sys.executable).with_name("openapi-python-client")), "generate", "--path", "openapi.json"]
    command += ["--meta", "none", "--output-path", "bandits_client", "--config", "config.yml", "--fail-on-warning"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    monkeypatch.syspath_prepend(str(tmp_path))
    client, models = importlib.import_module("bandits_client"), importlib.import_module("bandits_client.models")

    def call(module: str, *arguments: Any, **named: Any) -> Any:
        return importlib.import_module(f"bandits_client.api.{module}").sync(*arguments, client=signed, **named)

    signed = client.AuthenticatedClient(f"{running.url}/bandits", token=secrets["admin"])
    made = call("experiments.create_experiment", body=models.NewExperiment("generated", ["red", "blue"], sticky=60.0))
    assert (made.id, made.timeout, made.default_reward) == ("generated", 86_400.0, 0.0)
    high = models.NewExperiment("high", ["red", "blue"], reward_range=[5.0, 10.0])
    assert call("experiments.create_experiment", body=high).default_reward == 5.0  # what is not given is not sent
    decision = call("decisions.ask", "generated", idempotency_key="once")
    assert call("decisions.ask", "generated", idempotency_key="once") == decision
    assert call("decisions.tell", "generated", body=models.Tell(decision.id, 1.0)).outcome == models.Outcome.NEW
    same = {call("decisions.ask", "generated", body=models.Ask(unit="user-17")).arm for _ in range(9)}
    assert len(same) == 1
    assert call("experiments.erase_unit", "generated", body=models.Erase("user-17")).decisions == 9
    many = call("decisions.ask_many", "generated", body=models.AskMany(2)).decisions
    told = call("decisions.tell_many", "generated", body=models.TellMany([models.Tell(d.id, 0.5) for d in many]))
    assert told.outcomes == ["new", "new"]
    why = call("decisions.explain", "generated", decision.id)
    assert [view.arm for view in why.arms] == ["red", "blue"]
    assert isinstance(why.arms[0].probability, float)
    changed = call("experiments.change_experiment", "generated", body=models.Changes(timeout=60.0))
    assert (changed.timeout, changed.default_reward) == (60.0, 0.0)
    assert call("experiments.list_policies")[0].name == "BreakEven"
    assert call("experiments.export_experiment", "generated").count("\n") == 12
    assert call("operations.check_readiness").status == "ready"
    assert call("operations.list_deeds")[0].did == "created"
    refused = call("decisions.ask", "nobody")
    assert isinstance(refused, models.Error)
    assert refused.error == "unknown_experiment"
    assert call("experiments.delete_experiment", "generated", confirm="generated") is None
    assert call("experiments.get_experiment", "generated").error == "unknown_experiment"
    signed.get_httpx_client().close()


def test_every_operation_needs_the_scope_it_names_and_its_example_works(
    guarded: tuple[Running, dict[str, str]],
) -> None:
    running, secrets = guarded
    schemas = running.http.get("/openapi.json").json()["components"]["schemas"]
    all_of_them = sorted(operations(running), key=lambda each: (each[2]["operationId"] != "create_experiment",))
    all_of_them.sort(key=lambda each: each[0] == "delete")
    for method, path, operation in all_of_them:
        about = f"{method} {path}"
        assert operation["tags"][0] in ("Decisions", "Experiments", "Operations"), about
        body = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
        example = body and schemas[body["$ref"].rpartition("/")[2]]["examples"][0]
        url = f"{path}?confirm=button" if method == "delete" else path

        def send(secret: str | None, method: str = method, url: str = url, example: Any = example) -> int:
            headers = {} if secret is None else {"Authorization": f"Bearer {secret}"}
            return running.http.request(method, url, json=example, headers=headers).status_code

        if not operation["security"]:
            assert send(None) == 200, about
            continue
        (scope,) = operation["security"][0]["token"]
        assert send(None) == 401, about
        for less in SCOPES[: SCOPES.index(scope)]:
            assert send(secrets[less]) == 403, about
        assert 200 <= send(secrets[scope]) < 300, about
        if operation["operationId"] == "archive_experiment":
            running.http.post(
                path.replace("archive", "resume"), headers={"Authorization": f"Bearer {secrets['admin']}"}
            )


def test_without_tokens_the_description_asks_for_none() -> None:
    with serving() as running:
        found = running.http.get("/openapi.json").json()
    assert "securitySchemes" not in found["components"]
    assert not any("security" in operation for methods in found["paths"].values() for operation in methods.values())


def test_swagger_ui_is_as_published_and_reaches_those_who_cannot_unpack_it(
    guarded: tuple[Running, dict[str, str]],
) -> None:
    written = re.findall(r"^([0-9a-f]{64})  (\S+)$", (reference.FOLDER / "README.md").read_text(), re.M)
    assert len(written) == 2
    for encoding in ("gzip", "identity"):
        for digest, name in written:
            answer = guarded[0].http.get(f"/docs/{name}", headers={"Accept-Encoding": encoding})
            assert answer.headers.get("content-encoding", "identity") == encoding
            assert answer.headers["x-content-type-options"] == "nosniff"
            assert hashlib.sha256(answer.content).hexdigest() == digest
    for name in ("..%2Freference.py", "README.md", "swagger-ui.css.gz", "none.js"):
        assert guarded[0].http.get(f"/docs/{name}").status_code == 404


@pytest.mark.parametrize("path", ["/docs", "/docs/start.js", "/docs/page.css"])
def test_the_reference_may_load_nothing_from_elsewhere(guarded: tuple[Running, dict[str, str]], path: str) -> None:
    headers = guarded[0].http.get(path).headers
    assert headers["content-security-policy"].startswith("default-src 'none'; script-src 'self'; ")
    assert "unsafe" not in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"


def test_the_reference_can_be_tried_with_a_token(guarded: tuple[Running, dict[str, str]]) -> None:
    running, secrets = guarded
    asked: list[str] = []
    complaints: list[str] = []
    with open_browser() as browser:
        page = open_context(browser, viewport={"width": 360, "height": 740}, color_scheme="dark").new_page()
        page.on("request", lambda request: asked.append(request.url))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda said: complaints.append(said.text) if said.type in ("error", "warning") else None)
        page.goto(f"{running.url}/bandits/docs")
        page.get_by_role("button", name="Authorize").first.click()
        page.locator("#auth-bearer-value").fill(secrets["admin"])
        page.get_by_role("button", name="Apply credentials").click()
        page.get_by_role("button", name="Close", exact=True).click()
        opened = page.locator("#operations-Experiments-create_experiment")
        opened.get_by_role("button").first.click()
        opened.locator("textarea").fill(json.dumps({"id": "tried", "arms": ["red", "blue"]}))
        opened.get_by_role("button", name="Execute").click()
        expect(opened.locator(".live-responses-table .response-col_status").last).to_contain_text("201")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert page.evaluate("document.documentElement.classList.contains('dark-mode')")
    assert list(running.service.store.experiments.get("tried").arms) == ["red", "blue"]
    assert all(url.startswith((f"{running.url}/bandits/", "data:")) for url in asked), asked
    assert not complaints

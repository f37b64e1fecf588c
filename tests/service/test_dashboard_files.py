"""The page's own files, and what it may ask for; without a browser."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path

import pytest

from driftbandits.service.dashboard import routes
from driftbandits.store import Store
from in_process import Running, serving


def test_the_page_may_load_nothing_but_its_own_files(running: Running) -> None:
    answer = running.http.get("/")
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "script-src 'self'" in policy
    assert "unsafe" not in policy
    for path in routes.STATIC.glob("*.*"):
        assert running.http.get(f"/static/{path.name}").content == path.read_bytes()
        assert "://" not in path.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")


def test_uplot_is_as_published(running: Running) -> None:
    folder = routes.STATIC / "uplot"
    told = dict(re.findall("([0-9a-f]{64})  (.+)", (folder / "README.md").read_text(encoding="utf-8")))
    assert len(told) == 2
    for digest, name in told.items():
        assert hashlib.sha256(running.http.get(f"/static/uplot/{name}").content).hexdigest() == digest
    assert running.http.get("/static/uplot/README.md").status_code == 404


@pytest.mark.parametrize(
    "name", ["uplot/..%2Fapp.js", "..%2Froutes.py", "%2e%2e/routes.py", "routes.py", "", "nothing.js", "a%00.js"]
)
def test_no_other_file_is_served(running: Running, name: str) -> None:
    assert running.http.get(f"/static/{name}").status_code == 404


def test_the_stream_needs_a_token_and_an_experiment_that_is_there(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'tokens.db'}"
    store = Store(url)
    token = store.tokens.add("me", "read")
    store.close()
    with serving(url) as running:
        assert running.http.get("/v1/live").status_code == 401
        assert running.http.get("/v1/policies").status_code == 401
        with running.http.stream(
            "GET", "/v1/live?experiment=nowhere", headers={"Authorization": f"Bearer {token}"}
        ) as answer:
            text = "".join(answer.iter_text())  # it ends by itself
        events = dict(re.findall("event: (.*)\ndata: (.*)\n\n", text))
        assert json.loads(events["refusal"])["error"] == "unknown_experiment"


def test_policies_tell_what_they_can_be_told(running: Running) -> None:
    found = {each["name"]: each for each in running.http.get("/v1/policies").json()}
    assert next(iter(found)) == "BreakEven"
    assert "Oracle" not in found
    settings = {each["name"]: each for each in found["SnoozeItTight"]["settings"]}
    assert settings["drift"]["needed"]
    assert settings["confidence"] == {"name": "confidence", "needed": False, "default": 1.0}

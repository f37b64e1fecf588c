"""Ids of requests, the access log, browsers of other sites, and what a start that fails leaves behind."""

from __future__ import annotations

import io
import json
import os
import re
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from driftbandits.errors import InputError
from driftbandits.service import Settings
from driftbandits.service.core import access_log, run
from driftbandits.service.core import warming as module
from driftbandits.service.core.access_log import AccessLog
from driftbandits.service.core.warming import Warming
from driftbandits.store import Store
from in_process import serving
from waiting import wait_until


def test_ids_and_the_access_log(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    url = f"sqlite:///{tmp_path}/file.db"
    store = Store(url)
    secret = store.tokens.add("app", "admin")
    store.close()
    token = {"Authorization": f"Bearer {secret}"}
    with serving(url, access_log=True, root_path="/bandits") as running:
        http = running.http
        body = {"id": "button", "arms": ["red", "blue"]}
        ids = [http.post("/v1/experiments", json=body, headers=token).headers["x-request-id"]]
        given = http.post("/bandits/v1/experiments/button/ask", headers=token | {"X-Request-ID": "mine.1"})
        assert given.headers["x-request-id"] == "mine.1"
        for strange in ("a b", "x" * 65, '"', ""):
            answer = http.get("/v1/experiments/nobody", headers=token | {"X-Request-ID": strange})
            assert answer.headers["x-request-id"] != strange
            ids.append(answer.headers["x-request-id"])
        assert len(set(ids)) == len(ids)
        assert http.get(f"/v1/experiments/{secret}?token={secret}").status_code == 401
        http.post("/v1/experiments/x%22%0ay/ask", content=b"x" * (2 << 20), headers={"X-Request-ID": secret})
        for path in ("/healthz", "/readyz", "/bandits/healthz"):
            assert http.get(path).status_code == 200
            assert http.head(path).status_code == 200
            assert not http.head(path).content
    said = capsys.readouterr().err
    assert secret[3:] not in said
    lines = [json.loads(line) for line in said.splitlines() if '"event":"request"' in line]
    seen = [(line["method"], line["path"], line["status"], line["token"]) for line in lines]
    assert seen == [
        ("POST", "/v1/experiments", 201, "app"),
        ("POST", "/v1/experiments/button/ask", 200, "app"),
        *[("GET", "/v1/experiments/nobody", 404, "app")] * 4,
        ("GET", "/v1/experiments/db_...", 401, ""),
        ("POST", '/v1/experiments/x"\ny/ask', 413, ""),
    ]
    assert [line["id"] for line in lines[:2]] == [ids[0], "mine.1"]
    assert lines[-1]["id"] == "db_..."
    assert all(line["seconds"] > 0 and line["client"] == "127.0.0.1" and line["timestamp"] for line in lines)


def test_a_log_that_nobody_reads_holds_nobody_up(monkeypatch: pytest.MonkeyPatch) -> None:
    class Slow(io.StringIO):
        reading = threading.Event()

        def write(self, text: str) -> int:
            self.reading.wait(60)
            return super().write(text)

    monkeypatch.setattr(access_log, "MOST", 3)
    stream = Slow()
    log = AccessLog(stream)
    log.add("GET", "/first", 200, 0.1, "1", "", "")
    wait_until(lambda: not log._lines, "the writer to begin")
    for number in range(5):
        log.add("GET", f"/{number}", 200, 0.1, "1", "", "")
    stream.reading.set()
    log.close()
    lines: list[dict[str, Any]] = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert [line.get("path", line.get("count")) for line in lines] == ["/first", "/0", "/1", "/2", 2]
    log = AccessLog(stream)
    stream.close()
    log.add("GET", "/after", 200, 0.1, "1", "", "")
    log.close()
    assert log._skipped == 1


def test_pages_of_named_sites_may_call(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/file.db"
    store = Store(url)
    token = {"Authorization": f"Bearer {store.tokens.add('app', 'admin')}"}
    store.close()
    shop, evil = {"Origin": "https://shop.example"}, {"Origin": "https://evil.example"}
    asks = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization,content-type"}
    with serving(url, cors_origin="https://shop.example http://localhost:3000") as running:
        path = "/v1/experiments"
        before = running.http.options(path, headers=shop | asks)
        assert before.status_code == 200
        assert before.headers["access-control-allow-origin"] == "https://shop.example"
        assert "POST" in before.headers["access-control-allow-methods"]
        assert "authorization" in before.headers["access-control-allow-headers"].lower()
        made = running.http.post(path, json={"id": "button", "arms": ["a", "b"]}, headers=shop | token)
        asked = running.http.post(f"{path}/button/ask", headers=shop | token)
        refused = running.http.post(f"{path}/button/ask", headers=shop)
        assert [made.status_code, asked.status_code, refused.status_code] == [201, 200, 401]
        for answer in (made, asked, refused):
            assert answer.headers["access-control-allow-origin"] == "https://shop.example"
            assert "X-Request-ID" in answer.headers["access-control-expose-headers"]
            assert "Origin" in answer.headers["vary"]
        assert running.http.options(path, headers=evil | asks).status_code == 400
        assert "access-control-allow-origin" not in running.http.get(path, headers=evil | token).headers
    with serving() as running:  # by default nobody's
        assert "access-control-allow-origin" not in running.http.get("/healthz", headers=shop).headers
        assert running.http.options(path, headers=shop | asks).status_code == 405
    for wrong in (
        "shop.example",
        "https://shop.example/",
        "https://a.example,https://b.example",
        "* https://a.example",
    ):
        with pytest.raises(ValueError, match="cors_origin"):
            Settings(cors_origin=wrong)


def test_it_is_not_ready_while_it_compiles(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving() as running:
        warming, go_on = running.service.warming, threading.Event()
        monkeypatch.setattr(module, "compile_default", lambda: go_on.wait(60))
        running.service.warming = Warming()
        refused = running.http.get("/readyz")
        assert (refused.status_code, refused.json()["error"]) == (503, "compiling")
        assert running.http.get("/healthz").status_code == 200
        assert running.http.post(f"{running.create()}/ask").status_code == 200  # it works, and may take longer
        with running.http.stream("GET", "/v1/live") as live:
            lines = (
                line for line in live.iter_lines() if line.startswith(("event: compiling", "data: true", "data: false"))
            )
            assert [next(lines), next(lines)] == ["event: compiling", "data: true"]
            go_on.set()
            assert [next(lines), next(lines)] == ["event: compiling", "data: false"]
        assert running.http.get("/readyz").json() == {"status": "ready"}

        def fails() -> None:
            raise RuntimeError("no compiler")

        monkeypatch.setattr(module, "compile_default", fails)
        running.service.warming = Warming()
        wait_until(lambda: running.service.warming.done, "it to give up")
        assert warming.done


def test_the_images_health_check_asks_the_port_that_is_set() -> None:
    text = (Path(__file__).parents[2] / "Dockerfile").read_text()
    (words,) = re.findall(r"^HEALTHCHECK .*\\\n +CMD (\[.*\])$", text, re.M)
    command = [sys.executable, *json.loads(words)[1:]]
    with serving() as running:
        port = running.url.rpartition(":")[2]
        for where, healthy in ((port, True), ("1", False)):
            proxied = {"DRIFTBANDITS_PORT": where, "http_proxy": "http://127.0.0.1:1"}  # which is not for this machine
            done = subprocess.run(command, env=os.environ | proxied, capture_output=True)
            assert (done.returncode == 0) is healthy, done.stderr


def test_a_start_that_fails_leaves_nothing_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr(run, "set_up_logs", lambda level: None)
    make, close = Store.__init__, Store.close

    def make_and_note(self: Store, *arguments: Any, **named: Any) -> None:
        opened.append("store")
        make(self, *arguments, **named)

    def close_and_note(self: Store) -> None:
        opened.remove("store")
        close(self)

    monkeypatch.setattr(Store, "__init__", make_and_note)
    monkeypatch.setattr(Store, "close", close_and_note)
    store = f"sqlite:///{tmp_path}/file.db"
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(InputError, match="cannot listen"):
        run.serve(Settings(store=store, port=taken.getsockname()[1]))
    with pytest.raises(InputError, match="--no-auth"):
        run.serve(Settings(store=store, host="0.0.0.0", port=0, auth=False))  # its socket: warnings are errors
    assert not opened

"""The commands: serve, from start to SIGTERM, and tokens."""

from __future__ import annotations

import gc
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from pydantic import ValidationError
from structlog.testing import capture_logs

import systems
from commands import driftbandits
from driftbandits.client import Client, RefusedError
from driftbandits.service import Settings
from driftbandits.service.core import run
from driftbandits.store import Store
from waiting import INTERPRETED, PATIENCE, started


@systems.signals
def test_from_start_to_sigterm(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/file.db"
    secret = driftbandits("token", "create", "app", "--store", url).stdout.strip()
    listed = driftbandits("token", "list", "--store", url)
    assert "app" in listed.stdout
    assert secret not in listed.stdout
    words = ("-m", "driftbandits", "serve", "--store", url, "--port", "0")
    with started(*words, stderr=subprocess.PIPE, env=INTERPRETED) as process:
        assert process.stderr
        line = json.loads(process.stderr.readline())
        assert (line["event"], line["tokens"]) == ("serving", "needed")
        with Client(line["url"], secret, patience=PATIENCE) as client:
            with pytest.raises(RefusedError, match="scope admin"):
                client.create("button", arms=["red", "blue"])
            store = Store(url)
            store.create("button", arms=["red", "blue"])
            assert client.open("button").ask().step == 1
            assert store.experiments.get("button").url == line["url"]
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate()
    assert process.returncode in (0, -signal.SIGTERM)
    assert "Traceback" not in said
    assert store.experiments.get("button").holder is None
    assert store.writers.acquire("button").saved == 1
    store.close()
    assert driftbandits("token", "revoke", "app", "--store", url).stdout == "revoked app\n"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--host", "0.0.0.0", "--no-auth"], "--no-auth lets everyone"),
        (["--store", "mysql://x"], "sqlite:///file.db"),
        (["--store", "sqlite:///no/such/folder/file.db"], "cannot be opened"),
        (["--port", "70000"], "port"),
        (["--host", "no.such.host.invalid", "--auth"], "tokens|cannot listen"),
    ],
)
def test_wrong_settings_are_one_line(tmp_path: Path, options: list[str], said: str) -> None:
    done = driftbandits("serve", *options, cwd=tmp_path)
    assert done.returncode == 2
    assert re.search(said, done.stderr)
    assert len(done.stderr.splitlines()) == 1
    assert "Traceback" not in done.stderr


def test_a_port_that_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import socket

    monkeypatch.delattr("uvicorn.Server.run")  # it would serve for ever
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        done = driftbandits("serve", "--port", port, cwd=tmp_path)
    assert done.returncode == 2
    assert f"port {port}" in done.stderr


def test_the_first_start_makes_a_token_and_the_interpreter_is_left_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def tuned() -> tuple[object, ...]:
        return sys.getswitchinterval(), gc.get_threshold()

    def fail(*_: object, **__: object) -> None:
        assert gc.get_freeze_count() > frozen
        meanwhile.extend(tuned())
        raise RuntimeError("the server fell over")

    meanwhile: list[object] = []
    before, frozen = tuned(), gc.get_freeze_count()
    monkeypatch.setattr(run, "set_up_logs", lambda level: None)  # of the whole process, too
    monkeypatch.setattr("uvicorn.Server.run", fail)
    monkeypatch.setenv("DRIFTBANDITS_PROT", "8000")
    with pytest.raises(RuntimeError, match="fell over"), capture_logs() as said:
        run.serve(Settings(store=f"sqlite:///{tmp_path}/file.db", port=0))
    printed = capsys.readouterr().out.split()[-1]
    store = Store(f"sqlite:///{tmp_path}/file.db")
    assert store.tokens.find(printed)  # the first start makes one
    store.close()
    assert [line.get("names") for line in said] == [["DRIFTBANDITS_PROT"], None]
    if sys.platform != "win32":
        assert (tmp_path / "file.db").stat().st_mode & 0o777 == 0o600
    assert all(now != then for now, then in zip(meanwhile, before, strict=True))
    assert tuned() == before
    assert gc.get_freeze_count() <= frozen  # some Pythons start with frozen objects of their own


def test_what_is_set_unless_given(monkeypatch: pytest.MonkeyPatch) -> None:
    """As docs/service.md tells; another default is another service to those who upgrade."""
    for name in [name for name in os.environ if name.startswith("DRIFTBANDITS_")]:
        monkeypatch.delenv(name)
    assert Settings().model_dump() == {
        "store": "sqlite:///driftbandits.db",
        "host": "127.0.0.1",
        "port": 8000,
        "url": None,
        "auth": None,
        "root_path": "",
        "cors_origin": "",
        "access_log": False,
        "most_body": 2**20,
        "most_batch": 10_000,
        "most_loaded": 10_000,
        "idle": 300.0,
        "keep_answers": 86_400.0,
        "keep": None,
        "archive": None,
        "lease": 15.0,
        "request_timeout": 30.0,
        "most_arms_shown": 1000,
        "log_level": "info",
    }


@pytest.mark.parametrize(
    ("name", "taken", "refused"),
    [
        ("port", [0, 65_535], [-1, 65_536]),
        *((name, [1], [0, -1]) for name in ("most_body", "most_batch", "most_loaded")),
        *((name, [1e-9], [0, -1]) for name in ("idle", "keep_answers", "lease", "request_timeout")),
        ("most_arms_shown", [0], [-1]),
        ("root_path", ["", "/a", "/a/b.c_d~e-1"], ["/", "a", "/a/", "/a b", "//a"]),
        ("cors_origin", ["", "*", "http://a", "https://a http://b:1"], ["a", "https://a/", "https://a, https://b"]),
        ("url", [None, "http://a", "https://a:8000/b"], ["a", "ftp://a", "http://", "http:///a"]),
    ],
)
def test_settings_at_their_limits(name: str, taken: list[object], refused: list[object]) -> None:
    for value in taken:
        assert getattr(Settings(**{name: value}), name) == value  # type: ignore[arg-type]
    for value in refused:
        with pytest.raises(ValidationError, match=name):
            Settings(**{name: value})  # type: ignore[arg-type]

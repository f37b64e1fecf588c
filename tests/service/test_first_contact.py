"""What an operator meets first: wrong settings, named in one sentence with the value, the limit and a way out."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import pytest

from driftbandits.cli.main import app
from driftbandits.cli.serve import settings
from driftbandits.errors import InputError
from driftbandits.service.core.run import serve
from driftbandits.store import Store
from in_process import serving


def refusal(given: dict[str, Any]) -> str:
    with pytest.raises(InputError) as refused:
        serve(settings(given))
    return str(refused.value)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"port": 99_999}, "port must be at most 65535; got 99999"),
        ({"port": "tcp://10.0.0.1:8000"}, "enableServiceLinks: false in the pod's spec; got 'tcp://10.0.0.1:8000'"),
        ({"keep": "5parsecs"}, "keep: a time is a number and s, m, h, d or w, as in 90d, or forever; got '5parsecs'"),
        ({"root_path": "bandits/"}, "root_path: a path begins with a slash and ends without one, as in /bandits; got"),
        ({"cors_origin": "shop.example/"}, "cors_origin: a site has no path and no slash at its end, as in https://"),
        ({"store": "mysql://here"}, "a Store's URL looks like"),
        ({"store": "sqlite:////no/such/folder/x.db"}, "does the folder exist, and may you write there?"),
        ({"log_level": "loud"}, "log level must be debug, info, warning or error; got 'loud'"),
    ],
)
def test_a_wrong_setting_is_one_sentence(given: dict[str, Any], said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("driftbandits.service.core.run.set_up_logs", _only_checked)
    found = refusal({"store": "sqlite://", **given})
    assert said in found
    assert found.count("got ") <= 1
    assert "\n" not in found


def _only_checked(level: str) -> None:
    """The tests' own logs stay as they are."""
    if level != "info":
        raise InputError(f"log level must be debug, info, warning or error; got {level!r}")


def test_a_port_or_an_archive_that_cannot_be_had_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("driftbandits.service.core.run.set_up_logs", lambda level: None)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        busy = refusal({"store": "sqlite://", "port": port})
    assert busy == (
        f"cannot listen on 127.0.0.1, port {port}: Address already in use; choose another with --port or --host"
    )
    (tmp_path / "file").write_text("")
    folder = tmp_path / "file" / "archive"
    assert refusal({"store": "sqlite://", "archive": folder}).startswith(f"cannot write to {folder}: Not a directory; ")


def test_commands_for_tokens_make_no_store_by_mistake(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'other.db'}"
    for words in (["token", "list"], ["token", "revoke", "shop"]):
        with pytest.raises(InputError, match="there is no file"):
            app([*words, "--store", url], result_action="return_value", exit_on_error=False)
    assert not list(tmp_path.iterdir())
    with pytest.raises(InputError, match=r"--days must be more than 0, .*; got -1"):
        app(["token", "create", "shop", "--days", "-1", "--store", url], result_action="return_value")
    app(["token", "create", "shop", "--store", url], result_action="return_value")
    with pytest.raises(InputError, match="no token 'shpo' in sqlite:///"):
        app(["token", "revoke", "shpo", "--store", url], result_action="return_value")


def test_a_token_that_has_ended_is_not_called_unknown_alone(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'store.db'}"
    store = Store(url)
    secret = store.tokens.add("short", "read", expires=store.database.clock() + 0.001)
    with serving(url) as running:
        answer = running.http.get("/v1/experiments", headers={"Authorization": f"Bearer {secret}"})
    store.close()
    assert answer.status_code == 401
    assert "unknown, was revoked or has ended" in answer.json()["message"]

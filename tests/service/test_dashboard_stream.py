"""The stream that keeps the dashboard live."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from driftbandits.service.core.holdings import Holdings
from driftbandits.service.dashboard import routes
from in_process import serving
from waiting import PATIENCE


def test_there_is_a_sign_of_life_while_an_experiment_loads(monkeypatch: pytest.MonkeyPatch) -> None:
    load, go_on = Holdings._open, threading.Event()

    def slow(*arguments: Any) -> Any:
        assert go_on.wait(PATIENCE)
        return load(*arguments)

    monkeypatch.setattr(Holdings, "_open", slow)
    monkeypatch.setattr(routes, "BEAT", 0.01)
    with serving() as running:
        running.create()
        with running.http.stream("GET", "/v1/live?experiment=button") as answer:
            lines = answer.iter_lines()
            assert ": still here" in lines
            go_on.set()
            assert "event: about" in lines
            assert "event: view" in lines
            assert ": still here" in lines  # nothing is new

"""The stream that keeps the dashboard live."""

from __future__ import annotations

import threading
from contextlib import ExitStack
from typing import Any

import httpx
import pytest

from driftbandits.service.core.holdings import Holdings
from driftbandits.service.dashboard import overview, routes
from driftbandits.store.views import Views
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


def test_pages_that_look_at_the_same_time_share_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """300 open pages cost little more than one: the Store is read once for all, and so is each new picture made."""
    lists, pictures = list[int](), list[object]()
    read, draw = Views.summaries, routes.view_json  # type: ignore[attr-defined]

    def counted_read(part: Views) -> Any:
        lists.append(1)
        return read(part)

    def counted_draw(*given: Any) -> Any:
        pictures.append(given[1:])
        return draw(*given)

    monkeypatch.setattr(Views, "summaries", counted_read)
    monkeypatch.setattr(routes, "view_json", counted_draw)
    monkeypatch.setattr(overview, "EVERY", 3600.0)
    monkeypatch.setattr(routes, "TICK", 3600.0)  # of which no second one comes
    with serving() as running, ExitStack() as pages:
        path = running.create()
        assert running.http.post(f"{path}/ask").status_code == 200
        for query, event in [("?experiment=button", "view"), ("", "overview")] * 20:
            client = pages.enter_context(httpx.Client(base_url=running.url, timeout=PATIENCE))
            answer = pages.enter_context(client.stream("GET", f"/v1/live{query}"))
            assert f"event: {event}" in answer.iter_lines()
        assert running.http.get("/healthz").status_code == 200
        assert (len(lists), len(pictures)) == (1, 1)

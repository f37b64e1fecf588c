"""A service in a thread of the test's own process, over real HTTP, so that a test can look inside."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import httpx
import pytest
import uvicorn

from driftbandits.service import Settings, create_app
from driftbandits.service.core.connections import with_limits
from driftbandits.service.core.held import Held
from driftbandits.service.core.state import Service
from driftbandits.store import Store
from waiting import PATIENCE, wait_until

ARMS = ["red", "blue"]
Found = TypeVar("Found")


class Running:
    """A service, and a client that speaks to it."""

    def __init__(self, service: Service, url: str, http: httpx.Client, server: uvicorn.Server) -> None:
        self.service, self.url, self.http, self.server = service, url, http, server

    def create(self, id: str = "button", **declared: Any) -> str:
        """A new experiment's path."""
        response = self.http.post("/v1/experiments", json={"id": id, "arms": ARMS, **declared})
        assert response.status_code == 201, response.text
        return f"/v1/experiments/{id}"

    def held(self, id: str = "button") -> Held:
        return self.service.holdings.held[id]

    def on_loop(self, work: Coroutine[Any, Any, Found]) -> Found:
        """Do something where the service does it."""
        return asyncio.run_coroutine_threadsafe(work, self.service.holdings.committer._loop).result(PATIENCE)

    def everything(self) -> tuple[Any, ...]:
        """All that must not change when a request is refused: logs, memory, declarations."""
        store, held = self.service.store, self.service.holdings.held
        return tuple(
            (
                each.id,
                each.status,
                list(store.history.events(each.id)),
                held[each.id].session.snapshot() if each.id in held else None,
            )
            for each in store.experiments.all()
        )


class Gated:
    """A method of a part of the Store that waits at its door, until told to go on."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, part: type, verb: str) -> None:
        self.reached, self.go_on, plain = threading.Event(), threading.Event(), getattr(part, verb)

        def slow(*arguments: Any, **named: Any) -> Any:
            self.reached.set()
            assert self.go_on.wait(60)
            return plain(*arguments, **named)

        monkeypatch.setattr(part, verb, slow)


def has_tokens(store: str) -> bool:
    """Most tests are not about tokens: they are needed where a test has made some."""
    if store == "sqlite://":
        return False
    opened = Store(store)
    try:
        return bool(opened.tokens.all())
    finally:
        opened.close()


@contextmanager
def serving(store: str = "sqlite://", **settings: Any) -> Iterator[Running]:
    """A service on a free port, until the block ends; then it shuts down gracefully."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        made = Settings(**{"store": store, "url": url, "auth": has_tokens(store), **settings})
        gate, http = create_app(made), with_limits(made.request_timeout)
        config = uvicorn.Config(
            gate, loop="auto", http=http, ws="none", lifespan="on", log_config=None, access_log=False
        )
        server = uvicorn.Server(config)
        gate.app.state.stopping = lambda: server.should_exit
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        try:
            wait_until(lambda: server.started or not thread.is_alive(), "the service to start", every=0.005)
            assert thread.is_alive(), "the service did not start"
            wait_until(lambda: gate.app.state.service.warming.done, "the default policy to be compiled", every=0.005)
            with httpx.Client(base_url=url, timeout=PATIENCE) as client:
                yield Running(gate.app.state.service, url, client, server)
        finally:
            server.should_exit = True
            thread.join(PATIENCE)
            assert not thread.is_alive(), "the service does not stop"


def ask(running: Running, path: str, count: int = 1) -> list[str]:
    """The ids of so many Decisions."""
    found = running.http.post(f"{path}/ask_many", json={"count": count})
    assert found.status_code == 200, found.text
    return [decision["id"] for decision in found.json()["decisions"]]


def tell(running: Running, path: str, id: str, reward: float) -> httpx.Response:
    """The answer to a reward."""
    return running.http.post(f"{path}/tell", json={"id": id, "reward": reward})

"""The client for ordinary programs."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx

from driftbandits._common.files import written_whole
from driftbandits.client import calls
from driftbandits.client.calls import Call, Found, RefusedError, UnavailableError
from driftbandits.client.holders import Holders, is_refusal
from driftbandits.live.decisions import Decision, Outcome, Rewards


class Client:
    """A service: ``Client("http://127.0.0.1:8000", token="...")``. It may be shared by threads.

    When the service is not reachable or busy, a call is repeated for ``patience`` seconds. Every call has its own key,
    so it is done once however often it is sent. ``timeout``: seconds to wait for one response.
    """

    def __init__(self, url: str, token: str | None = None, *, patience: float = 30.0, timeout: float = 10.0) -> None:
        self._http = httpx.Client(**calls.connection_of(url, token, patience, timeout))
        self._holders, self.patience = Holders(url), patience

    def open(self, id: str, **declared: Any) -> RemoteSession:
        """An experiment with the verbs of a Session. With ``declared``, as in ``create``, it is made if missing."""
        if declared:
            try:
                self.create(id, **declared)
            except RefusedError as error:
                if error.code != "exists":
                    raise
                calls.check_same(self.experiment(id), declared)
        return RemoteSession(self, id)

    def create(self, id: str, **declared: Any) -> dict[str, Any]:
        """A new experiment: ``arms=[...]``, and optionally policy, ``policy_settings``, seed, timeout, ..."""
        return self.do(calls.create(id, declared))

    def experiments(self) -> Iterator[dict[str, Any]]:
        """All experiments, in the order of their ids."""
        page: dict[str, Any] = {"next": ""}
        while page["next"] is not None:
            page = self.do(calls.experiments(page["next"]))
            yield from page["experiments"]

    def experiment(self, id: str) -> dict[str, Any]:
        """One experiment, and its status."""
        return self.do(calls.experiment(id))

    def change(self, id: str, **settings: Any) -> dict[str, Any]:
        """Change what was declared while it runs: timeout, policy and ``policy_settings``, title, drift, ..."""
        return self.do(calls.change(id, settings))

    def pause(self, id: str) -> dict[str, Any]:
        """Make no Decisions for a while; rewards are still accepted."""
        return self.do(calls.set_status(id, "pause"))

    def resume(self, id: str) -> dict[str, Any]:
        """Make Decisions again."""
        return self.do(calls.set_status(id, "resume"))

    def archive(self, id: str) -> dict[str, Any]:
        """End it. The log stays."""
        return self.do(calls.set_status(id, "archive"))

    def export(self, id: str, path: str | os.PathLike[str], since: int = 0) -> int:
        """Write the log to a .jsonl, .csv or .parquet file, completely or not at all; returns the next ``since``.

        With ``since``, only Decisions that were asked, closed or corrected after that event.
        """
        call = calls.export(id, Path(path).suffix[1:], since)
        with self._http.stream(call.method, call.path) as response:
            if response.status_code != 200:
                response.read()
                calls.refuse(response)
            with written_whole(path) as temporary, open(temporary, "wb") as file:
                for chunk in response.iter_bytes():
                    file.write(chunk)
            return int(response.headers["X-Last-Event"])

    def do(self, call: Call[Found]) -> Found:
        """Send a call until it is answered."""
        until, attempt = time.monotonic() + self.patience, 0
        while True:
            try:
                where = self._holders.address(call.path)
                response = self._http.request(call.method, where, json=call.body, headers=call.headers)
            except httpx.TransportError as error:
                response, failure = None, error
            if response is not None and response.is_success:
                return call.read(response.json())
            strange = self._holders.away(call.path) and response is not None and not is_refusal(response)
            at_once = self._holders.learn(call.path, response)
            if response is not None and response.status_code not in calls.TRANSIENT and not strange:
                calls.refuse(response)
            if at_once:
                continue
            pause = calls.pause_before(attempt, response)
            if time.monotonic() + pause > until:
                if response is not None:
                    calls.refuse(response)
                raise UnavailableError(f"{self._http.base_url} does not answer: {failure}") from failure
            time.sleep(pause)
            attempt += 1

    def close(self) -> None:
        """Close all connections."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class RemoteSession:
    """An experiment of a service, with the verbs of a ``Session``."""

    def __init__(self, client: Client, id: str) -> None:
        self._client, self.id = client, id

    def ask(self, unit: str | None = None, metadata: Mapping[str, Any] | None = None) -> Decision:
        """Which arm to pull now; for a ``unit``, such as a visitor, the one that it has, if it is ``sticky``."""
        return self._client.do(calls.ask(self.id, unit, metadata))

    def ask_many(
        self,
        count: int,
        units: Sequence[str | None] | None = None,
        metadata: Sequence[Mapping[str, Any] | None] | None = None,
    ) -> list[Decision]:
        """So many Decisions at once, all made from what is known now; for each its unit and metadata, if any have."""
        return self._client.do(calls.ask_many(self.id, count, units, metadata))

    def tell(self, id: str | Decision, reward: float) -> Outcome:
        """The reward of a Decision, given itself or its id. A wrong one raises InputError and changes nothing."""
        return self._client.do(calls.tell(self.id, id, reward))

    def tell_many(self, rewards: Rewards) -> list[Outcome]:
        """Many rewards at once, and the outcome of each; those that cannot be accepted change nothing."""
        outcomes, call = calls.tell_many(self.id, rewards)
        return outcomes if call is None else self._client.do(call)

    def add_arm(self, name: str) -> None:
        """A new arm, from the next ask on. Needs a token of scope admin."""
        self._client.do(calls.add_arm(self.id, name))

    def disable_arm(self, name: str) -> None:
        """Don't choose an arm until it is enabled. Needs a token of scope admin."""
        self._client.do(calls.set_arm(self.id, name, "off"))

    def enable_arm(self, name: str) -> None:
        """Choose an arm again that was disabled. Needs a token of scope admin."""
        self._client.do(calls.set_arm(self.id, name, "on"))

    def remove_arm(self, name: str) -> None:
        """Never choose an arm again. The log keeps it. Needs a token of scope admin."""
        self._client.do(calls.set_arm(self.id, name, "removed"))

    def force_arm(self, name: str | None) -> None:
        """Give all Decisions this arm; None lets the policy choose again. Needs a token of scope admin."""
        self._client.do(calls.force_arm(self.id, name))

    def hold_out(self, share: float, arm: str | None = None) -> None:
        """Give this share of Decisions always the same arm, by chance; 0 ends it. Needs a token of scope admin."""
        self._client.do(calls.hold_out(self.id, share, arm))

    def lift(self) -> dict[str, Any]:
        """What the policy gains over the holdout, as plain JSON: the fields of ``Lift``."""
        return self._client.do(calls.lift(self.id))

    def correct(self, id: str, reward: float | None) -> None:
        """Put another reward in the place of one that was learnt; None retracts it. Needs a token of scope admin."""
        self._client.do(calls.correct(self.id, id, reward))

    def erase(self, unit: str) -> int:
        """Erase what belongs to a unit; how many Decisions it had. Needs a token of scope admin."""
        return self._client.do(calls.erase(self.id, unit))

    def explain(self, decision: Decision | str) -> dict[str, Any]:
        """Why that arm, as plain JSON: what ``Explanation.as_dict`` gives."""
        return self._client.do(calls.explain(self.id, decision))

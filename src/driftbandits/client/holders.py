"""Where to send a call: to the service that holds its experiment, as far as others have said which one that is."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

import httpx

MOST = 10_000
"""Experiments whose holder is remembered."""


class Holders:
    """Several services share a store; one of them holds an experiment, and the others name it in a 503.

    It is asked from then on, until it fails: then the call goes to ``home`` again. A token that was sent over TLS is
    not sent without it, whatever a service says.
    """

    def __init__(self, home: str) -> None:
        self._home, self._known = home, dict[str, str]()

    def address(self, path: str) -> str:
        """Where to send a call with this path: whole if not home."""
        return self._known.get(_experiment(path), "") + path

    def away(self, path: str) -> bool:
        """Whether a call with this path goes elsewhere than home."""
        return _experiment(path) in self._known

    def learn(self, path: str, response: httpx.Response | None) -> bool:
        """Take note of what came back, if anything did. Whether the call can be sent elsewhere at once."""
        found, was_away = _read(response), self._known.pop(_experiment(path), None)
        url = found.get("url")
        if was_away is not None:
            if found.get("error") not in (None, "busy"):
                self._known[_experiment(path)] = was_away  # a refusal of its own: it is still the holder
            return False  # after a pause, at home
        if not isinstance(url, str) or not self._may_follow(url):
            return False
        if len(self._known) >= MOST:
            self._known.clear()
        self._known[_experiment(path)] = url.rstrip("/")
        return True

    def _may_follow(self, url: str) -> bool:
        try:
            there, here = urlsplit(url), urlsplit(self._home)
        except ValueError:
            return False
        secure = there.scheme == "https" or (there.scheme == "http" and here.scheme != "https")
        return secure and bool(there.hostname) and url.rstrip("/") != self._home.rstrip("/")


def is_refusal(response: httpx.Response) -> bool:
    """Whether a service of ours speaks, and not whatever else is at its old address by now."""
    return "error" in _read(response)


def _read(response: httpx.Response | None) -> dict[str, Any]:
    try:
        found = response.json() if response is not None else None
    except ValueError:
        return {}
    return found if isinstance(found, dict) and {"error", "message"} <= found.keys() else {}


def _experiment(path: str) -> str:
    """The part of a path that names the experiment."""
    return path.removeprefix("/v1/experiments/").partition("/")[0].partition("?")[0]

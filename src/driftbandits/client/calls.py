"""What to send and how to read the response, for both clients; no I/O."""

from __future__ import annotations

import json
import random
import re
import uuid
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, NoReturn, TypeVar
from urllib.parse import quote

import httpx

from driftbandits._common.checks import LARGEST_REWARD, check_between, is_reward, shown
from driftbandits.errors import DriftbanditsError, FeasibilityWarning, InputError
from driftbandits.live.decisions import (
    ConflictError,
    Decision,
    ExpiredError,
    Outcome,
    Rewards,
    TooOldError,
    UnknownDecisionError,
    id_of,
    pairs_of,
)

Found = TypeVar("Found")
LONGEST_PAUSE = 5.0
TRANSIENT = (502, 503, 504)
AS_SESSIONS_RAISE: dict[str, type[InputError]] = {
    "unknown_decision": UnknownDecisionError,
    "conflict": ConflictError,
    "expired": ExpiredError,
    "too_old": TooOldError,
    "input": InputError,
}


class RefusedError(InputError):
    """The service refused: ``status`` is HTTP's, ``code`` says why, as "paused", "exists" or "unknown_experiment"."""

    def __init__(self, message: str, status: int, code: str) -> None:
        super().__init__(message)
        self.status, self.code = status, code


class UnavailableError(DriftbanditsError, ConnectionError):
    """The service did not respond within the client's ``patience``. Whether the call was done is unknown."""


@dataclass
class Call(Generic[Found]):
    """One request, the same at every attempt: its key makes sure that it is done once."""

    method: str
    path: str
    body: dict[str, Any] | None
    read: Callable[[Any], Found]
    headers: dict[str, str] = field(default_factory=lambda: {"Idempotency-Key": uuid.uuid4().hex})


def ask(id: str, unit: str | None = None, metadata: Mapping[str, Any] | None = None) -> Call[Decision]:
    """One Decision."""
    return Call("POST", f"{_at(id)}/ask", _given(unit=unit, metadata=metadata) or None, _decision)


def ask_many(
    id: str,
    count: int,
    units: Sequence[str | None] | None = None,
    metadata: Sequence[Mapping[str, Any] | None] | None = None,
) -> Call[list[Decision]]:
    """Many Decisions."""
    body = {"count": count} | _given(units=units, metadata=metadata)
    return Call("POST", f"{_at(id)}/ask_many", body, lambda found: [*map(_decision, found["decisions"])])


def _given(**named: Any) -> dict[str, Any]:
    """What was given of these; InputError if JSON can't say it."""
    found = {name: value for name, value in named.items() if value is not None}
    try:
        json.dumps(found, allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError):
        raise InputError(f"units are texts and metadata objects of JSON; got {shown(found)}") from None
    return found


def erase(id: str, unit: str) -> Call[int]:
    """What belongs to a unit. Done twice, it comes to the same."""
    return Call("POST", f"{_at(id)}/erase", {"unit": unit}, lambda found: int(found["decisions"]))


def tell(id: str, decision: str | Decision, reward: float) -> Call[Outcome]:
    """One reward."""
    if not is_reward(reward):
        raise InputError(f"a reward must be a finite number, at most {LARGEST_REWARD:g} in size; got {shown(reward)}")
    body = {"id": id_of(decision), "reward": float(reward)}
    return Call("POST", f"{_at(id)}/tell", body, lambda found: Outcome(found["outcome"]))


def tell_many(id: str, rewards: Rewards) -> tuple[list[Outcome], Call[list[Outcome]] | None]:
    """Many rewards. JSON has no NaN: such rewards are refused here; nothing is sent if no other is left."""
    told = pairs_of(rewards)
    outcomes = [Outcome.INVALID] * len(told)
    sent = [index for index, (_, reward) in enumerate(told) if is_reward(reward)]

    def read(found: Any) -> list[Outcome]:
        for index, outcome in zip(sent, found["outcomes"], strict=True):
            outcomes[index] = Outcome(outcome)
        _warn_of_invalid(id, outcomes)
        return outcomes

    if not sent:
        _warn_of_invalid(id, outcomes)
    body = {"rewards": [{"id": told[index][0], "reward": float(told[index][1])} for index in sent]}
    return outcomes, Call("POST", f"{_at(id)}/tell_many", body, read) if sent else None


def _warn_of_invalid(id: str, outcomes: list[Outcome]) -> None:
    if count := outcomes.count(Outcome.INVALID):
        warnings.warn(
            f"{count:,} of {len(outcomes):,} rewards were not accepted: each must be a finite number within the "
            f"reward_range of {id!r}; tell one of them alone to see why",
            FeasibilityWarning,
            stacklevel=2,
        )


def explain(id: str, decision: Decision | str) -> Call[dict[str, Any]]:
    """Why."""
    name = id_of(decision)
    return _get(f"{_at(id)}/explain/{quote(name, safe='')}", dict)


def create(id: str, declared: dict[str, Any]) -> Call[dict[str, Any]]:
    """A new experiment."""
    return Call("POST", "/v1/experiments", {"id": id, **declared}, dict)


def experiments(after: str) -> Call[dict[str, Any]]:
    """A page of experiments."""
    return _get(f"/v1/experiments?limit=1000&after={quote(after)}", dict)


def experiment(id: str) -> Call[dict[str, Any]]:
    """One experiment."""
    return _get(_at(id), dict)


def change(id: str, settings: dict[str, Any]) -> Call[dict[str, Any]]:
    """Other settings."""
    return Call("PATCH", _at(id), settings, dict)


def add_arm(id: str, arm: str) -> Call[dict[str, Any]]:
    """A new arm."""
    return Call("POST", f"{_at(id)}/arms", {"arm": arm}, lambda found: found)


def set_arm(id: str, arm: str, status: str) -> Call[dict[str, Any]]:
    """An arm "on", "off" or "removed"."""
    return Call("PATCH", f"{_at(id)}/arms", {"arm": arm, "status": status}, lambda found: found)


def force_arm(id: str, arm: str | None) -> Call[dict[str, Any]]:
    """One arm for all Decisions, or none in particular."""
    return Call("PUT", f"{_at(id)}/force", {"arm": arm}, lambda found: found)


def hold_out(id: str, share: float, arm: str | None) -> Call[dict[str, Any]]:
    """One arm for a share of Decisions."""
    return Call("PUT", f"{_at(id)}/holdout", {"share": share, "arm": arm}, lambda found: found)


def lift(id: str) -> Call[dict[str, Any]]:
    """What the policy gains over the holdout."""
    return _get(f"{_at(id)}/lift", lambda found: found)


def correct(id: str, decision: str, reward: float | None) -> Call[None]:
    """Another reward in the place of one that was learnt, or none. Done twice, it comes to the same."""
    body = {"corrections": [{"id": decision, "reward": reward if reward is None else float(reward)}]}
    return Call("POST", f"{_at(id)}/correct", body, lambda found: None)


def set_status(id: str, verb: str) -> Call[dict[str, Any]]:
    """Pause, resume or archive."""
    return Call("POST", f"{_at(id)}/{verb}", None, dict)


def export(id: str, format: str, since: int) -> Call[Any]:
    """The log, as a stream of bytes."""
    return _get(f"{_at(id)}/export?format={quote(format)}&since={since}", lambda found: found)


def refuse(response: httpx.Response) -> NoReturn:
    """Raise what the service's refusal means."""
    try:
        found = response.json()
        code, message = str(found["error"]), str(found["message"])
    except (ValueError, KeyError, TypeError):
        code, message = "http", f"{response.url} answered {response.status_code}, and not as the service does"
    if response.status_code in TRANSIENT:
        raise UnavailableError(message)
    if code in AS_SESSIONS_RAISE:
        raise AS_SESSIONS_RAISE[code](message)
    raise RefusedError(message, response.status_code, code)


def check_same(found: dict[str, Any], declared: dict[str, Any]) -> None:
    """InputError when an experiment was not created as declared."""
    there = found | (found["first"] or {})
    there |= {"policy": there["policy"]["class"]} | there["policy"].get("fields", {})
    wanted = {name: value for name, value in declared.items() if name != "policy_settings"}
    for name, value in (wanted | declared.get("policy_settings", {})).items():
        if (list(value) if isinstance(value, list | tuple) else value) != there.get(name):
            raise InputError(
                f"{found['id']!r} was created with {name}={there.get(name)!r}; got {value!r}: choose another id, or "
                f"drop {name}"
            )


def pause_before(attempt: int, response: httpx.Response | None) -> float:
    """Seconds to wait before another attempt: what the service says, or twice as long each time, with a random part."""
    said = response.headers.get("retry-after", "") if response is not None else ""
    base = float(said) if said.isdigit() else 0.05 * 2**attempt
    return min(LONGEST_PAUSE, base) * random.uniform(0.5, 1.0)


def connection_of(url: str, token: str | None, patience: float, timeout: float) -> dict[str, Any]:
    """Check what a client was given, and return what httpx needs to connect.

    >>> connection_of("bandits.example", None, 30, 10)
    Traceback (most recent call last):
    driftbandits.errors.InputError: url must begin with http:// or https://, such as 'http://127.0.0.1:8000'; got \
'bandits.example'
    """
    if not isinstance(url, str) or not re.match(r"https?://[^\s/]", url):
        raise InputError(f"url must begin with http:// or https://, such as 'http://127.0.0.1:8000'; got {shown(url)}")
    if token is not None and not (isinstance(token, str) and token.isascii() and token.isprintable()):
        raise InputError("token must be the text that driftbandits token create printed, or None without one")
    for name, seconds, least in (("patience", patience, 0.0), ("timeout", timeout, 0.001)):
        check_between(name, seconds, least, 86_400.0)
    return {
        "base_url": url,
        "headers": {} if token is None else {"Authorization": f"Bearer {token}"},
        "timeout": timeout,
    }


def _get(path: str, read: Callable[[Any], Found]) -> Call[Found]:
    return Call("GET", path, None, read, {})


def _at(id: str) -> str:
    return f"/v1/experiments/{quote(id, safe='')}"


def _decision(found: dict[str, Any]) -> Decision:
    return Decision(found["id"], found["arm"], found["step"], found["due"])

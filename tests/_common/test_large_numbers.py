"""Numbers that no int64 or float64 holds are refused in one sentence: by checks, policies, Sessions, and over HTTP."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import driftbandits as db
from driftbandits._common.checks import FOREVER, check_between, check_drift, check_horizon, check_whole, is_reward
from driftbandits._numba.compiled import check_fields
from driftbandits.client import Client
from driftbandits.live.decisions import Outcome
from in_process import ARMS, Running, serving
from lively import lively

HUGE = 10**400
"""Larger than any float."""
UNSPEAKABLE = 10**5000
"""Python refuses to write out so many digits."""


def test_a_horizon_fits_in_64_bits() -> None:
    assert check_horizon(FOREVER) == FOREVER == 2**60
    assert check_horizon(1e18) == 10**18
    for wrong, said in ((FOREVER + 1, "1152921504606846977"), (10**21, "1" + "0" * 21), (1e300, "1e[+]300")):
        with pytest.raises(
            db.InputError,
            match=f"^horizon must be a whole number, from 1 to 1,152,921,504,606,846,976; got {said}$",
        ):
            check_horizon(wrong)
    with pytest.raises(db.InputError, match=r"^horizon must be a whole number, at least 2; got 1$"):
        check_horizon(1, 2)


@pytest.mark.parametrize(
    ("value", "said"), [(HUGE, "about 10^400"), (-UNSPEAKABLE, "about -10^5000")], ids=["huge", "unspeakable"]
)
def test_nobody_must_read_hundreds_of_digits(value: int, said: str) -> None:
    checks: list[Callable[[], object]] = [
        lambda: check_whole("count", value, 1, 9),
        lambda: check_between("sigma", value, 0.0, 1.0),
        lambda: check_drift(value),
        lambda: db.Session(arms=ARMS, timeout=value),
        lambda: db.Session(arms=ARMS, default_reward=value),
        lambda: db.Session(arms=ARMS, explore=value),
        lambda: db.Session(arms=ARMS, seed=value),
        lambda: db.SnoozeItK(1000, 0.1, confidence=value),
    ]
    for check in checks:
        with pytest.raises(db.InputError) as refused:
            check()
        assert str(refused.value).endswith(f"; got {said}")


def test_the_limit_of_a_seed_is_named_to_the_last_digit() -> None:
    with pytest.raises(db.InputError, match="from 0 to 18,446,744,073,709,551,615; got 18446744073709551616"):
        db.Session(arms=ARMS, seed=2**64)


@pytest.mark.parametrize(
    "value",
    [HUGE, -HUGE, Fraction(HUGE), 1e101, np.float32("inf"), math.inf, math.nan],
    ids=["huge", "-huge", "fraction", "1e101", "float32", "inf", "nan"],
)
def test_no_reward_is_so_large(value: Any) -> None:
    assert not is_reward(value)
    session = db.Session(arms=ARMS)
    decision, before = session.ask(), session.snapshot()
    assert session.tell_many([(decision.id, value)]) == [Outcome.INVALID]
    with pytest.raises(db.InputError, match=r"^a reward must be a finite number, at most 1e\+100 in size; got "):
        session.tell(decision.id, value)
    assert session.snapshot() == before
    play = db.Online(db.UCB1(), 2)
    learnt = play.snapshot()
    with pytest.raises(db.InputError):
        play.update(0, value)
    assert play.snapshot() == learnt


@pytest.mark.parametrize("setting", ["timeout", "default_reward"])
def test_settings_that_are_too_large_are_told_the_limit(setting: str) -> None:
    settings: dict[str, Any] = {setting: 1e101}
    with pytest.raises(db.InputError, match=rf"^{setting} must be .* (at most|to) 1e\+100.* got 1e\+101$"):
        db.Session(arms=ARMS, **settings)


def test_too_many_decisions_at_once() -> None:
    for count, said in ((10**7, "10000000"), (HUGE, "about 10.400"), (UNSPEAKABLE, "about 10.5000")):
        with pytest.raises(db.InputError, match=f"^count must be a whole number, from 1 to 1,000,000; got {said}$"):
            db.Session(arms=ARMS).ask_many(count)


# Policies

ODD = [None, True, "x", 0, -1, 5e-324, 1e-300, 1.5, 1e12, FOREVER, FOREVER + 1, 2**63, 10**21, 1e308, HUGE, -HUGE]
ODD += [math.inf, math.nan]


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize("name", sorted(set(db.POLICIES) - {"Oracle"}))
def test_a_policy_refuses_an_odd_setting_or_plays_with_it(name: str) -> None:
    """Nothing else: no error from the depths, at its first step or later, nor when compiled kernels are handed it."""
    good = lively(name)
    played = 0
    for field in fields(good):  # type: ignore[arg-type]
        for value in ODD:
            try:
                policy = replace(good, **{field.name: value})  # type: ignore[type-var]
                session = db.Session(policy, ARMS)
            except db.InputError:
                continue
            check_fields(policy)
            for _ in range(3):
                session.tell(session.ask().id, 0.5)
            played += 1
    assert played or not fields(good)  # type: ignore[arg-type]


# Over HTTP


@pytest.fixture(scope="module")
def running() -> Iterator[Running]:
    with serving() as running:
        running.http.post(f"{running.create()}/ask_many", json={"count": 3})
        yield running


def refuses(running: Running, path: str, body: dict[str, Any], number: str) -> str:
    """The message of the refusal, if it is short; the number of that name takes the place of "?" in the body."""
    before, (text, named) = running.everything(), NUMBERS[number]
    content = json.dumps(body).replace('"?"', text)
    answer = running.http.post(path, content=content, headers={"Content-Type": "application/json"})
    assert (answer.status_code, answer.json()["error"]) == (422, "input"), answer.text
    message = str(answer.json()["message"])
    assert re.search(named, message)
    assert len(message) < 200
    assert running.everything() == before
    return message


NUMBERS = {
    "10^400": (f"{HUGE}", r"got about 10\^400"),
    "-10^400": (f"-{HUGE}", r"got about -10\^400"),
    "10^5000": ("1" + "0" * 5000, "too many digits|out of range"),
    "1e400": ("1e400", "got inf"),
    "-1e400": ("-1e400", "got -inf"),
    "10^21": (f"{10**21}", "got 1000000000000000000000"),
    "2^60 + 1": (f"{FOREVER + 1}", "got 1152921504606846977"),
}
"""As JSON may have them, and as refusals name them."""


@pytest.mark.parametrize("number", ["10^400", "-10^400", "10^5000", "1e400", "-1e400"])
def test_bodies(running: Running, number: str) -> None:
    path = "/v1/experiments/button"
    refuses(running, f"{path}/ask_many", {"count": "?"}, number)
    refuses(running, f"{path}/tell", {"id": "button-1", "reward": "?"}, number)
    refuses(running, f"{path}/tell_many", {"rewards": [{"id": "button-1", "reward": "?"}]}, number)
    for field in ("seed", "timeout", "default_reward", "explore", "drift", "title", "id"):
        refuses(running, "/v1/experiments", {"id": "new", "arms": ARMS, field: "?"}, number)


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize(
    ("policy", "settings"),
    [
        ("SnoozeIt", {"horizon": "?", "drift": 1e-5}),
        ("SnoozeItK", {"horizon": "?", "drift": 1e-5}),
        ("SnoozeItTight", {"horizon": 1000, "drift": 1e-5, "confidence": "?"}),
        ("KalmanTS", {"drift": "?"}),
        ("ThompsonSampling", {"sigma": "?"}),
        ("MUCB", {"horizon": 1000, "window": "?"}),
        ("Rexp3", {"batch": "?"}),
    ],
)
def test_settings_of_policies(running: Running, policy: str, settings: dict[str, Any], number: str) -> None:
    body = {"id": "new", "arms": ARMS, "policy": policy, "policy_settings": settings}
    refuses(running, "/v1/experiments", body, number)


def test_a_horizon_that_is_too_long_is_told_the_limit(running: Running) -> None:
    settings = {"horizon": "?", "drift": 1e-5}
    body = {"id": "new", "arms": ARMS, "policy": "SnoozeIt", "policy_settings": settings}
    assert refuses(running, "/v1/experiments", body, "10^21") == (
        "horizon must be a whole number, from 1 to 1,152,921,504,606,846,976; got 1000000000000000000000"
    )


def test_the_client_judges_as_a_session_does(running: Running) -> None:
    with Client(running.url) as client:
        button = client.open("button")
        assert button.tell_many([("button-1", HUGE)]) == [Outcome.INVALID]
        with pytest.raises(db.InputError, match=r"at most 1e\+100 in size; got about 10\^400"):
            button.tell("button-1", HUGE)

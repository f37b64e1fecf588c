"""Hundreds of wrong calls, of Python, the command line and HTTP: each gets one sentence that says what to do.

``wrong_calls.txt`` is the table: a call, and a part of the message. A row that begins with $ is a command; one that
begins with > is a request, sent to a service that has the experiment "button" with one open Decision.
"""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import pytest

import driftbandits as db
from driftbandits.cli.main import main
from driftbandits.client import Client
from driftbandits.policies.registry import make_policy
from driftbandits.research.league.recommend import recommend
from in_process import Running, ask, serving

ROWS = [
    line.partition(" | ")[::2]
    for line in (Path(__file__).parent / "wrong_calls.txt").read_text(encoding="utf-8").splitlines()
    if line and not line.startswith("#")
]
CALLS = [row for row in ROWS if not row[0].startswith(("$ ", "> "))]
COMMANDS = [row for row in ROWS if row[0].startswith("$ ")]
REQUESTS = [row for row in ROWS if row[0].startswith("> ")]


class Plain:
    """A policy in plain Python that always returns the same."""

    def __init__(self, choice: Any) -> None:
        self.choice = choice

    def init(self, n_arms: int) -> None:
        return None

    def select(self, state: None, rng: np.random.Generator) -> Any:
        return self.choice

    def update(self, state: None, arm: int, reward: float) -> None:
        pass


class NoRandom(Plain):
    """Its select takes no random generator."""

    def __init__(self) -> None:
        super().__init__(0)

    def select(self, state: None) -> int:  # type: ignore[override]
        return 0


class Unlikely(db.Uniform):
    """It tells the probability of one arm only."""

    def probabilities(self, state: Any) -> Any:
        return [0.5]


@dataclass(frozen=True)
class BareState(db.Policy):
    """A State must be a NamedTuple."""

    def init(self, n_arms: int) -> Any:
        return np.zeros(n_arms)

    def select(self, state: Any, rng: np.random.Generator) -> int:
        return 0

    def update(self, state: Any, arm: int, reward: float) -> None:
        pass


class Total(NamedTuple):
    sums: Any


@dataclass(frozen=True)
class ReturnsNone(db.Policy):
    """Compiled code can't return nothing for an arm."""

    def init(self, n_arms: int) -> Total:
        return Total(np.zeros(n_arms))

    def select(self, state: Total, rng: np.random.Generator) -> Any:
        return None

    def update(self, state: Total, arm: int, reward: float) -> None:
        pass


@pytest.fixture(scope="module")
def names() -> dict[str, Any]:
    """What the calls of the table speak of."""
    walk = db.instances.walk(40, drift=0.01)
    session = db.Session(db.RoundRobin(), arms=["a", "b"])
    session.ask()
    return {
        "db": db,
        "math": math,
        "array": np.arange(3),
        "masked": np.ma.masked_array([[0.1, 0.2]] * 3, mask=[[True, False]] * 3),
        "log": pl.DataFrame(
            {
                "step": range(1_000),
                "arm": np.random.default_rng(0).integers(0, 2, 1_000),
                "reward": 0.5,
                "probability": 0.5,
            }
        ),
        "pl": pl,
        "make_policy": make_policy,
        "recommend": recommend,
        "Plain": Plain,
        "NoRandom": NoRandom,
        "Unlikely": Unlikely,
        "BareState": BareState,
        "ReturnsNone": ReturnsNone,
        "Client": Client,
        "np": np,
        "walk": walk,
        "session": session,
        "online": db.Online(db.UCB1(), 2),
        "store": db.Store("sqlite://"),
        "result": db.simulate({"a": db.RoundRobin()}, walk, runs=2, progress=False),
    }


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty folder to be in, but for a folder that is called like a figure, and a file like a folder."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder.png").mkdir()
    (tmp_path / "file.txt").write_text("a file")
    before = sorted(tmp_path.rglob("*"))
    yield tmp_path
    assert sorted(tmp_path.rglob("*")) == before, "a call that was refused left a file behind"


def check_sentence(said: str) -> None:
    """One line, of a length that is read, without words of Python's own errors."""
    assert "\n" not in said
    assert 15 < len(said) < 420, said
    assert "Traceback" not in said
    assert not re.search(r"[a-z)']\. [A-Z]", said), f"two sentences: {said}"
    assert not re.search(r"object has no attribute|positional argument|unhashable|not iterable|NoneType", said), said


def test_the_table_is_long_and_has_no_row_twice() -> None:
    assert len(ROWS) >= 250
    assert len({call for call, _ in ROWS}) == len(ROWS)
    assert all(part for _, part in ROWS)


@pytest.mark.parametrize(("call", "part"), CALLS, ids=[call for call, _ in CALLS])
def test_a_wrong_call_gets_one_sentence(call: str, part: str, names: dict[str, Any]) -> None:
    with pytest.raises(db.InputError) as caught:
        eval(call, dict(names))
    check_sentence(str(caught.value))
    assert part in str(caught.value)


@pytest.mark.parametrize(("command", "part"), COMMANDS, ids=[command for command, _ in COMMANDS])
def test_a_wrong_command_gets_one_sentence_and_exit_code_2(
    command: str, part: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with warnings.catch_warnings(), pytest.raises(SystemExit) as ended:  # main changes how warnings are shown
        main(command.split()[1:])
    assert ended.value.code == 2
    out, said = capsys.readouterr()
    assert out == ""
    assert said.startswith("driftbandits: ")
    assert said.endswith("\n")
    check_sentence(said.removeprefix("driftbandits: ").removesuffix("\n"))
    assert part in said


@pytest.fixture(scope="module")
def service() -> Iterator[Running]:
    """A service with one experiment, "button", which has one open Decision."""
    with serving() as running:
        path = running.create(timeout=None, default_reward=None)
        assert ask(running, path) == ["button-1"]
        yield running


@pytest.mark.parametrize(("request_", "part"), REQUESTS, ids=[request for request, _ in REQUESTS])
def test_a_wrong_request_gets_one_sentence_and_changes_nothing(request_: str, part: str, service: Running) -> None:
    before = service.everything()
    method, path, *body = request_.split(" ", 3)[1:]
    answer = service.http.request(method, path, content=body[0].encode() if body else None)
    assert 400 <= answer.status_code < 500
    said = answer.json()
    assert set(said) == {"error", "message"}
    check_sentence(said["message"])
    assert part in said["message"]
    assert service.everything() == before

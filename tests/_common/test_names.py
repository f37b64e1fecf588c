"""Names that a person cannot tell apart, or read, are no names; and names without an order are no list."""

from __future__ import annotations

import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import driftbandits as db
from driftbandits._common.checks import check_names, look_of

UNORDERED: list[Any] = [
    {"red", "blue"},
    frozenset(["red", "blue"]),
    {"red": 1, "blue": 2},
    {"red": 1, "blue": 2}.keys(),
    {"red": "red", "blue": "blue"}.values(),
]
NO_LIST: list[Any] = [(name for name in ("red", "blue")), iter(["red", "blue"]), map(str, [1, 2]), b"ab", [b"a", "b"]]
UNREADABLE = [
    *("red ", " red", "\tred", "red\n", "red\u00a0", "\u3000red", "", " "),
    *("re\nd", "re\rd", "re\0d", "re\x1bd", "re\x7fd", "re\x85d", "re\u2028d", "re\ud800d"),
    *(
        "red\u200b",
        "\ufeffred",
        "re\u2060d",
        "re\u00add",
        "re\u202ed",
        "\u2066red",
        "\u200d",
        "\u200c\u200d",
        "x" * 201,
    ),
]
ALIKE = [
    ("a b", "a  b"),
    ("a b", "a\u00a0b"),
    ("caf\u00e9", "cafe\u0301"),
    ("ab", "a\u200db"),
    ("ab", "a\u200cb"),
    ("\uac00", "\u1100\u1161"),
    ("\u2764", "\u2764\ufe0f"),
    ("ab", "a\u034fb"),
    ("ab", "ab\u3164"),
    ("ab", "ab\u2800"),
    ("a b", "a\u2800b"),
    ("ab", "a\U000e0101b"),
]
GOOD = [
    "red",
    "Red",
    "a b",
    "\U0001f469\u200d\U0001f4bb",
    "\u0646\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
    "\u7ea2",
    "\u2764\ufe0f",
    "=1+1",
    "x" * 200,
]


def everywhere(arms: Any) -> list[Any]:
    """All places that take the names of arms."""
    store = db.Store("sqlite://")
    table = [[0.5, 0.4]]
    return [
        lambda: db.Session(db.UCB1(), arms=arms),
        lambda: store.create("x", arms=arms),
        lambda: store.open("x", arms=arms),
        lambda: db.Instance(table, arms=arms),
        lambda: db.Instance(table).with_arms(arms),
    ]


@pytest.mark.parametrize("arms", UNORDERED + NO_LIST, ids=lambda arms: type(arms).__name__)
def test_what_has_no_order_is_refused(arms: Any) -> None:
    for call in everywhere(arms):
        with pytest.raises(db.InputError, match="arms must be a list of"):
            call()


def test_the_order_of_a_set_does_differ() -> None:
    program = "print(list({'red', 'blue', 'green', 'pink'}))"
    seen = {
        subprocess.run([sys.executable, "-c", program], env={"PYTHONHASHSEED": str(seed)}, capture_output=True).stdout
        for seed in range(8)
    }
    assert len(seen) > 1


@pytest.mark.parametrize("name", UNREADABLE, ids=ascii)
def test_names_that_cannot_be_read_are_refused(name: str) -> None:
    for call in everywhere(["blue", name]):
        with pytest.raises(db.InputError, match="arms must be"):
            call()
    session = db.Session(db.UCB1(), arms=["blue", "red"])
    with pytest.raises(db.InputError, match="arms must be"):
        session.add_arm(name)
    with pytest.raises(db.InputError, match="name must be"):
        db.Session(db.UCB1(), arms=["blue", "red"], name=name)
    assert session.arms == ["blue", "red"]


@pytest.mark.parametrize(("one", "other"), ALIKE, ids=ascii)
def test_names_that_look_alike_are_refused(one: str, other: str) -> None:
    assert look_of(one) == look_of(other)
    for call in everywhere([one, other]):
        with pytest.raises(db.InputError, match="arms must be names that look different; got"):
            call()
    session = db.Session(db.UCB1(), arms=[one, "another"])
    with pytest.raises(db.InputError, match="there is or was an arm"):
        session.add_arm(other)


def test_readable_names_in_lists_of_all_kinds() -> None:
    assert check_names("arms", GOOD) == GOOD
    for arms in (("a", "b"), np.array(["a", "b"]), pl.Series(["a", "b"])):
        found = check_names("arms", arms)  # type: ignore[arg-type]
        assert found == ["a", "b"]
        assert {type(each) for each in found} == {str}


def test_columns_whose_names_are_one_are_refused(tmp_path: Path) -> None:
    for columns in ("red,red", "red,red "):
        (tmp_path / "twice.csv").write_text(f"{columns}\n0.5,0.4\n0.5,0.4\n")
        with pytest.raises(db.InputError, match="red"):
            db.instances.table(tmp_path / "twice.csv")
    (tmp_path / "good.csv").write_text("red, blue\n0.5,0.4\n0.5,0.4\n")
    assert db.instances.table(tmp_path / "good.csv").arms == ("red", "blue")


def test_a_transposed_table_is_warned_of() -> None:
    with pytest.warns(UserWarning, match="more arms, 3,000, than steps, 2: is the table transposed?"):
        db.Instance(np.full((2, 3_000), 0.5))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        db.Instance(np.full((3_000, 2), 0.5))
        db.Instance(np.full((2, 90), 0.5))
        db.Instance(np.full((200, 200), 0.5))


@pytest.mark.parametrize("means", [np.full((5, 2), 0.5 + 0.1j), np.zeros((5, 2), np.complex64), [[0.5 + 1j, 0.5]]])
def test_complex_means_are_refused(means: Any) -> None:
    with pytest.raises(db.InputError, match=r"means must be (real numbers|a table of numbers)"):
        db.Instance(means)


@pytest.mark.parametrize("seconds", [1e-4, 9.9e-4, 0, -1, True, float("nan"), float("inf"), "1", 10**400])
def test_times_that_cannot_be_kept_are_refused(seconds: Any) -> None:
    for name in ("timeout", "sticky"):
        with pytest.raises(db.InputError, match=f"{name} must be a positive number of seconds, from 0.001 to 1e"):
            db.Session(arms=["a", "b"], **{name: seconds})
    with db.Store("sqlite://") as store, pytest.raises(db.InputError, match="keep must be at least 3,600 seconds"):
        store.create("x", arms=["a", "b"], keep=seconds)
    with pytest.raises(db.InputError, match="explore is a share"):
        db.Session(arms=["a", "b"], explore=seconds if seconds != 1e-4 and seconds != 9.9e-4 and seconds != 0 else True)


@pytest.mark.parametrize("keep", [1, 60, 3_599.9])
def test_nothing_is_kept_for_less_than_an_hour(keep: float) -> None:
    with db.Store("sqlite://") as store:
        store.create("x", arms=["a", "b"], keep=3_600)
        for call in (
            lambda: store.create("y", arms=["a", "b"], keep=keep),
            lambda: store.experiments.update("x", keep=keep),
        ):
            with pytest.raises(db.InputError, match="keep must be at least 3,600 seconds, since a service"):
                call()
        assert store.experiments.get("x").keep == 3_600.0

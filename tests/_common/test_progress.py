"""What the bars say; that they are drawn on a terminal only is tested where they are used."""

from __future__ import annotations

import io
from collections.abc import Iterable
from contextlib import nullcontext
from typing import Any

import pytest
from rich.console import Console

from driftbandits._common import progress
from driftbandits._common.progress import Bar


def told(monkeypatch: pytest.MonkeyPatch, done: int, steps: int, after: float) -> list[Bar]:
    """The bar of work that has done so many steps after so many seconds."""
    clock, asked = [0.0], []

    def bars(now: Any, wanted: bool | None) -> Any:
        asked.append(now)
        return nullcontext()

    monkeypatch.setattr(progress, "bars", bars)
    monkeypatch.setattr("driftbandits._common.progress.time.monotonic", lambda: clock[0])
    with progress.step_bar("working", lambda: (done, steps), None):
        clock[0] = after
        return list(asked[0]())


def test_the_time_left_follows_from_the_steps_done(monkeypatch: pytest.MonkeyPatch) -> None:
    assert told(monkeypatch, 30_000_000, 90_000_000, 10.0) == [Bar("working", 3e7, 9e7, 20.0, "3 M steps/s")]


def test_no_bar_before_there_is_something_to_say(monkeypatch: pytest.MonkeyPatch) -> None:
    assert told(monkeypatch, 10, 20, 0.9) == []
    assert told(monkeypatch, 0, 20, 5.0) == []


def test_more_steps_than_expected_are_all_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    assert told(monkeypatch, 30, 20, 5.0)[0][1:4] == (20, 20, 0)


def test_a_line_for_each_bar() -> None:
    def drawn(lines: Iterable[Bar]) -> list[str]:
        console = Console(width=100, record=True, file=io.StringIO())
        console.print(progress._drawn(lines))
        return console.export_text().splitlines()

    first, second = drawn([Bar("all", 1, 4, 75.4), Bar("this", 2, 4, 0.0, "fast")])
    assert first.split()[0] == "all"
    assert first.split()[-3:] == ["25%", "1:15", "left"]
    assert second.split()[-4:] == ["50%", "0:00", "left", "fast"]
    assert drawn([]) in ([], [""])

"""Which tests are slow: those that start a browser, a server, a cluster or PostgreSQL, and those that take long."""

from __future__ import annotations

import gc
import importlib
import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import ModuleType

import pytest

import postgres
from driftbandits._numba import entry

gc.disable()  # until all tests are imported
pytest_plugins = ["comparison", "interpreting", "pages", "scheduling"]

HEAVY = {"browser", "clusters", "crash", "debian", "fuzz", "policy_fuzz", "serving", "watched"}
"""Modules of tests/support whose users start something."""
LONG = set((Path(__file__).parent / "slow.txt").read_text(encoding="utf-8").split())
"""Tests, and whole files, that take longer than 0.3 s on a quiet machine; ``pytest --durations=0`` tells."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection() -> None:
    """Of two processes one imports all tests from the last to the first: what one made byte code of, the other reads.

    In a fresh clone both made it of everything, at the same time, for half a minute.
    """
    if os.environ.get("PYTEST_XDIST_WORKER") == "gw1":
        for file in sorted(Path(__file__).parent.glob("*/test_*.py"), reverse=True):
            sys.path.insert(0, str(file.parent))
            with suppress(Exception):  # it is told when the file is collected
                importlib.import_module(file.stem)
            sys.path.pop(0)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if isinstance(item, pytest.Function) and _is_slow(item):
            item.add_marker("slow")


def pytest_collection_finish() -> None:
    """What was imported stays: to look through it again and again for garbage took a quarter of some files' time.

    Nor may a file play a policy while it is imported, as in the parameters of a test: every process would compile it.
    """
    played = {f"{maker.__name__} of {owners[0].__name__}" for maker, owners, *_ in entry._entries}
    if played:
        raise pytest.UsageError(f"compiled while tests were imported: {', '.join(sorted(played))}; do so in the test")
    gc.enable()
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)


def _is_slow(item: pytest.Function) -> bool:
    file, name = item.nodeid.split("::", 1)
    if {file, f"{file}::{name.split('[')[0]}"} & LONG or HEAVY & {_home(thing) for thing in vars(item.module).values()}:
        return True
    return "postgre" in item.nodeid.lower() or "postgres" in item.function.__code__.co_names


def _home(thing: object) -> str:
    return thing.__name__ if isinstance(thing, ModuleType) else str(getattr(thing, "__module__", ""))


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The URL of an empty Store, of each kind."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'store.db'}"
    else:
        with postgres.database() as found:
            yield found

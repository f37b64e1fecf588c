"""Which tests are slow: those that start a browser, a server, a cluster or PostgreSQL, and those that take long."""

from __future__ import annotations

from types import ModuleType

import pytest

pytest_plugins = ["comparison"]

HEAVY = {"browser", "clusters", "crash", "debian", "fuzz", "policy_fuzz", "serving"}
"""Modules of tests/support whose users start something."""
LONG = {
    "test_beyond_guarantees",
    "test_change_of_measure",
    "test_good_event",
    "test_league",
    "test_old_files",
    "test_paper",
    "test_regret_against_drift",
    "test_replay_coverage",
    "test_reproduce",
    "test_reproduction",
    "test_room",
}
"""Files that simulate for longer than a few seconds."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if isinstance(item, pytest.Function) and _is_slow(item):
            item.add_marker("slow")


def _is_slow(item: pytest.Function) -> bool:
    if item.module.__name__ in LONG or HEAVY & {_home(thing) for thing in vars(item.module).values()}:
        return True
    return "postgres" in item.name or "Postgres" in item.nodeid or "postgres" in item.function.__code__.co_names


def _home(thing: object) -> str:
    return thing.__name__ if isinstance(thing, ModuleType) else str(getattr(thing, "__module__", ""))

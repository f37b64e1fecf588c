"""Kernels run as Python: the same bits, and nothing is compiled, which would take most of a test's time.

For tests of what happens around policies, and for examples in docstrings that make a few decisions. ``test_registry``
shows that each policy gives the same bits compiled.
"""

from __future__ import annotations

from collections.abc import Generator

import pytest
from _pytest.doctest import DoctestItem

from driftbandits._numba import player
from driftbandits.simulation import engine, trajectory

FEW_DECISIONS = tuple(f"src/driftbandits/{folder}/" for folder in ("live", "service", "store"))
"""Folders whose examples play no long runs."""


def interpret(patched: pytest.MonkeyPatch) -> None:
    for module in (player, engine, trajectory):
        patched.setattr(module, "usual_mode", lambda *_: "interpreted")


@pytest.fixture
def interpreted(monkeypatch: pytest.MonkeyPatch) -> None:
    interpret(monkeypatch)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None]:
    if isinstance(item, DoctestItem) and item.nodeid.startswith(FEW_DECISIONS):
        with pytest.MonkeyPatch.context() as patched:
            interpret(patched)
            return (yield)
    return (yield)

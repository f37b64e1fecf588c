"""Which of the suite's processes runs which test: all tests of a policy run in one, and so do all tests of a file.

Most of the suite's time is numba's. What it has compiled of a policy serves every loop around it, but only in the same
process. Tests of a file share fixtures.
"""

from __future__ import annotations

import re
from typing import Any

import pytest
from xdist.scheduler.loadscope import LoadScopeScheduling

import driftbandits as db


def group(nodeid: str) -> str:
    """The policy that a test is about, by its parameters, else its file.

    >>> group("tests/policies/test_policies.py::test_registry[2-AutoTS]")
    'AutoTS'
    >>> group("tests/live/test_session.py::test_every_step_has_a_stream_of_its_own[7]")
    'tests/live/test_session.py'
    """
    file, _, name = nodeid.partition("::")
    parameters = re.findall(r"\w+", name.partition("[")[2])
    return next((word for word in parameters if word in db.POLICIES), file)


class ByPolicy(LoadScopeScheduling):  # type: ignore[misc]
    """Hands out groups of tests, those with the most tests first."""

    def _split_scope(self, nodeid: str) -> str:
        return group(nodeid)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> ByPolicy:
    return ByPolicy(config, log)

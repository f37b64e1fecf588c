"""Which of the suite's processes runs which test: all tests of a policy run in one, and so do all tests of a file.

Most of the suite's time is numba's. What it has compiled of a policy serves every loop around it, but only in the same
process; what is on disk serves every process, but only that loop. So the policies come first, each in one process, and
then files that play many of them find most loops on disk: the other way round each policy is compiled twice. Tests of a
file share fixtures.

Tests of the service wait much: for a page, for another process, for a time to pass. A third process begins with them,
so that the two cores always have something to do; and before them with mypy, for which it only waits. Meanwhile another
compiles what all of them need, which two would do at the same time.
"""

from __future__ import annotations

import re
from pathlib import PurePath
from typing import Any

import pytest
from xdist.scheduler.loadscope import LoadScopeScheduling

import driftbandits as db

FILES = {f"test_{name.lower()}": name for name in db.POLICIES}


def group(nodeid: str) -> str:
    """The policy that a test is about, by its parameters or its file's name, else its file.

    >>> group("tests/policies/test_policies.py::test_registry[2-AutoTS]")
    'AutoTS'
    >>> group("tests/live/test_session.py::test_every_step_has_a_stream_of_its_own[7]")
    'tests/live/test_session.py'
    >>> group("tests/policies/test_breakeven.py::test_whole_trajectories")
    'BreakEven'
    """
    file, _, name = nodeid.partition("::")
    parameters = re.findall(r"\w+", name.partition("[")[2])
    return next((word for word in parameters if word in db.POLICIES), FILES.get(PurePath(file).stem, file))


MYPY = "tests/project/check_code.py"
LONGEST = (
    MYPY,
    "tests/project/test_site.py",
    "tests/reproduction/test_reproduce.py",
    "tests/project/test_docs.py",
    "tests/_numba/test_kernels.py",
    "tests/_numba/test_faults.py",
    "tests/policies/test_beyond_guarantees.py",
    "tests/sweep/test_sweep_cluster.py",
    "tests/project/test_operations.py",
    "tests/service/test_dashboard.py",
    "tests/research/test_league.py",
    "tests/_numba/test_random.py",
    "tests/_numba/test_cells.py",
    "tests/service/test_serve.py",
    "tests/_numba/test_fuzz_policies.py",
)
"""Files that take longest: one that begins last keeps one process busy while the other has nothing left to do."""


WAITING = (MYPY, "tests/service/", "tests/store/", "tests/client/", "tests/cli/", "tests/research/test_report.py")
"""Files, and folders of files, that wait more than others."""


def turn(group: str, process: str) -> int:
    """When a group's turn is in a process; ``min`` takes the first of equals: xdist has those with most tests there."""
    if process == "gw2" and group.startswith(WAITING):
        return -3 if group == MYPY else -2
    if group in db.POLICIES:
        return -1
    return LONGEST.index(group) if group in LONGEST else len(LONGEST)


class ByPolicy(LoadScopeScheduling):  # type: ignore[misc]
    """Hands out groups of tests: policies, then files that take long, then the rest; most tests first."""

    def _split_scope(self, nodeid: str) -> str:
        return group(nodeid)

    def _assign_work_unit(self, node: Any) -> None:
        first = min(self.workqueue, key=lambda group: turn(group, node.gateway.id))
        self.workqueue.move_to_end(first, last=False)
        super()._assign_work_unit(node)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> ByPolicy:
    return ByPolicy(config, log)

"""What tests need of the operating system. Where it is missing they are skipped, and say why."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

signals = pytest.mark.skipif(sys.platform == "win32", reason="on Windows one process can't send Ctrl-C to another")
process_table = pytest.mark.skipif(
    not Path("/proc/self/stat").exists(), reason="that a holder died is seen in /proc; elsewhere its lease runs out"
)

"""Peak memory, in megabytes on every system that counts it."""

from __future__ import annotations

import subprocess
import sys

import pytest

from driftbandits._common.memory import peak_megabytes


def test_it_is_what_was_held_at_most() -> None:
    pytest.importorskip("resource")
    program = (
        "from driftbandits._common.memory import peak_megabytes\n"
        "before = peak_megabytes()\n"
        "held = bytearray(b'1' * 300_000_000)\n"
        "del held\n"
        "print(before, peak_megabytes())\n"
    )
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    before, after = map(float, answer.stdout.split())
    assert 570 < after < max(700, before + 1)  # two copies; Linux begins with the peak of the process that started it


def test_macos_counts_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    resource = pytest.importorskip("resource")
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setattr(resource, "getrusage", lambda who: resource.struct_rusage([0, 0, 3 * 2**20, *[0] * 13]))
    assert peak_megabytes() == 3


def test_where_nobody_counts_it_is_not_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "resource", None)
    assert peak_megabytes() != peak_megabytes()

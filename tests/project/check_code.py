"""What ``make test`` asks mypy and import-linter: as tests, beside the others, they keep nobody waiting."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("words", [["mypy"], ["lint-imports", "--no-cache"]], ids=["types", "imports"])
def test_nothing_is_complained_of(words: list[str]) -> None:
    program = Path(sys.executable).parent / words[0]
    answer = subprocess.run([program, *words[1:]], cwd=ROOT, capture_output=True, text=True)
    assert answer.returncode == 0, answer.stdout + answer.stderr

"""What ``make mutants`` changes: code that still compiles, one place at a time, and the same places for a seed."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
LIVE = "src/driftbandits/live/"


@pytest.fixture(scope="module")
def mutants() -> ModuleType:
    spec = importlib.util.spec_from_file_location("mutants", ROOT / "tools" / "mutants.py")
    assert spec
    assert spec.loader
    sys.modules["mutants"] = made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def test_a_seed_says_which_and_each_is_another_code(mutants: ModuleType) -> None:
    chosen = mutants.sample(1, 80, LIVE)
    assert len(set(chosen)) == 80
    assert mutants.sample(1, 80, LIVE) == chosen
    assert mutants.sample(2, 80, LIVE) != chosen
    for each in chosen:
        data = (ROOT / each.file).read_bytes()
        assert data[each.start : each.stop].decode() == each.before
        changed = data[: each.start] + each.after.encode() + data[each.stop :]
        assert compile(changed, str(each), "exec").co_code is not None, str(each)
        assert each.file.name in str(each)


def test_every_kind_of_place_is_changed(mutants: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mutants, "ROOT", tmp_path)
    (tmp_path / "code.py").write_text(
        '"""Text of 1 + 1."""\nLIMIT: int = 8\ndef f(x: int = 1) -> bool:\n    """Text."""\n    y = min(x, 2)\n'
        "    x.y = 0.5\n    g(x)\n    ä = f'{x + 1}', x - 1  # é\n    return y <= 3 and x is not None or True\n",
        encoding="utf-8",
    )
    found = {(each.line, each.before, each.after) for each in mutants.mutants_of(Path("code.py"))}
    assert found == {
        (2, "8", "(9)"),
        (3, "1", "(2)"),
        (5, "min", "max"),
        (5, "2", "(3)"),
        (6, "x.y = 0.5", "pass"),
        (6, "0.5", "(1.5)"),
        (7, "g(x)", "pass"),
        (8, "x - 1", "(x + 1)"),
        (8, "1", "(2)"),
        (9, "y <= 3 and x is not None or True", "((y <= 3 and x is not None) and True)"),
        (9, "y <= 3 and x is not None", "(y <= 3 or x is not None)"),
        (9, "y <= 3", "(y < 3)"),
        (9, "x is not None", "(x is None)"),
        (9, "3", "(4)"),
        (9, "True", "(False)"),
    }

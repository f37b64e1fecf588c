"""docs/architecture.md against the code: its list, its picture, its layers, its walks."""

from __future__ import annotations

import re
import tomllib
from itertools import combinations
from pathlib import Path

import grimp
import pytest

import rooms

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "driftbandits"
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
WALKS = re.findall(r"(?:^\d+\. .+\n)+", PAGE, re.MULTILINE)


@pytest.fixture(scope="module")
def imports() -> grimp.ImportGraph:
    return grimp.build_graph("driftbandits", cache_dir=None)


def test_every_entry_is_explained_once() -> None:
    listed = re.findall(r"^\| `(\S+)` \| .+ \|$", PAGE, re.MULTILINE)
    assert sorted(listed) == sorted(
        entry.name for entry in PACKAGE.iterdir() if entry.is_file() or any(entry.glob("*.py"))
    )  # folders without code are what an earlier version left behind


def test_every_file_that_is_named_exists() -> None:
    named = re.findall(r"`([\w./-]+\.(?:py|pyi|md|toml|svg))`", PAGE)
    assert len(named) > 40
    assert [name for name in named if not any((place / name).exists() for place in (PACKAGE, ROOT))] == []


def test_the_layers_are_those_that_are_checked() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"][
        "contracts"
    ]
    assert "\n".join(contracts[0]["layers"]) in PAGE
    assert contracts[0]["exhaustive"] is True


def test_the_picture_is_what_the_imports_are() -> None:
    assert (ROOT / "docs" / "rooms.svg").read_text(encoding="utf-8") == rooms.draw(), "run make docs"


def test_no_two_lines_of_the_picture_lie_on_each_other() -> None:
    spans = {"a": (0, 3), "b": (1, 2), "c": (3, 5), "d": (4, 6)}
    found = rooms.lanes(spans)
    assert set(found.values()) == {0, 1}
    for one, other in combinations(spans, 2):
        apart = spans[one][1] < spans[other][0] or spans[other][1] < spans[one][0]
        assert apart or found[one] != found[other]


@pytest.mark.parametrize("walk", WALKS)
def test_a_walk_leads_one_way(walk: str, imports: grimp.ImportGraph) -> None:
    """From its first file imports lead to every other, and none imports one that was passed before."""
    files = re.findall(r"^\d+\. `(\S+)\.py`: ", walk, re.MULTILINE)
    assert len(files) == walk.count("\n")
    modules = [f"driftbandits.{file}".replace("/", ".") for file in files]
    for at, module in enumerate(modules):
        assert at == 0 or imports.chain_exists(modules[0], module), module
        assert imports.find_modules_directly_imported_by(module).isdisjoint(modules[:at]), module


def test_there_are_three_walks() -> None:
    assert len(re.findall("^### ", PAGE, re.MULTILINE)) == 3
    assert len(WALKS) == 6

"""The pages of docs/policies say what the docstrings say now; ``make docs`` writes them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import driftbandits as db
from driftbandits.research import pages

FOLDER = Path(__file__).parents[2] / "docs" / "policies"


@pytest.mark.parametrize("name", sorted(db.POLICIES))
def test_a_page_says_what_the_docstring_says(name: str) -> None:
    assert (FOLDER / f"{name}.md").read_text(encoding="utf-8") == pages.page(name), "run make docs"


@pytest.mark.parametrize("name", sorted(db.POLICIES))
def test_a_page_has_a_small_picture(name: str) -> None:
    picture = (FOLDER / f"{name}.png").read_bytes()
    assert picture.startswith(b"\x89PNG")
    assert len(picture) < 40_000


def test_the_index_lists_every_policy_and_nothing_else() -> None:
    assert (FOLDER / "README.md").read_text(encoding="utf-8") == pages.index(), "run make docs"
    assert {path.stem for path in FOLDER.glob("*.md")} == {"README", *db.POLICIES}
    assert {path.stem for path in FOLDER.glob("*.png")} == set(db.POLICIES)


def test_examples_are_fenced_and_pages_linked() -> None:
    page = pages.page("SnoozeIt")
    assert re.search(r"```python\n>>> SnoozeIt\(.+\n865\n```\n", page)
    assert "[snoozeit.md](../snoozeit.md)" in page


def test_a_docstring_that_leaves_something_out(monkeypatch: pytest.MonkeyPatch) -> None:
    class Silent(db.Policy):
        """Says nothing of what it must know."""

    monkeypatch.setitem(db.POLICIES, "Silent", Silent)
    with pytest.raises(db.InputError, match=r"docstring of Silent.*It must know"):
        pages.index()

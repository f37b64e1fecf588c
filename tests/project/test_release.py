"""What a release says of itself in several places is the same in all of them."""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import metadata, version
from pathlib import Path
from typing import Any

import driftbandits

ROOT = Path(__file__).parents[2]


def text(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


def project() -> dict[str, Any]:
    return tomllib.loads(text("pyproject.toml"))


def test_one_version() -> None:
    assert version("driftbandits") == driftbandits.__version__, "run make check: it installs the package again"
    assert re.findall(r"^version: (.+)$", text("CITATION.cff"), re.MULTILINE) == [driftbandits.__version__]
    assert re.findall(r"^## (\S+)", text("CHANGELOG.md"), re.MULTILINE)[0] == driftbandits.__version__


def test_every_python_that_numba_supports_is_named_and_tested() -> None:
    def pythons(classifiers: list[str] | None) -> set[str]:
        return set(re.findall(r"Python :: (3\.\d+)", "\n".join(classifiers or [])))

    about = project()["project"]
    first = int(re.fullmatch(r">=3\.(\d+)", about["requires-python"])[1])  # type: ignore[index]
    supported = {python for python in pythons(metadata("numba").get_all("Classifier")) if int(python[2:]) >= first}
    assert pythons(about["classifiers"]) == supported
    (matrix,) = re.findall(r"^ +python: \[(.+)\]$", text(".github/workflows/ci.yml"), re.MULTILINE)
    assert {python.strip(' "') for python in matrix.split(",")} == supported


def test_everything_that_is_installed_is_pinned() -> None:
    found = project()
    groups = [found["project"]["dependencies"], *found["dependency-groups"].values()]
    groups += found["project"]["optional-dependencies"].values()
    needed = {_name(line) for group in groups for line in group} - {"driftbandits"}
    assert needed <= {_name(line) for line in text("constraints.txt").splitlines()}
    assert len(needed) > 20


def _name(requirement: str) -> str:
    return re.split(r"[\[<>=;! ]", requirement)[0].lower().replace("_", "-")

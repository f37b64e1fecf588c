"""What the paper says, from ``statements.toml``, and what the results say of it."""

import inspect
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from reproduction import verdicts
from reproduction.studies import STUDIES
from reproduction.verdicts import Verdict

FILE = Path(__file__).with_name("statements.toml")
ALL = ""
"""The form of a statement that has one verdict."""


@dataclass(frozen=True)
class Statement:
    """One statement of the paper, and what judges it: a function of ``verdicts``, or mathematics."""

    place: str
    name: str
    quote: str
    says: str
    """A template of the verdict's numbers."""
    kind: str | None = None
    verdict: str | None = None
    args: Mapping[str, Any] = field(default_factory=dict)
    forms: Sequence[str] = (ALL,)
    implemented: str | None = None
    shown: str | None = None
    claim: str | None = None
    """The name of one of the paper's seven claims."""
    claimed: str | None = None
    refuted_by: str | None = None

    @property
    def id(self) -> str:
        """The anchor of the statement in the report."""
        return slug(self.claim or f"{self.place} {self.name}")

    @property
    def part(self) -> str:
        """The section or appendix of the paper: 6 for “6, Experiment 1”."""
        return re.split("[ ,.]", self.place)[0]

    @property
    def needs(self) -> list[str]:
        """The studies that the verdict is computed from."""
        if self.verdict is None:
            return []
        names = inspect.signature(getattr(verdicts, self.verdict)).parameters
        return [name.replace("_", "-") for name in names if name not in self.args and name != "form"]

    def judge(self, results: Mapping[str, Any]) -> dict[str, Verdict] | None:
        """The verdict of each form; None if a study that it needs was not run."""
        if self.verdict is None:
            return {ALL: Verdict(str(self.kind))}
        if not set(self.needs) <= set(results):
            return None
        function = getattr(verdicts, self.verdict)
        given = {name.replace("-", "_"): results[name] for name in self.needs} | dict(self.args)
        asked = "form" in inspect.signature(function).parameters
        return {form: function(**given, **({"form": form} if asked else {})) for form in self.forms}


@dataclass(frozen=True)
class Judged:
    """A statement and its verdicts by form; None if it was not run."""

    statement: Statement
    verdicts: dict[str, Verdict] | None


def load() -> list[Statement]:
    """Every statement; an unknown field, function or study is an error."""
    entries = tomllib.loads(FILE.read_text(encoding="utf-8"))["statement"]
    found = TypeAdapter(list[Statement]).validate_python(entries, extra="forbid")
    for one in found:
        if (one.kind is None) == (one.verdict is None):
            raise ValueError(f"{one.name}: give a kind or a verdict, and not both")
        if unknown := set(one.needs) - set(STUDIES):
            raise ValueError(f"{one.name}: {one.verdict} asks for unknown studies: {', '.join(unknown)}")
    if len({one.id for one in found}) < len(found):
        raise ValueError("two statements have the same place and name")
    return found


def judge(results: Mapping[str, Any]) -> list[Judged]:
    """Every statement with its verdicts."""
    return [Judged(one, one.judge(results)) for one in load()]


def slug(name: str) -> str:
    """A name as an anchor."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")

"""What the report says, before it is said in HTML: drawings, claims, facts and sentences, all computed from runs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

HOLDS, FAILS, UNDECIDED = "holds", "fails", "not decidable"


@dataclass(frozen=True)
class Drawing:
    """A figure. ``forms`` maps a form to a file stem below the output directory, each with .svg, .png and .pdf.

    A figure of regret comes in two forms: ``ours`` (pseudo-regret, 95 % interval) and ``paper`` (realised regret, band
    of one standard deviation); any other has the one form ``ours``.
    """

    name: str
    title: str
    caption: str
    forms: dict[str, str]


@dataclass(frozen=True)
class Verdict:
    """What the runs say of one claim, for one form of SnoozeIt."""

    verdict: str
    numbers: str


@dataclass(frozen=True)
class Claim:
    """One claim of the paper: what was claimed, what would refute it, and the verdict for each form of SnoozeIt."""

    name: str
    claimed: str
    refuted_by: str
    verdicts: dict[str, Verdict]


@dataclass(frozen=True)
class Section:
    """A part of the report: a few sentences, drawings, and tables of plain rows."""

    name: str
    title: str
    text: list[str]
    drawings: list[Drawing] = field(default_factory=list)
    tables: dict[str, list[dict[str, Any]]] = field(default_factory=dict)


@dataclass(frozen=True)
class Content:
    """The whole report."""

    runs: int
    seed: int
    versions: dict[str, str]
    summary: list[str]
    experiments: list[Section]
    claims: list[Claim]
    facts: list[Section]
    left_open: list[Section]

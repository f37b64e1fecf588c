"""What the report says, before it is said in HTML: drawings, claims, facts and sentences, all computed from runs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

HOLDS, FAILS, UNDECIDED = "holds", "fails", "not decidable"
CONSISTENT = "consistent"
"""The verdict on a theorem that every test bore out: runs can refute a statement about all instances, not show it."""


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
    """What the runs say of one claim, for one form of SnoozeIt, and how many tests it rests on."""

    verdict: str
    numbers: str
    tests: int = 0
    could_fail: int = 0
    """How many of the tests could have failed: the others would have passed with any policy."""


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
class Page:
    """What a report is called, how its chapters are headed, and how to get it again."""

    file: str
    title: str
    heading: str
    emphasis: str
    """The end of the heading."""
    lead: str
    opening: str
    """The heading of ``opening``."""
    judged: str
    """What stands before the name of the form that a claim is judged for."""
    judging: str
    chapters: dict[str, str]
    """Headings of ``experiments``, ``facts`` and ``left_open``, in this order; keys name the sections' anchors."""
    again: str
    command: str
    beside: str
    data: str
    """The file that a program would read."""
    data_holds: str


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
    page: Page
    opening: list[Section] = field(default_factory=list)
    """What a reader must know first; stands before everything else."""

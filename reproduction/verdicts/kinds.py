"""What a verdict is, and its kinds."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from reproduction.statistics import FAILS, HOLDS, UNDECIDED

CONSISTENT = "consistent"
"""Of a statement about all instances: every test bore it out, and some could have failed."""
POWERLESS = "not testable here"
"""Of any statement: whatever was run, it could not have refuted it."""
PARTLY = "in part"
"""True in one of its readings, or true of less than is said."""
PROVED, MISPRINT, DEFINED, UNTESTED = "proved", "misprint", "definition", "not tested"
KINDS = (HOLDS, CONSISTENT, PROVED, PARTLY, FAILS, MISPRINT, UNDECIDED, POWERLESS, DEFINED, UNTESTED)


@dataclass(frozen=True)
class Strength:
    """How many tests a verdict rests on, and how many of them could have failed."""

    tests: int = 0
    could_fail: int = 0


@dataclass(frozen=True)
class Verdict:
    """What follows from the results, how strong it is, and the numbers behind it."""

    kind: str
    strength: Strength = Strength()
    numbers: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"a verdict is one of {', '.join(KINDS)}; got {self.kind!r}")


def sure(verdict: str, tests: int, **numbers: Any) -> Verdict:
    """A verdict of which every test could have failed."""
    return Verdict(verdict, Strength(tests, tests), numbers)


def counted(tests: int, could_fail: int, violations: int, **numbers: Any) -> Verdict:
    """The verdict on a statement about all instances, from counts."""
    kind = FAILS if violations else CONSISTENT if could_fail else POWERLESS
    return Verdict(kind, Strength(tests, could_fail), {"violations": violations, **numbers})

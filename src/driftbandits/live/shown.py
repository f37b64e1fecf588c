"""How a Session and an Online are printed, and what a notebook shows of them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from driftbandits._common.notebook import html_facts, html_table, written
from driftbandits.policies._parts.belief import Belief

if TYPE_CHECKING:
    from driftbandits.live.session import Session

MOST_SHOWN = 20
"""Arms that are shown; the others are counted."""


def facts_of(session: Session) -> dict[str, Any]:
    """What is said of a Session."""
    counts = {"asked": session.step, "learnt": session.learnt, "open": session.open}
    return {"policy": session.policy, "arms": listed(session.arms), **counts, "seed": str(session.seed)}


def in_a_line(kind: str, facts: Mapping[str, Any]) -> str:
    """The facts on one line.

    >>> in_a_line("Session d", {"asked": 1200, "open": 3})
    '<Session d: asked 1,200, open 3>'
    """
    return f"<{kind}: {', '.join(f'{name} {written(value)}' for name, value in facts.items())}>"


def as_html(kind: str, facts: Mapping[str, Any], arms: Sequence[str], belief: Belief) -> str:
    """The facts, and below them what the policy believes of each arm, if it keeps estimates."""
    shown = html_facts(facts, kind)
    if belief.estimate is None or belief.low is None or belief.high is None:
        return shown
    numbers = zip(belief.estimate, belief.low, belief.high, strict=True)
    rows = [(arm, *(_known(value) for value in row)) for arm, row in zip(arms, numbers, strict=True)]
    more = f"and {len(arms) - MOST_SHOWN:,} more arms" if len(arms) > MOST_SHOWN else ""
    return shown + html_table(["arm", "estimate", "low", "high"], rows[:MOST_SHOWN], note=more)


def _known(value: float) -> str:
    return written(float(value)) if math.isfinite(value) else ""


def listed(arms: Sequence[str]) -> str:
    """The names of arms, or of the first of them.

    >>> listed(["red", "blue"]), listed([str(arm) for arm in range(22)])[-17:]
    ('red, blue', '18, 19 and 2 more')
    """
    more = f" and {len(arms) - MOST_SHOWN:,} more" if len(arms) > MOST_SHOWN else ""
    return ", ".join(arms[:MOST_SHOWN]) + more

"""A policy at a glance: the table at the top of its page."""

from __future__ import annotations

import functools
import re

import polars as pl

from driftbandits.policies import POLICIES
from driftbandits.policies.base import ARMS_CHANGE
from driftbandits.research.league.recommend import shipped_standings
from driftbandits.research.pages import must_know

ENTRY = "[`bounds.{0}`](../reference/theory.md#driftbandits.bounds.{0})"
STILL = "for means that do not move, in the work cited; none under drift"
JUMPS = "for means that jump now and then and stand still between, in the work cited; none here for slow drift"
NONE = "none is proved"
PROVED = {
    "SnoozeIt": f"Theorems 1 and 2: {ENTRY.format('minimax_upper')}, {ENTRY.format('instance_dependent')}",
    "SnoozeItTight": f"{ENTRY.format('snoozeit_tight')}, [proved](../proofs-beyond.md)",
    "SnoozeItK": f"{ENTRY.format('snoozeit_k')}, [proved](../proofs-beyond.md)",
    "DriftUCB": "O(T (K δ ln T)^(1/3)), [proved](../beyond-the-paper.md)",
    "AutoTS": NONE,
    "BreakEven": NONE,
    "KalmanTS": NONE,
    "DiscountedTS": "none is known to us, and none is proved here for the Gaussian form, which is ours",
    "Oracle": "its regret is 0",
    "RoundRobin": "none: its regret grows with T, whatever the means do",
    "Uniform": "none: its regret grows with T, whatever the means do",
    "UCB1": STILL,
    "KLUCB": STILL,
    "ThompsonSampling": STILL,
    "SuccessiveElimination": STILL,
    "ExploreThenCommit": f"O(T^(2/3) (K ln T)^(1/3)) {STILL}",
    "CUSUMUCB": JUMPS,
    "DSTS": JUMPS,
    "DUCB": JUMPS,
    "MUCB": JUMPS,
    "SWLBSDA": JUMPS,
    "AdSwitch": f"{JUMPS}; the number of jumps need not be known",
    "GLRUCB": f"{JUMPS}; there with larger thresholds than the default, which is that of the authors' experiments",
    "PredictiveSampling": "for means drawn from the process it is told, in the work cited; none for slow drift",
    "RAWUCB": "for means that never rise, in the work cited; none for means that rise again",
    "META": "for a limit V on the total variation, in the work cited: O((K V)^(1/3) T^(2/3) + (K T)^(1/2)) up to ln T",
    "Rexp3": "for a limit V on the total variation, in the work cited: O(V^(1/3) T^(2/3)) up to K and ln T",
}
"""What is proved, and for which means: in the package's pages, in the paper, or in the work that a policy comes from.

Rates are given only where a text that states them was read; the other works are cited for theirs.
"""

ELSEWHERE = "for means that change within limits, in the work cited, which names the limits; not computed here"


def glance(name: str, page: str) -> str:
    """The table, as Markdown, from the page's own words and the league's standings."""
    rows = [("It must know", must_know(name))]
    if cost := re.search(r"[Aa] step costs ([^.;:]+)", " ".join(page.split())):
        rows.append(("A step costs", cost[1].partition(" Citation")[0]))
    rows.append(("[When arms come and go](../experiments.md)", ARMS_CHANGE[POLICIES[name].arms_change]))
    rows.append(("Guarantee", PROVED.get(name, ELSEWHERE)))
    if played := _league().get(name):
        rows.append(("[League](../league.md)", f"{played}: regret over that of the best policy there, geometric mean"))
    return "| | |\n|---|---|\n" + "".join(f"| {title} | {text} |\n" for title, text in rows)


@functools.cache
def _league() -> dict[str, str]:
    table = shipped_standings().group_by("policy", "kind").agg(pl.col("ratio").log().mean().exp()).sort("kind")
    said: dict[str, list[str]] = {}
    for policy, kind, ratio in table.iter_rows():
        said.setdefault(policy, []).append(f"{kind} {ratio:.3g}")
    return {policy: ", ".join(kinds) for policy, kinds in said.items()}

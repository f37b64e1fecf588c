"""A policy at a glance: the table at the top of its page."""

from __future__ import annotations

import functools
import re

import polars as pl

from driftbandits.research.league.recommend import shipped_standings
from driftbandits.research.pages import must_know

ENTRY = "[`bounds.{0}`](../reference/theory.md#driftbandits.bounds.{0})"
PROVED = {
    "SnoozeIt": f"Theorems 1 and 2: {ENTRY.format('minimax_upper')}, {ENTRY.format('instance_dependent')}",
    "SnoozeItTight": f"{ENTRY.format('snoozeit_tight')}, [proved](../proofs-beyond.md)",
    "SnoozeItK": f"{ENTRY.format('snoozeit_k')}, [proved](../proofs-beyond.md)",
    "DriftUCB": "O(T (K δ ln T)^(1/3)), [proved](../beyond-the-paper.md)",
    "AutoTS": "none is proved",
    "KalmanTS": "none is proved",
    "Oracle": "its regret is 0",
    "RoundRobin": "none",
    "Uniform": "none",
}
"""What is proved in the package's pages or in the paper; other policies have what their own papers prove."""

ELSEWHERE = "as proved in the work cited below, where its conditions hold; not computed here"


def glance(name: str, page: str) -> str:
    """The table, as Markdown, from the page's own words and the league's standings."""
    rows = [("It must know", must_know(name))]
    if cost := re.search(r"[Aa] step costs ([^.;:]+)", " ".join(page.split())):
        rows.append(("A step costs", cost[1].partition(" Citation")[0]))
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

"""How statements of the paper are judged: by the runs of a report, or by mathematics alone.

Where runs decide, the verdict is computed from them, and beside it stands how many of the tests behind it could have
failed. Where mathematics decides, the verdict says so and names the proof, the correction or the counter-example.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from driftbandits._common.fits import fit_power_law
from driftbandits.research.paper.authors_run import AVERAGE_REGRET
from driftbandits.research.paper.claims import strength
from driftbandits.research.paper.experiments import ALGORITHM_1, FORMS
from driftbandits.research.report.content import CONSISTENT, FAILS, HOLDS, UNDECIDED, Claim, Section
from driftbandits.research.studies import episodes

DEFINED, PROVED, MISPRINT, UNTESTED = "definition", "proved", "misprint", "not tested"


class Finding(NamedTuple):
    """What came of one item, and how strong the test was."""

    verdict: str
    strength: str


Judge = Callable[["Findings"], Finding]


@dataclass(frozen=True)
class Findings:
    """What items are judged by: the claims, and the sections of the report by name."""

    claims: Mapping[str, Claim]
    sections: Mapping[str, Section]


@dataclass(frozen=True)
class Item:
    """One claim of the paper. ``found`` is a finding, or a function that computes it from the report."""

    section: str
    name: str
    quote: str
    implemented: str
    shown: str
    found: Finding | Judge

    def finding(self, findings: Findings) -> Finding:
        """What came of it; “not run” where its section is not in this report."""
        if isinstance(self.found, Finding):
            return self.found
        try:
            return self.found(findings)
        except KeyError:
            return Finding("not run", "its section is not part of this report")


def claim(name: str, form: str = "printed") -> Judge:
    def judge(findings: Findings) -> Finding:
        found = findings.claims[name].verdicts[form]
        return Finding(f"{found.verdict} ({form})", strength(found.tests, found.could_fail))

    return judge


def all_forms(name: str) -> Judge:
    def judge(findings: Findings) -> Finding:
        verdicts = findings.claims[name].verdicts
        told = ", ".join(f"{form}: {found.verdict}" for form, found in verdicts.items())
        some = verdicts["printed"]
        return Finding(told, f"each form: {strength(some.tests, some.could_fail)}")

    return judge


def _rows(section: str, table: str, findings: Findings) -> list[dict[str, Any]]:
    tables = findings.sections[section].tables
    return next(rows for title, rows in tables.items() if title.startswith(table))


def lemma(name: str) -> Judge:
    """From the lemmas on simulated episodes."""

    def judge(findings: Findings) -> Finding:
        row = {row["statement"]: row for row in _rows("episodes", "Lemmas", findings)}[name]
        verdict = FAILS if row["violations"] else CONSISTENT if row["could fail"] else UNDECIDED
        close = f"; closest {row['closest']:g} of the bound" if row["closest"] else ""
        more = f", {row['violations']:,} do" if row["violations"] else close
        return Finding(verdict, f"{row['could fail']:,} of {row['checks']:,} checks could fail{more}")

    return judge


def with_its_one(findings: Findings) -> Finding:
    """Corollary 1 as corrected; as printed it is false, which has a row of its own."""
    found = lemma(episodes.COUNT)(findings)
    return Finding(found.verdict, f"with the 1 that it lacks: {found.strength}")


def figure_one(number: int) -> Judge:
    def judge(findings: Findings) -> Finding:
        rows = _rows("gap-profile", "The statements", findings)
        mine = [row for row in rows if row["statement"].startswith(f"{number}.")]
        if not mine:
            return Finding(UNDECIDED, rows[0]["measured"])
        return Finding("; ".join(f"{row['λ']}: {row['verdict']}" for row in mine), mine[0]["measured"])

    return judge


def mechanism(where: str, starts: str) -> Judge:
    def judge(findings: Findings) -> Finding:
        rows = [
            row
            for row in _rows("mechanisms", "Explanations", findings)
            if row["where"] == where and row["the paper's explanation"].startswith(starts)
        ]
        told = ", ".join(f"{row['form']}: {row['behaves so']}" for row in rows)
        return Finding(told, rows[0]["measured"] if len(rows) == 1 else strength(len(rows), len(rows)))

    return judge


RIVALS = ("SW-UCB#", "Rexp3", "Exp3.S")


def outperforms(findings: Findings) -> Finding:
    """Whether SnoozeIt has less regret than every rival in one of two comparisons; that it has not refutes nothing."""
    least: dict[str, list[str]] = {form: [] for form in FORMS}
    for number, name in ((1, "separated"), (2, "toggling")):
        rows = {row["policy"]: row for row in _rows(name, "Regret at T", findings)}
        for form, policy in FORMS.items():
            if rows[policy]["95 % high"] < min(rows[rival]["95 % low"] for rival in RIVALS):
                least[form].append(f"Experiment {number}")
    told = ", ".join(f"{form}: {HOLDS if where else UNDECIDED}" for form, where in least.items())
    where = "; ".join(f"{form}: {' and '.join(found)}" for form, found in least.items() if found) or "in neither"
    return Finding(told, f"least regret of all in one of two experiments: {where}. Two cannot refute “there are”")


def remark_2(findings: Findings) -> Finding:
    """Algorithm 2 against Algorithm 1 on every instance of the experiments."""
    changes = []
    for name in ("separated", "toggling", "common-periods", "equal-drift"):
        by_drift: dict[str, dict[str, float]] = {}
        for row in _rows(name, "Regret at T", findings):
            by_drift.setdefault(row["drift"], {})[row["policy"]] = row["regret"]
        changes += [found[FORMS["printed"]] / found[ALGORITHM_1] - 1 for found in by_drift.values()]
    less = sum(change < 0 for change in changes)
    reach = f"{min(changes):+.1%} to {max(changes):+.1%}"
    verdict = FAILS if max(changes) > NOTABLE else HOLDS if min(changes) < -NOTABLE else UNDECIDED
    return Finding(verdict, f"less regret on {less} of {len(changes)} instances; it changes by {reach}")


NOTABLE = 0.02
"""A change of regret that is more than the noise of some runs."""


def authors(findings: Findings) -> Finding:
    findings.sections["authors-run"]
    sharp, snoozeit = AVERAGE_REGRET["SW-UCB#"], AVERAGE_REGRET[FORMS["released"]]
    verdict = FAILS if sharp < snoozeit else HOLDS
    return Finding(verdict, f"the authors' own run: SnoozeIt about {snoozeit:,}, SW-UCB# about {sharp:,}")


def good_event(findings: Findings) -> Finding:
    rows = _rows("confidence", "Experiment 1", findings)
    row = next(row for row in rows if row["confidence"] == 1.0)
    failed = float(row["good event fails"].rstrip("%"))
    return Finding(
        FAILS if failed else CONSISTENT,
        f"it failed in {failed:.0f} % of the runs; the claim allows 2/T, too few to see",
    )


def change_of_measure(findings: Findings) -> Finding:
    """Only a policy that surely behaves differently in the two instances could refute the lemma."""
    refuted = "for 0 of" not in findings.sections["change-of-measure"].text[1]
    rows = _rows("change-of-measure", "Lemma 9", findings)
    could = sum(float(row["told apart"].split("(")[1].split()[0]) > 0 for row in rows)
    verdict = FAILS if refuted else CONSISTENT if could else UNDECIDED
    return Finding(verdict, f"both sides measured: {strength(len(rows), could)}")


def no_drift(findings: Findings) -> Finding:
    said = findings.sections["sharp-bounds"].text[2]
    true, tried = re.findall(r"true of (\d+) of (\d+)", said)[0]
    return Finding(HOLDS if true == tried else FAILS, said)


def mild_drift(findings: Findings) -> Finding:
    """Logarithmic if regret/ln T stays within a fifth over all horizons."""
    found = [row["regret/ln T"] for row in _rows("mild-drift", "Regret under mild drift", findings)]
    said = f"regret/ln T between {min(found):g} and {max(found):g}; {findings.sections['mild-drift'].text[2]}"
    return Finding(CONSISTENT if max(found) <= 1.2 * min(found) else FAILS, said)


NEAR = 0.05
"""How far a fitted exponent may be from 1/3."""


def own_exponent(findings: Findings) -> Finding:
    rows = [row for row in _rows("worst-gap", "The worst gap", findings) if row["policy"] == ALGORITHM_1]
    exponent = fit_power_law([float(row["δ"]) for row in rows], [row["regret there"] for row in rows]).exponent
    verdict = CONSISTENT if abs(exponent - 1 / 3) < NEAR else FAILS
    return Finding(verdict, f"at the worst gap regret grows as δ^{exponent:.2f}, over {len(rows)} drifts")


def trajectory(findings: Findings) -> Finding:
    growing = findings.sections["trajectories"].drawings[0].caption
    said = next(part for part in growing.split(". ") if part.startswith("Rank correlation") or "Too few" in part)
    return Finding(CONSISTENT if "phase -" in said and "phase +" in said else UNDECIDED, said)


DEFINITION = Finding(DEFINED, "nothing to test")
STRUCTURE = Finding(UNTESTED, "a description, not a claim about numbers")
PRIORITY = Finding(UNTESTED, "a claim of priority, which runs cannot decide")

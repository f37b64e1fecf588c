"""The paper sentence by sentence: every empirical or mathematical claim, where it is implemented, and what came of it.

One table, in the paper's order. Where runs decide, the verdict is computed from them, and beside it stands how many of
the tests behind it could have failed. Where mathematics decides, the verdict says so and names the place of the proof,
the correction or the counter-example.
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


def _claim(name: str, form: str = "printed") -> Judge:
    def judge(findings: Findings) -> Finding:
        found = findings.claims[name].verdicts[form]
        return Finding(f"{found.verdict} ({form})", strength(found.tests, found.could_fail))

    return judge


def _all_forms(name: str) -> Judge:
    def judge(findings: Findings) -> Finding:
        verdicts = findings.claims[name].verdicts
        told = ", ".join(f"{form}: {found.verdict}" for form, found in verdicts.items())
        some = verdicts["printed"]
        return Finding(told, f"each form: {strength(some.tests, some.could_fail)}")

    return judge


def _rows(section: str, table: str, findings: Findings) -> list[dict[str, Any]]:
    tables = findings.sections[section].tables
    return next(rows for title, rows in tables.items() if title.startswith(table))


def _lemma(name: str) -> Judge:
    """From the lemmas on simulated episodes."""

    def judge(findings: Findings) -> Finding:
        row = {row["statement"]: row for row in _rows("episodes", "Lemmas", findings)}[name]
        verdict = FAILS if row["violations"] else CONSISTENT if row["could fail"] else UNDECIDED
        close = f"; closest {row['closest']:g} of the bound" if row["closest"] else ""
        more = f", {row['violations']:,} do" if row["violations"] else close
        return Finding(verdict, f"{row['could fail']:,} of {row['checks']:,} checks could fail{more}")

    return judge


def _figure_one(number: int) -> Judge:
    def judge(findings: Findings) -> Finding:
        rows = _rows("gap-profile", "The statements", findings)
        mine = [row for row in rows if row["statement"].startswith(f"{number}.")]
        if not mine:
            return Finding(UNDECIDED, rows[0]["measured"])
        return Finding("; ".join(f"{row['λ']}: {row['verdict']}" for row in mine), mine[0]["measured"])

    return judge


def _mechanism(where: str, starts: str) -> Judge:
    def judge(findings: Findings) -> Finding:
        rows = [
            row
            for row in _rows("mechanisms", "Explanations", findings)
            if row["where"] == where and row["the paper's explanation"].startswith(starts)
        ]
        told = ", ".join(f"{row['form']}: {row['behaves so']}" for row in rows)
        return Finding(told, rows[0]["measured"] if len(rows) == 1 else strength(len(rows), len(rows)))

    return judge


def _remark_2(findings: Findings) -> Finding:
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


def _authors(findings: Findings) -> Finding:
    findings.sections["authors-run"]
    sharp, snoozeit = AVERAGE_REGRET["SW-UCB#"], AVERAGE_REGRET[FORMS["released"]]
    verdict = FAILS if sharp < snoozeit else HOLDS
    return Finding(verdict, f"the authors' own run: SnoozeIt about {snoozeit:,}, SW-UCB# about {sharp:,}")


def _good_event(findings: Findings) -> Finding:
    rows = _rows("confidence", "Experiment 1", findings)
    row = next(row for row in rows if row["confidence"] == 1.0)
    failed = float(row["good event fails"].rstrip("%"))
    return Finding(
        FAILS if failed else CONSISTENT,
        f"it failed in {failed:.0f} % of the runs; the claim allows 2/T, too few to see",
    )


def _change_of_measure(findings: Findings) -> Finding:
    """Only a policy that surely behaves differently in the two instances could refute the lemma."""
    refuted = "for 0 of" not in findings.sections["change-of-measure"].text[1]
    rows = _rows("change-of-measure", "Lemma 9", findings)
    could = sum(float(row["told apart"].split("(")[1].split()[0]) > 0 for row in rows)
    verdict = FAILS if refuted else CONSISTENT if could else UNDECIDED
    return Finding(verdict, f"both sides measured: {strength(len(rows), could)}")


def _no_drift(findings: Findings) -> Finding:
    said = findings.sections["sharp-bounds"].text[2]
    true, tried = re.findall(r"true of (\d+) of (\d+)", said)[0]
    return Finding(HOLDS if true == tried else FAILS, said)


def _mild_drift(findings: Findings) -> Finding:
    """Logarithmic if regret/ln T stays within a fifth over all horizons."""
    found = [row["regret/ln T"] for row in _rows("mild-drift", "Regret under mild drift", findings)]
    said = f"regret/ln T between {min(found):g} and {max(found):g}; {findings.sections['mild-drift'].text[2]}"
    return Finding(CONSISTENT if max(found) <= 1.2 * min(found) else FAILS, said)


NEAR = 0.05
"""How far a fitted exponent may be from 1/3."""


def _own_exponent(findings: Findings) -> Finding:
    rows = [row for row in _rows("worst-gap", "The worst gap", findings) if row["policy"] == ALGORITHM_1]
    exponent = fit_power_law([float(row["δ"]) for row in rows], [row["regret there"] for row in rows]).exponent
    verdict = CONSISTENT if abs(exponent - 1 / 3) < NEAR else FAILS
    return Finding(verdict, f"at the worst gap regret grows as δ^{exponent:.2f}, over {len(rows)} drifts")


def _trajectory(findings: Findings) -> Finding:
    growing = findings.sections["trajectories"].drawings[0].caption
    said = next(part for part in growing.split(". ") if part.startswith("Rank correlation") or "Too few" in part)
    return Finding(CONSISTENT if "phase -" in said and "phase +" in said else UNDECIDED, said)


_DEFINITION = Finding(DEFINED, "nothing to test")
_STRUCTURE = Finding(UNTESTED, "a description, not a claim about numbers")
_PRIORITY = Finding(UNTESTED, "a claim of priority, which runs cannot decide")

ITEMS: tuple[Item, ...] = (
    Item("Abstract", "first bounds", "the first instance-dependent regret upper bound", "", "", _PRIORITY),
    Item(
        "Abstract",
        "minimax optimality",
        "our algorithm is essentially minimax optimal",
        "theory/bounds.py",
        "worst-gap",
        _own_exponent,
    ),
    Item(
        "Abstract",
        "matches the budgeted problem",
        "this lower bound we obtain matches that of the more general total variation-budgeted bandits problem",
        "theory/bounds.py",
        "",
        Finding(PROVED, "V = δ T in both expressions; a substitution"),
    ),
    Item(
        "1, contribution 4",
        "outperforms",
        "there are situations in which it is able to outperform the other approaches",
        "research/paper/experiments.py",
        "toggling",
        _all_forms("Claim 2"),
    ),
    Item("2", "slowly varying", "|μ_(a,t) − μ_(a,t+1)| ≤ δ", "instances/base.py", "", _DEFINITION),
    Item("2", "regret", "R(Alg) = Σ μ*_t − E μ_(Alg(t),t)", "simulation/simulate.py", "", _DEFINITION),
    Item(
        "2",
        "detectable gap",
        "λ_t = max{λ ∈ [0, 1] : …}",
        "theory/gaps.py",
        "gap-profile",
        Finding(DEFINED, "the maximum need not be attained; computed as the supremum"),
    ),
    *(
        Item(
            "2, Figure 1",
            f"statement {number}",
            quote,
            "research/paper/figure_one.py",
            "gap-profile",
            _figure_one(number),
        )
        for number, quote in (
            (1, "λ reasonably positively correlates with the gaps, and initially takes the form √(c0 log T/t)"),
            (2, "λ roughly trails Δ"),
            (3, "λ is ‘smoother’ compared to Δ"),
            (4, "λ has a ‘piece-wise constant’ appearance"),
        )
    ),
    Item(
        "3", "Definition 2, λ̂-betterness", "LCB_a(w) > UCB_b(w) + 2 r(w) − δ", "policies/snoozeit.py", "", _DEFINITION
    ),
    Item(
        "3",
        "Remark 1, the test is tractable",
        "the statistical test is deterministic and tractable",
        "policies/_parts/hulls.py",
        "",
        Finding(PROVED, "a hull finds every passing window at O(log n) a step; equal to brute force in tests"),
    ),
    Item(
        "3, Algorithm 1",
        "respawning",
        "if ∃ (x, s) ∈ S: s ≥ t",
        "policies/snoozeit.py",
        "algorithm",
        Finding(MISPRINT, "meant is t ≥ s"),
    ),
    Item(
        "4",
        "Theorem 1 (instance-dependent bound)",
        "R(SnoozeIt) ≤ c8 + c6 Σ_j log T/λ_min(j) + c7",
        "theory/bounds.py",
        "sharp-bounds",
        _claim("Theorem 1"),
    ),
    Item(
        "4",
        "Theorem 1, its constants",
        "m = T/τ … + c7",
        "theory/bounds.py",
        "theory",
        Finding(MISPRINT, "c7 is needed once a block, and the number of blocks is rounded up"),
    ),
    Item(
        "4",
        "Theorem 2 (minimax upper bound)",
        "SnoozeIt incurs an expected regret of O(T δ^(1/3) log^(1/3) T)",
        "theory/bounds.py",
        "regret-against-drift",
        _claim("Theorem 2"),
    ),
    Item(
        "4",
        "Theorem 3 (minimax lower bound)",
        "there exists a problem instance such that Alg incurs Ω(T δ^(1/3))",
        "theory/bounds.py",
        "regret-against-drift",
        _claim("Theorem 3"),
    ),
    Item(
        "4, discussion",
        "constant drift",
        "if δ = Ω(1), then it is impossible to achieve a sub-linear regret",
        "theory/bounds.py",
        "",
        Finding(PROVED, "Theorem 3 with m constant; it needs m > 8, so δ < 1/45"),
    ),
    Item(
        "4, discussion",
        "no drift",
        "we have λ_t ≥ Δ at all times t",
        "theory/gaps.py",
        "sharp-bounds",
        _no_drift,
    ),
    Item(
        "4, discussion",
        "no drift, the algorithm",
        "SnoozeIt … snoozes the sub-optimal arm indefinitely",
        "policies/snoozeit.py",
        "sharp-bounds",
        Finding(PROVED, "buf is infinite for δ = 0; the rows of sharp bounds with δ = 0 show the regret"),
    ),
    Item(
        "4, discussion",
        "mild drift",
        "our results show a logarithmic regret despite the mild non-stationarity",
        "research/studies/regret_against_drift.py",
        "mild-drift",
        _mild_drift,
    ),
    Item(
        "4, discussion",
        "budgets",
        "a drift limit of δ per time-step translates to a cumulative drift limit of T δ",
        "instances/base.py",
        "",
        Finding(PROVED, "T − 1 steps of at most δ each"),
    ),
    Item(
        "6, footnote",
        "Gaussian rewards",
        "a Gaussian draw with 1/4 variance fits in with our theoretical analysis",
        "instances/noise.py",
        "confidence",
        Finding(PROVED, "variance 1/4 is that of Hoeffding's lemma; unbounded rewards need nothing more"),
    ),
    Item(
        "6, Figures 2 and 3",
        "the bands",
        "The translucent regions around the curves mark 1 standard deviation over 10 runs",
        "research/paper/figures.py",
        "separated",
        Finding(MISPRINT, "the released code draws half of one to each side; both forms of the figures are shown"),
    ),
    Item(
        "6, Experiment 1",
        "Claim 1",
        "Rexp3 and Exp3.S perform poorer compared to SW-UCB# and SnoozeIt",
        "research/paper/claims.py",
        "separated",
        _all_forms("Claim 1"),
    ),
    Item(
        "6, Experiment 1",
        "why",
        "Rexp3 predetermines the sizes of blocks … Exp3.S boosts up the weights of the arms equally",
        "policies/rexp3.py, policies/exp3s.py",
        "",
        _STRUCTURE,
    ),
    Item(
        "6, Experiment 2",
        "Claim 2",
        "SW-UCB# performs poorer compared to SnoozeIt",
        "research/paper/claims.py",
        "toggling",
        _all_forms("Claim 2"),
    ),
    Item(
        "6, Experiment 2",
        "Claim 2, the authors' run",
        "(the released notebook's picture of the same experiment)",
        "research/paper/authors_run.py",
        "authors-run",
        _authors,
    ),
    Item(
        "6, Experiment 2",
        "why: stationarity",
        "SnoozeIt makes better use of short frequent stretches of stationarity",
        "research/paper/mechanisms.py",
        "mechanisms",
        _mechanism("Experiment 2", "SnoozeIt makes better use"),
    ),
    Item(
        "6, Experiment 2",
        "why: the window",
        "the sliding window encompasses the optimal stretches (and the drifts) of both arms",
        "research/paper/mechanisms.py",
        "mechanisms",
        _mechanism("Experiment 2", "SW-UCB#'s window"),
    ),
    Item(
        "6, Experiment 3",
        "Claim 3",
        "the average regret does not correlate with an increase in drift limit δ",
        "research/studies/many_drifts.py",
        "common-periods",
        _all_forms("Claim 3"),
    ),
    Item(
        "6, Experiment 3",
        "why: detected gaps",
        "increased detected (empirical) gaps lengthen the snooze periods",
        "research/paper/mechanisms.py",
        "mechanisms",
        _mechanism("Experiment 3", "larger detected gaps"),
    ),
    Item(
        "6, Experiment 3",
        "why: frequent episodes",
        "higher regret causable due to more frequent episodes",
        "research/paper/mechanisms.py",
        "mechanisms",
        _mechanism("Experiment 3", "larger δ brings"),
    ),
    Item(
        "6, Experiment 4",
        "Claim 4",
        "the regret increases with drift limit δ",
        "research/paper/claims.py",
        "equal-drift",
        _all_forms("Claim 4"),
    ),
    Item(
        "6, Experiment 4",
        "equal gaps",
        "With the same maximum gaps among instances",
        "instances/equal_drift.py",
        "equal-drift",
        Finding(HOLDS, "0.678 on all four instances, by construction"),
    ),
    Item(
        "6, Experiment 4",
        "in line with theory",
        "which is in line with what our theory lays down",
        "theory/bounds.py",
        "sharp-bounds",
        Finding(PROVED, "both upper bounds grow with δ; they do not say that regret must"),
    ),
    Item(
        "6, Experiment 4",
        "why: shorter snoozes",
        "larger δ values shorten the snooze periods",
        "research/paper/mechanisms.py",
        "mechanisms",
        _mechanism("Experiment 4", "with equal gaps"),
    ),
    Item(
        "7",
        "the open problem",
        "instance-dependent regret bounds in the more general total variation-budgeted setting",
        "theory/bounds_beyond.py",
        "",
        Finding(UNTESTED, "a question; docs/proofs-beyond.md proves what is possible, and what is not"),
    ),
    Item(
        "A",
        "Claim 1 (good event)",
        "P{G} ≥ 1 − 2/T",
        "research/studies/good_event.py",
        "confidence",
        _good_event,
    ),
    Item(
        "A",
        "Lemma 2 (snooze safety)",
        "A snoozed arm is never optimal during the passive phase",
        "research/studies/episodes.py",
        "episodes",
        _lemma(episodes.SAFETY),
    ),
    Item(
        "A",
        "Claim 3 (recent gap)",
        "there exists a time-step t′ such that μ_a − μ_b ≥ λ̂/3 − 2δ",
        "research/studies/episodes.py",
        "episodes",
        _lemma(episodes.RECENT_GAP),
    ),
    Item(
        "A",
        "Remark 2, Algorithm 2",
        "Both these modifications shall possibly lead to a smaller regret",
        "policies/snoozeit.py",
        "separated",
        _remark_2,
    ),
    Item(
        "A",
        "Lemma 4 (episodic regret), first form",
        "R_i ≤ 1 + 6 √((τ_i − 1) log T)",
        "theory/bounds.py",
        "episodic-regret",
        _lemma(episodes.EPISODIC),
    ),
    Item(
        "A",
        "Lemma 4 (episodic regret)",
        "R_i ≤ c4 log T/λ_(g_i − 1) + c5",
        "research/studies/episodes.py",
        "episodes",
        _lemma(episodes.EPISODIC_BY_GAP),
    ),
    Item(
        "A",
        "Lemma 5 (gauge to λ)",
        "if λ_t′ > √(c2 log T/τ), then the statistical test passes",
        "theory/bounds.py",
        "episodes",
        _lemma(episodes.GAUGE),
    ),
    Item(
        "A",
        "Lemma 5, odd lengths",
        "assume integrality of all quantities suitably",
        "theory/bounds.py",
        "episodes",
        Finding(MISPRINT, "false for odd τ, if only just: the test sees τ − 1 steps; proved with 2⌊τ/2⌋ for τ"),
    ),
    Item(
        "A",
        "Claim 6 (λ and means)",
        "μ_a(w) − μ_b(w) ≥ λ_t′ − δ",
        "theory/gaps.py",
        "",
        Finding(PROVED, "two drift inequalities added; a sum in it starts at s, not at s − 2w + 1"),
    ),
    Item(
        "A",
        "Lemma 7 (episode size)",
        "t_(i+1) − t_i ≥ c3 δ^(−2/3) log^(1/3) T",
        "theory/bounds.py",
        "episodes",
        _lemma(episodes.SIZE),
    ),
    Item(
        "A",
        "Corollary 1 (number of episodes)",
        "e ≤ T δ^(2/3) log^(−1/3) T/c3",
        "theory/bounds.py",
        "episodes",
        _lemma(episodes.COUNT),
    ),
    Item(
        "A",
        "two episodes a block",
        "a block period overlaps with a maximum of two episodes",
        "theory/bounds.py",
        "episodes",
        Finding(PROVED, "from Lemma 7, up to rounding: a snooze ends at a whole step, a block need not"),
    ),
    Item(
        "A",
        "Claim 8 (block regret)",
        "R(j) ≤ c6/λ_min(j) + c7",
        "research/studies/episodes.py",
        "episodes",
        _lemma(episodes.BLOCKS),
    ),
    Item(
        "A",
        "Claim 8, its formula",
        "c6 · 1/λ_min(j) + c7",
        "theory/bounds.py",
        "theory",
        Finding(MISPRINT, "log T is missing; its proof has it"),
    ),
    Item(
        "B",
        "regret a step",
        "R_i^ave ≤ 3 · 2^(2/3) (δ log T)^(1/3)",
        "theory/bounds.py",
        "episode-bounds",
        Finding(PROVED, "both cases meet at the shortest episode: 3 · 2^(2/3) = 6/2^(1/3)"),
    ),
    Item(
        "B",
        "shortest episodes are worst",
        "the shortest possible episodes correspond to the largest average regret bounds",
        "theory/figures.py",
        "episode-bounds",
        Finding(PROVED, "the two curves cross there, one rising and one falling"),
    ),
    Item(
        "C",
        "Lemma 9 (change of measure)",
        "Σ Σ KL(ν, ν′) E 1{Alg(t) = i} ≥ KL(Ber(E Z), Ber(E′ Z))",
        "research/studies/change_of_measure.py",
        "change-of-measure",
        _change_of_measure,
    ),
    Item(
        "C",
        "Lemma 10 (block lower bound)",
        "there exists a bandit instance ν′ such that, for any algorithm, its regret is Θ(√m)",
        "theory/lower.py",
        "theory",
        Finding(MISPRINT, "ν′ depends on the algorithm; 1/64 should be 1/128"),
    ),
    Item(
        "C",
        "Theorem 3, the last step",
        "√m ≥ (2δ)^(−1/3), hence T/m × Θ(√m) = Ω(T δ^(1/3))",
        "theory/lower.py",
        "theory",
        Finding(MISPRINT, "T/√m is then at most T (2δ)^(1/3), the wrong way; true for the smallest such m"),
    ),
    Item(
        "D",
        "Algorithm 2, the buffer",
        "buf = λ̂/6",
        "policies/snoozeit.py",
        "algorithm",
        Finding(MISPRINT, "meant is λ̂/(6 δ)"),
    ),
    Item(
        "D, Figure 7",
        "a growing gap",
        "the statistical test passes sooner for larger observed gaps; the snooze period is more for larger gaps",
        "research/paper/trajectories.py",
        "trajectories",
        _trajectory,
    ),
    Item(
        "D, Figure 8",
        "oscillating arms",
        "episodes 1, 5, and 9 do not have a passive phase",
        "research/paper/trajectories.py",
        "trajectories",
        Finding(UNTESTED, "the paper's instance was not released; on ours other episodes have none"),
    ),
)


PREFACE = (
    "Every statement of the paper that mathematics or runs can decide, in its order. Lemmas and claims have the",
    "numbers of the compiled paper, where both share one counter; Claims 1 to 4 without a name in brackets are those",
    "of its four experiments, which it does not number. Where the verdict is “computed”, `driftbandits reproduce`",
    "computes it from runs, and its report has this table with the verdict and with how many of the tests behind it",
    "could have failed. Every theorem and lemma is proved in [proofs](proofs.md), restated where the paper's form is",
    "not true.",
)


def companion_section(findings: Findings) -> Section:
    """The table, with the verdicts of this report."""
    rows = []
    for item in ITEMS:
        found = item.finding(findings)
        rows.append(
            {
                "in the paper": f"{item.section}: {item.name}",
                "it says": f"“{item.quote}”" if not item.quote.startswith("(") else item.quote,
                "implemented in": item.implemented or None,
                "verdict": found.verdict,
                "how strong": found.strength,
                "shown in": item.shown or None,
            }
        )
    text = [
        f"The paper sentence by sentence: {len(ITEMS)} statements that mathematics or runs can decide, in its order. "
        "Lemmas and claims have the numbers that the compiled paper gives them, where both share one counter; Claims 1 "
        "to 4 without a name in brackets are those of its four experiments, which it does not number."
    ]
    return Section("companion", "The paper, sentence by sentence", text, tables={"Every statement": rows})


def companion_page() -> str:
    """docs/companion.md: the same table without what only runs can say."""
    lines = [
        "# The paper, sentence by sentence",
        "",
        *PREFACE,
        "",
        "| In the paper | It says | Implemented in | Verdict | Section of the report |",
        "|---|---|---|---|---|",
    ]
    for item in ITEMS:
        told = f"{item.found.verdict}: {item.found.strength}" if isinstance(item.found, Finding) else "computed"
        cells = [f"{item.section}: {item.name}", item.quote, item.implemented, told, item.shown]
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines) + "\n"

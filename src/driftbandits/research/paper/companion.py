"""The paper sentence by sentence: every empirical or mathematical claim, where it is implemented, and what came of it.

One table, in the paper's order: in the report with verdicts, in docs/companion.md without what only runs can say.
"""

from __future__ import annotations

from driftbandits.research.paper.judges import Finding, Findings
from driftbandits.research.paper.statements import TEXT
from driftbandits.research.paper.statements_appendix import APPENDICES
from driftbandits.research.report.content import Section

ITEMS = TEXT + APPENDICES

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
        lines.append("| " + " | ".join(cell.replace("|", "\\|").replace("*_", "\\*\\_") for cell in cells) + " |")
    return "\n".join(lines) + "\n"

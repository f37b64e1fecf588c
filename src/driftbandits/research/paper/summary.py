"""The report in two minutes: a handful of sentences, computed from the results."""

from __future__ import annotations

from driftbandits.research.paper.claims import final, regret_interval
from driftbandits.research.paper.experiments import CALIBRATED, DEFECTIVE, FORMS, ROUND_ROBIN
from driftbandits.research.paper.sections import Material
from driftbandits.research.report.content import HOLDS, Claim, Section


def summary(material: Material, groups: list[str], claims: list[Claim], facts: list[Section]) -> list[str]:
    """What a reader with two minutes should know of these groups."""
    settings, results = material.settings, material.results
    said = [
        "This report reruns the experiments of “On Slowly-varying Non-stationary Bandits” (Krishnamurthy and "
        f"Gopalan): T = {settings.horizon:,}, {settings.runs} run{'s' * (settings.runs > 1)} of each, seed "
        f"{settings.seed}. SnoozeIt plays in three forms: as printed, as in the authors' released code, and "
        f"calibrated (a radius of {CALIBRATED:g} times the proof's).",
        *(_tally(claims, form) for form in FORMS if claims),
    ]
    if "separated" in groups:
        simulation = results["separated"]
        values = {name: regret_interval(final(simulation, name)) for name in simulation.regret}
        said.append(
            f"Experiment 1: regret {values[FORMS['printed']]} as printed, {values[FORMS['released']]} as released and "
            f"{values[FORMS['calibrated']]} calibrated; SW-UCB# {values['SW-UCB#']}, Rexp3 {values['Rexp3']}, Exp3.S "
            f"{values['Exp3.S']}, and {values[DEFECTIVE]} with the mistaken γ of the released code."
        )
    if "toggling" in groups:
        simulation = results["toggling"]
        values = {name: regret_interval(final(simulation, name)) for name in simulation.regret}
        snoozes = int(simulation.events[FORMS["printed"]]["snoozed"].sum())
        said.append(
            f"Experiment 2: SnoozeIt as printed snoozed {snoozes} times in {simulation.runs} runs; its regret is "
            f"{values[FORMS['printed']].mean:,.0f}, and round robin's {values[ROUND_ROBIN].mean:,.0f}. Released: "
            f"{values[FORMS['released']]}; calibrated: {values[FORMS['calibrated']]}; SW-UCB#: {values['SW-UCB#']}."
        )
    said += [
        f"{claim.name}, SnoozeIt as printed: {claim.verdicts['printed'].verdict}. {claim.verdicts['printed'].numbers}"
        for claim in claims
        if claim.name in ("Theorem 1", "Theorem 2")
    ]
    for section in facts:
        if section.name == "confidence":
            said.append(_price(section))
        if section.name == "episodic-regret":
            where = "where the best arm changes within an active phase"
            said.append(f"Lemma 4 (episodic regret), {where}: {section.text[1]}")
        if section.name == "worst-gap":
            said.append(section.text[1])
        if section.name == "authors-run":
            said.append(" ".join(section.text[:2]))
    return said


def _price(confidence: Section) -> str:
    """What the calibrated form pays where it makes Claim 2 true."""
    (rows,) = (rows for title, rows in confidence.tables.items() if title.startswith("Experiment 2"))
    held = [row for row in rows if row["claim"] == HOLDS]
    tuned = "The radius of the calibrated form was chosen with these very instances in view."
    if not held:
        return f"{tuned} Claim 2 holds at none of the {len(rows)} confidences tried."
    where = ", ".join(f"{row['confidence']:g}" for row in held)
    price = ", ".join(row["Lemma 2 fails"] or "none" for row in held)
    return (
        f"{tuned} Of {len(rows)} confidences tried, Claim 2 holds at {where}; there, in turn, {price} of all snoozes "
        "are of an arm that becomes the better one meanwhile, which the paper's Lemma 2 (snooze safety) rules out."
    )


def _tally(claims: list[Claim], form: str) -> str:
    held = [claim.name for claim in claims if claim.verdicts[form].verdict == HOLDS]
    others = [f"{claim.name} {claim.verdicts[form].verdict}" for claim in claims if claim.name not in held]
    first = f"SnoozeIt {form}: {len(held)} of {len(claims)} rows of the table of claims hold"
    return f"{first}; {', '.join(others)}." if others else f"{first}."

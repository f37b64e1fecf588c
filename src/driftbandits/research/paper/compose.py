"""From results to the report's content: every section, claim and sentence, from whatever was run."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import Any

from driftbandits._common.versions import versions
from driftbandits.research.paper import claims, facts, sections, strong_tests
from driftbandits.research.paper.authors_run import authors_run_section
from driftbandits.research.paper.companion import companion_section
from driftbandits.research.paper.experiments import EXPERIMENTS
from driftbandits.research.paper.figure_one import gap_profile_section
from driftbandits.research.paper.judges import Findings
from driftbandits.research.paper.left_open import left_open
from driftbandits.research.paper.mechanisms import mechanisms_section
from driftbandits.research.paper.opening import opening_section
from driftbandits.research.paper.sections import Material
from driftbandits.research.paper.summary import summary
from driftbandits.research.report.content import Claim, Content, Section
from driftbandits.research.report.parts import Settings
from driftbandits.research.studies.regret_against_drift import FAMILIES
from driftbandits.theory.bounds import instance_dependent

Builder = Callable[[Material], Section]
Step = Callable[[], AbstractContextManager[None]]

EXPERIMENT_SECTIONS: dict[str, Builder] = {
    **{one.name: partial(sections.experiment_section, experiment=one) for one in EXPERIMENTS},
    "gap-profile": gap_profile_section,
    "trajectories": sections.trajectories_section,
    "episode-bounds": sections.episode_bounds_section,
}
FACT_SECTIONS: dict[str, Builder] = {
    "confidence": facts.confidence_section,
    "regret-against-drift": facts.drift_section,
    "mild-drift": facts.mild_drift_section,
    "change-of-measure": facts.change_of_measure_section,
    "episodic-regret": facts.episodic_regret_section,
    "sharp-bounds": strong_tests.sharp_bounds_section,
    "worst-gap": strong_tests.worst_gap_section,
    "episodes": strong_tests.episodes_section,
    "authors-run": authors_run_section,
    "mechanisms": mechanisms_section,
    "provenance": strong_tests.provenance_section,
}
OPENING_SECTIONS: dict[str, Builder] = {"snoozeit": opening_section}
SECTIONS = {**OPENING_SECTIONS, **EXPERIMENT_SECTIONS, **FACT_SECTIONS}
"""What --only can name, in the order of the report."""


def compose(settings: Settings, results: dict[str, Any], groups: list[str], out: Path, step: Step) -> Content:
    """The content of a report on these groups; draws the figures below ``out``, each section within a ``step``."""
    material = Material(settings, results, out)
    judged = find_claims(material, groups)
    built = {}
    for name in groups:
        with step():
            built[name] = SECTIONS[name](material)
    measured = [facts.cannot_snooze_section(material)] if "toggling" in groups else []
    if {"separated", "toggling"} <= set(groups):
        measured.append(facts.defective_exp3s_section(material))
    measured += [section for name, section in built.items() if name in FACT_SECTIONS]
    if groups == list(SECTIONS):
        known = {section.name: section for section in (*built.values(), *measured)}
        measured.insert(0, companion_section(Findings({claim.name: claim for claim in judged}, known)))
    return Content(
        runs=settings.runs,
        seed=settings.seed,
        versions=versions("scipy", "matplotlib"),
        summary=summary(material, groups, judged, measured),
        experiments=[section for name, section in built.items() if name in EXPERIMENT_SECTIONS],
        claims=judged,
        facts=measured,
        left_open=left_open(),
        opening=[section for name, section in built.items() if name in OPENING_SECTIONS],
    )


def find_claims(material: Material, groups: list[str]) -> list[Claim]:
    """The claims that these groups say something of."""
    found: list[Claim] = []
    if "separated" in groups:
        found.append(claims.claim_1(material.results["separated"]))
    if "toggling" in groups:
        found.append(claims.claim_2(material.results["toggling"]))
    if "common-periods" in groups:
        played = list(material.simulations("common-periods").values())
        found.append(claims.claim_3(played, material.results["many-drifts-common-periods"]))
    if "equal-drift" in groups:
        played = list(material.simulations("equal-drift").values())
        found.append(claims.claim_4(played, material.results["many-drifts-equal-drift"]))
    if "sharp-bounds" not in groups:
        return found
    sharp = material.results["sharp-bounds"]
    if all(one.name in groups for one in EXPERIMENTS):
        known = {instance.name: instance for one in EXPERIMENTS for instance in one.instances}
        simulations = {name: material.results[name] for name in known}
        bounds = {
            name: instance_dependent(simulation.instance, known[name].drift).total
            for name, simulation in simulations.items()
        }
        found.append(claims.theorem_1(simulations, bounds, sharp))
    if "regret-against-drift" in groups:
        tables = {family: material.results[f"regret-against-drift-{family.replace(' ', '-')}"] for family in FAMILIES}
        found += [claims.theorem_2(tables, sharp), claims.theorem_3(tables["lower bound"])]
    return found

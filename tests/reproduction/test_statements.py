"""The table of every statement: complete, honest about what was not run, the same in docs; and Figure 1."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from driftbandits.research.paper import authors_run, companion, figure_one, judges
from driftbandits.research.paper.compose import SECTIONS
from driftbandits.research.paper.experiments import FORMS, OTHER_FORMS
from driftbandits.research.paper.left_open import left_open
from driftbandits.research.studies import episodes

import driftbandits
from driftbandits import instances
from driftbandits.research.league.report.content import (
    CONSISTENT,
    FAILS,
    HOLDS,
    UNDECIDED,
    Claim,
    Drawing,
    Section,
    Verdict,
)

SOURCE = Path(driftbandits.__file__).parent
DOCS = Path(__file__).parents[2] / "docs"


def test_the_page_in_docs_is_that_of_today() -> None:
    assert (DOCS / "companion.md").read_text(encoding="utf-8") == companion.companion_page()


def test_every_item_points_at_files_and_sections_that_exist() -> None:
    known = {*SECTIONS, *(section.name for section in left_open())}
    for item in companion.ITEMS:
        for path in filter(None, item.implemented.split(", ")):
            assert (SOURCE / path).exists(), path
        assert not item.shown or item.shown in known, item.shown


@pytest.mark.parametrize(
    "name",
    [
        *(f"Claim {k}" for k in (1, 2, 3, 4)),
        *("Claim 1 (good event)", "Lemma 2 (snooze safety)", "Claim 3 (recent gap)", "Lemma 4 (episodic regret)"),
        *("Lemma 5 (gauge to λ)", "Claim 6 (λ and means)", "Lemma 7 (episode size)"),
        *("Corollary 1 (number of episodes)", "Claim 8 (block regret)", "Lemma 9 (change of measure)"),
        *("Lemma 10 (block lower bound)", "Theorem 1 (instance-dependent bound)", "Theorem 2 (minimax upper bound)"),
        *("Theorem 3 (minimax lower bound)", "Remark 1, the test is tractable", "Remark 2, Algorithm 2"),
    ],
)
def test_every_numbered_statement_of_the_paper_is_there(name: str) -> None:
    assert name in [item.name for item in companion.ITEMS]


def test_what_is_said_of_the_instances_is_true_of_them() -> None:
    """Rows with numbers that no run computes."""
    told = {(item.section, item.name): item.found for item in companion.ITEMS}
    lead = instances.separated().means @ [1.0, -1.0]
    assert lead.min() == pytest.approx(0.36, abs=0.005)
    assert "0.36" in told["6, Experiment 1", "one best arm"].strength  # type: ignore[union-attr]
    toggling = instances.toggling().means
    signs = np.sign(toggling @ [1.0, -1.0])
    moves = np.abs(np.diff(toggling[:, 0])) > 1e-12
    assert int(np.count_nonzero(np.diff(signs[signs != 0]))) == 20
    assert int(np.count_nonzero(np.diff(moves.astype(int)) == 1)) == 20
    for k in (1, 2, 3, 4):
        means = instances.equal_drift(k).means
        assert np.abs(np.diff(means, axis=0)).sum(axis=0) == pytest.approx([2.034, 2.034], abs=5e-4)
        assert np.abs(means @ [1.0, -1.0]).max() == pytest.approx(0.678, abs=5e-4)


@pytest.mark.parametrize("rival", [90.0, 110.0])
def test_some_situation_is_enough_and_none_refutes_nothing(rival: float) -> None:
    def section(name: str, mine: float) -> Section:
        regrets = dict.fromkeys(FORMS.values(), mine) | dict.fromkeys(judges.RIVALS, rival)
        rows = [{"policy": name, "95 % low": regret - 1, "95 % high": regret + 1} for name, regret in regrets.items()]
        return Section(name, "", [], tables={"Regret at T": rows})

    found = judges.outperforms(judges.Findings({}, {name: section(name, 100.0) for name in ("separated", "toggling")}))
    assert ("printed: holds" in found.verdict) is (rival > 100)
    assert ("printed: not decidable" in found.verdict) is (rival < 100)
    assert ("printed: Experiment 1 and Experiment 2" in found.strength) is (rival > 100)


def lemma_row(name: str, violations: int) -> dict[str, object]:
    return {"statement": name, "checks": 10, "could fail": 7, "violations": violations, "closest": 0.5}


def test_verdicts_come_from_the_results() -> None:
    found = {form: Verdict(FAILS, "", 4, 3) for form in FORMS}
    rows = [lemma_row(episodes.SAFETY, 0), lemma_row(episodes.SIZE, 2)]
    section = Section("episodes", "", [], tables={"Lemmas on simulated episodes": rows})
    findings = judges.Findings({"Theorem 1": Claim("Theorem 1", "", "", found)}, {"episodes": section})
    told = {item.name: item.finding(findings) for item in companion.ITEMS}
    assert told["Theorem 1 (instance-dependent bound)"] == ("fails (printed)", "3 of 4 tests could have failed.")
    assert told["Lemma 2 (snooze safety)"] == (CONSISTENT, "7 of 10 checks could fail; closest 0.5 of the bound")
    assert told["Lemma 7 (episode size)"] == (FAILS, "7 of 10 checks could fail, 2 do")
    assert told["Claim 2"].verdict == "not run"
    assert len(companion.companion_section(findings).tables["Every statement"]) == len(companion.ITEMS)


def test_what_a_larger_gap_does_is_read_off_the_run() -> None:
    said = "T = 1. Rank correlation of λ̂ with the length of the active phase {}, with that of the passive phase {}. S."
    for signs, verdict in ((("-0.90", "+1.00"), CONSISTENT), (("+0.10", "+1.00"), "not decidable")):
        drawing = Drawing("", "", said.format(*signs), {})
        findings = judges.Findings({}, {"trajectories": Section("trajectories", "", [], [drawing])})
        assert judges.trajectory(findings).verdict == verdict


def test_the_authors_run_contradicts_claim_2_and_says_where_it_stands() -> None:
    regret = authors_run.AVERAGE_REGRET
    assert regret["SW-UCB#"] < regret[FORMS["released"]] / 10
    assert len(authors_run.COMMIT) == 40
    findings = judges.Findings({}, {"authors-run": Section("authors-run", "", [])})
    assert judges.authors(findings).verdict == FAILS


@pytest.fixture(scope="module")
def found() -> dict[tuple[int, str], figure_one.Statement]:
    return {(one.number, one.definition): one for one in figure_one.statements(instances.common_periods(3))}


def test_two_statements_of_figure_1_fail_as_defined_and_stairs_come_from_the_released_code(
    found: dict[tuple[int, str], figure_one.Statement],
) -> None:
    verdicts = {key: one.verdict for key, one in found.items()}
    paper, authors = figure_one.PAPER, figure_one.AUTHORS
    assert [verdicts[number, paper] for number in (1, 2, 3, 4)] == [HOLDS, HOLDS, FAILS, FAILS]
    assert [verdicts[number, authors] for number in (1, 2, 3, 4)] == [HOLDS, HOLDS, FAILS, HOLDS]
    assert found[4, paper].measured.startswith("60 values in the 60 steps")
    assert "jumps by 0.218 in one step" in found[3, paper].measured


def test_both_definitions_share_their_windows() -> None:
    profiles = figure_one.profiles(instances.common_periods(3))
    paper, authors = profiles[figure_one.PAPER], profiles[figure_one.AUTHORS]
    assert (authors <= paper * (1 + 1e-12)).all()
    assert np.abs(paper - authors).max() < 2e-4
    (axes,) = figure_one.plot_both(instances.common_periods(3)).axes
    assert len(axes.get_lines()) == 2


def test_a_profile_that_moves_with_the_gap_would_be_smooth() -> None:
    """The verdicts follow the numbers: without a jump the third statement holds."""
    instance = instances.stationary(100_000, (0.9, 0.1))
    by_number = {
        one.number: one.verdict for one in figure_one.statements(instance) if one.definition == figure_one.PAPER
    }
    assert by_number[3] == HOLDS
    assert by_number[4] == HOLDS


def test_instances_with_two_sources_differ_as_much_as_is_said() -> None:
    apart = {}
    for form in OTHER_FORMS:
        taken = {"separated": instances.separated, "toggling": instances.toggling}[form.experiment]()
        other = form.instance.build(taken.horizon)
        assert other.drift_limit == pytest.approx(form.instance.drift, rel=1e-9)
        apart[form.experiment] = float(np.abs(taken.means - other.means).max())
    assert apart["separated"] == pytest.approx(0.032, abs=0.001)
    assert apart["toggling"] > 0.5


def test_algorithm_2_is_compared_with_algorithm_1() -> None:
    def section(name: str, first: float, second: float) -> Section:
        regrets = {"SnoozeIt, Algorithm 1": first, "SnoozeIt printed": second}
        rows = [{"drift": "δ", "policy": policy, "regret": regret} for policy, regret in regrets.items()]
        return Section(name, "", [], tables={"Regret at T": rows})

    names = ("separated", "toggling", "common-periods", "equal-drift")
    better = {name: section(name, 100.0, 90.0) for name in names}
    found = judges.remark_2(judges.Findings({}, better))
    assert found == (HOLDS, "less regret on 4 of 4 instances; it changes by -10.0% to -10.0%")
    worse = {name: section(name, 100.0, 110.0) for name in names}
    assert judges.remark_2(judges.Findings({}, worse)).verdict == FAILS
    same = {name: section(name, 100.0, 99.5) for name in names}
    assert judges.remark_2(judges.Findings({}, same)).verdict == UNDECIDED


@pytest.mark.parametrize(("power", "verdict"), [(1 / 3, CONSISTENT), (0.5, FAILS), (0.0, FAILS)])
def test_the_exponent_at_the_worst_gap_is_fitted(power: float, verdict: str) -> None:
    rows = [
        {"policy": "SnoozeIt, Algorithm 1", "δ": f"{drift:.2g}", "regret there": 1e6 * drift**power}
        for drift in np.geomspace(1e-6, 1e-4, 6)
    ]
    section = Section("worst-gap", "", [], tables={"The worst gap": rows})
    assert judges.own_exponent(judges.Findings({}, {"worst-gap": section})).verdict == verdict


@pytest.mark.parametrize(("last", "verdict"), [(70.0, CONSISTENT), (90.0, FAILS)])
def test_mild_drift_is_judged_by_its_growth(last: float, verdict: str) -> None:
    rows = [{"regret/ln T": value} for value in (64.0, 65.0, last)]
    section = Section("mild-drift", "", ["", "", "Said."], tables={"Regret under mild drift": rows})
    assert judges.mild_drift(judges.Findings({}, {"mild-drift": section})).verdict == verdict


def test_without_drift_every_gap_counts() -> None:
    for true, verdict in ((4, HOLDS), (3, FAILS)):
        section = Section("sharp-bounds", "", ["", "", f"true of {true} of 4 gaps"])
        assert judges.no_drift(judges.Findings({}, {"sharp-bounds": section})).verdict == verdict


@pytest.mark.parametrize(
    ("low", "refuted", "verdict"), [("0.0100", 0, CONSISTENT), ("0.0000", 0, UNDECIDED), ("0.0100", 1, FAILS)]
)
def test_lemma_9_could_fail_only_where_behaviour_differs(low: str, refuted: int, verdict: str) -> None:
    rows = [{"policy": "it", "paid": "", "told apart": f"0.0200 ({low} to 0.0300)"}]
    text = ["", f"refute left ≥ right for {refuted} of 1 policies."]
    section = Section("change-of-measure", "", text, tables={"Lemma 9 (change of measure)": rows})
    assert judges.change_of_measure(judges.Findings({}, {"change-of-measure": section})).verdict == verdict

"""statements.toml is complete, points at what exists, and judges by results alone."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from reproduction import statements
from reproduction.report.companion import companion_page
from reproduction.report.page import SECTIONS
from reproduction.statements import load
from reproduction.verdicts import KINDS

ROOT = Path(__file__).parents[2]


def test_the_page_in_docs_is_that_of_today() -> None:
    assert (ROOT / "docs" / "companion.md").read_text(encoding="utf-8") == companion_page(), "run make docs"


def test_every_statement_points_at_files_and_sections_that_exist() -> None:
    for one in load():
        for path in filter(None, (one.implemented or "").split(", ")):
            assert (ROOT / path).exists(), path
        assert one.shown is None or one.shown in SECTIONS, one.shown
        assert one.kind is None or one.kind in KINDS, one.kind


@pytest.mark.parametrize(
    "name",
    [
        *(f"Claim {k}" for k in (1, 2, 3, 4)),
        *("Claim 1 (good event)", "Lemma 2 (snooze safety)", "Claim 3 (recent gap)", "Lemma 4 (episodic regret)"),
        *("Claim 3 (recent gap), second inequality", "Definition 3 (episode regret)", "the formula by duration"),
        *("Lemma 5 (gauge to λ)", "Claim 6 (λ and means)", "Lemma 7 (episode size)"),
        *("Corollary 1 (number of episodes)", "Claim 8 (block regret)", "Lemma 9 (change of measure)"),
        *("Lemma 10 (block lower bound)", "Theorem 1 (instance-dependent bound)", "Theorem 2 (minimax upper bound)"),
        *("Theorem 3 (minimax lower bound)", "Remark 1, the test is tractable", "Remark 2, Algorithm 2"),
        *("order-wise optimal", "first lower bound", "a stronger result", "detection from 1/λ²"),
        *("no drift, the bound", "the interesting drifts", "separated stretches"),
    ],
)
def test_every_numbered_statement_of_the_paper_is_there(name: str) -> None:
    assert name in [one.name for one in load()]


def test_the_seven_claims_are_told_with_what_would_refute_them() -> None:
    claims = {one.claim: one for one in load() if one.claim}
    assert sorted(claims) == ["Claim 1", "Claim 2", "Claim 3", "Claim 4", "Theorem 1", "Theorem 2", "Theorem 3"]
    for one in claims.values():
        assert one.claimed
        assert one.refuted_by
        assert tuple(one.forms) == ("printed", "released", "calibrated")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("says =", "sais ="), "says"),
        (("shown =", "shwon ="), "shwon"),
        (('verdict = "claim_8"', 'verdict = "claim_88"'), "claim_88"),
        (('kind = "proved"', 'kind = "proved"\nverdict = "claim_8"'), "give a kind or a verdict"),
    ],
)
def test_a_slip_in_the_file_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: tuple[str, str], message: str
) -> None:
    text = statements.FILE.read_text(encoding="utf-8").replace(*change, 1)
    (tmp_path / "statements.toml").write_text(text, encoding="utf-8")
    monkeypatch.setattr(statements, "FILE", tmp_path / "statements.toml")
    with pytest.raises((ValueError, AttributeError), match=message):
        load()


def test_verdicts_need_studies_that_exist(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(statements, "STUDIES", {})
    with pytest.raises(ValueError, match="asks for unknown studies"):
        load()


def test_what_was_not_run_has_no_verdict() -> None:
    judged = {one.statement.name: one.verdicts for one in statements.judge({})}
    assert judged["Claim 2"] is None
    assert judged["Lemma 10 (block lower bound)"] is not None


def test_the_short_paper_is_short_and_counts_right() -> None:
    text = (ROOT / "reproduction" / "paper.md").read_text(encoding="utf-8")
    assert len(text.split()) <= 2_500
    assert f"judged {len(load())} statements" in " ".join(text.split())
    assert (ROOT / "docs" / "reproduction.md").read_text(encoding="utf-8") == text


def test_the_reproduction_reaches_no_private_name() -> None:
    """What import-linter cannot see: ``db.`` and a name that begins with an underscore."""
    for path in (ROOT / "reproduction").rglob("*.py"):
        assert not re.findall(r"\bdb(?:\.\w+)*\._\w+", path.read_text(encoding="utf-8")), path

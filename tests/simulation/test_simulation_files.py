"""A Simulation's file is its own: whatever was or was not noted, ``load``, ``rerun`` and ``keep`` know it again."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import driftbandits as db
from driftbandits.simulation.parquet import read_runs
from stubborn import Stubborn

POLICIES = {
    "keeps no events": db.RoundRobin(),
    "notes none": db.SnoozeIt(200, 1e-3),  # too short for its test to pass
    "notes some": db.SnoozeItTight(200, 1e-3, confidence=0.05),
    "plain": Stubborn(),
}


@pytest.mark.parametrize("events", [True, False])
@pytest.mark.parametrize("name", POLICIES)
def test_events_that_were_asked_for_are_asked_for_again(name: str, events: bool, tmp_path: Path) -> None:
    path, instance, policies = tmp_path / "runs.parquet", db.instances.stationary(200), {name: POLICIES[name]}
    first = db.simulate(policies, instance, runs=2, events=events)
    assert first.with_events is events
    assert events or not first.events
    noted = first.events[name].height if name in first.events else 0
    assert (noted > 0) is (events and name == "notes some")
    first.save(path)
    written = path.stat().st_mtime_ns
    kept = db.simulate(policies, instance, runs=2, events=events, keep=path)
    assert path.stat().st_mtime_ns == written  # nothing was played
    with pytest.raises(db.InputError, match="different events"):
        db.simulate(policies, instance, runs=2, events=not events, keep=path)
    for again in (kept, db.Simulation.load(path), first.rerun()):
        assert again.with_events is events
        assert set(again.events) == set(first.events)
        assert all(again.events[name].equals(table) for name, table in first.events.items())


def test_a_loaded_simulation_is_saved_as_it_was(tmp_path: Path) -> None:
    """Also where only its author can build a policy again."""
    first = db.simulate(POLICIES, db.instances.stationary(200), runs=2, events=True)
    first.save(tmp_path / "one.parquet")
    db.Simulation.load(tmp_path / "one.parquet").save(tmp_path / "other.parquet")
    assert read_runs(tmp_path / "one.parquet")[0] == read_runs(tmp_path / "other.parquet")[0]
    db.simulate(POLICIES, db.instances.stationary(200), runs=2, events=True, keep=tmp_path / "other.parquet")


def test_a_table_for_latex(tmp_path: Path) -> None:
    """Balanced braces and environments, as many cells as columns, no bare special character, booktabs' three rules."""
    instance = db.Instance([[0.9, 0.1]] * 2_000, name="50 % & more_of{it}")
    policies = {"my_policy #1": db.RoundRobin(), "a\\b^~$": db.UCB1()}
    result = db.simulate(policies, instance, runs=5)
    result.save(tmp_path / "table.tex")
    text = (tmp_path / "table.tex").read_text(encoding="utf-8")
    assert text == result.to_latex()
    lines = text.splitlines()
    assert lines[0] == r"% \usepackage{booktabs}"
    assert [line.strip() for line in lines if r"rule" in line] == [r"\toprule", r"\midrule", r"\bottomrule"]
    assert re.findall(r"\\(begin|end)\{(\w+)\}", text) == [
        ("begin", "table"),
        ("begin", "tabular"),
        ("end", "tabular"),
        ("end", "table"),
    ]
    plain = re.sub(r"\\[{}]", "", text)
    assert plain.count("{") == plain.count("}")
    rows = [line.strip() for line in lines if line.endswith(r"\\")]
    assert all(len(re.findall(r"(?<!\\)&", row)) == 2 for row in rows)
    assert [row.split(" & ")[0] for row in rows] == [
        "policy",
        r"my\_policy \#1",
        r"a\textbackslash{}b\textasciicircum{}\textasciitilde{}\$",
    ]
    assert not re.search(r"(?<!\\)[#%_]", "\n".join(lines[1:]))
    assert rows[1].count(r"$800.0 \pm 0.0$") == 1
    (mean, half) = re.findall(r"\$([\d.{},]+) \\pm ([\d.]+)\$", rows[2])[0]
    found = result.summary().row(1, named=True)
    assert float(mean.replace("{,}", "")) == pytest.approx(found["regret"], abs=float(half) / 5)
    assert float(half) == pytest.approx(found["high"] - found["regret"], rel=0.06)
    assert r"Regret at $T = 2{,}000$ on 50 \% \& more\_of\{it\}: mean of 5 runs $\pm$ 95\,\% interval." in text
    assert r"\pm" not in db.simulate("UCB1", instance, runs=1).to_latex()

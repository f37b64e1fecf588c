"""The page "adding a policy", followed word by word; and the README's promises."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import driftbandits as db
import reference
from driftbandits.policies import POLICIES

ROOT = Path(__file__).parents[2]


def blocks(page: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), re.DOTALL)


def test_adding_a_policy_word_by_word(tmp_path: Path) -> None:
    file, line, check, own = blocks("docs/adding-a-policy.md")
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("*.nb[ci]"))
    policies = tmp_path / "src" / "driftbandits" / "policies"
    (policies / "epsilongreedy.py").write_text(file, encoding="utf-8")
    with (policies / "__init__.pyi").open("a", encoding="utf-8") as listed:
        listed.write(line)
    (tmp_path / "typed.py").write_text(TYPED, encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "src"), "MYPYPATH": str(tmp_path / "src")}
    own += "\nfrom driftbandits.testing import check_policy\ncheck_policy(Clipped())"
    for program in (
        ["-c", check + FOLLOWS + own],
        # Only our own types matter here, and to read those of other packages takes mypy a quarter of a minute.
        ["-m", "mypy", "--strict", "--follow-imports=silent", *OURS_ALONE, "typed.py"],
    ):
        answer = subprocess.run(
            [sys.executable, *program], capture_output=True, text=True, env=environment, cwd=tmp_path
        )
        assert answer.returncode == 0, answer.stdout + answer.stderr


def test_the_readme_names_the_policies_that_were_checked_and_those_that_were_not() -> None:
    docs = {name: " ".join((policy.__doc__ or "").split()) for name, policy in POLICIES.items()}
    readme = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    for told, said in (
        ("checked against their authors' code", r"Checked against (the|an|the first) author('s|s') code"),
        ("checked against the texts of their papers", r"Checked against the paper's text"),
        ("compared with public implementations", r"Compared with .*not with the papers?'"),
    ):
        ((count, named),) = re.findall(rf"(\w+) \(([^)]+)\) were {told}", readme)
        assert set(named.split(", ")) == {name for name, doc in docs.items() if re.search(said, doc)}, told
        assert count == {4: "Four", 6: "Six"}[len(named.split(", "))]
    assert not any("Not checked" in said for said in docs.values())


FOLLOWS = """
import driftbandits as db
from driftbandits.policies import POLICIES
from driftbandits.policies import make_policy
from driftbandits.research import bench, pages
from driftbandits.research.league.matches import matches, told
from driftbandits.sweep.grid import KINDS

name = "EpsilonGreedy"
assert name in dir(db) and name in db.__all__ and db.POLICIES[name] is db.EpsilonGreedy
assert make_policy(name, epsilon=0.2, horizon=10) == db.EpsilonGreedy(0.2)
assert name in KINDS["policy"]
assert name in next(matches(5_000)).entrants() and told(name) == "nothing"
assert name in pages.page(name) and f"[{name}]({name}.md) | With probability epsilon" in pages.index()
bench.nanoseconds = lambda policies, instance: dict.fromkeys(policies, 1.0)
assert {"policy": name, **dict.fromkeys(("ns_K=2", "floor_K=2", "ns_K=20", "floor_K=20"), 1.0)} in bench.every_policy()
"""
OURS_ALONE = ("--no-site-packages", "--ignore-missing-imports")
TYPED = """
import driftbandits as db
from driftbandits.policies import POLICIES

step: float = db.EpsilonGreedy(epsilon=0.2).step
wrong: str = db.EpsilonGreedy(epsilon=0.2).step  # type: ignore[assignment]
"""


def test_ten_lines_are_ten_lines() -> None:
    first = blocks("README.md")[0]
    statements = [line for line in first.splitlines() if line.startswith(">>>")]
    assert len(statements) <= 10


def test_links_lead_somewhere() -> None:
    made = {ROOT / "docs" / name for name, _ in reference.pages()}  # by the site only
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]:
        for target in re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8")):
            path = page.parent / target
            assert "://" in target or path.exists() or path in made, f"{page} links to {target}"


def test_files_that_pages_name_exist() -> None:
    elsewhere = {"src/driftbandits/policies/epsilongreedy.py", "np/random/generator_core.py"}  # the reader's, numba's
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")]:
        for name in set(re.findall(r"`([\w/]+\.py)`", page.read_text(encoding="utf-8"))) - elsewhere:
            places = (ROOT, ROOT / "src" / "driftbandits", ROOT / "tests")
            assert any((place / name).exists() for place in places), (page.name, name)


def test_slow_tests_exist() -> None:
    for line in (ROOT / "tests" / "slow.txt").read_text(encoding="utf-8").split():
        file, *names = line.split("::")
        text = (ROOT / file).read_text(encoding="utf-8")
        assert not names or f"def {names[-1]}(" in text, line


def test_no_merge_was_left_half_done() -> None:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True).stdout.split()
    for name in listed:
        if name.endswith((".md", ".py", ".toml", ".txt", ".cff", ".j2", ".css")):
            lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
            assert not [line for line in lines if line.startswith(("<" * 7, ">" * 7))], name


def test_sweeps_word_by_word(tmp_path: Path) -> None:
    text = (ROOT / "docs/sweeps.md").read_text(encoding="utf-8")
    grid, named = re.findall(r"```toml\n(.*?)```", text, re.DOTALL)
    (tmp_path / "grid.toml").write_text(grid, encoding="utf-8")
    assert len(db.Sweep.load(tmp_path / "grid.toml").cells) == 32
    assert "This makes 32 cells" in text
    head = "runs = 2\n[grid]\nhorizon = 5_000\ndrift = 1e-3\n"
    (tmp_path / "named.toml").write_text(head + re.sub("^  ", "", named, flags=re.MULTILINE), encoding="utf-8")
    assert len(db.Sweep.load(tmp_path / "named.toml").cells) == 1
    program = "if __name__ == '__main__':\n" + "".join(
        f"    {line}\n" for block in blocks("docs/sweeps.md") for line in block.splitlines()
    )
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=tmp_path)
    assert answer.returncode == 0, answer.stderr
    once = ["KalmanTS"] * 3 + ["SWUCBSharp"] * 3
    assert re.findall("KalmanTS|SWUCBSharp", answer.stdout) == 2 * once  # by polars, and by DuckDB


def test_the_example_of_theorem_2_is_what_it_says() -> None:
    sweep = db.Sweep.load(ROOT / "examples/theorem2.toml")
    drifts = sorted({cell.columns["drift"] for cell in sweep.cells})
    assert drifts[-1] / drifts[0] == pytest.approx(1e6)
    assert len({cell.columns["horizon"] for cell in sweep.cells}) == 5


def table_of(page: str, first: str) -> list[dict[str, str]]:
    """The rows of the table of a page whose header begins with that column."""
    lines = (ROOT / "docs" / page).read_text(encoding="utf-8").splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith(f"| {first} |"))
    end = next(number for number in range(start, len(lines)) if not lines[number].startswith("|"))
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[start:end]]
    return [dict(zip(cells[0], row, strict=True)) for row in cells[2:]]


def test_the_advice_about_abrupt_changes_is_the_benchmarks() -> None:
    rows = table_of("tutorials/choosing-a-policy.md", "you know")
    (advice,) = (row["begin with"] for row in rows if "abruptly" in row["you know"])
    abrupt = {row["policy"]: float(row["abrupt"]) for row in table_of("league.md", "policy")}
    best = sorted(abrupt, key=lambda name: abrupt[name])
    assert re.findall(r"BreakEven|\w+UCB|\w+TS", re.sub(r"\(.*?\)", "", advice)) == best[:2]


def test_pages_agree_on_what_kalmants_costs() -> None:
    cost = {row["policy"]: float(row["ns per step"]) for row in table_of("league.md", "policy")}
    assert 3.5 < cost["AutoTS"] / cost["KalmanTS"] < 4.5
    for page, words in {
        "beyond-the-paper.md": "it is four times as fast",
        "tutorials/choosing-a-policy.md": "a quarter of the cost per step",
        "faq.md": "costs a quarter of\nthat per step",
    }.items():
        assert words in (ROOT / "docs" / page).read_text(encoding="utf-8")


def test_a_column_that_a_page_names_is_there() -> None:
    text = (ROOT / "docs" / "beyond-the-paper.md").read_text(encoding="utf-8")
    (named,) = re.findall(r"How they were tuned\*, column \*(.+?)\*", text)
    assert named in next(line for line in text.splitlines() if line.startswith("| | AutoTS"))

"""What the site is made with: code that is run, formulas that are found, names that have an entry.

``make site-check`` builds the site and opens it (``check_site.py``).
"""

from __future__ import annotations

import re
import socket
from contextlib import suppress
from pathlib import Path

import pytest
from mkdocs.config import load_config

import driftbandits as db
import hooks
import reference
from blocks import BlockError, outputs, run_page
from facts import PROVED, glance
from formulas import display, find, typeset, unicode
from ports import free_port

ROOT = Path(__file__).parents[2]


def page(name: str) -> str:
    return (ROOT / "docs" / name).read_text(encoding="utf-8")


def test_a_block_shows_what_it_answers() -> None:
    text = "```python\nx = 2\nprint('<a>')\nx + 1\n```\n"
    assert run_page(text, str) == text + '\n<pre class="output"><code>&lt;a&gt;\n3\n</code></pre>\n'


def test_blocks_of_a_page_share_names_files_and_commands() -> None:
    text = (
        "```python mine.py\nY = 5\n```\n```python\nfrom mine import Y\n```\n```console\n$ echo so\n$ cat mine.py\n```\n"
    )
    shown = run_page(text + "```python\nY\n```\n", str)
    assert '```python title="mine.py"' in shown
    assert "$ cat mine.py\nso\nY = 5\n```" in shown
    assert "<code>5\n</code>" in shown
    other = run_page("```python mine.py\nY = 6\n```\n```python\nfrom mine import Y\nY\n```\n", str)
    assert "<code>6\n</code>" in other  # and pages do not share theirs


@pytest.mark.parametrize(
    "text",
    [
        "```python\n1 / 0\n```\n",
        "```console\n$ exit 3\n```\n",
        "<!-- raises -->\n```python\n1 + 1\n```\n",
        "```python\nimport warnings; warnings.warn('x')\n```\n",
        "```python\nfor i in range(99): print(i)\n```\n",
    ],
    ids=["error", "exit code", "no error", "warning", "too long"],
)
def test_a_block_that_fails_stops_the_build(text: str) -> None:
    with pytest.raises(BlockError):
        run_page(text, str)


def test_an_error_that_is_meant_is_one_line() -> None:
    assert "ZeroDivisionError: division by zero\n" in run_page("<!-- raises -->\n```python\n1 / 0\n```\n", str)


def test_figures_are_handed_over() -> None:
    seen: list[object] = []
    code = "from matplotlib.figure import Figure\nFigure()"

    def show(figure: object) -> str:
        seen.append(figure)
        return "shown"

    assert run_page(f"```python\n{code}\n```\n", show).endswith("shown")
    assert len(seen) == 1


def test_every_question_of_the_cookbook_is_answered_by_code() -> None:
    text = page("cookbook.md")
    questions = re.findall(r"^### (.+)\?$", text, re.M)
    assert len(questions) >= 20
    parts = re.split(r"^### ", text, flags=re.M)[1:]
    assert all("```python" in part or "```console" in part for part in parts)


RUN = sorted(
    name
    for path in (ROOT / "docs").rglob("*.md")
    if (name := path.relative_to(ROOT / "docs").as_posix()).startswith(hooks.RUN)
)


@pytest.mark.parametrize("name", RUN)
def test_every_page_runs_whose_code_the_site_runs(name: str) -> None:
    text = page(name)
    with socket.socket() as another:
        for port in re.findall(r"--port (\d+)", text):  # another program may use it, as these tests in another folder
            with suppress(OSError):
                another.bind(("127.0.0.1", int(port)))
                another.listen()
            text = text.replace(port, str(free_port()))
        assert len(outputs(text)) == len(re.findall(r"^```(?:python|console)$", text, re.M))


@pytest.mark.parametrize(
    ("text", "formulas"),
    [
        ("With L = ln T it costs O(K) a step.", ["L = ln T", "O(K)"]),
        ("buf = lambda(w)/(6 delta), a snooze of 2w", ["buf = λ(w)/(6 δ)", "2w"]),
        ("w_min = ceil(confidence^2 c1 L)", ["w_min = ⌈confidence^2 c1 L⌉"]),
        ("gamma = min(1, sqrt(K ln K / ((e - 1) batch)))", ["γ = min(1, √(K ln K / ((e − 1) batch)))"]),
        ("a step, an arm's reward, 1/2 or 0.95, the k-th, I am", []),
        ("at most 6√(2wL) at the drift δ a step", ["6√(2wL)", "δ"]),
        ("(others are clipped), see section 3", []),
        ("after W. Thompson; C.-Y. Wei, H. Luo, at step T. Memory is O(K)", ["T", "O(K)"]),
        ("gain g = P'/(P' + 1), 3 rhohat(t') or log2 T, the arms' own", ["g = P′/(P′ + 1)", "3 ρ̂(t′)", "log₂ T"]),
        ("the same with -sigma, mean +- sqrt(t-2), a 95 % interval, appendix B", ["σ", "mean ± √(t−2)"]),
        ("For Experiment 2 (T = 5) at drift 1e-4 (3e-5)", ["(T = 5)", "1e-4 (3e-5)"]),
        ("every 2 s, after 1.2 s, silent for n s, step s", ["s"]),
        ("√(KTL) ≤ −x, KL(x, y), (m - mean of all)^2", ["√(KTL) ≤ −x", "KL(x, y)", "m − mean"]),
    ],
)
def test_formulas_are_found_and_words_are_not(text: str, formulas: list[str]) -> None:
    text = unicode(text)
    assert [text[start:end] for start, end in find(text)] == formulas


def test_formulas_leave_code_links_and_citations_alone() -> None:
    assert typeset("<!-- T = 5 -->\n<p>so</p>") == "<!-- T = 5 -->\n<p>so</p>"
    same = "<pre><code>T = 5</code></pre><a href='x'>T</a><h2>T = 1</h2><p>Citation: R. Auer, T. Lai, 2002.</p>"
    assert typeset(same) == same
    assert typeset("<p>(T, and</p>").startswith('<p><span class="whole">(<math><mi>T</mi></math>,</span> and')
    assert typeset("<p>(T less all)^2</p>").endswith("less all)²</p>")
    assert typeset("<p>T &lt; 5</p>") == "<p><math><mi>T</mi><mo>&lt;</mo><mn>5</mn></math></p>"
    assert '<math display="block">' in display("x = 1/y")


def test_no_formula_of_a_docstring_stays_in_ascii() -> None:
    for name, policy in db.POLICIES.items():
        assert not re.search(
            r"\b(sqrt|ceil|delta|sigma)\b(?!-)", unicode(re.sub("``.*?``", "", policy.__doc__ or ""))
        ), name


def test_every_public_name_has_one_entry() -> None:
    entries = [name for room in reference.rooms().values() for name in room.names]
    assert len(entries) == len(set(entries))
    for name in set(dir(db)) - set(db.POLICIES):
        found = [
            entry for entry in entries if entry == f"driftbandits.{name}" or entry.startswith(f"driftbandits.{name}.")
        ]
        assert found, name
    assert "driftbandits.instances.toggling" in entries


def test_every_entry_says_something_whole() -> None:
    said = {name: reference.summary(name) for room in reference.rooms().values() for name in room.names}
    assert not [name for name, text in said.items() if len(text) < 2 or not text.endswith(".")]


def test_policies_at_a_glance() -> None:
    assert set(PROVED) <= set(db.POLICIES)
    assert "none is proved" in glance("BreakEven", page("policies/BreakEven.md"))
    ours = {name for name, policy in db.POLICIES.items() if "Citation: this package" in (policy.__doc__ or "")}
    assert ours <= set(PROVED)  # no other work proves anything about these
    table = glance("SWUCBSharp", page("policies/SWUCBSharp.md"))
    assert "| A step costs | O(K), whatever the window |" in table
    assert "| It must know | T and delta (or nu), or be given alpha and lam |" in table
    assert "drifting" in table


def test_moving_pages_hold_answers() -> None:
    for name in ("river", "mabwiser", "smpybandits"):
        (said,) = re.findall(r"^```text\n(.*?)^```", page(f"moving/{name}.md"), re.M | re.S)
        assert re.search(r"\d", said), "run benchmarks/moving.py"


def test_the_menu_holds_every_page_and_names_only_what_is_there() -> None:
    """A page that no one listed would land under More; a folder that is missing would stop the build."""
    config = load_config(str(ROOT / "mkdocs.yml"))  # stops at what is wrong in it
    assert "More" not in {title for entry in hooks.on_config(config).nav or [] for title in entry}

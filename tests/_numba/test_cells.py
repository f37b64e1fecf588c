"""Policies in cells of a notebook: results follow the newest code, and a mistake is told at the line of the cell."""

from __future__ import annotations

import linecache
from itertools import count
from pathlib import Path
from typing import Any

import pytest

import driftbandits as db
from driftbandits.testing import check_policy

FIRST = """
from dataclasses import dataclass
from typing import Any, NamedTuple
import numba
import numpy as np
import driftbandits as db

class S(NamedTuple):
    arms: Any

@dataclass(frozen=True)
class Base(db.Policy):
    bonus: float = 0.0
    def init(self, n_arms):
        return S(db.records(n_arms, n="i8", q="f8"))
    def select(self, state, rng):
        if state.arms[0].n == 0 or state.arms[1].n == 0:
            return int(state.arms[0].n > 0)
        return int(state.arms[1].q / state.arms[1].n > state.arms[0].q / state.arms[0].n)
    def update(self, state, arm, reward):
        state.arms[arm].n += 1
        state.arms[arm].q += reward
"""
WORLD = db.instances.stationary(200, (0.9, 0.2))
BEST, WORST = 199, 1
"""How often the first arm is pulled by those that follow rewards, and by those that follow their opposite."""


class Notebook:
    """Cells run in one namespace. As in Jupyter, their lines are known though their files don't exist."""

    def __init__(self, folder: Path) -> None:
        self.space: dict[str, Any] = {"__name__": "__main__"}
        self.folder, self.numbers = folder, count(1)
        self.run(FIRST)

    def run(self, cell: str) -> Any:
        file = str(self.folder / f"cell{next(self.numbers)}.py")
        linecache.cache[file] = (len(cell), None, cell.splitlines(keepends=True), file)
        exec(compile(cell, file, "exec"), self.space)

    def policy(self, verb: str, body: str, parent: str = "Base") -> Any:
        arguments = {"select": "state, rng", "update": "state, arm, reward"}[verb]
        self.run(
            f"@dataclass(frozen=True)\nclass Mine({parent}):\n    def {verb}(self, {arguments}):\n        {body}\n"
        )
        return self.space["Mine"]()

    def adding(self, call: str) -> Any:
        return self.policy("update", f"state.arms[arm].n += 1; state.arms[arm].q += {call}")


@pytest.fixture
def notebook(tmp_path: Path) -> Notebook:
    return Notebook(tmp_path)


def pulls(policy: Any) -> int:
    noise = db.Gaussian(0.0)
    return int(db.simulate({"it": policy}, WORLD, noise, runs=1, progress=False).pulls["it"][0, 0])


def test_a_constant_of_a_helper_changed_and_the_cell_of_the_policy_run_again(notebook: Notebook) -> None:
    """The helper's machine code was the old one: of the class, which was new, nothing seemed to have changed."""
    notebook.run("SIGN = 1.0\ndef signed(x):\n    return SIGN * x\n")
    notebook.run("def through(x):\n    return signed(x)\n")
    first = notebook.adding("through(reward)")
    assert pulls(first) == BEST
    notebook.run("SIGN = -1.0")
    assert pulls(notebook.adding("through(reward)")) == WORST
    notebook.run("SIGN = 1.0")
    play = db.Online(first, 2)  # other loops than those of simulate, compiled only now
    for _ in range(20):
        arm = play.select()
        play.update(arm, 1.0 - arm)
    assert play.state.arms.n.tolist() == [19, 1]


def test_a_helper_follows_a_changed_constant(notebook: Notebook) -> None:
    notebook.run("SIGN = 1.0\ndef signed(x):\n    return SIGN * x\n")
    policy = notebook.adding("signed(reward)")
    assert pulls(policy) == BEST
    notebook.run("SIGN = -1.0")
    assert pulls(policy) == WORST


def test_a_class_redefined_and_two_of_one_name(notebook: Notebook) -> None:
    first, second = notebook.adding("reward"), notebook.adding("-reward")
    assert [pulls(first), pulls(second), pulls(first)] == [BEST, WORST, BEST]


def test_a_helper_may_be_plain_or_compiled_already(notebook: Notebook) -> None:
    helper = "def helper(x):\n    return 2 * x\n"
    notebook.run(helper)
    policy = notebook.adding("helper(reward)")
    assert pulls(policy) == BEST
    notebook.run("@numba.njit\n" + helper.replace("2 * x", "-2 * x"))
    assert pulls(policy) == WORST


def test_helpers_may_call_themselves_and_each_other(
    notebook: Notebook, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What numba has cached of recursive functions crashes in the next process, so it is not cached."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    notebook.run("def even(n):\n    return n == 0 or (n > 1 and even(n - 2))\n")
    assert pulls(notebook.adding("reward * (1.0 if even(4) and not even(3) else -1.0)")) == BEST
    notebook.run("def less(n):\n    return True if n == 0 else more(n - 1)\n")
    notebook.run("def more(n):\n    return False if n == 0 else less(n - 1)\n")
    assert pulls(notebook.adding("reward * (1.0 if less(4) else -1.0)")) == BEST
    assert not list(tmp_path.glob("cache/**/entry.py"))
    assert pulls(notebook.adding("reward")) == BEST
    assert len(list(tmp_path.glob("cache/**/entry.py"))) == 1, "others are cached"


MISTAKES = [
    ("update", "super().update(state, arm, reward)", "name that class, as in Other.update(self, state, arm, reward)"),
    ("update", "self.init(arm)", "must be a function outside of the class"),
    ("select", "return rng.choice(2)", "draw with rng.random(), as in int(rng.random() * n)"),
    ("select", "return sum({0: 0}.values())", "it has no sum(values[DictType"),
    ("update", "x = f'{reward:.2f}'", "format spec in f-strings not supported yet; change that"),
    ("update", "x = 'a' if reward > 0 else 1", "Cannot unify"),
    ("update", "state.arms[arm + 3].q += reward", "used index 3 of state.arms, which has length 2"),
    ("update", "state.arms[arm].total += reward", "raised AttributeError: a record of n, q has no column 'total'"),
]


@pytest.mark.parametrize(("verb", "body", "told"), MISTAKES)
def test_a_mistake_is_told_at_the_line_of_the_cell(verb: str, body: str, told: str, notebook: Notebook) -> None:
    with pytest.raises(db.PolicyError) as caught:
        pulls(notebook.policy(verb, body, "db.UCB1" if "UCB1" in body else "Base"))
    text = str(caught.value)
    assert told in text
    assert text.endswith(f"{notebook.folder / 'cell2.py'}, line 4:\n    {body}")
    assert len(text) < 900


def test_the_way_out_of_super(notebook: Notebook) -> None:
    assert pulls(notebook.policy("update", "Base.update(self, state, arm, -reward)")) == WORST
    policy = notebook.policy("update", "db.UCB1.update(self, state, arm, reward)", "db.UCB1")
    assert pulls(policy) == pulls(db.UCB1())


@pytest.mark.parametrize("body", ["state.arms.q.flat[arm] += reward", "x = numba.carray(state.arms, 3)"])
def test_memory_that_numba_cannot_check_is_refused(body: str, notebook: Notebook) -> None:
    with pytest.raises(
        db.PolicyError, match=r"Mine\.update uses (flat|carray), whose indices numba can't check; write"
    ):
        pulls(notebook.policy("update", body))


def test_update_may_draw(notebook: Notebook) -> None:
    """The fourth argument is the run's generator; compiled, interpreted and in a Session it is the same policy."""
    notebook.run(
        "@dataclass(frozen=True)\nclass Noisy(Base):\n    any_order = True\n"
        "    def update(self, state, arm, reward, rng):\n"
        "        state.arms[arm].n += 1\n        state.arms[arm].q += reward + 3.0 * rng.standard_normal()\n"
    )
    policy = notebook.space["Noisy"]()
    check_policy(policy)
    sessions = [db.Session(policy, arms=["a", "b"], seed=3) for _ in range(2)]
    for number, session in enumerate(sessions):
        decisions = session.ask_many(40)
        told = [(decision.id, 0.25) for decision in decisions]
        for part in [told] if number == 0 else [[each] for each in told]:  # together, and one by one
            session.tell_many(part)
    assert sessions[0].ask_many(20) == sessions[1].ask_many(20)

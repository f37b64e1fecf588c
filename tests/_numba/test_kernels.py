"""How policies are compiled: from a module, from a notebook cell, again after an edit, and with clear errors."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import pytest

import driftbandits as db
from driftbandits._numba import cache, copies, entry
from driftbandits._numba.compiled import kernels_digest
from driftbandits._numba.digest import code_digest

MODULE = """
from dataclasses import dataclass
from typing import Any, NamedTuple
import driftbandits as db
import helpers

class GreedyState(NamedTuple):
    arms: Any

@dataclass(frozen=True)
class Greedy(db.Policy):
    '''Citation: none.'''
    bonus: float = 0.1
    def init(self, n_arms):
        return GreedyState(db.records(n_arms, pulls="i8", total="f8"))
    def select(self, state, rng):
        return helpers.best(state.arms, self.bonus)
    def update(self, state, arm, reward):
        state.arms[arm].pulls += 1
        state.arms[arm].total += reward
"""
HELPERS = """
import driftbandits as db
SIGN = 1.0

def best(arms, bonus):
    top, where = -1e9, 0
    for arm in range(len(arms)):
        if arms[arm].pulls == 0:
            return arm
        index = SIGN * arms[arm].total / arms[arm].pulls + bonus
        if index > top:
            top, where = index, arm
    return where
"""
RUN = """
import driftbandits as db
{imports}
play, pulls = db.Online(Greedy(), 2), [0, 0]
for _ in range(200):
    arm = play.select()
    pulls[arm] += 1
    play.update(arm, (0.9, 0.2)[arm])
print(pulls)
"""
"""Its two loops, of select and of update, are the shortest: what is on disk is here what matters."""


def python(program: str, folder: Path) -> str:
    path = os.pathsep.join([str(folder), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = {**os.environ, "PYTHONPATH": path, "XDG_CACHE_HOME": str(folder / "cache")}
    environment.pop("NUMBA_CACHE_DIR", None)  # where it is set, numba's files are bound to a folder's full name
    answer = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env=environment, cwd=folder
    )
    assert answer.returncode == 0, answer.stderr
    return answer.stdout.strip()


PROGRAM = RUN.format(imports="from mine import Greedy")


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A folder in which PROGRAM ran once, so that its machine code is on disk, and what it said."""
    folder = tmp_path_factory.mktemp("once")
    (folder / "mine.py").write_text(MODULE)
    (folder / "helpers.py").write_text(HELPERS)
    return folder, python(PROGRAM, folder)


@pytest.fixture
def first(once: tuple[Path, str], tmp_path: Path) -> str:
    """What PROGRAM said; ``tmp_path`` is a copy of the folder in which it ran."""
    shutil.copytree(once[0], tmp_path, dirs_exist_ok=True)
    return once[1]


def test_a_policy_in_a_users_module_is_cached_and_notices_edits(first: str, tmp_path: Path) -> None:
    files = sorted((tmp_path / "cache").rglob("*_Greedy*.nbc"))
    assert len(files) == 2
    assert python(PROGRAM, tmp_path) == first
    assert sorted((tmp_path / "cache").rglob("*_Greedy*.nbc")) == files
    # A constant in another module than the policy's: the machine code must not be the old one.
    (tmp_path / "helpers.py").write_text(HELPERS.replace("SIGN = 1.0", "SIGN = -1.0"))
    assert eval(python(PROGRAM, tmp_path))[0] < eval(first)[0] / 2


LAB = """
import enum
import numpy as np
import numba
FIRST, SECOND, THIRD = 1.0, 1.0, 2.0
COUNT = np.int64(3)
TABLE = np.array([1.0, 2.0])
NEXT = (1, 23)
NESTED = ((4, 5), 6)
UNIT = 1j

class Level(enum.Enum):
    ONE = 1
PAIR = (np.arange(2_000.0), 1.0)

def closed(factor):
    def inner(x):
        return factor * x
    return inner

times = closed(2.0)

@numba.njit
def jitted(x):
    return x + 1.0

def bonus(x, extra=0.5, *, more=0.25):
    return x + extra + more

same = jitted

def best(x):
    x = times(bonus(FIRST * x) + same(x) + SECOND / THIRD) + jitted(x)
    return (lambda y: y + 3.0)(x) + COUNT + TABLE[0] + PAIR[0][0] + NEXT[0] + NESTED[1] + UNIT.imag + Level.ONE.value
"""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("1.0, 1.0, 2.0", "1.0, 2.0, 2.0"),
        ("np.int64(3)", "np.int64(4)"),
        ("[1.0, 2.0]", "[1.5, 2.0]"),
        ("[1.0, 2.0]", "[[1.0, 2.0]]"),  # the same bytes in another shape
        ("[1.0, 2.0]", "[1.0, 2.0]).view('i8'"),
        ("(1, 23)", "(12, 3)"),  # the same digits one after the other
        ("((4, 5), 6)", "(4, (5, 6))"),
        ("= jitted", "= bonus"),
        ("ONE = 1", "ONE = 2"),
        ("1j", "5j"),
        ("(np.arange(2_000.0)", "(np.arange(2_000.0) + (np.arange(2_000) == 1_000)"),
        ("closed(2.0)", "closed(2.5)"),
        ("x + 1.0", "x + 1.5"),
        ("extra=0.5", "extra=0.6"),
        ("more=0.25", "more=0.26"),
        ("lambda y: y + 3.0", "lambda y: y + 3.5"),
    ],
)
def test_the_digest_sees_all_that_machine_code_depends_on(old: str, new: str) -> None:
    """What it overlooked would run as old machine code after an edit, without a word."""

    def digest(source: str) -> str:
        space: dict[str, Any] = {"__name__": "mine"}
        exec(source, space)
        return code_digest([space["best"]])

    assert old in LAB
    assert digest(LAB) == digest(LAB)
    assert digest(LAB) != digest(LAB.replace(old, new))


def test_the_digest_does_not_see_what_only_has_the_name_of_a_column() -> None:
    """Else a policy in a notebook would be compiled anew for every value of a variable that it does not use."""
    space: dict[str, Any] = {"n": 1}
    exec("def best(arms):\n    return arms[0].n", space)
    before = code_digest([space["best"]])
    space["n"] = 2
    assert code_digest([space["best"]]) == before


@pytest.mark.parametrize("verb", ["select", "update", "settle", "draw"])
def test_every_kernel_of_every_class_is_part_of_the_cache_key(verb: str) -> None:
    def key(number: int) -> Any:
        owner = type("Edited", (), {verb: eval(f"lambda self: {number}")})
        return kernels_digest(owner)

    assert key(1) == key(1)
    assert key(1) != key(2)


def test_a_helper_reached_through_a_package_is_part_of_the_digest() -> None:
    def digest(step: int) -> str:
        lab, tools = ModuleType("lab"), ModuleType("lab.tools")
        exec(f"def deep(x):\n    return x + {step}", vars(tools))
        vars(lab)["tools"] = tools
        space: dict[str, Any] = {"lab": lab}
        exec("def best(x):\n    return lab.tools.deep(x)", space)
        return code_digest([space["best"]])

    assert digest(1) != digest(2)


@pytest.mark.usefixtures("first")
def test_a_vanished_module_harms_nobody(tmp_path: Path) -> None:
    (tmp_path / "mine.py").unlink()
    python(RUN.format(imports="from driftbandits import RoundRobin as Greedy"), tmp_path)


def test_a_renamed_state_class_is_compiled_anew(first: str, tmp_path: Path) -> None:
    """The cache on disk refers to the old class by name."""
    (tmp_path / "mine.py").write_text(MODULE.replace("GreedyState", "RenamedState"))
    assert python(PROGRAM, tmp_path) == first


ORDERED = """
from dataclasses import dataclass
from typing import Any, NamedTuple
import driftbandits as db

class OrderedState(NamedTuple):
    left: Any
    right: Any

@dataclass(frozen=True)
class Ordered(db.Policy):
    first: int = 0
    second: int = 1
    def init(self, n_arms):
        return OrderedState(left=db.records(n_arms, q="f8"), right=db.records(n_arms, q="f8"))
    def select(self, state, rng):
        return self.first
    def update(self, state, arm, reward):
        state.left[arm].q += 1.0
"""


ORDER = (
    "import driftbandits as db, mine\nplay = db.Online(mine.Ordered(), 2)\nplay.update(play.select(), 0.5)\n"
    "print(play.state.left.q.tolist(), play.state.right.q.tolist())"
)
LEFT = "[1.0, 0.0] [0.0, 0.0]"


@pytest.fixture(scope="module")
def ordered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which ORDER ran once, so that its machine code is on disk."""
    folder = tmp_path_factory.mktemp("ordered")
    (folder / "mine.py").write_text(ORDERED)
    assert python(ORDER, folder) == LEFT
    return folder


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("    first: int = 0\n    second: int = 1", "    second: int = 1\n    first: int = 0"),
        ("    left: Any\n    right: Any", "    right: Any\n    left: Any"),
    ],
)
def test_fields_in_another_order_are_compiled_anew(old: str, new: str, ordered: Path, tmp_path: Path) -> None:
    """Machine code knows fields by their place, byte code by their names: those of a policy, and of a State."""
    shutil.copytree(ordered, tmp_path, dirs_exist_ok=True)
    assert old in ORDERED
    (tmp_path / "mine.py").write_text(ORDERED.replace(old, new))
    assert python(ORDER, tmp_path) == LEFT


def test_a_damaged_cache_is_made_anew(first: str, tmp_path: Path) -> None:
    for ending, remains in (("nbi", 100), ("nbc", 0)):
        files = list((tmp_path / "cache").rglob(f"*_Greedy*.{ending}"))
        assert len(files) == 2
        for file in files:
            file.write_bytes(file.read_bytes()[:remains])
        assert python(PROGRAM, tmp_path) == first


def test_a_policy_in_a_notebook_cell(tmp_path: Path) -> None:
    """A cell is code with no file behind it, run in __main__."""
    (tmp_path / "helpers.py").write_text(HELPERS)
    program = f"exec(compile({(MODULE + RUN.format(imports=''))!r}, '<cell 1>', 'exec'))"
    assert eval(python(program, tmp_path))[0] > 100


def test_importing_the_package_imports_no_numba() -> None:
    program = (
        "import sys, driftbandits as db; print('numba' in sys.modules, 'numpy' in sys.modules, 'Policy' in dir(db))"
    )
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert answer.stdout.split() == ["False", "False", "True"]


def test_a_name_that_does_not_exist() -> None:
    with pytest.raises(AttributeError, match="no attribute 'SnoozedIt'"):
        _ = getattr(db, "SnoozedIt")  # noqa: B009 - what a typo does
    for name in dir(db):
        assert getattr(db, name) is not None


class OddState(NamedTuple):
    run: Any


@dataclass(frozen=True)
class Odd(db.Policy):
    """Uses what numba does not know.

    Citation: none.
    """

    def init(self, n_arms: int) -> OddState:
        return OddState(db.records(1, t="i8"))

    def select(self, state: OddState, rng: np.random.Generator) -> int:
        return sorted({"a": 0}.items(), key=str)[0][1]

    def update(self, state: OddState, arm: int, reward: float) -> None:
        pass


def test_a_kernel_that_cannot_be_compiled_is_explained() -> None:
    with pytest.raises(db.InputError, match=r"(?s)Odd cannot be compiled.*drop the base class Policy"):
        db.simulate({"it": Odd()}, db.instances.stationary(10), runs=1)


def test_a_policy_in_a_function() -> None:
    """Its class cannot be found again by name, so its machine code is not cached."""

    @dataclass(frozen=True)
    class Local(db.RoundRobin):
        pass

    assert db.simulate({"it": Local()}, db.instances.stationary(10), runs=1).pulls["it"].tolist() == [[5, 5]]


def test_a_policy_must_be_a_dataclass() -> None:
    class Bare(db.Policy):
        def init(self, n_arms: int) -> OddState:
            return OddState(db.records(1, t="i8"))

    with pytest.raises(db.InputError, match="Bare must be a dataclass"):
        db.simulate({"it": Bare()}, db.instances.stationary(10), runs=1)


def test_where_nothing_may_be_written_it_is_compiled_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a read-only container."""
    (tmp_path / "file").touch()
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "file" / "no folder"))
    monkeypatch.setattr(entry, "_entries", {})
    played = db.simulate({"it": db.RoundRobin()}, db.instances.stationary(50), runs=1, progress=False)
    assert played.pulls["it"].sum() == 50


def test_folders_that_no_process_has_used_for_long_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    old, used = (cache.root() / name for name in ("old", "used"))
    for folder in (old, used, tmp_path / "old_123"):
        folder.mkdir(parents=True)
    days = time.time() - (cache.KEPT_DAYS + 1) * 86_400
    os.utime(old, (days, days))
    function = cache.compiled("new", "one", "def one(whole, real):\n    return 1\n", lambda: ({}, True))
    assert function(np.zeros(1, np.int64), np.zeros(1)) == 1
    assert sorted(folder.name for folder in cache.root().iterdir()) == ["new", "used"]
    assert not (tmp_path / "old_123").exists()


def test_two_processes_may_compile_at_once(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(MODULE)
    (tmp_path / "helpers.py").write_text(HELPERS)
    with ThreadPoolExecutor(2) as pool:
        assert len(set(pool.map(lambda _: python(PROGRAM, tmp_path), range(2)))) == 1
    files = sorted((tmp_path / "cache").rglob("*_Greedy*.nbc"))
    assert python(PROGRAM, tmp_path)
    assert sorted((tmp_path / "cache").rglob("*_Greedy*.nbc")) == files


def test_the_generated_entry_can_be_read(first: str, tmp_path: Path) -> None:
    sources = {file.read_text() for file in (tmp_path / "cache").rglob("entry.py")}
    assert len(sources) == 2
    assert any("def update_once_Greedy(whole, real):\n    return loop(\n" in source for source in sources)


def test_options_that_numba_no_longer_knows_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copies, "UNDOCUMENTED", ("forceinline", "gone_since"))
    assert copies.inlined.__wrapped__() == {"nogil": True, "error_model": "numpy", "forceinline": True}


class TableState(NamedTuple):
    table: Any


@dataclass(frozen=True)
class InATable(db.Policy):
    """Pulls the arm that has earned less so far; its State may be of many kinds of numbers."""

    dtype: str = "f8"

    def init(self, n_arms: int) -> TableState:
        return TableState(np.zeros((n_arms, 3), self.dtype))

    def select(self, state: TableState, rng: np.random.Generator) -> int:
        return 0 if state.table[0, 1] <= state.table[1, 1] else 1

    def update(self, state: TableState, arm: int, reward: float) -> None:
        state.table[arm, 1] += reward


def test_machine_code_is_never_used_for_a_state_of_other_numbers() -> None:
    """Loops don't look at types: what was compiled for one State would take another one's memory for its own."""
    instance, pulled = db.instances.sinusoid(300), {}
    for policy in (InATable("f8"), InATable("f4"), InATable("i8"), InATable("f8")):
        played = db.trajectory(policy, instance, db.Bounded(), seed=1)
        state, arms, rng = policy.init(2), [], np.random.default_rng()
        for reward in played.rewards:
            arms.append(policy.select(state, rng))
            policy.update(state, arms[-1], float(reward))
        assert played.arms.tolist() == arms
        pulled[policy] = arms
    assert 0 < sum(pulled[InATable("f8")]) < 300

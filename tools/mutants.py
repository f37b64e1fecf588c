"""``make mutants``: change random places of src one at a time, and list the changes that no test notices.

A place is drawn in a file with probability proportional to the file's lines. It is a comparison, an operator, a
constant, ``min`` or ``max``, ``and`` or ``or``, or a statement, which is deleted. All happens in a copy of the tree.
The tests of the file's folder, and of folders that use it, run until one fails. They pass without the change: that is
checked first for each folder, and says how long they take. A change under which they take three times as long, and a
minute more, is killed as well. To repeat a run give its seed.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[1]
SOURCE = Path("src/driftbandits")
BASE = ("_common", "_numba", "instances", "policies", "testing")
SEEN_FROM = dict.fromkeys(BASE, "instances policies simulation live sweep store")
SEEN_FROM |= {"live": "store service", "store": "service", "service": "client", "sweep": "cli", "offline": "cli"}
"""Folders of tests beside a folder's own."""
PLAIN = {"cli", "client", "interop", "live", "service", "store", "sweep", "testing"}
"""Folders without compiled code. For mutants of others all is compiled again, so that no cache hides them."""
PAIRS: list[tuple[Any, Any]] = [
    *[(ast.Lt, ast.LtE), (ast.Gt, ast.GtE), (ast.Eq, ast.NotEq), (ast.Is, ast.IsNot), (ast.In, ast.NotIn)],
    *[(ast.Add, ast.Sub), (ast.Mult, ast.Div), (ast.And, ast.Or)],
]
OPERATORS = dict(PAIRS) | {after: before for before, after in PAIRS}
OPERATORS |= {ast.FloorDiv: ast.Mult, ast.Mod: ast.Mult, ast.Pow: ast.Mult}


class Mutant(NamedTuple):
    """Bytes ``start`` to ``stop`` of a file become ``after``."""

    file: Path
    line: int
    start: int
    stop: int
    before: str
    after: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {' '.join(self.before.split())} -> {self.after}"


def changed(node: Any) -> str | None:
    """The text of this node after a change, if it is one that can be changed."""
    call = isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
    # Without a name that it needs the code would not run at all.
    kept = isinstance(node, ast.Assign) and any(isinstance(each, ast.Name | ast.Tuple) for each in node.targets)
    if call or isinstance(node, ast.Raise | ast.AugAssign) or (isinstance(node, ast.Assign) and not kept):
        return "pass"
    if isinstance(node, ast.Name) and node.id in ("min", "max"):
        return "max" if node.id == "min" else "min"
    if isinstance(node, ast.Compare):
        node.ops[0] = OPERATORS[type(node.ops[0])]()
    elif isinstance(node, ast.BinOp | ast.BoolOp) and type(node.op) in OPERATORS:
        node.op = OPERATORS[type(node.op)]()
    elif isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        node.value = not node.value if isinstance(node.value, bool) else node.value + 1
    else:
        return None
    return f"({ast.unparse(node)})"


def mutants_of(file: Path) -> list[Mutant]:
    """All changes of one file; not of annotations, of text, and of statements outside of functions."""
    data = (ROOT / file).read_bytes()
    starts = [0]
    for line in data.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))

    def visit(node: ast.AST, inside: bool) -> Iterator[ast.AST]:
        if isinstance(node, ast.JoinedStr | ast.MatchValue | ast.Global):
            return
        if inside or not isinstance(node, ast.stmt):
            yield node
        for name, value in ast.iter_fields(node):
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST) and name not in ("annotation", "returns", "ctx"):
                    yield from visit(child, inside or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))

    found = []
    for node in list(visit(ast.parse(data), inside=False)):
        if isinstance(node, ast.stmt | ast.expr) and (after := changed(node)) and node.end_lineno:
            start = starts[node.lineno - 1] + node.col_offset
            stop = starts[node.end_lineno - 1] + (node.end_col_offset or 0)
            found.append(Mutant(file, node.lineno, start, stop, data[start:stop].decode(), after))
    return found


def sample(seed: int, count: int, under: str) -> list[Mutant]:
    """Different random places."""
    rng, chosen = random.Random(seed), dict[Mutant, None]()
    files = [each.relative_to(ROOT) for each in sorted((ROOT / SOURCE).rglob("*.py"))]
    places = {each: found for each in files if str(each).startswith(under) and (found := mutants_of(each))}
    lines = [len((ROOT / each).read_bytes().splitlines()) for each in places]
    while len(chosen) < min(count, sum(map(len, places.values()))):
        chosen[rng.choice(places[rng.choices(list(places), lines)[0]])] = None
    return list(chosen)


class Copy:
    """A copy of the tree, in which tests run."""

    def __init__(self, folder: Path, marks: str) -> None:
        self.tree, self.marks = folder, marks
        listed = subprocess.check_output(["git", "ls-files", "-coz", "--exclude-standard"], cwd=ROOT, text=True)
        for name in filter(None, listed.split("\0")):
            if (ROOT / name).is_file():
                (self.tree / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / name, self.tree / name)
        self.seconds, self.clock = dict[str, float](), time.time()

    def run(self, room: str, limit: float | None) -> str | None:
        """Run the tests of a folder; return the one that failed, or that time was up. None if all passed."""
        rooms = [f"tests/{each}" for each in dict.fromkeys((room, *SEEN_FROM.get(room, "").split()))]
        tests = [*(each for each in rooms if (self.tree / each).is_dir()), f"{SOURCE}/{room}"]
        for compiled in [] if room in PLAIN else self.tree.rglob("*.nb[ci]"):
            compiled.unlink()
        environment = {**os.environ, "PYTHONPATH": f"{self.tree}/src"}
        environment.pop("NUMBA_CACHE_DIR", None)  # caches are in the copy
        words = [sys.executable, "-m", "pytest", "-x", "-q", "--tb=no", "-rfE", "-m", self.marks, *tests]
        with tempfile.TemporaryFile("w+") as said:
            pipes: dict[str, Any] = {"stdout": said, "stderr": said, "start_new_session": True}
            process = subprocess.Popen(words, cwd=self.tree, env=environment, **pipes)
            try:
                code = process.wait(limit)
            except subprocess.TimeoutExpired:
                return "time is up"
            finally:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)  # with what its tests have started
            said.seek(0)
            lines = [line.strip() for line in said if line.startswith(("FAILED", "ERROR"))]
        return None if code == 0 else (lines or [f"pytest ended with {code}"])[0]

    def killed_by(self, mutant: Mutant) -> str | None:
        """What notices it, if anything does."""
        parts = mutant.file.relative_to(SOURCE).parts
        room, file = parts[0] if len(parts) > 1 else "_common", self.tree / mutant.file
        if room not in self.seconds:
            began = time.monotonic()
            if failed := self.run(room, None):
                sys.exit(f"the tests of {room} fail without a mutant: {failed}")
            self.seconds[room] = time.monotonic() - began
        data = file.read_bytes()
        self._write(file, data[: mutant.start] + mutant.after.encode() + data[mutant.stop :])
        try:
            return self.run(room, 3 * self.seconds[room] + 60)
        finally:
            self._write(file, data)

    def _write(self, file: Path, data: bytes) -> None:
        """Byte code and caches know a file by its size and time in seconds: each version gets another time."""
        self.clock += 2
        file.write_bytes(data)
        os.utime(file, (self.clock, self.clock))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sample", type=int, default=60, help="how many mutants (default: 60)")
    parser.add_argument("--seed", type=int, default=0, help="which ones (default: 0)")
    parser.add_argument("--under", default=str(SOURCE), help="only files whose path begins so")
    parser.add_argument("--marks", default="", help="pytest's -m, such as 'not slow' (default: all tests)")
    given = parser.parse_args()
    chosen = sample(given.seed, given.sample, given.under)
    survived = []
    for stopping in (signal.SIGINT, signal.SIGTERM):  # tests that run are ended, and the copy is removed
        signal.signal(stopping, signal.default_int_handler)
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        copy = Copy(Path(folder), given.marks)
        for number, mutant in enumerate(chosen, 1):
            killer = copy.killed_by(mutant)
            survived += [] if killer else [mutant]
            print(f"{number:3d} {'killed  ' if killer else 'SURVIVED'} {mutant}  {killer or ''}", flush=True)
    print(f"{len(chosen) - len(survived)} of {len(chosen)} killed; seed {given.seed}")
    print(*(f"survived: {mutant}" for mutant in survived), sep="\n")


if __name__ == "__main__":
    main()

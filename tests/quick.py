"""``make quick``: the tests and doctests of what changed since main, without the slow ones; of all if nothing did."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).parents[1]


def changed() -> list[str]:
    """Files that differ from where this branch left main, and those that git does not know yet."""
    base = _git("merge-base", "HEAD", "main") or ["HEAD"]
    return _git("diff", "--name-only", base[0]) + _git("ls-files", "--others", "--exclude-standard")


def _git(*words: str) -> list[str]:
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True).stdout.split()


def chosen(files: Iterable[str]) -> list[str]:
    """What to give to pytest: for a file of a room the room and its tests, for a test itself, else the project's.

    >>> chosen(["src/driftbandits/live/session.py", "tests/store/test_store.py", "docs/store.md"])
    ['src/driftbandits/live', 'tests/live', 'tests/project', 'tests/store/test_store.py']
    """
    found = set()
    for name in files:
        parts = Path(name).parts
        room = parts[2] if parts[:2] == ("src", "driftbandits") and len(parts) > 3 else ""
        if (ROOT / "tests" / room).is_dir() and room:
            found |= {f"src/driftbandits/{room}", f"tests/{room}"}
        elif parts[0] == "tests" and parts[-1].startswith("test_"):
            found |= {name} if (ROOT / name).exists() else set()
        else:
            found.add("tests/project")
    return sorted(found)


if __name__ == "__main__":
    tests = chosen(changed())
    print("quick:", *(tests or ["everything"]), flush=True)
    sys.exit(subprocess.call([sys.executable, "-m", "pytest", "-n", "2", "-m", "not slow", *tests], cwd=ROOT))

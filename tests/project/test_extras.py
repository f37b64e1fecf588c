"""Without an extra's packages, whatever needs them says in one line how to install them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from waiting import INTERPRETED

EXTRAS = [
    *("alembic", "dask", "distributed", "fastapi", "httptools", "httpx", "prometheus_client", "psycopg", "pydantic"),
    *("pydantic_settings", "sqlalchemy", "starlette", "structlog", "uvicorn", "uvloop"),
]

# As if they were not installed: nothing on the path is found by these names.
WITHOUT = """
import sys
from importlib.machinery import PathFinder
hidden, find = sys.argv.pop(1).split(","), PathFinder.find_spec
PathFinder.find_spec = classmethod(
    lambda cls, name, *rest: None if name.partition(".")[0] in hidden else find(name, *rest)
)
"""
CAUGHT = """
from driftbandits.errors import InputError
try:
    {}
except ImportError as error:
    print(isinstance(error, InputError), error)
"""
COMMAND = "import driftbandits.cli.main; driftbandits.cli.main.main()"


def run(program: str, *words: object, hidden: list[str] = EXTRAS) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", WITHOUT + program, ",".join(hidden), *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, env=INTERPRETED)


@pytest.mark.parametrize(
    ("words", "extra"),
    [
        ("demo", "client,serve"),
        ("serve", "serve"),
        ("token create me", "serve"),
        ("token create me --store sqlite://", "serve"),
        ("token list", "serve"),
        ("token revoke me", "serve"),
        ("experiments", "serve"),
        ("export x x.csv", "serve"),
        ("sweep grid.toml --local-cluster 1", "distributed"),
        ("sweep grid.toml --cluster tcp://127.0.0.1:9", "distributed"),
    ],
)
def test_commands(words: str, extra: str, tmp_path: Path) -> None:
    grid = tmp_path / "grid.toml"
    grid.write_text('runs = 1\n[grid]\npolicy = "UCB1"\ninstance = "sinusoid"\nhorizon = 100\n')
    answer = run(COMMAND, *words.replace("grid.toml", str(grid)).split())
    assert (answer.returncode, answer.stdout) == (2, "")
    assert len(answer.stderr.splitlines()) == 1
    assert f"pip install 'driftbandits[{extra}]'" in answer.stderr


@pytest.mark.parametrize(
    ("program", "hidden", "said"),
    [
        ("import driftbandits.client", EXTRAS, "the client needs httpx: pip install 'driftbandits[client]'"),
        ("import driftbandits.service", EXTRAS, "pip install 'driftbandits[serve]'"),
        (
            "from driftbandits.service.core.run import serve",
            ["uvicorn"],
            "needs uvicorn: pip install 'driftbandits[serve]'",
        ),
        ("import driftbandits.store", EXTRAS, "a Store needs sqlalchemy: pip install 'driftbandits[serve]'"),
        ("from driftbandits.store import Store", EXTRAS, "pip install 'driftbandits[serve]'"),
        ("from driftbandits import Store", EXTRAS, "pip install 'driftbandits[serve]'"),
        ("import driftbandits; driftbandits.Store", EXTRAS, "pip install 'driftbandits[serve]'"),
        ("from driftbandits import Store; Store('sqlite://')", ["alembic"], "needs alembic: pip install"),
        (
            "from driftbandits import Store; Store('postgresql://me@127.0.0.1/x')",
            ["psycopg"],
            "PostgreSQL needs psycopg: pip install 'driftbandits[postgres]'",
        ),
    ],
)
def test_in_python(program: str, hidden: list[str], said: str) -> None:
    answer = run(CAUGHT.format(program), hidden=hidden)
    assert answer.stdout.startswith("True "), answer.stderr
    assert said in answer.stdout


def test_all_else_works() -> None:
    everything = "from driftbandits import *\nsession = Session(arms=['a', 'b'])\nprint(session.ask().step)\n"
    answer = run(everything)
    assert answer.stdout == "1\n", answer.stderr

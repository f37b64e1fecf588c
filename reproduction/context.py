"""What a reproduction has computed so far, on disk and in memory: every piece is one file, written whole.

The settings travel in each file. A piece of another seed, another number of runs or another version, or one that was
cut short, is computed again after one line says so.
"""

from __future__ import annotations

import json
import os
import platform
import secrets
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar

import polars as pl
from pydantic import TypeAdapter, ValidationError

import driftbandits as db
from reproduction.experiments import HORIZON, SIMULATIONS

UNFINISHED = ".tmp"
"""Ends the names of files that are not yet whole, also of those that a Simulation keeps."""
Found = TypeVar("Found")


@dataclass(frozen=True)
class Settings:
    """What decides every number of a reproduction."""

    runs: int = 100
    seed: int = 0
    horizon: int = HORIZON

    def few(self, most: int) -> dict[str, Any]:
        """At most so many runs, and at least two, so that there is a scatter."""
        return {"runs": max(2, min(self.runs, most)), "seed": self.seed}


class UnusableError(Exception):
    """A kept file is not the one that is asked for."""


class Context:
    """The simulations and results of one reproduction below the folder ``out``."""

    def __init__(self, settings: Settings, out: Path, workers: int | None = None, *, again: bool = False) -> None:
        self.settings, self.out, self.workers, self.again = settings, out, workers, again
        self._simulations: dict[str, db.Simulation] = {}
        for folder in (out, *(out / name for name in ("runs", "studies", "figures"))):
            for left in folder.glob(f"*{UNFINISHED}"):  # of a process that was killed
                left.unlink()

    def simulation(self, name: str) -> db.Simulation:
        """A simulation of ``experiments.SIMULATIONS``: run now, or as far as its file goes, or not at all."""
        if name not in self._simulations:
            planned, path = SIMULATIONS[name], self._file("runs", name)
            settings, T = self.settings, self.settings.horizon

            def run() -> db.Simulation:
                return db.simulate(
                    planned.policies(T), planned.instance(T), runs=settings.runs, seed=settings.seed,
                    workers=self.workers, events=True, keep=path, progress=False,
                )  # fmt: skip

            self._simulations[name] = _or_again(name, path, run, db.InputError)
        return self._simulations[name]

    def result(self, name: str, kind: type[Found], study: Callable[[Context], Found]) -> Found:
        """The typed result of a study: from its file, or computed now and written."""
        recipe = {"study": name, "versions": versions(), **asdict(self.settings)}
        path, adapter = self._file("studies", name), TypeAdapter(kind)

        def read_or_compute() -> Found:
            if path.exists():
                return adapter.validate_python(_read(path, recipe), extra="forbid")
            found = study(self)
            table = pl.DataFrame([adapter.dump_python(found)], infer_schema_length=None, strict=False)
            with written_whole(path) as temporary:
                table.write_parquet(temporary, metadata={"driftbandits": json.dumps(recipe)})
            return found

        return _or_again(name, path, read_or_compute, (UnusableError, ValidationError))

    def _file(self, folder: str, name: str) -> Path:
        path = self.out / folder / f"{name}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        if self.again:
            path.unlink(missing_ok=True)
        return path


def _or_again(name: str, path: Path, work: Callable[[], Found], unusable: Any) -> Found:
    try:
        return work()
    except unusable as error:
        if not path.exists():
            raise
        print(f"{name}: computing it again, since {str(error).splitlines()[0]}", file=sys.stderr)
        path.unlink()
        return work()


def _read(path: Path, recipe: dict[str, Any]) -> dict[str, Any]:
    try:
        found = json.loads(pl.read_parquet_metadata(path)["driftbandits"])
        row = pl.read_parquet(path).row(0, named=True)
    except Exception as error:
        raise UnusableError(f"{path} holds no result, or was cut short: {error}") from error
    if different := [key for key, value in recipe.items() if found.get(key) != value]:
        raise UnusableError(f"{path} holds another result (different {', '.join(different)})")
    return row


@contextmanager
def written_whole(path: Path) -> Iterator[Path]:
    """A temporary file that takes the place of ``path`` when the block ends well, and vanishes when it does not."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f"{path.name}-{secrets.token_hex(4)}{UNFINISHED}")
    try:
        yield temporary
        os.replace(temporary, path)
    finally:
        with suppress(OSError):
            temporary.unlink()


def versions() -> dict[str, str]:
    """The packages and the machine that numbers come from."""
    packages = {name: version(name) for name in ("driftbandits", "numpy", "numba", "scipy", "matplotlib")}
    return {**packages, "python": platform.python_version(), "machine": platform.machine()}

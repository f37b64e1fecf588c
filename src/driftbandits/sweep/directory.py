"""A sweep's directory: sweep.json says whose it is, part-*.parquet hold what is finished, a row for each block."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from driftbandits._common.checks import check_path
from driftbandits._common.expansion import TooLargeError
from driftbandits._common.files import UNDER_WAY, remove_leftovers, written_whole
from driftbandits._common.parquet import check_parquet_data
from driftbandits.errors import InputError, Unfinished
from driftbandits.sweep.cells import Cell
from driftbandits.sweep.tasks import Played

if TYPE_CHECKING:
    import polars as pl

FORMAT = 1
"""Raised when what the files hold changes."""
MANIFEST, LOCK, PARTS = "sweep.json", ".lock", "part-*.parquet"
KEYS = ("cell", "first_run")


def read(path: str | os.PathLike[str]) -> pl.DataFrame:
    """All finished blocks of a sweep, sorted: the same bytes whatever ran it, and however often it was stopped.

    Columns: ``cell``, its number; the parameters, by name; ``first_run`` and ``runs``, the runs of the block;
    ``regret`` and ``realised``, lists with the regret at T of each run. It may be called while the sweep is running.
    """
    import polars as pl

    folder = check_path("directory", path)
    manifest = read_manifest(folder)
    parts = [_read_part(part, manifest["digest"]) for part in sorted(folder.glob(PARTS))]
    schema = {name: getattr(pl, kind) for name, kind in manifest["columns"].items()}
    lists = dict.fromkeys(("regret", "realised"), pl.List(pl.Float64))
    empty = pl.DataFrame(schema={"cell": pl.Int64, **schema, "first_run": pl.Int64, "runs": pl.Int64, **lists})
    return pl.concat([empty, *parts]).sort(*KEYS)


def read_manifest(folder: Path) -> dict[str, Any]:
    """What the directory says of itself."""
    try:
        manifest: dict[str, Any] = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"{folder} is not the directory of a sweep: it has no {MANIFEST}") from None
    except (OSError, ValueError) as error:
        raise InputError(f"{folder / MANIFEST} cannot be read ({error}): take another directory") from None
    if manifest.get("format") != FORMAT:
        raise InputError(f"{folder} has format {manifest.get('format')}; this version reads format {FORMAT}")
    return manifest


class Directory:
    """The directory of one sweep, opened to write to it."""

    def __init__(self, path: Path, cells: Sequence[Cell], identity: dict[str, Any], digest: str) -> None:
        self.path, self._cells, self._identity, self._digest = path, cells, identity, digest
        self._columns = column_types(cells)
        self._next = 0

    @contextmanager
    def opened(self) -> Iterator[None]:
        """Make it ours, or check that it is; no other process may write to it meanwhile."""
        from filelock import FileLock, Timeout

        try:
            self.path.mkdir(parents=True, exist_ok=True)
            lock = FileLock(self._unowned()).acquire(blocking=False)
        except Timeout:
            raise InputError(f"another process is running this sweep in {self.path}: wait for it, or stop it") from None
        except OSError as error:
            raise InputError(f"cannot use {self.path}: {error.strerror or error}; name another directory") from None
        with lock:
            self._claim()
            remove_leftovers(self.path)
            numbers = [int(part.name.split("-")[1][:6]) for part in self.path.glob("part-*")]
            self._next = max(numbers, default=-1) + 1
            yield

    def _unowned(self) -> Path:
        """The file that says who writes here, if the directory is a sweep's or empty."""
        others = [item.name for item in self.path.iterdir() if item.name != LOCK and not item.name.endswith(UNDER_WAY)]
        if others and MANIFEST not in others:
            raise InputError(f"{self.path} holds other things ({min(others)}, ...): name a new directory")
        return self.path / LOCK

    def _claim(self) -> None:
        if not (self.path / MANIFEST).exists():
            manifest = {"format": FORMAT, "digest": self._digest, **self._identity, "columns": self._columns}
            self._write(MANIFEST, json.dumps(manifest, indent=1).encode())
            return
        found = read_manifest(self.path)
        if found["digest"] != self._digest:
            different = [key for key, value in self._identity.items() if found.get(key) != value]
            raise InputError(
                f"{self.path} belongs to another sweep, {found.get('name')!r} (different {', '.join(different)}): name "
                "another directory, or go back to that sweep"
            )

    def finished(self) -> tuple[pl.DataFrame, list[str]]:
        """The finished blocks, and the names of files that were damaged and are now set aside."""
        damaged = []
        for part in sorted(self.path.glob(PARTS)):
            try:
                _read_part(part, self._digest)
            except DamagedError:
                part.rename(part.with_name(f"{part.name}.damaged"))
                damaged.append(part.name)
        table = read(self.path)
        twice = table.filter(table.select(KEYS).is_duplicated())
        if twice.height:
            raise InputError(
                f"{self.path} holds run {twice['first_run'][0]} of cell {twice['cell'][0]} twice: was a file copied? "
                f"Remove the copy of {PARTS} and start again"
            )
        return table, damaged

    def write(self, played: Sequence[Played]) -> None:
        """Add finished blocks, in a file that appears whole or not at all."""
        table = self._table(played)
        buffer = io.BytesIO()
        table.write_parquet(buffer, metadata={"driftbandits": self._digest})
        self._write(f"part-{self._next:06d}.parquet", buffer.getvalue())
        self._next += 1

    def _write(self, name: str, data: bytes) -> None:
        try:
            with written_whole(self.path / name) as temporary:
                temporary.write_bytes(data)
        except (OSError, InputError) as error:
            reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            raise Unfinished(
                f"cannot write to {self.path}: {reason}; what was written before is kept: make room, and start "
                "the same sweep again to go on"
            ) from error

    def _table(self, played: Sequence[Played]) -> pl.DataFrame:
        import polars as pl

        blocks = [one.block for one in played]
        table: dict[str, Any] = {"cell": pl.Series([block.cell for block in blocks], dtype=pl.Int64)}
        for name, kind in self._columns.items():
            values = [self._cells[block.cell].columns[name] for block in blocks]
            table[name] = pl.Series([_plain(value, kind) for value in values], dtype=getattr(pl, kind))
        table["first_run"] = pl.Series([block.first for block in blocks], dtype=pl.Int64)
        table["runs"] = pl.Series([block.runs for block in blocks], dtype=pl.Int64)
        for name in ("regret", "realised"):
            table[name] = pl.Series([getattr(one, name).tolist() for one in played], dtype=pl.List(pl.Float64))
        return pl.DataFrame(table)


class DamagedError(InputError):
    """A file that was cut short or altered."""


def _read_part(part: Path, digest: str) -> pl.DataFrame:
    import polars as pl

    try:
        data = part.read_bytes()  # at once, and not mapped: another process may set the file aside
        check_parquet_data(data, str(part), "no sweep wrote it, so take it out of this directory")
        owner = pl.read_parquet_metadata(io.BytesIO(data)).get("driftbandits")
        table = pl.read_parquet(io.BytesIO(data))
    except TooLargeError:
        raise
    except Exception as error:
        raise DamagedError(
            f"{part} is cut short or damaged ({str(error).strip().splitlines()[0]}): start the sweep again, and what "
            "it held is run anew"
        ) from error
    if owner != digest:
        raise InputError(f"{part} belongs to another sweep: take it out of this directory")
    return table


def column_types(cells: Sequence[Cell]) -> dict[str, str]:
    """The type of every parameter's column, by its polars name: numbers, text, and lists as JSON."""
    types = {}
    for name in cells[0].columns:
        kinds = {type(cell.columns[name]) for cell in cells} - {type(None)}
        if kinds <= {int, float}:
            types[name] = "Int64" if kinds == {int} else "Float64"
        else:
            types[name] = "Boolean" if kinds == {bool} else "String"
    return types


def _plain(value: Any, kind: str) -> Any:
    return json.dumps(value) if kind == "String" and value is not None and not isinstance(value, str) else value

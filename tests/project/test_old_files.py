"""Files written before the package's files moved are read after it, and continue to the same numbers.

before.zip holds what ``old_files.write`` wrote with the package as it was then, and in expected.json what ``go_on``
answered there.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import polars as pl
import pytest

import old_files
from driftbandits.simulation import simulate
from driftbandits.sweep import sweep


def test_old_files_are_gone_on_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.unpack_archive(Path(__file__).with_name("before.zip"), tmp_path)
    recipe = json.loads(pl.read_parquet_metadata(tmp_path / "kept.parquet")["driftbandits"])
    # Runs of two versions or machines are never mixed; here only the files' form is tried.
    monkeypatch.setattr(simulate, "versions", lambda: recipe["versions"])
    monkeypatch.setattr(sweep, "VERSION", recipe["versions"]["driftbandits"])
    kept = pl.read_parquet(tmp_path / "kept.parquet")
    parts = {path: path.read_bytes() for path in tmp_path.glob("sweep-*/part-*")}
    assert (kept.height, len(parts)) == (5, 4)

    found = old_files.go_on(tmp_path)
    expected = json.loads((tmp_path / "expected.json").read_text(encoding="utf-8"))
    assert set(found) == set(expected)
    for name, value in expected.items():
        assert found[name] == value, name

    again = pl.read_parquet(tmp_path / "kept.parquet")
    assert again.height == 12
    assert again.join(kept, on=["policy", "run", "seconds"], how="semi").height == 5  # not run anew
    assert {path: path.read_bytes() for path in parts} == parts
    assert len(list(tmp_path.glob("sweep-*/part-*"))) > 4

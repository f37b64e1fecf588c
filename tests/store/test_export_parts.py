"""Parts of a log that grows, each with what happened since the last one: DuckDB reads them as one table."""

from __future__ import annotations

from pathlib import Path

import duckdb
import polars as pl

import driftbandits as db

LATEST = """
    SELECT * EXCLUDE filename FROM read_parquet('{}/part-*.parquet', filename=true)
    QUALIFY row_number() OVER (PARTITION BY id ORDER BY filename DESC) = 1 ORDER BY step
"""
"""As docs/experiments.md has it."""


def test_the_latest_row_of_each_decision_is_the_whole_export(tmp_path: Path) -> None:
    store, last = db.Store("sqlite://"), 0
    with store.open("x", arms=["a", "b"], timeout=1e9, default_reward=0.0) as session:
        for part in range(4):
            before, last = last, store.experiments.get("x").last_seq
            store.history.export("x", tmp_path / f"part-{part}.parquet", since=before)
            rows = pl.read_parquet(tmp_path / f"part-{part}.parquet")["step"].to_list()
            assert rows == {0: [], 1: [1, 2, 3, 4, 5], 2: [2, 6, 7, 8, 9, 10], 3: [1, 3, 11, 12, 13, 14, 15]}[part]
            session.ask_many(5)  # later than this part
            if part == 0:
                session.tell("x-1", 0.5)
                session.disable_arm("a")
            elif part == 1:
                session.tell("x-2", 1.0)
            elif part == 2:
                session.tell("x-3", 0.25)
                session.correct("x-1", 0.75)
        store.history.export("x", tmp_path / "part-4.parquet", since=last)
        store.history.export("x", tmp_path / "all.parquet")
    whole = pl.read_parquet(tmp_path / "all.parquet")
    assert duckdb.execute(LATEST.format(tmp_path)).fetchall() == whole.rows()
    assert whole["reward"].to_list()[:4] == [0.75, 1.0, 0.25, None]

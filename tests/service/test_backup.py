"""A backup that is made under load is restored, and goes on."""

from __future__ import annotations

from pathlib import Path

import postgres
from troubles import backed_up


def test_a_file_is_backed_up_under_load_restored_and_continued(tmp_path: Path) -> None:
    assert backed_up(f"sqlite:///{tmp_path / 'store.db'}", tmp_path)["told"] >= 120


def test_a_database_is_dumped_under_load_restored_and_continued(tmp_path: Path) -> None:
    with postgres.database() as url:
        assert backed_up(url, tmp_path)["told"] >= 120

"""Both kinds of Store keep the contract."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import driftbandits as db
import postgres
from driftbandits.testing import StoreContract


class TestSQLite(StoreContract):
    @pytest.fixture(autouse=True)
    def place(self, tmp_path: Path) -> None:
        self.url = f"sqlite:///{tmp_path / 'store.db'}"

    def store(self) -> db.Store:
        return db.Store(self.url)


class TestPostgreSQL(StoreContract):
    @pytest.fixture(autouse=True)
    def place(self) -> Iterator[None]:
        with postgres.database() as self.url:
            yield

    def store(self) -> db.Store:
        return db.Store(self.url)

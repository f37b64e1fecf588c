"""Both kinds of Store keep the contract."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from contract.changes import ChangeTests
from contract.declared import Declarations
from contract.kept import ServiceTests
from contract.log import LogTests
from contract.retention import RetentionTests
from contract.sessions import SessionTests
from contract.units import UnitTests
from contract.upkeep import UpkeepTests
from contract.writers import WriterTests

import driftbandits as db
import postgres


class StoreContract(
    Declarations, WriterTests, LogTests, SessionTests, ChangeTests, ServiceTests, UpkeepTests, RetentionTests, UnitTests
):
    """Derived classes say where the Store is."""


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

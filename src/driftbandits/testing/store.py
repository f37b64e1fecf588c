"""StoreContract: the tests that every Store passes, for your own Stores too."""

from __future__ import annotations

from driftbandits.testing.contract.changes import ChangeTests
from driftbandits.testing.contract.declared import Declarations
from driftbandits.testing.contract.kept import ServiceTests
from driftbandits.testing.contract.log import LogTests
from driftbandits.testing.contract.retention import RetentionTests
from driftbandits.testing.contract.sessions import SessionTests
from driftbandits.testing.contract.units import UnitTests
from driftbandits.testing.contract.upkeep import UpkeepTests
from driftbandits.testing.contract.writers import WriterTests


class StoreContract(
    Declarations, WriterTests, LogTests, SessionTests, ChangeTests, ServiceTests, UpkeepTests, RetentionTests, UnitTests
):
    """Tests for pytest: derive a class whose name begins with Test, and say where the Store is.

        class TestMyStore(StoreContract):
            def store(self):
                return Store("postgresql://tester@localhost/scratch")

    Experiments have random names, so the database need not be empty; they stay there.
    """

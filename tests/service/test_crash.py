"""Services killed with -9 and stalled, at random moments, under clients at full rate. ``make soak`` has the long form.

Both have two services on one store. Everything acknowledged is in the log once, and nothing twice; what a service loads
is, after every kill, the fold of the log to the last byte.
"""

from __future__ import annotations

from pathlib import Path

import postgres
from crash import storm


def test_sqlite(tmp_path: Path) -> None:
    counted = storm(f"sqlite:///{tmp_path}/file.db", kills=4, stalls=2)
    assert min(counted["asked"], counted["told"], counted["settled"]) > 100


def test_postgresql() -> None:
    with postgres.database() as url:
        counted = storm(url, kills=4, stalls=2)
    assert min(counted["asked"], counted["told"], counted["settled"]) > 100

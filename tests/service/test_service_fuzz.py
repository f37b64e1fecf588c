"""No request makes the service fail, or memory and log disagree. ``make soak`` has the long form."""

from __future__ import annotations

from pathlib import Path

from fuzz import check_memory, fuzz_at_random, fuzz_by_schema, prepare
from in_process import serving


def test_requests_made_up_from_the_schema(tmp_path: Path) -> None:
    with serving() as running:
        prepare(running)
        assert fuzz_by_schema(running.url, tmp_path, seed=1, examples=10) > 200
        check_memory(running)


def test_requests_gone_wrong() -> None:
    with serving() as running:
        prepare(running)
        seen = fuzz_at_random(int(running.url.rpartition(":")[2]), seed=0, count=8000)
        assert {200, 404, 405, 409, 422} <= set(seen)
        check_memory(running)

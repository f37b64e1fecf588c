"""How many examples hypothesis draws: as many as a test says, the same each time; ``make soak`` draws many others."""

from __future__ import annotations

import os
from typing import Any

from hypothesis import settings

TIMES = "DRIFTBANDITS_TIMES_EXAMPLES"
"""The environment variable that says how many times as many."""


def examples(count: int, **options: Any) -> settings:
    """Settings of a test that draws so many."""
    times = int(os.environ.get(TIMES, "1"))
    return settings(max_examples=count * times, deadline=None, derandomize=times == 1, **options)

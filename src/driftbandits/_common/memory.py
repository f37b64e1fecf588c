"""How much memory a process needed."""

from __future__ import annotations

import math
import sys


def peak_megabytes() -> float:
    """The most that this process has held so far; not a number on Windows, which has no such count for Python."""
    try:
        import resource
    except ImportError:
        return math.nan
    units = 2**20 if sys.platform == "darwin" else 2**10  # bytes there, kilobytes elsewhere
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / units

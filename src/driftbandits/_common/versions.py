"""Which versions made a result: stored with it, so that the numbers of two versions are not mixed."""

from __future__ import annotations

import platform
from importlib.metadata import version


def versions(*more: str) -> dict[str, str]:
    """The packages and the machine that regret comes from, and ``more`` packages."""
    packages = {name: version(name) for name in ("driftbandits", "numpy", "numba", *more)}
    return {**packages, "python": platform.python_version(), "machine": platform.machine()}

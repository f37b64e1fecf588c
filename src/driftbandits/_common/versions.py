"""Which versions made a result: stored with it, so that the numbers of two versions are not mixed."""

from __future__ import annotations

import functools
import platform
from importlib.metadata import version


def versions(*more: str) -> dict[str, str]:
    """The packages and the machine that regret comes from, and ``more`` packages."""
    packages = {name: _version(name) for name in ("driftbandits", "numpy", "numba", *more)}
    return {**packages, "python": platform.python_version(), "machine": platform.machine()}


@functools.cache  # to read it takes milliseconds, and every simulation asks
def _version(package: str) -> str:
    return version(package)

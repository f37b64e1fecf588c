"""What callers give for an Instance, made one: a family's name, a file, a table of means."""

from __future__ import annotations

import numbers
import os
from pathlib import Path
from typing import Any

from driftbandits._common.checks import did_you_mean
from driftbandits.errors import InputError
from driftbandits.instances.base import FAMILIES, Instance, check_instance
from driftbandits.instances.table import table


def as_instance(given: Any) -> Instance:
    """An Instance itself, a family's with its defaults, the one in a file, or one with the given means.

    >>> as_instance("toggling")
    <Instance toggling: T=162,755, K=2, drift_limit=0.000208>
    >>> as_instance([[0.9, 0.4], [0.9, 0.5]])
    <Instance instance: T=2, K=2, drift_limit=0.1>
    >>> as_instance("togling")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    driftbandits.errors.InputError: unknown instance 'togling'; did you mean toggling? known: abrupt, ...
    """
    if isinstance(given, Instance):
        return given
    if isinstance(given, str) and given in FAMILIES and given != "table":
        return FAMILIES[given]()
    if isinstance(given, (str, os.PathLike)):
        if Path(given).suffix:
            return table(given)
        known = sorted(set(FAMILIES) - {"table"})
        raise InputError(
            f"unknown instance {str(given)!r}; {did_you_mean(str(given), known)}known: {', '.join(known)}; or name a "
            "file ending in .csv, .parquet or .npz"
        )
    if callable(given):
        name = getattr(given, "__name__", "it")
        raise InputError(f"{name} is a function that makes an instance: call it, as in {name}()")
    if given is None or isinstance(given, numbers.Number):
        return check_instance(given)
    return Instance(given)

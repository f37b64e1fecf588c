"""What every study's table says of one policy on one instance, or on one family of instances."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from driftbandits._common.intervals import positive_mean_interval


def summarised(values: Any) -> dict[str, float]:
    """The mean regret, its 95 % interval, which is never negative, its standard error, and the number of runs."""
    values = np.asarray(values, dtype=np.float64)
    mean, low, high = positive_mean_interval(values)
    error = float(values.std(ddof=1)) / math.sqrt(len(values)) if len(values) > 1 else math.nan
    return {"regret": mean, "low": low, "high": high, "error": error, "runs": len(values)}

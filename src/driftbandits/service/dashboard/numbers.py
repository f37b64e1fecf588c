"""Numbers as a page shows them."""

from __future__ import annotations

import math


def number_or_none(value: float, digits: int = 6) -> float | None:
    """So many digits, which a page can show; None where there is no number.

    >>> number_or_none(1 / 3), number_or_none(1 / 3, 2), number_or_none(math.nan)
    (0.333333, 0.33, None)
    """
    return float(f"{value:.{digits}g}") if math.isfinite(value) else None

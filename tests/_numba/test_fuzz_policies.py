"""Twenty seconds of what ``make soak`` does for ten minutes: random policies, broken or not, played in every way."""

from __future__ import annotations

import warnings

from policy_fuzz import fuzz


def test_random_policies_neither_crash_nor_differ() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # numpy says so when interpreted kernels overflow
        seen = fuzz(first=0, seconds=20)
    assert seen["simulate played"] > 0
    assert seen["simulate refused"] > 0
    assert seen["Session refused"] > 0

"""The largest of many numbers and where it stands, found without a branch."""

from __future__ import annotations


def keep_largest(best: int, largest: float, index: int, number: float) -> tuple[int, float]:
    """``index`` and ``number`` if that is larger than ``largest``, else ``best`` and ``largest`` as they are.

    Which of many arms has the largest draw can't be predicted, so a processor loses more at each wrong guess of a
    branch than everything else in the loop costs. Written like this it has nothing to guess.

    >>> keep_largest(0, 0.7, 1, 0.9), keep_largest(0, 0.7, 1, 0.7)
    ((1, 0.9), (0, 0.7))
    """
    larger = number > largest
    return best + larger * (index - best), number if larger else largest

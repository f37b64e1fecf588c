"""The divergence of two coins to the last digits, and the pair of blocks against the family it comes from."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import naive_studies as naive
from driftbandits import InputError, instances
from driftbandits.theory.lower import bernoulli_kl, block_length, block_pair

chances = st.floats(0, 1)


@settings(deadline=None, derandomize=True)
@given(chances, chances)
@example(0.3, 5e-324)
@example(5e-324, 1.0 - 2**-53)
@example(1e-310, 0.5)
def test_kl_has_all_its_digits(p: float, q: float) -> None:
    assert float(bernoulli_kl(p, q)) == pytest.approx(naive.bernoulli_kl(p, q), rel=1e-9, abs=1e-300)


@settings(deadline=None, derandomize=True)
@given(st.floats(1e-6, 1 - 1e-6), st.floats(-1e-2, 1e-2))
@example(0.5, 1e-9)
@example(0.5, 1e-3)
def test_kl_of_close_coins_has_all_its_digits(p: float, apart: float) -> None:
    q = min(max(p + apart * min(p, 1 - p), 0.0), 1.0)
    found = float(bernoulli_kl(p, q))
    assert found == pytest.approx(naive.bernoulli_kl(p, q), rel=1e-9, abs=1e-300)
    assert found >= 2 * (p - q) ** 2 * (1 - 1e-9)  # Pinsker


def test_kl_at_the_ends_and_in_many_shapes() -> None:
    ends = bernoulli_kl([[0.0], [0.5], [1.0]], [0.0, 0.5, 1.0])
    two = math.log(2)
    assert ends == pytest.approx(np.array([[0, two, math.inf], [math.inf, 0, math.inf], [math.inf, two, 0]]))
    assert bernoulli_kl(0.25, np.full((4, 3), 0.25)).tolist() == np.zeros((4, 3)).tolist()
    for wrong in (-0.1, 1.1, math.nan):
        with pytest.raises(InputError, match=r"numbers in \[0, 1\]"):
            bernoulli_kl(0.5, [0.5, wrong])


@settings(deadline=None, derandomize=True)
@given(st.floats(1e-5, 0.5))
def test_block_is_the_shortest_that_keeps_to_the_drift(drift: float) -> None:
    m = block_length(drift)
    assert 1 / (2 * m**1.5) <= drift * (1 + 1e-12)
    assert m == 1 or 1 / (2 * (m - 1) ** 1.5) > drift * (1 - 1e-12)


@pytest.mark.parametrize("drift", [1e-2, 1e-3, 1 / 48_000])
def test_pair_is_what_the_family_is_made_of(drift: float) -> None:
    m = block_length(drift)
    (nu, first), (again, second) = block_pair(drift), block_pair(drift, arm=1)
    assert nu.means.tolist() == again.means.tolist() == [[0.5, 0.5]] * m
    assert first.means.tolist() == second.means[:, ::-1].tolist()
    bump = [(t - 1 if t <= math.ceil(m / 2) else m - t) / m / (2 * math.sqrt(m)) for t in range(1, m + 1)]
    assert first.means[:, 0].tolist() == pytest.approx([0.5 + height for height in bump], abs=1e-15)
    world = instances.lower_bound(30 * m, drift, seed=1).means.reshape(30, m, 2)
    kinds = [
        next(i for i, one in enumerate((nu, first, second)) if np.array_equal(one.means, block)) for block in world
    ]
    assert set(kinds) == {0, 1, 2}


def test_wrong_blocks_are_errors() -> None:
    with pytest.raises(InputError, match="endless"):
        block_length(0.0)
    with pytest.raises(InputError, match="arm must be a whole number"):
        block_pair(1e-3, arm=2)

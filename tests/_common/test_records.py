"""Records: columns as attributes, the same memory and the same machine code as numpy's own."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numba
import numpy as np
import pytest

from driftbandits._common.records import Record, Records, as_records
from driftbandits.policies.base import records

LAYOUT = np.dtype([("pulls", "i8"), ("total", "f8"), ("pair", "f8", 2)], align=True)


def made() -> Records:
    rows = as_records(np.zeros(3, LAYOUT))
    rows.pulls = [4, 5, 6]
    rows.pair[1] = 0.5, 0.25
    return rows


def test_a_row_is_a_view_of_the_array() -> None:
    rows = made()
    row = rows[1]
    row.pulls += 1
    row.total = row.pulls / 4
    row.pair[0] = 9.0
    assert (int(rows.pulls[1]), float(rows["total"][1]), rows.pair[1].tolist()) == (6, 1.5, [9.0, 0.25])
    rows[2] = rows[1]
    assert rows[2].total == 1.5
    assert isinstance(rows[1].pulls, np.int64)
    assert type(rows.total) is np.ndarray
    rest: Any = rows[1:]
    assert rest.pulls.tolist() == [6, 6]


@pytest.mark.parametrize("thing", [made(), made()[0]], ids=["rows", "row"])
def test_what_is_no_column(thing: Any) -> None:
    with pytest.raises(AttributeError, match=r"^a record of pulls, total, pair has no column 'pools'$"):
        _ = thing.pools
    assert not hasattr(thing, "pools")
    assert thing.dtype == LAYOUT  # what numpy calls its own is found
    assert thing.tolist()


@pytest.mark.parametrize("thing", [made(), made()[0]], ids=["rows", "row"])
def test_nothing_gets_a_new_column(thing: Any) -> None:
    with pytest.raises(AttributeError, match="has no column 'pools'"):
        thing.pools = 1


def test_a_wrong_value_is_told_as_numpy_tells_it() -> None:
    row = made()[0]
    with pytest.raises(ValueError, match=r"could not convert|invalid literal"):
        row.pulls = "many"


@pytest.mark.parametrize("same", [copy.deepcopy, copy.copy, lambda rows: pickle.loads(pickle.dumps(rows))])
def test_copies_are_records(same: Any) -> None:
    rows = made()
    again = same(rows)
    again[0].pulls = 77
    assert type(again) is Records
    assert type(again[0]) is Record
    assert again.pulls.tolist() == [77, 5, 6]
    assert rows[0].pulls == 4


def test_compiled_code_takes_them_for_numpys_own() -> None:
    rows = made()
    assert numba.typeof(rows) == numba.typeof(rows.view(np.recarray))
    assert records(2, t="i8").dtype.type is Record

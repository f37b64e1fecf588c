"""Arrays of records whose columns are attributes, as numpy's recarray has them, but several times as fast.

Kernels that run as plain Python do little else than read and write columns. numpy looks for each column in Python, in
three steps; here its own C code does so, and Python is asked only for the name.
"""

from __future__ import annotations

from typing import Any

import numpy as np


class Record(np.void):  # type: ignore[misc]  # numpy lets it be done, and does it
    """One row.

    >>> rows = as_records(np.zeros(2, [("pulls", "i8"), ("total", "f8")]))
    >>> rows[1].pulls += 3
    >>> int(rows[1].pulls), rows.pulls
    (3, array([0, 3]))
    >>> rows[1].pools
    Traceback (most recent call last):
    AttributeError: a record of pulls, total has no column 'pools'
    """

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except ValueError:
            raise _no_column(self, name) from None

    def __setattr__(self, name: str, value: Any) -> None:
        try:
            self[name] = value
        except ValueError:
            if name in self.dtype.names:  # type: ignore[operator]
                raise
            raise _no_column(self, name) from None


class Records(np.ndarray[Any, np.dtype[Any]]):
    """Rows; an attribute is a whole column of them."""

    def __getattr__(self, name: str) -> Any:
        if name in (self.dtype.names or ()):
            return self[name].view(np.ndarray)
        raise _no_column(self, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in (self.dtype.names or ()):
            self[name] = value
        elif hasattr(np.ndarray, name):
            super().__setattr__(name, value)
        else:  # numpy would keep it beside the columns, and nobody would ever read it
            raise _no_column(self, name)


def _no_column(rows: Record | Records, name: str) -> AttributeError:
    return AttributeError(f"a record of {', '.join(rows.dtype.names or ())} has no column {name!r}")


def as_records(rows: np.ndarray[Any, Any]) -> Records:
    """The same memory, with columns as attributes."""
    return rows.view(np.dtype((Record, rows.dtype))).view(Records)

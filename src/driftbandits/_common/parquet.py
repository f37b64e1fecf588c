"""How large a Parquet file becomes when it is read, from its own lists of pages: no page is decompressed for that.

A page of some bytes may hold a billion equal values. Both the file's metadata at its end and the header of every page
say how many; the larger number counts. They are written in Thrift's compact protocol.
"""

from __future__ import annotations

import mmap
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

from driftbandits._common.expansion import allowed, check_expanded
from driftbandits.errors import InputError

Bytes: TypeAlias = "bytes | mmap.mmap"
MAGIC = b"PAR1"
DEEPEST = 32
"""Structures within structures; the format has fewer than ten."""

# Numbers of fields, from parquet.thrift.
SCHEMA, ROWS, GROUPS = 2, 3, 4
TYPE_LENGTH = 2
COLUMNS, META_DATA = 1, 3
TYPE, VALUES, UNCOMPRESSED, COMPRESSED, DATA_PAGE, DICTIONARY_PAGE = 1, 5, 6, 7, 9, 11
PAGE_UNCOMPRESSED, PAGE_COMPRESSED, PAGE_HEADERS = 2, 3, (5, 7, 8)
PAGE_VALUES = 1
BOOLEAN, INT32, INT64, INT96, FLOAT, DOUBLE, TEXT, FIXED_LENGTH = range(8)
WIDTHS = {BOOLEAN: 1, INT32: 4, INT64: 8, INT96: 12, FLOAT: 4, DOUBLE: 8, TEXT: 16}
"""Bytes of a value as polars holds it; of a text, where it begins and how long it is."""


def check_parquet(path: Path, what: str, advice: str) -> None:
    """Raise InputError if the file is damaged, or would take more memory than a file of its size may."""
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        check_parquet_data(data, what, advice)


def check_parquet_data(data: Bytes, what: str, advice: str) -> None:
    """The same, of data in memory."""
    try:
        expanded = expanded_size(data)
    except (IndexError, KeyError, TypeError, AttributeError, ValueError, OverflowError) as error:
        raise InputError(f"{what} is cut short, damaged or not a Parquet file") from error
    check_expanded(what, expanded, allowed(len(data)), advice)


def expanded_size(data: Bytes) -> int:
    """Bytes in memory of all columns, at least about."""
    if len(data) < 12 or data[:4] != MAGIC or data[-4:] != MAGIC:
        raise ValueError("no Parquet file")
    begin = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    if begin < 4:
        raise ValueError("its metadata are longer than the file")
    found = _Thrift(data, begin).struct()
    widest = max(each.get(TYPE_LENGTH, 0) for each in found[SCHEMA])
    chunks = [column[META_DATA] for group in found[GROUPS] for column in group[COLUMNS]]
    if sum(chunk[COMPRESSED] for chunk in chunks) > len(data) or any(chunk[COMPRESSED] < 0 for chunk in chunks):
        raise ValueError("columns that overlap")
    total = 0
    for chunk in chunks:
        values, pages = _in_pages(data, chunk)
        width = widest if chunk[TYPE] == FIXED_LENGTH else WIDTHS[chunk[TYPE]]
        total += max(pages, chunk[UNCOMPRESSED]) + width * max(values, chunk[VALUES])
    return int(max(total, found[ROWS]))


def _in_pages(data: Bytes, chunk: dict[int, Any]) -> tuple[int, int]:
    """Values in the pages of a column, and bytes of the pages once they are decompressed."""
    at = min(chunk[DATA_PAGE], chunk.get(DICTIONARY_PAGE) or chunk[DATA_PAGE])
    end, count, total = at + chunk[COMPRESSED], 0, 0
    while at < end:
        thrift = _Thrift(data, at)
        page = thrift.struct()
        values = max(page[number][PAGE_VALUES] for number in PAGE_HEADERS if number in page)
        if page[PAGE_COMPRESSED] < 0 or page[PAGE_UNCOMPRESSED] < 0 or values < 0:
            raise ValueError("a page of negative size")
        count += values
        total += page[PAGE_UNCOMPRESSED]
        at = thrift.at + page[PAGE_COMPRESSED]
    return count, total


class _Thrift:
    """Reads structures as dictionaries by the numbers of their fields."""

    def __init__(self, data: Bytes, at: int) -> None:
        if at < 0:
            raise ValueError("a place before the file's first byte")
        self._data, self.at, self._depth = data, at, 0
        self._readers: dict[int, Callable[[], Any]] = {
            1: lambda: True,
            2: lambda: False,
            3: self._byte,
            **dict.fromkeys((4, 5, 6), self._signed),
            7: lambda: self._skipped(8),
            8: lambda: self._skipped(self._unsigned()),
            **dict.fromkeys((9, 10), self._list),
            11: self._map,
            12: self.struct,
            13: lambda: self._skipped(16),
        }

    def struct(self) -> dict[int, Any]:
        """One structure, from where the reader is."""
        self._depth += 1
        if self._depth > DEEPEST:
            raise ValueError("structures within structures")
        found, number = {}, 0
        while head := self._byte():
            number = number + (head >> 4) if head >> 4 else self._signed()
            found[number] = self._readers[head & 15]()
        self._depth -= 1
        return found

    def _byte(self) -> int:
        self.at += 1
        return self._data[self.at - 1]

    def _unsigned(self) -> int:
        value = shift = 0
        while (byte := self._byte()) & 128:
            value |= (byte & 127) << shift
            shift += 7
            if shift > 63:
                raise ValueError("a number of more than 64 bits")
        return value | byte << shift

    def _signed(self) -> int:
        value = self._unsigned()
        return value >> 1 ^ -(value & 1)

    def _skipped(self, count: int) -> None:
        """Texts and fractions don't matter here."""
        self.at += count
        if self.at > len(self._data):
            raise ValueError("beyond the end")

    def _element(self, kind: int) -> Any:
        """In lists a truth value takes a byte, as whatever else takes one at least: no list is longer than the data."""
        return self._byte() if kind in (1, 2) else self._readers[kind]()

    def _list(self) -> list[Any]:
        head = self._byte()
        count, kind = head >> 4 if head >> 4 < 15 else self._unsigned(), head & 15
        self._depth += 1
        if self._depth > DEEPEST:
            raise ValueError("lists within lists")
        found = [self._element(kind) for _ in range(count)]
        self._depth -= 1
        return found

    def _map(self) -> None:
        if count := self._unsigned():
            kinds = self._byte()
            for _ in range(count):
                self._element(kinds >> 4)
                self._element(kinds & 15)

"""Compressed data may claim any size: what it would expand to is checked before memory is used for it."""

from __future__ import annotations

import io
import math
import zipfile
import zlib
from typing import IO, Any

import numpy as np

from driftbandits.errors import InputError

MOST_EXPANDED, MOST_TIMES = 1 << 29, 50
"""Compressed data may expand to so many bytes, or to so many times their own size, whichever is more."""

Array = np.ndarray[Any, Any]


class TooLargeError(InputError):
    """Data would expand to more than they may."""


def allowed(size: int) -> int:
    """How many bytes data of this size may expand to."""
    return max(MOST_EXPANDED, MOST_TIMES * size)


def check_expanded(what: str, expanded: int, limit: int, advice: str) -> None:
    """Raise TooLargeError when ``expanded`` bytes are more than ``limit``.

    >>> check_expanded("means.npz", 10**12, allowed(1_000), "save it as .csv")
    Traceback (most recent call last):
    driftbandits._common.expansion.TooLargeError: means.npz would expand to 1,000,000,000,000 bytes, more than the \
limit of 536,870,912: save it as .csv
    """
    if expanded > limit:
        raise TooLargeError(f"{what} would expand to {expanded:,} bytes, more than the limit of {limit:,}: {advice}")


def inflated(data: bytes) -> bytes:
    """What ``zlib.compress`` made these bytes of; InputError if they are damaged, or too much would come of them."""
    return _inflated(data, allowed(len(data)))


def _inflated(data: bytes, limit: int) -> bytes:
    stream = zlib.decompressobj()
    try:
        found = stream.decompress(data, limit + 1)  # no more is made than that
    except zlib.error as error:
        raise InputError(f"{len(data):,} bytes are damaged ({error})") from error
    if len(found) > limit:
        raise TooLargeError(f"{len(data):,} bytes would expand to more than the limit of {limit:,} bytes")
    if not stream.eof:
        raise InputError(f"{len(data):,} bytes are cut short")
    return found


def inflated_exactly(data: bytes, size: int) -> bytes:
    """The same, where it is known how much must come of them."""
    found = _inflated(data, size)
    if len(found) < size:
        raise InputError(f"{len(data):,} bytes expand to {len(found):,} bytes, not to {size:,}")
    return found


def read_npz(stream: IO[bytes], what: str, limit: int, advice: str) -> dict[str, Array]:
    """All arrays of a .npz archive; TooLargeError, before any is read, if they are larger than ``limit`` together."""
    with zipfile.ZipFile(stream) as archive:
        members = archive.infolist()
        check_expanded(what, sum(member.file_size for member in members), limit, advice)
        found = {}
        for member in members:
            if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise InputError(f"{member.filename} is compressed in a way that numpy does not use")
            with archive.open(member) as file:
                # A number, so that no more is expanded than was declared.
                found[member.filename.removesuffix(".npy")] = read_npy(file.read(member.file_size))
        return found


def read_npy(data: bytes) -> Array:
    """The array of a .npy file; ValueError if its header claims another size than the data have."""
    stream = io.BytesIO(data)
    version = np.lib.format.read_magic(stream)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, _, dtype = read(stream)
    size, there = math.prod(shape) * dtype.itemsize, len(data) - stream.tell()
    if not dtype.hasobject and (size != there or math.prod(shape) > max(1, there)):
        raise ValueError(f"an array of shape {shape} and {dtype} has {size:,} bytes; found {there:,}")
    stream.seek(0)
    found: Array = np.lib.format.read_array(stream, allow_pickle=False)
    return found

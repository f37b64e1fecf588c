"""A policy's State and a header as bytes, and back: what lets a run continue bit for bit."""

from __future__ import annotations

import io
import json
import struct
import zlib
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from driftbandits._common.checks import shown
from driftbandits._common.expansion import TooLargeError, read_npz
from driftbandits.errors import InputError

ENTRY, LISTED, END = struct.Struct("<4s5H3L2H"), struct.Struct("<4s6H3L5H2L"), struct.Struct("<4s4H2LH")
"""A file in a zip archive, its entry in the directory at the end, and the end."""
MIDNIGHT = 33
"""1 January 1980, the first day that zip knows."""
MOST_PLAIN = 2**31
"""Bytes; a larger archive has another form."""


def pack(header: dict[str, Any], state: Any, **arrays: np.ndarray[Any, Any]) -> bytes:
    """Header (as JSON), State and further arrays in one piece."""
    fields = {f"state.{name}": array for name, array in state._asdict().items()}
    return _zipped({"header": np.array(json.dumps(header, default=_listed)), **fields, **arrays})


def emptied(data: bytes, *names: str) -> bytes:
    """The same snapshot of a Session with nothing in those arrays; InputError if it cannot be read."""
    header, arrays = unpack(data, "a Session")
    less = {name: array[:0] if name in names else array for name, array in arrays.items()}
    return _zipped({"header": np.array(json.dumps(header, default=_listed)), **less})


def unpack(data: bytes, owner: str) -> tuple[dict[str, Any], dict[str, np.ndarray[Any, Any]]]:
    """The header and all arrays; InputError when the bytes are no snapshot of ``owner``, or would expand.

    ``pack`` compresses nothing, so what it made is never larger when it is read.
    """
    if not isinstance(data, bytes | bytearray | memoryview):
        raise InputError(f"a snapshot of {owner} is the bytes that snapshot() returned; got {shown(data)}")
    advice = "restore takes the bytes that snapshot() returned"
    try:
        arrays = read_npz(io.BytesIO(data), f"this snapshot of {owner}", len(data), advice)
        return json.loads(str(arrays.pop("header"))), arrays
    except TooLargeError:
        raise
    except Exception:  # numpy and zipfile raise many, and give advice that does not fit
        raise InputError(
            f"this is not a snapshot of {owner}: these {len(data):,} bytes are damaged, or something else; {advice}"
        ) from None


def unpack_state(arrays: dict[str, np.ndarray[Any, Any]], fresh: Any, owner: str) -> Any:
    """The State among the arrays; ``fresh``, a State before the first step, tells what it must look like."""
    try:
        found = {
            name: arrays[f"state.{name}"].astype(array.dtype, casting="equiv").view(type(array))
            for name, array in fresh._asdict().items()
        }
    except Exception as error:
        raise InputError(
            f"this is not a snapshot of {owner} that can be read here: the State of its policy has other fields now; "
            "restore it with the version of driftbandits that made it, or begin anew"
        ) from error
    for name, array in fresh._asdict().items():
        # A State may have grown; one that is shorter than at its start would be read beyond its end.
        if found[name].shape[1:] != array.shape[1:] or len(found[name]) < len(array):
            shapes = f"{name} has shape {found[name].shape}, not {array.shape}"
            raise InputError(f"this is not a snapshot of {owner}: {shapes}")
    return type(fresh)(**found)


def _zipped(arrays: Mapping[str, np.ndarray[Any, Any]]) -> bytes:
    """What np.savez writes, in a fifteenth of its time: a service that stops writes thousands of these.

    >>> np.load(io.BytesIO(_zipped({"a": np.arange(3)})))["a"].tolist()
    [0, 1, 2]
    """
    files, directory, offset = list[bytes](), list[bytes](), 0
    for name, array in arrays.items():
        file = f"{name}.npy".encode()
        data = _preamble(array.dtype, array.shape, array.flags.fnc) + array.tobytes("A")
        if array.dtype.hasobject or offset + len(data) > MOST_PLAIN:
            buffer = io.BytesIO()
            np.savez(buffer, allow_pickle=False, **arrays)
            return buffer.getvalue()
        numbers = zlib.crc32(data), len(data), len(data), len(file)
        files += ENTRY.pack(b"PK\3\4", 20, 0, 0, 0, MIDNIGHT, *numbers, 0), file, data
        directory += LISTED.pack(b"PK\1\2", 20, 20, 0, 0, 0, MIDNIGHT, *numbers, 0, 0, 0, 0, 0, offset), file
        offset += ENTRY.size + len(file) + len(data)
    listed = b"".join(directory)
    end = END.pack(b"PK\5\6", 0, 0, len(arrays), len(arrays), len(listed), offset, 0)
    return b"".join([*files, listed, end])


@lru_cache(4096)
def _preamble(dtype: np.dtype[Any], shape: tuple[int, ...], fortran: bool) -> bytes:
    """How a file of such an array begins."""
    buffer = io.BytesIO()
    described = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": fortran, "shape": shape}
    np.lib.format.write_array_header_1_0(buffer, described)
    return buffer.getvalue()


def _listed(value: Any) -> Any:
    return value.tolist()

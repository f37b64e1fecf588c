"""A policy's State and a header as bytes, and back: what lets a run continue bit for bit."""

from __future__ import annotations

import io
import json
from typing import Any

import numpy as np

from driftbandits._common.checks import shown
from driftbandits._common.expansion import TooLargeError, read_npz
from driftbandits.errors import InputError


def pack(header: dict[str, Any], state: Any, **arrays: np.ndarray[Any, Any]) -> bytes:
    """Header (as JSON), State and further arrays in one piece."""
    return _packed(header, {f"state.{name}": array for name, array in state._asdict().items()} | arrays)


def emptied(data: bytes, *names: str) -> bytes:
    """The same snapshot of a Session with nothing in those arrays; InputError if it cannot be read."""
    header, arrays = unpack(data, "a Session")
    return _packed(header, {name: array[:0] if name in names else array for name, array in arrays.items()})


def _packed(header: dict[str, Any], arrays: dict[str, Any]) -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, header=np.array(json.dumps(header, default=_listed)), **arrays)
    return buffer.getvalue()


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
            name: _with_every_arm_on(arrays[f"state.{name}"], array.dtype)
            .astype(array.dtype, casting="equiv")
            .view(type(array))
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


def _with_every_arm_on(stored: np.ndarray[Any, Any], wanted: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """The same, in snapshots from before arms could be off with a column that says that none is."""
    names = stored.dtype.names
    if names is None or "off" in names or wanted.names != (*names, "off"):
        return stored
    fields = [(name, stored.dtype[name]) for name in names]
    whole = np.zeros(stored.shape, np.dtype([*fields, ("off", wanted["off"])], align=True))
    for name in names:
        whole[name] = stored[name]
    return whole


def _listed(value: Any) -> Any:
    return value.tolist()

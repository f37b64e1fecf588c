"""A policy's State and a header as bytes, and back: what lets a run continue bit for bit."""

from __future__ import annotations

import io
import json
from typing import Any

import numpy as np

from driftbandits._common.checks import shown
from driftbandits.errors import InputError


def pack(header: dict[str, Any], state: Any, **arrays: np.ndarray[Any, Any]) -> bytes:
    """Header (as JSON), State and further arrays in one piece."""
    buffer = io.BytesIO()
    fields = {f"state.{name}": array for name, array in state._asdict().items()}
    everything: dict[str, Any] = {"header": np.array(json.dumps(header, default=_listed)), **fields, **arrays}
    np.savez(buffer, **everything)
    return buffer.getvalue()


def emptied(data: bytes, *names: str) -> bytes:
    """The same snapshot with nothing in those arrays."""
    with np.load(io.BytesIO(data)) as stored:
        arrays: dict[str, Any] = {name: stored[name][:0] if name in names else stored[name] for name in stored.files}
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


def unpack(data: bytes, owner: str) -> tuple[dict[str, Any], dict[str, np.ndarray[Any, Any]]]:
    """The header and all arrays; InputError when the bytes are no snapshot of ``owner``."""
    if not isinstance(data, bytes | bytearray | memoryview):
        raise InputError(f"a snapshot of {owner} is the bytes that snapshot() returned; got {shown(data)}")
    try:
        with np.load(io.BytesIO(data)) as stored:
            return json.loads(str(stored["header"])), {name: stored[name] for name in stored.files if name != "header"}
    except Exception:  # numpy and zipfile raise many, and give advice that does not fit
        raise InputError(
            f"this is not a snapshot of {owner}: these {len(data):,} bytes are damaged, or something else; restore "
            "takes the bytes that snapshot() returned"
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

"""Policies and noise as plain JSON and back, so that a result carries all it needs to be run again."""

from __future__ import annotations

import base64
import math
import re
import sys
import zlib
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from driftbandits._common.expansion import allowed, check_expanded, inflated_exactly
from driftbandits._numba.compiled import Compiled
from driftbandits.errors import InputError


def describe(thing: Any) -> dict[str, Any]:
    """A policy or noise model as JSON: its class and its fields. Of a plain Python object only its repr is kept."""
    kind = type(thing)
    found = {"module": _home(kind.__module__), "class": kind.__qualname__}
    if isinstance(thing, Compiled) and is_dataclass(thing):
        return {**found, "fields": {field.name: plain(getattr(thing, field.name)) for field in fields(thing)}}
    return {**found, "looks": re.sub(r" at 0x[0-9a-fA-F]+", "", repr(thing))}  # an address means nothing tomorrow


def build(description: dict[str, Any]) -> Any:
    """What ``describe`` described. Classes are looked up in modules already imported: reading a file runs no code."""
    check_arrays(description)
    kind: Any = sys.modules.get(_home(description["module"]))
    for name in description["class"].split("."):
        kind = getattr(kind, name, None)
    if "fields" not in description or not (isinstance(kind, type) and issubclass(kind, Compiled)):
        shown = description.get("looks", f"{description['module']}.{description['class']}")
        raise InputError(
            f"{shown} cannot be built again from the file: import its module first, or make the object yourself"
        )
    return kind(**{name: rich(value) for name, value in description["fields"].items()})


def _home(module: str) -> str:
    """Where a class is found again: of this package, whose files may move, its public name."""
    root = __name__.split(".")[0]
    return root if module.split(".")[0] == root else module


def plain(value: Any) -> Any:
    """A field's value as JSON."""
    if isinstance(value, Compiled):
        return describe(value)
    if isinstance(value, np.ndarray):
        packed = base64.b64encode(zlib.compress(np.ascontiguousarray(value).tobytes())).decode()
        return {"dtype": value.dtype.str, "shape": value.shape, "zlib": packed}
    return value.item() if isinstance(value, np.generic) else value


def rich(value: Any) -> Any:
    """A field's value from JSON."""
    if isinstance(value, dict) and "class" in value:
        return build(value)
    if isinstance(value, dict) and "zlib" in value:
        check_arrays(value)
        raw = inflated_exactly(base64.b64decode(value["zlib"]), _size(value))
        return np.frombuffer(raw, value["dtype"]).reshape(value["shape"])
    return value


def check_arrays(described: Any) -> None:
    """Raise InputError if the arrays of a description, all together, would expand to more than they may."""
    expanded = packed = 0
    waiting = [described]
    while waiting:
        each = waiting.pop()
        if isinstance(each, dict) and "zlib" in each:
            expanded += _size(each)
            packed += len(each["zlib"])
        elif isinstance(each, dict | list):
            waiting.extend(each.values() if isinstance(each, dict) else each)
    check_expanded("these arrays", expanded, allowed(packed), "keep tables of such a size in files of their own")


def _size(array: dict[str, Any]) -> int:
    return int(math.prod(array["shape"]) * np.dtype(array["dtype"]).itemsize)

"""Policies and noise as plain JSON and back, so that a result carries all it needs to be run again."""

from __future__ import annotations

import base64
import re
import sys
import zlib
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from driftbandits._compile.kernels import Compiled
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


def with_homes(described: Any) -> Any:
    """A description as it would be written today, for files that name the module a class was in."""
    if isinstance(described, dict):
        found = {key: with_homes(value) for key, value in described.items()}
        return {**found, "module": _home(found["module"])} if {"module", "class"} <= set(found) else found
    return described


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
        raw = zlib.decompress(base64.b64decode(value["zlib"]))
        return np.frombuffer(raw, value["dtype"]).reshape(value["shape"])
    return value

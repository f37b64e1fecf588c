"""Policies, noise and instances as plain JSON and back, so that a result carries all it needs to be run again."""

from __future__ import annotations

import base64
import re
import sys
import zlib
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from driftbandits.errors import InputError
from driftbandits.instances import FAMILIES, Instance
from driftbandits._compile.kernels import Compiled


def describe(thing: Any) -> dict[str, Any]:
    """A policy or noise model as JSON: its class and its fields. Of a plain Python object only the looks are kept."""
    kind = type(thing)
    found = {"module": kind.__module__, "class": kind.__qualname__}
    if isinstance(thing, Compiled) and is_dataclass(thing):
        return {**found, "fields": {field.name: _plain(getattr(thing, field.name)) for field in fields(thing)}}
    return {**found, "looks": re.sub(r" at 0x[0-9a-fA-F]+", "", repr(thing))}  # an address means nothing tomorrow


def build(description: dict[str, Any]) -> Any:
    """What ``describe`` described. Classes are looked up in modules already imported: reading a file runs no code."""
    kind: Any = sys.modules.get(description["module"])
    for name in description["class"].split("."):
        kind = getattr(kind, name, None)
    if "fields" not in description or not (isinstance(kind, type) and issubclass(kind, Compiled)):
        shown = description.get("looks", f"{description['module']}.{description['class']}")
        raise InputError(
            f"{shown} cannot be built again from the file: import its module first, or make the object yourself"
        )
    return kind(**{name: _rich(value) for name, value in description["fields"].items()})


def describe_instance(instance: Instance) -> dict[str, Any]:
    """An instance as JSON: its family and arguments, or else its means, compressed."""
    if instance.recipe is not None:
        return {"name": instance.name, **instance.recipe}
    return {"name": instance.name, "means": _plain(instance.means)}


def build_instance(description: dict[str, Any]) -> Instance:
    """What ``describe_instance`` described."""
    if "means" in description:
        return Instance(_rich(description["means"]), name=description["name"])
    if description["family"] not in FAMILIES:
        raise InputError(f"unknown instance family {description['family']!r}; known: {', '.join(sorted(FAMILIES))}")
    return FAMILIES[description["family"]](**description["arguments"])


def _plain(value: Any) -> Any:
    if isinstance(value, Compiled):
        return describe(value)
    if isinstance(value, np.ndarray):
        packed = base64.b64encode(zlib.compress(np.ascontiguousarray(value).tobytes())).decode()
        return {"dtype": value.dtype.str, "shape": value.shape, "zlib": packed}
    return value.item() if isinstance(value, np.generic) else value


def _rich(value: Any) -> Any:
    if isinstance(value, dict) and "class" in value:
        return build(value)
    if isinstance(value, dict) and "zlib" in value:
        raw = zlib.decompress(base64.b64decode(value["zlib"]))
        return np.frombuffer(raw, value["dtype"]).reshape(value["shape"])
    return value

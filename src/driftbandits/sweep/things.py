"""Policies, instances and noise of one's own in a grid: objects, classes, functions and files, each with a label.

Rows of results carry the label. Who resumes a sweep is compared by what the object is: ``Given.identity``.
"""

from __future__ import annotations

import copy
import hashlib
import os
import pickle
from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

from driftbandits._common.checks import shown
from driftbandits._common.verbs import check_verbs
from driftbandits._numba.compiled import Compiled
from driftbandits.errors import InputError
from driftbandits.instances import Instance
from driftbandits.instances.describe import describe
from driftbandits.instances.noise import Noise
from driftbandits.instances.table import table

ENDINGS = (".csv", ".npz", ".parquet")
"""Of files that hold an instance."""
MEANT = {
    "policy": "the name of a policy, a policy object such as UCB1(), a class, or a function that makes one",
    "instance": "the name of a family, an Instance, a file (.csv, .npz or .parquet), or a function that makes one",
    "noise": "the name of a noise, or a noise object such as Gaussian(0.1)",
}


class Given:
    """Makes an object that was given, and has no parameters. Every call makes the same one.

    It can be sent to other processes if the object can.
    """

    def __init__(self, thing: Any) -> None:
        self.thing, self.identity = thing, _identity(thing)

    def __call__(self) -> Any:
        return self.thing


def from_file(path: str) -> Instance:
    """The instance in a file. Nothing else of a grid concerns it."""
    return table(path)


def as_maker(kind: str, thing: Any) -> dict[str, Any]:
    """Settings, as a table of ``policies`` or ``instances`` holds them, for a thing of that kind."""
    if kind == "instance" and isinstance(thing, str | os.PathLike):
        return {kind: from_file, "path": os.fspath(thing)}
    if isinstance(thing, type) or (callable(thing) and not hasattr(thing, "select")):
        return {kind: thing}
    if kind == "policy" and any(hasattr(thing, verb) for verb in ("select", "update", "pull")):
        check_verbs(thing)
        return {kind: Given(thing)}
    if isinstance(thing, {"instance": Instance, "noise": Noise}.get(kind, ())):
        return {kind: Given(thing)}
    raise InputError(f"must be {MEANT[kind]}; got {shown(thing)}")


def is_file(name: Any) -> bool:
    """Whether it names a file with an instance."""
    return isinstance(name, os.PathLike) or (isinstance(name, str) and Path(name).suffix.lower() in ENDINGS)


def labels_of(kind: str, things: Sequence[Any], taken: Sequence[str]) -> list[str]:
    """What rows call these things: a class's name, an instance's, a file's path; with settings where that is taken.

    >>> from driftbandits import SWUCB, UCB1
    >>> labels_of("policy", [UCB1(), SWUCB(window=50, xi=0.6), SWUCB(window=90, xi=0.6)], ["UCB1"])
    ['UCB1()', 'SWUCB(window=50, xi=0.6)', 'SWUCB(window=90, xi=0.6)']
    """
    short = [_short(thing) for thing in things]
    labels = [
        _long(thing) if short.count(label) > 1 or label in taken else label
        for label, thing in zip(short, things, strict=True)
    ]
    for label in labels:
        if labels.count(label) > 1 or label in taken:
            table = "policies" if kind == "policy" else "instances"
            raise InputError(
                f"has two that are called {label}: give each a name"
                + (f', as in {table}={{"first": ..., "second": ...}}' if kind != "noise" else " of its own")
            )
    return labels


def _short(thing: Any) -> str:
    if isinstance(thing, os.PathLike):
        return str(thing)
    if isinstance(thing, Instance):
        return thing.name
    if callable(thing) and not hasattr(type(thing), "select"):
        name = str(getattr(thing, "__name__", type(thing).__name__))
        if "<" in name:
            raise InputError("holds a function without a name: define it with def, or name it in policies or instances")
        return name
    return type(thing).__name__


def _long(thing: Any) -> str:
    if not is_dataclass(thing) or isinstance(thing, type):
        return _short(thing)
    given = {field.name: (shown(getattr(thing, field.name)), shown(field.default)) for field in fields(thing)}
    said = ", ".join(f"{name}={value}" for name, (value, usual) in given.items() if value != usual)
    return f"{type(thing).__name__}({said})"


def _identity(thing: Any) -> dict[str, Any]:
    """What makes the object another one than others, as JSON."""
    if isinstance(thing, Compiled):
        return describe(thing)
    if isinstance(thing, Instance):
        there = [] if thing.available is None else [thing.available.tobytes()]
        declared = {"name": thing.name, "arms": list(thing.arms), "drift": thing.drift, "shape": thing.means.shape}
        return {**declared, "sha256": _sha256(thing.means.tobytes(), *there)}
    home = f"{type(thing).__module__}:{type(thing).__qualname__}"
    try:
        return {"object": home, "sha256": _sha256(pickle.dumps(copy.deepcopy(thing), protocol=4))}
    except Exception as error:  # whatever the object's own class raises
        raise InputError(
            f"must be an object that can be pickled, to be known again when the sweep is resumed, and "
            f"{shown(thing)} can't ({shown(str(error))}): give a function that makes it, defined with def"
        ) from None


def _sha256(*parts: bytes) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part)
    return digest.hexdigest()

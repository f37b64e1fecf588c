"""The public names, written out in public_api.txt, so that a change of them is seen: ``python`` this file writes it."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import driftbandits as db

LISTED = Path(__file__).with_name("public_api.txt")


def lines() -> Iterator[str]:
    """Every public name, with what it is and how it is called."""
    for name in dir(db):
        yield from _said(f"driftbandits.{name}", getattr(db, name))


def _said(name: str, thing: Any) -> Iterator[str]:
    if isinstance(thing, ModuleType):
        yield f"module {name}"
        for each in sorted(getattr(thing, "__all__", dir(thing))):
            member = getattr(thing, each)
            home = member.__name__ if isinstance(member, ModuleType) else getattr(member, "__module__", "")
            if home.startswith(thing.__name__) and not each.startswith("_"):
                yield from _said(f"{name}.{each}", member)
    elif isinstance(thing, type):
        bases = ", ".join(base.__name__ for base in thing.__bases__)
        called = "" if issubclass(thing, BaseException) else _called(thing)
        yield f"class {name}({bases}) {called}".rstrip()
        for each, member in sorted(vars(thing).items()):
            if not each.startswith("_") and thing not in db.POLICIES.values():  # their verbs are Policy's
                yield from _member(f"  .{each}", member)
        if thing is db.Store:
            yield from _parts()
    elif callable(thing):
        yield f"function {name}{_called(thing)}"
    else:
        yield f"{type(thing).__name__} {name}"


def _parts() -> Iterator[str]:
    """The parts of a Store that users call; ``sessions``, ``log`` and ``database`` are for the other parts."""
    with db.Store("sqlite://") as store:
        for part in sorted(set(vars(store)) - {"url", "sessions", "log", "database"}):
            for each, member in sorted(vars(type(getattr(store, part))).items()):
                if not each.startswith("_"):
                    yield from _member(f"  .{part}.{each}", member)


def _member(name: str, member: Any) -> Iterator[str]:
    if isinstance(member, (staticmethod, classmethod)):
        yield f"{name}{_called(member.__func__)}, {type(member).__name__}"
    elif inspect.isfunction(member):
        yield f"{name}{_called(member)}"
    elif isinstance(member, property):
        yield f"{name}, property"


class _Written:
    """An annotation as it is written in the source, whatever Python makes of it."""

    def __init__(self, annotation: Any) -> None:
        self.text = getattr(annotation, "__forward_arg__", annotation)

    def __repr__(self) -> str:
        return str(self.text)


def _called(thing: Any) -> str:
    found = inspect.signature(thing)
    empty = inspect.Parameter.empty
    given = [
        each if each.annotation is empty else each.replace(annotation=_Written(each.annotation))
        for each in found.parameters.values()
    ]
    answer = found.return_annotation
    said = str(found.replace(parameters=given, return_annotation=answer if answer is empty else _Written(answer)))
    return re.sub(" at 0x[0-9a-fA-F]+", "", said)


def test_the_public_names_are_those_listed() -> None:
    """All but policies that are new: a policy is one file and one line, and neither is here."""
    listed = LISTED.read_text(encoding="utf-8").splitlines()
    new = {f"class driftbandits.{name}(" for name in db.POLICIES} - {line.partition("(")[0] + "(" for line in listed}
    found = [line for line in lines() if line.partition("(")[0] + "(" not in new]
    assert found == listed, f"if the change is meant, run python {Path(__file__).name}, and say so in CHANGELOG.md"


if __name__ == "__main__":
    LISTED.write_text("\n".join(lines()) + "\n", encoding="utf-8")

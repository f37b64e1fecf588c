"""The pages of the reference, from the lists of public names: a name that is added there has its entry here."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import driftbandits as db

LIST = Path(db.__file__).with_name("_names.pyi")
TITLES = {
    "simulation": "Simulations",
    "instances": "Instances and noise",
    "policies": "Policies",
    "live": "Live decisions",
    "offline": "Logs",
    "sweep": "Sweeps",
    "store": "Store",
    "client": "Client",
    "theory": "Theory",
    "research": "Studies",
    "testing": "Testing",
    "errors": "Errors",
}
"""Rooms of the package in the order of the reference; others follow under their own names."""


@dataclass
class Room:
    """One page: the names that live in a folder of the package, as they are imported and where they are written."""

    title: str
    names: dict[str, str] = field(default_factory=dict)


def rooms() -> dict[str, Room]:
    """Every public name that is no policy, by the room that it lives in."""
    found = {room: Room(title) for room, title in TITLES.items()}
    for module, name in re.findall(r"^from \.([\w.]*) import (\w+)", LIST.read_text(encoding="utf-8"), re.M):
        room = {"": name}.get(module, module.partition(".")[0])
        page = found.setdefault(room, Room(room.strip("_").capitalize()))
        for public, home in _entries(f"driftbandits.{name}", getattr(db, name), room):
            again = [each for each, its in page.names.items() if its == home]
            page.names[min([public, *again], key=len)] = home
            for each in again:
                if len(each) > len(public):
                    del page.names[each]
    listed = LIST.with_name("policies").joinpath("__init__.pyi").read_text(encoding="utf-8")
    for module, name in re.findall(r"^from \.(\w+) import (\w+)", listed, re.M):
        if name in dir(db) and name not in db.POLICIES:  # those have pages
            found["policies"].names[f"driftbandits.{name}"] = f"driftbandits.policies.{module}.{name}"
    for room in ("client", "store"):
        name = f"driftbandits.{room}"
        entries = _entries(name, importlib.import_module(name), room)
        known = set(found[room].names.values())
        found[room].names |= {public: home for public, home in entries if home not in known}
    return {room: page for room, page in found.items() if page.names}


def _entries(name: str, thing: Any, room: str) -> Iterator[tuple[str, str]]:
    if not isinstance(thing, ModuleType):
        yield name, f"{getattr(thing, '__module__', '')}.{getattr(thing, '__name__', '')}"
        return
    public = getattr(thing, "__all__", None) or [each for each in dir(thing) if not each.startswith("_")]
    modules = {each.name for each in pkgutil.iter_modules(getattr(thing, "__path__", []))}
    for each in sorted(public):
        member = getattr(thing, each)
        home = member.__name__ if isinstance(member, ModuleType) else getattr(member, "__module__", None)
        if home is None or not home.startswith(thing.__name__):
            continue
        if isinstance(member, ModuleType) and each in modules and room != "research":
            continue
        yield from _entries(f"{name}.{each}", member, room)


def pages() -> Iterator[tuple[str, str]]:
    """The address and the Markdown of every page of the reference."""
    index = [HEAD]
    for room, page in rooms().items():
        index.append(f"## [{page.title}]({room}.md)\n\n| Name | |\n|---|---|")
        index += [f"| [`{_short(name)}`]({room}.md#{name}) | {summary(name)} |" for name in page.names]
        index.append("")
        yield f"reference/{room}.md", "\n\n".join([f"# {page.title}", *map(_entry, page.names.items()), ""])
    yield "reference/index.md", "\n".join(index)


def _entry(entry: tuple[str, str]) -> str:
    name, home = entry
    return f'<a id="{name}"></a>\n\n::: {home}'


def _short(name: str) -> str:
    return name.removeprefix("driftbandits.")


def summary(name: str) -> str:
    """The first sentences of a name's docstring: those of its first paragraph that end in it.

    >>> summary("driftbandits.Session")[:20]
    'One live experiment '
    """
    thing: Any = db
    for part in name.split(".")[1:]:
        thing = getattr(thing, part, None) or importlib.import_module(f"{thing.__name__}.{part}")
    if isinstance(thing, dict):
        return "Every policy by its name."
    paragraph = " ".join((inspect.getdoc(thing) or "").partition("\n\n")[0].split())
    whole = re.match(r".*\.(?= |$)", paragraph)
    return (whole[0] if whole else paragraph.rstrip(":") + ".").replace("|", r"\|")


HEAD = """# Reference

Every public name, from its docstring. `import driftbandits as db` makes all of them names of `db`;
they are imported when they are first used. The policies have [pages of their own](../policies/README.md).
"""

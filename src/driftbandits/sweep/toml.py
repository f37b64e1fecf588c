"""A sweep written as a TOML file; what is wrong in it is reported with its line and key."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

from driftbandits.errors import InputError
from driftbandits.sweep.grid import GridError, nearest

KINDS: dict[str, tuple[type, ...]] = {
    "name": (str,),
    "runs": (int, float),
    "seed": (int,),
    "fresh_worlds": (bool,),
    "grid": (dict,),
    "zipped": (list,),
    "policies": (dict,),
    "instances": (dict,),
}
MEANT = {str: "text", int: "a whole number", bool: "true or false", dict: "a table", list: "tables, [[zipped]]"}

Key = tuple[str | int, ...]


def read_declaration(path: Path) -> tuple[dict[str, Any], Callable[[], AbstractContextManager[None]]]:
    """What the file declares, and a context in which errors get the line they are about."""
    try:
        text = path.read_text(encoding="utf-8")
        declared = tomllib.loads(text)
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from None
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path} is not TOML: {error}") from None

    @contextmanager
    def located() -> Iterator[None]:
        try:
            yield
        except GridError as error:
            shown = ".".join(str(part) for part in error.key if isinstance(part, str))
            raise InputError(f"{path}, line {line_of(text, error.key)}, {shown}: {error.message}") from None

    with located():
        for key, value in declared.items():
            if key not in KINDS:
                raise GridError((key,), f"is not part of a sweep; {nearest(key, KINDS)}")
            if not isinstance(value, KINDS[key]) or (isinstance(value, bool) and bool not in KINDS[key]):
                raise GridError((key,), f"must be {MEANT[KINDS[key][0]]}; got {value!r}")
        if "grid" not in declared:
            raise GridError((), 'has no [grid]: write [grid], and under it policy = "..." and instance = "..."')
    return declared, located


def line_of(text: str, key: Key) -> int:
    """The line on which a key, or the longest beginning of it that is there, is given.

    The beginning of a TOML file is TOML whenever it ends with a complete line. So the line on which a key stands is the
    first of those after which the file's beginning has it.

    >>> line_of("name = 'a'\\n[grid]\\n# so\\ndrift = [\\n 1e-3,\\n]\\nhorizon = 9", ("grid", "drift"))
    4
    """
    while key and not _has(tomllib.loads(text), key):
        key = key[:-1]
    lines = text.splitlines(keepends=True)
    begun = 0
    for count in range(len(lines) + 1):
        try:
            found = tomllib.loads("".join(lines[:count]))
        except tomllib.TOMLDecodeError:
            continue
        if key and _has(found, key):
            break
        begun = count
    else:
        return 1
    while not lines[begun].strip() or lines[begun].strip().startswith("#"):
        begun += 1
    return begun + 1


def _has(found: Any, key: Key) -> bool:
    for part in key:
        there = part in found if isinstance(found, Mapping) else isinstance(part, int) and part < len(found)
        if not there:
            return False
        found = found[part]
    return True

"""What several commands share: groups, whole numbers, instances by name, settings, output files checked first."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Group, Parameter

from driftbandits.errors import InputError

COMPARE = Group.create_ordered("Simulate and compare")
LIVE = Group.create_ordered("Decide live, and read logs")
PAPER = Group.create_ordered("The paper and the package")
"""The groups of commands, as --help lists them."""


def _whole(kind: Any, tokens: Sequence[Any]) -> int:
    """A whole number, as in 100, 100_000 or 1e5. Cyclopts would round 1.5 to 2."""
    given = tokens[0].value
    try:
        return int(given)
    except ValueError:
        pass
    try:
        number = float(given)
        if number % 1 == 0:
            return int(number)
    except ValueError:
        pass
    raise ValueError(f"it must be a whole number, such as 100 or 1e5; got {given!r}")


Whole = Annotated[int, Parameter(converter=_whole)]


def _port(kind: Any, tokens: Sequence[Any]) -> int:
    """A port to listen on: what is none would end as an OverflowError of the socket."""
    number = _whole(kind, tokens)
    if not 0 <= number <= LARGEST_PORT:
        raise ValueError(f"a port is from 0, which means any that is free, to {LARGEST_PORT:,}; got {number}")
    return number


LARGEST_PORT = 65_535
Port = Annotated[int, Parameter(converter=_port)]


def read_instance(
    name: str, settings: dict[str, Any] | None = None, reward_range: tuple[float, float] | None = None
) -> Any:
    """An instance of a family, with these settings, or the one in a file, whose rewards are in that range."""
    from driftbandits import instances
    from driftbandits.instances.given import as_instance

    if reward_range is not None:
        if name in instances.FAMILIES:
            raise InputError(f"--reward-range is for a file of means; {name} is a family, with means in [0, 1]")
        return instances.table(name, reward_range=reward_range)
    if name in instances.FAMILIES and name != "table":
        check_parameters(name, instances.FAMILIES[name], settings or {})
        return instances.FAMILIES[name](**(settings or {}))
    if not settings:
        return as_instance(name)
    if "path" in settings:
        raise InputError(f"--set {name}.path: {name} is a path already; leave it out")
    check_parameters(name, instances.table, settings)
    return instances.table(name, **settings)


def check_parameters(name: str, make: Any, settings: dict[str, Any]) -> None:
    """``make``, a policy's class or a family, must have every parameter that is set."""
    import inspect

    from driftbandits._common.checks import did_you_mean

    known = [each for each in inspect.signature(make).parameters if each != "best_arms"]
    for parameter in settings:
        if parameter not in known:
            hint = did_you_mean(parameter, known)
            raise InputError(f"{name} has no parameter {parameter!r}; {hint}known: {', '.join(known) or 'none'}")


def read_settings(given: Sequence[str], names: Sequence[str]) -> dict[str, dict[str, Any]]:
    """NAME.PARAMETER=VALUE, for policies and instances that are there; values as Python writes them, or plain words.

    >>> read_settings(["SnoozeIt.confidence=0.1", "SnoozeIt.variant=released"], ["SnoozeIt"])
    {'SnoozeIt': {'confidence': 0.1, 'variant': 'released'}}
    """
    found: dict[str, dict[str, Any]] = {name: {} for name in names}
    for each in given:
        place, equals, value = each.partition("=")
        name, dot, parameter = place.rpartition(".")
        if not (equals and dot and parameter.isidentifier() and value):
            raise InputError(f"--set takes NAME.PARAMETER=VALUE, as in SnoozeIt.confidence=0.1; got {each!r}")
        if name not in found:
            raise InputError(f"--set {each}: {name} takes no part here; there are {', '.join(found)}")
        if parameter in found[name]:
            raise InputError(f"--set names {place} twice: leave one out")
        found[name][parameter] = _value(value)
    return found


def _value(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text


def check_outputs(*, figures: Sequence[Path | None] = (), files: Sequence[Path | None] = ()) -> None:
    """Raise InputError now if one of these could not be written later, after hours of work."""
    from driftbandits._common.files import check_writable
    from driftbandits._common.plotting import figure_ending

    for figure in figures:
        if figure is not None:
            figure_ending(figure)
    wanted = [path for path in (*figures, *files) if path is not None]
    for path in wanted:
        if wanted.count(path) > 1:
            raise InputError(f"two options name the same file, {str(path)!r}: give each its own")
    for path in wanted:
        check_writable(path)

"""From a declared grid to its cells: names are looked up, and each parameter goes to what has one of that name."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from driftbandits._common.checks import check_whole, did_you_mean, shown
from driftbandits.errors import InputError
from driftbandits.instances import FAMILIES
from driftbandits.instances.noise import Bernoulli, Bounded, Gaussian
from driftbandits.policies import POLICIES
from driftbandits.sweep.cells import Cell, parameters_of
from driftbandits.sweep.things import as_maker, is_file, labels_of
from driftbandits.sweep.values import plain, values_of

NOISES: dict[str, Callable[..., Any]] = {"gaussian": Gaussian, "bernoulli": Bernoulli, "bounded": Bounded}
KINDS: dict[str, Mapping[str, Callable[..., Any]]] = {"policy": POLICIES, "instance": FAMILIES, "noise": NOISES}
TABLES = {"policy": "policies", "instance": "instances"}
"""Where things get names of their own."""
DEFAULTS = {"noise": "gaussian"}
WHOLE = ("horizon", "n_arms", "runs")
MOST_CELLS = 200_000


class GridError(InputError):
    """A declaration that cannot be run; ``key`` is the path to what is wrong in it."""

    def __init__(self, key: Sequence[str | int], message: str) -> None:
        super().__init__(f"{'.'.join(map(str, key))}: {message}" if key else message)
        self.key, self.message = tuple(key), message


@dataclass(frozen=True)
class Declaration:
    """What a sweep's author wrote. Of objects the grid holds the labels, and ``own`` what they stand for, by kind."""

    grid: Mapping[str, Any]
    zipped: Sequence[Mapping[str, Any]] = ()
    policies: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    instances: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    name: str = "sweep"
    runs: int = 100
    seed: int = 0
    fresh_worlds: bool = False
    own: Mapping[str, Mapping[str, Mapping[str, Any]]] = field(default_factory=dict)

    def named(self, kind: str) -> Mapping[str, Mapping[str, Any]]:
        """The policies or instances that the author gave names of their own."""
        return {"policy": self.policies, "instance": self.instances}.get(kind, {})

    def settings(self, kind: str, label: Any) -> Mapping[str, Any] | None:
        """What a label stands for, if it is not the package's own name."""
        found: Mapping[str, Any] | None = self.own.get(kind, {}).get(label, self.named(kind).get(label))
        return found


def declare(
    grid: Any, zipped: Any, policies: Mapping[str, Any] | None, instances: Mapping[str, Any] | None, **rest: Any
) -> Declaration:
    """The declaration in which every policy, instance and noise that was given as an object or a file has a label."""
    named = {"policy": policies or {}, "instance": instances or {}}
    for kind, table in TABLES.items():
        if not isinstance(named[kind], Mapping):
            raise GridError((table,), f"must map names to {table}; got {shown(named[kind])}")
        named[kind] = {
            label: given if isinstance(given, Mapping) else _settings((table, label), kind, given)
            for label, given in named[kind].items()
        }
    if not isinstance(zipped, Sequence) or isinstance(zipped, str):
        raise GridError(("zipped",), f"must be a list of tables of parameters; got {shown(zipped)}")
    own: dict[str, dict[str, Any]] = {}
    tables = []
    for path, table in [(("grid",), grid), *((("zipped", at), each) for at, each in enumerate(zipped))]:
        if not isinstance(table, Mapping):
            raise GridError(path, f"must be a table of parameters; got {shown(table)}")
        tables.append(dict(table))
        for kind in KINDS:
            if kind in table:
                tables[-1][kind] = _labelled((*path, kind), kind, table[kind], named.get(kind, {}), own)
    return Declaration(tables[0], tables[1:], named["policy"], named["instance"], own=own, **rest)


def _settings(home: Path, kind: str, thing: Any) -> dict[str, Any]:
    if isinstance(thing, str) and not (kind == "instance" and thing not in FAMILIES and is_file(thing)):
        return {kind: thing}
    try:
        return as_maker(kind, thing)
    except InputError as error:
        raise GridError(home, str(error)) from None


def _labelled(home: Path, kind: str, given: Any, named: Mapping[str, Any], own: dict[str, dict[str, Any]]) -> Any:
    """The labels of what is given; ``own`` gets what those stand for that are no names."""
    try:
        values = values_of(given)
        files = {each for each in values if isinstance(each, str) and is_file(each)} - {*named, *FAMILIES}
        makers = [
            as_maker(kind, each) if not isinstance(each, str) or (kind == "instance" and each in files) else None
            for each in values
        ]
        names = [each for each in values if isinstance(each, str)]
        labels = iter(labels_of(kind, [each for each in values if not isinstance(each, str)], [*names, *named]))
        found = [each if isinstance(each, str) else next(labels) for each in values]
    except InputError as error:
        raise GridError(home, str(error)) from None
    mine = {label: maker for label, maker in zip(found, makers, strict=True) if maker is not None}
    if not mine:
        return given
    own[kind] = mine
    return found


Path = tuple[str | int, ...]
Axis = list[dict[str, Any]]


def cells_of(declared: Declaration) -> list[Cell]:
    """Every cell, in the order of the declaration, the last parameter turning fastest.

    A parameter goes to everyone who has one of that name: ``drift`` to the instance and to the policy. With a prefix
    (``policy_drift``, ``instance_drift``, ``noise_sigma``) it goes to one only, and wins. What a named policy or
    instance states itself wins over both. A parameter that means nothing to a cell is null there, and cells that then
    are the same are one.
    """
    _whole_number("seed", declared.seed, 0, ("seed",))
    axes, homes = _axes(declared)
    count = math.prod(map(len, axes))
    if count > MOST_CELLS:
        sizes = " x ".join(f"{len(axis)}" for axis in axes if len(axis) > 1)
        raise GridError(("grid",), f"{sizes} make {count:,} cells, and a sweep has at most {MOST_CELLS:,}")
    known: dict[tuple[str, str], _Chosen] = {}
    made: dict[str, Any] = {}
    for row in itertools.product(*axes):
        given = {**DEFAULTS, **{name: value for part in row for name, value in part.items()}}
        for kind in KINDS:
            if (kind, str(given[kind])) not in known:
                known[kind, str(given[kind])] = _chosen(declared, kind, given[kind], homes)
        policy, instance, noise = (known[kind, str(given[kind])] for kind in KINDS)
        columns = {kind: given[kind] for kind in KINDS}
        cell: dict[str, Any] = {
            "policy": policy.make,
            "policy_arguments": _arguments(policy, given, columns),
            "family": instance.make,
            "family_arguments": _arguments(instance, given, columns),
            "noise": noise.make,
            "noise_arguments": _arguments(noise, given, columns),
            "runs": _whole_number("runs", given.get("runs", declared.runs), 1, homes.get("runs", ("runs",))),
            "seed": declared.seed,
            "fresh_instance": declared.fresh_worlds and "seed" in instance.parameters,
            "columns": columns,
        }
        made.setdefault(json.dumps([columns, cell["runs"]], sort_keys=True, default=repr), cell)
    used = dict.fromkeys(name for cell in made.values() for name in cell["columns"])
    _check_all_used(homes, used, known.values())
    for kind, table in TABLES.items():
        for label in declared.named(kind):
            if (kind, label) not in known:
                raise GridError(
                    (table, label), f"is not among the grid's values of {kind}: add it there, or leave it out"
                )
    if declared.fresh_worlds and not any(cell["fresh_instance"] for cell in made.values()):
        raise GridError(("fresh_worlds",), "none of the instances is drawn by a seed, so no instance can be fresh")
    order = dict.fromkeys([*KINDS, *(name for name in homes if name in used), *used])
    for number, cell in enumerate(made.values()):
        cell["number"], cell["columns"] = number, {name: cell["columns"].get(name) for name in order}
    return [Cell(**cell) for cell in made.values()]


@dataclass(frozen=True)
class _Chosen:
    """A policy, instance or noise by its label: what makes it, which parameters that has, which are fixed."""

    kind: str
    label: str
    make: Callable[..., Any]
    parameters: tuple[str, ...]
    fixed: Mapping[str, Any]


def _axes(declared: Declaration) -> tuple[list[Axis], dict[str, Path]]:
    """The grid's axes, and where each parameter was declared."""
    axes: list[Axis] = []
    homes: dict[str, Path] = {}
    tables: list[tuple[Path, Mapping[str, Any]]] = [(("grid",), declared.grid)]
    tables += [(("zipped", at), table) for at, table in enumerate(declared.zipped)]
    for path, table in tables:
        columns: dict[str, list[Any]] = {}
        for name, given in table.items():
            if not isinstance(name, str):
                raise GridError(path, f"the name of a parameter must be text; got {shown(name)}")
            home = (*path, name)
            if name in homes:
                raise GridError(home, f"was already given as {'.'.join(map(str, homes[name]))}")
            if name == "seed":
                raise GridError(home, "the runs' seed stands outside the grid; the instance's is called instance_seed")
            homes[name] = home
            try:
                columns[name] = [_whole(name, value) for value in values_of(given)]
            except InputError as error:
                raise GridError(home, str(error)) from None
        if path == ("grid",):
            axes += [[{name: value} for value in values] for name, values in columns.items()]
        elif columns:
            lengths = {name: len(values) for name, values in columns.items()}
            if len(set(lengths.values())) > 1:
                counts = ", ".join(f"{name} has {length}" for name, length in lengths.items())
                raise GridError(path, f"zipped parameters need equally many values: {counts}")
            axes.append([dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)])
    for kind in TABLES:
        if kind not in homes:
            named = declared.named(kind)
            if not named:
                raise GridError(("grid",), f'names no {kind}: write {kind} = "..." or a list of names')
            axes.insert(0, [{kind: label} for label in named])  # those that have names, then
            homes[kind] = (TABLES[kind],)
    return axes, homes


def _chosen(declared: Declaration, kind: str, label: Any, homes: Mapping[str, Path]) -> _Chosen:
    home = homes.get(kind, ("grid", kind))
    named, known = declared.named(kind), KINDS[kind]
    fixed: Mapping[str, Any] = declared.settings(kind, label) or {}
    name: Any = label
    if label in declared.own.get(kind, {}):
        name = fixed[kind]
    elif label in named:
        home = (TABLES[kind], label)
        if kind not in fixed:
            raise GridError(home, f'must be a table that says which {kind} it is: {kind} = "..."')
        name, home = fixed[kind], (*home, kind)
        if not isinstance(name, str) and not callable(name):
            name = _settings(home, kind, name)[kind]
    make = name if callable(name) else known.get(name)
    if make is None:
        raise GridError(home, f"unknown {kind} {shown(name)}; {nearest(name, [*named, *known])}")
    parameters = parameters_of(make)
    for parameter in fixed:
        if parameter not in (kind, *parameters):
            message = f"{name} has no parameter {parameter!r}; {nearest(parameter, parameters)}"
            raise GridError((*home[:-1], parameter), message)
    return _Chosen(kind, label, make, parameters, {key: plain(value) for key, value in fixed.items() if key != kind})


def _arguments(one: _Chosen, given: Mapping[str, Any], columns: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a policy, instance or noise; ``columns`` gets those parameters that came to bear."""
    arguments = {}
    for parameter in one.parameters:
        prefixed = f"{one.kind}_{parameter}"
        if parameter in one.fixed:
            arguments[parameter] = columns[prefixed] = one.fixed[parameter]
        elif prefixed in given:
            arguments[parameter] = columns[prefixed] = given[prefixed]
        elif parameter in given and parameter not in KINDS:
            arguments[parameter] = columns[parameter] = given[parameter]
    return arguments


def _whole(name: str, value: Any) -> Any:
    """A horizon written 1e6 is a whole number all the same."""
    return int(value) if name.endswith(WHOLE) and isinstance(value, float) and value.is_integer() else value


def _whole_number(name: str, given: Any, least: int, home: Path) -> int:
    try:
        return check_whole(name, given, least)
    except InputError as error:
        raise GridError(home, str(error)) from None


def _check_all_used(homes: Mapping[str, Path], used: Iterable[str], chosen: Iterable[_Chosen]) -> None:
    left = [name for name in homes if name not in used and name != "runs"]
    if not left:
        return
    known = dict.fromkeys(["runs", *KINDS])
    for one in chosen:
        known |= dict.fromkeys(one.parameters) | dict.fromkeys(f"{one.kind}_{name}" for name in one.parameters)
    name = left[0]
    if name in known:
        raise GridError(homes[name], f"leave it out: in this sweep all that have a {name!r} state their own")
    message = f"no policy, instance or noise of this sweep has a parameter {name!r}; {nearest(name, known)}"
    raise GridError(homes[name], message)


def nearest(name: Any, known: Iterable[str]) -> str:
    """A hint that names what was probably meant, and then everything that could have been."""
    known = list(known)
    shown = [one for one in known if not one.startswith(tuple(f"{kind}_" for kind in KINDS))]
    return did_you_mean(name, known) + f"known: {', '.join(sorted(shown))}"


def home_of(declared: Declaration, columns: Mapping[str, Any], names: Sequence[str]) -> Path:
    """Where the first of these parameters of a cell that was declared anywhere was declared."""
    for name in names:
        for kind, table in TABLES.items():
            label = columns[kind]
            fixed = {} if label in declared.own.get(kind, {}) else declared.named(kind).get(label, {})
            own = name.removeprefix(f"{kind}_")
            if own in fixed and own != name:
                return (table, label, own)
            if name == kind and fixed:
                return (table, label)
        if name in declared.grid:
            return ("grid", name)
        for at, zipped in enumerate(declared.zipped):
            if name in zipped:
                return ("zipped", at, name)
    return ("grid",)

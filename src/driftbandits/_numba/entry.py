"""Entries: the one function of a loop and a policy that numba compiles and caches, and how values reach it.

An entry takes two arrays, of whole numbers and of floats. They hold the scalars of a call, the fields of the policy and
the noise, and the addresses and shapes of all arrays. Its source is generated: it puts the policy, the State and the
arguments together again and calls the loop. Arrays made of an address own nothing, so no references are counted, which
would take four to eight times as long. ``docs/compiled-core.md`` shows one.
"""

from __future__ import annotations

from array import array
from collections import namedtuple
from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np
from numba import carray

from driftbandits._common.verbs import takes_rng
from driftbandits._numba import loops, random
from driftbandits._numba.cache import compiled
from driftbandits._numba.compiled import Compiled, kernels_digest, kernels_of, number_fields
from driftbandits._numba.copies import Copies
from driftbandits._numba.digest import code_digest, codes, is_foreign, machinery_digest, reached
from driftbandits._numba.memory import as_pointer, workspace
from driftbandits.errors import PolicyError

UNCHECKED = frozenset({"as_strided", "carray", "farray", "flat"})
"""Ways to memory that numba does not check even if it is told to check indices."""
_namedtuple: Any = namedtuple  # noqa: PYI024 - its fields are only known at run time
_classes: dict[tuple[str, ...], Any] = {}
"""What stands for policies and States in machine code, by their fields."""


def _named(fields: tuple[str, ...]) -> Any:
    return _classes.setdefault(fields, _namedtuple("Fields", fields))


class Layout:
    """Where each value of a call lies in the two arrays: ``read`` is the expression that an entry reads it by."""

    def __init__(self) -> None:
        self.whole, self.real = 0, 0
        self.names: dict[str, Any] = {"carray": carray, "as_pointer": as_pointer}
        for each in (random.sfc64_at, random.philox_at):
            self.names[each.__name__] = each
        self.told: list[Any] = []
        """What the expressions say nothing of: the kinds of numbers of arrays, the fields of policies and States."""

    def of(self, thing: Any) -> Slot:
        """Make room for a value such as this one."""
        if isinstance(thing, bool):
            return Whole(self._next(1), " != 0")
        if isinstance(thing, int | np.integer):
            return Whole(self._next(1))
        if isinstance(thing, float | np.floating):
            self.real += 1
            return Real(self.real - 1)
        if isinstance(thing, np.ndarray):
            return Array(self._next(1 + thing.ndim), thing, self._name("DTYPE", thing.dtype))
        if isinstance(thing, random.Stream):
            return Words(self._next(1), thing.kind)
        if isinstance(thing, Compiled):
            return Numbers(self, thing)
        return Parts(self, thing)

    def _next(self, count: int) -> int:
        self.whole += count
        return self.whole - count

    def _name(self, prefix: str, value: Any) -> str:
        for name, known in self.names.items():
            if name.startswith(prefix) and known == value:
                return name
        name = f"{prefix}{len(self.names)}"
        self.names[name] = value
        self.told.append(str(value) if isinstance(value, np.dtype) else value._fields)
        return name

    def made(self, fields: tuple[str, ...], values: list[str]) -> str:
        """The expression that makes a NamedTuple of these fields."""
        return f"{self._name('Fields', _named(fields))}({', '.join(values)})" if fields else "()"


class Slot:
    """One value of a call."""

    read: str

    def write(self, call: Call, value: Any) -> None:
        """Put a value where the entry reads it."""
        raise NotImplementedError


class Whole(Slot):
    def __init__(self, at: int, as_bool: str = "") -> None:
        self.at, self.read = at, f"whole[{at}]{as_bool}"

    def write(self, call: Call, value: Any) -> None:
        call.whole[self.at] = value


class Real(Slot):
    def __init__(self, at: int) -> None:
        self.at, self.read = at, f"real[{at}]"

    def write(self, call: Call, value: Any) -> None:
        call.real[self.at] = value


class Array(Slot):
    def __init__(self, at: int, example: Any, dtype: str) -> None:
        self.at, self.dtype, self.ndim = at, example.dtype, example.ndim
        sizes = ", ".join(f"whole[{at + 1 + axis}]" for axis in range(example.ndim))
        self.read = f"carray(as_pointer(whole[{at}]), ({sizes},), {dtype})"

    def write(self, call: Call, value: Any) -> None:
        if value.dtype != self.dtype or value.ndim != self.ndim or not value.flags.c_contiguous:
            raise PolicyError(f"this loop was compiled for an array of {self.dtype}; got {value.dtype}, {value.shape}")
        call.whole[self.at] = value.__array_interface__["data"][0]
        for axis, length in enumerate(value.shape, self.at + 1):
            call.whole[axis] = length


class Words(Slot):
    def __init__(self, at: int, kind: str) -> None:
        self.at, self.kind, self.read = at, kind, f"{kind.lower()}_at(whole[{at}])"

    def write(self, call: Call, value: Any) -> None:
        if value.kind != self.kind:
            raise PolicyError(f"this loop was compiled for generators of {self.kind}, and this is {value.kind}")
        call.whole[self.at] = value.words.__array_interface__["data"][0]


class Numbers(Slot):
    """A policy or a noise model: its fields that are numbers."""

    def __init__(self, layout: Layout, example: Any) -> None:
        kinds = number_fields(type(example))
        self.slots = [(name, layout.of({"float": 0.0, "int": 0, "bool": False}[kind])) for name, kind in kinds.items()]
        self.read = layout.made(tuple(kinds), [slot.read for _, slot in self.slots])

    def write(self, call: Call, value: Any) -> None:
        for name, slot in self.slots:
            given = getattr(value, name)
            slot.write(call, int(given) if isinstance(slot, Whole) else given)


class Parts(Slot):
    """A State, or another tuple."""

    def __init__(self, layout: Layout, example: Any) -> None:
        self.slots = [layout.of(part) for part in example]
        reads = [slot.read for slot in self.slots]
        fields = getattr(example, "_fields", ())
        self.read = layout.made(fields, reads) if fields else f"({''.join(f'{read}, ' for read in reads)})"

    def write(self, call: Call, value: Any) -> None:
        for slot, part in zip(self.slots, value, strict=True):
            slot.write(call, part)


class Entry:
    """A compiled loop, and where its values lie."""

    def __init__(self, run: Callable[..., int], slots: list[Slot], layout: Layout) -> None:
        self.run, self.slots = run, slots
        self.sizes = layout.whole, layout.real


class Call:
    """A compiled loop with memory of its own for values; those that are still the same objects stay where they are."""

    def __init__(self, entry: Entry) -> None:
        self.run, self.slots = entry.run, entry.slots
        self.whole, self.real = (
            array("q", bytes(8 * (entry.sizes[0] or 1))),
            array("d", bytes(8 * (entry.sizes[1] or 1))),
        )
        self.given = np.frombuffer(self.whole, np.int64), np.frombuffer(self.real, np.float64)
        self.last: list[Any] = [None] * len(entry.slots)
        """It also keeps arrays alive whose addresses are in use."""

    def __call__(self, *values: Any) -> int:
        last = self.last
        for index, value in enumerate(values):
            if value is not last[index]:
                self.slots[index].write(self, value)
                last[index] = value
        return self.run(*self.given)


_entries: dict[Any, Entry] = {}
"""By all that they depend on."""


def entry(loop: Any, things: tuple[Any, ...], values: tuple[Any, ...], checked: bool) -> Entry:
    """A loop for values such as these (the policy, its State, a fault and the arguments), compiled.

    ``things`` are the policy and, if the loop draws rewards, the noise. If ``checked``, every index is compared with
    the length of its array, and IndexError raised.
    """
    layout = Layout()
    slots = [layout.of(value) for value in values]
    owners = tuple(type(thing) for thing in things)
    reads = "".join(f"        {slot.read},\n" for slot in slots)
    name = "_".join([loop.__name__, *(owner.__name__ for owner in owners)])
    source = f"def {name}(whole, real):\n    return loop(\n{reads}    )\n"
    replaced = replacements(loop, things[0], values)
    names = [f"{stub.__name__}: {own.__name__}" for stub, own in replaced.items()]
    key = (loop, owners, *map(kernels_digest, owners), checked, source, str(layout.told), *names)
    if key not in _entries:
        if checked:
            refuse_unchecked(owners)
        digest = code_digest([loop, *replaced.values(), machinery_digest(), *map(str, key[2:])])

        def fill() -> tuple[dict[str, Any], bool]:
            made, recursive = compiled_loop(loop, owners, replaced, checked)
            return {**layout.names, "loop": made}, not recursive

        _entries[key] = Entry(compiled(digest, name, source, fill), slots, layout)
    return _entries[key]


def replacements(loop: Any, policy: Any, values: tuple[Any, ...]) -> dict[Any, Any]:
    """What takes the place of the stubs that are not a policy's own functions."""
    given, state = dict(zip(loop.__code__.co_varnames, values, strict=False)), values[1]
    events, with_rng = hasattr(state, "event"), takes_rng(policy.update)
    off = "off" in (getattr(getattr(state, "arms", None), "dtype", np.dtype("f8")).names or ())
    by_step = isinstance(given.get("stream"), random.StepStream) and (with_rng or loop is not loops.update_many)
    found = {
        loops.learnt_of: loops.unchanged if len(given.get("takes", (0, 0))) == 2 else loops.rescaled,
        loops.event_count: loops.count_of_event if events else loops.no_events,
        loops.note_event: loops.copy_event if events else loops.no_event,
        loops.note_pending: loops.count_pending if loops.counts_pending(state) else loops.no_pending,
        loops.is_on: loops.not_off if off else loops.always_on,
        random.placed: random.move_philox if by_step else loops.not_moved,
    }
    return found if with_rng else {**found, loops.update: loops.update_without_rng}


def compiled_loop(loop: Any, owners: tuple[type, ...], replaced: dict[Any, Any], checked: bool) -> tuple[Any, bool]:
    """A copy of a loop in which the kernels of these classes take the place of stubs, and whether it is recursive."""
    copies = Copies(checked, kept=(loops.as_arm,))
    for owner in owners:
        shared, recursive = _kernels(owner, replaced[loops.is_on], checked)
        kernels, copies.recursive = shared.copy(), copies.recursive or recursive
        if loops.update in replaced and "update" in kernels:
            copies.replace(loops.told, kernels.pop("update"))
        for name, kernel in kernels.items():
            copies.replace(getattr(loops, name), kernel)
    for stub, own_function in replaced.items():
        copies.replace(stub, own_function)
    if not checked:
        copies.replace(loops.mark, loops.no_mark)
    made = copies.of(loop)
    return made, copies.recursive


def _kernels(owner: type, is_on: Any, checked: bool) -> tuple[dict[str, Any], bool]:
    """The compiled kernels of a class, and whether any is recursive: the same for all loops and for every noise."""
    key = kernels_digest(owner), is_on, checked
    if key not in _shared:
        copies = Copies(checked, kept=(workspace,))
        copies.replace(loops.is_on, is_on)
        made = {name: copies.of(kernel) for name, kernel in kernels_of(owner).items()}
        _shared[key] = made, copies.recursive
    return _shared[key]


_shared: dict[Any, tuple[dict[str, Any], bool]] = {}


def refuse_unchecked(owners: tuple[type, ...]) -> None:
    """Raise PolicyError if a kernel uses arrays whose indices numba can't check."""
    for owner in owners:
        for item in reached(kernels_of(owner).values()):
            used = {name for code in codes(item.__code__) for name in code.co_names} if _is_code(item) else set()
            if unsafe := UNCHECKED & used:
                raise PolicyError(
                    f"{owner.__name__}: {item.__qualname__} uses {min(unsafe)}, whose indices numba can't check; "
                    f"write it with array elements, as in array[index]\n  {item.__code__.co_filename}, line "
                    f"{item.__code__.co_firstlineno}"
                )


def _is_code(item: Any) -> bool:
    return isinstance(item, FunctionType) and not is_foreign(item.__module__)

"""How code written once runs compiled and interpreted; with ``entries`` and ``lowlevel``, all that knows numba.

A policy (or a noise model) is an ordinary frozen dataclass. Its kernels are ordinary methods, written in the subset of
Python that numba compiles. In compiled code ``self`` is a NamedTuple of the fields annotated ``float``, ``int`` or
``bool``; its class tells numba which methods to use, so one loop serves every policy, and the loop's machine code can
be cached on disk.

Two traps decide the shape of this file. A dispatcher that is passed in or closed over misses numba's disk cache in
every new process, so kernels are reached through ``overload`` instead. And ``overload`` alone would silently reuse old
machine code after a kernel was edited, so a digest of all the code a kernel can reach sits in a closure cell of the
cached function, where it is part of the cache's key.
"""

from __future__ import annotations

import functools
import operator
import threading
from collections import namedtuple
from collections.abc import Callable
from dataclasses import fields
from types import FunctionType
from typing import Any, ClassVar, TypeVar
from weakref import WeakKeyDictionary

import numba
import numpy as np
from numba.core import types

from driftbandits._common.checks import shown
from driftbandits._compile.digest import code_digest, reached
from driftbandits._compile.lowlevel import forget_machine_code, is_overloaded, overloaded
from driftbandits.errors import InputError, PolicyError

ENTRY_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy"}
_NAMEDTUPLE: Any = namedtuple  # noqa: PYI024 - its fields are only known at run time
_NUMBERS = {"float": float, "int": int, "bool": bool}
_lock = threading.RLock()

F = TypeVar("F", bound=Callable[..., Any])


def compiling() -> bool:
    """Whether kernels are compiled at all: NUMBA_DISABLE_JIT=1 turns it off, for debuggers and coverage."""
    return not numba.config.DISABLE_JIT


def kernel(function: F) -> F:
    """Let compiled kernels call ``function``, which stays a plain Python function for everyone else.

    >>> @kernel
    ... def double(x):
    ...     return 2 * x
    >>> double(4)
    8
    """
    if not isinstance(function, FunctionType):
        raise InputError(f"@kernel is for a function written with def; got {shown(function)}")
    if not is_overloaded(function):  # else each decoration would keep machine code of its own
        overloaded(function)(lambda *arguments: function)
    return function


def loop(function: F) -> F:
    """Compile a whole loop over arrays on its first call, and cache it on disk; ``.py_func`` is the plain function.

    It may call kernels of its own file only: the cache notices when that file changes, and no other.
    """
    return numba.njit(cache=True, **ENTRY_OPTIONS)(function)  # type: ignore[no-any-return]


class Compiled:
    """Base of everything whose methods are kernels: policies and noise models. Subclasses are frozen dataclasses."""

    Numbers: ClassVar[Any]
    """The NamedTuple class that stands for ``self`` in compiled code."""

    @classmethod
    def numbers_class(cls) -> Any:
        """The class that stands for ``self``: a new one whenever the code of the kernels is no longer the same."""
        with _lock:
            digest = kernels_digest(cls)
            if not is_ours(cls):
                _forget_what_changed(cls)
            if "Numbers" not in cls.__dict__ or cls.Numbers.digest != digest:
                names = [field.name for field in fields(cls) if _type_name(field.type) in _NUMBERS]  # type: ignore[arg-type]
                made = _NAMEDTUPLE("Numbers", names)
                # Pickled by reference, so that numba's cache finds the same class in the next process.
                made.__module__, made.__qualname__ = cls.__module__, f"{cls.__qualname__}.Numbers"
                made.owner, made.digest = cls, digest
                cls.Numbers = made
            return cls.Numbers

    def compiled(self) -> Any:
        """This object as compiled code sees it."""
        check_fields(self)
        made = self.numbers_class()
        kinds = {field.name: _NUMBERS.get(_type_name(field.type)) for field in fields(self)}  # type: ignore[arg-type]
        return made(*[kind(getattr(self, name)) for name, kind in kinds.items() if kind])


def check_fields(thing: Any) -> None:
    """A frozen dataclass whose fields are what they are annotated to be, as compiled code takes them to be.

    What kernels change in ``self`` would be lost, or shared by runs that should not know of each other.
    """
    name, given = type(thing).__name__, getattr(thing, "__dataclass_params__", None)
    if given is None or not given.frozen:
        raise InputError(f"{name} must be a dataclass that is frozen: write @dataclass(frozen=True) above it")
    for field in fields(thing):
        kind, value = _NUMBERS.get(_type_name(field.type)), getattr(thing, field.name)
        if kind is None:
            continue
        try:
            number: Any = kind(value)
            fits = number == value or value != value
            fits = bool(fits) and (kind is not int or -(1 << 63) <= number < 1 << 63)
        except (TypeError, ValueError, OverflowError):
            fits = False
        if not fits:
            raise InputError(f"{field.name} of {name} is annotated {kind.__name__} and must be one; got {shown(value)}")


def is_ours(owner: type) -> bool:
    """Whether a class is part of this package, whose kernels the package's own tests have run with every check."""
    return owner.__module__.split(".")[0] == __name__.split(".")[0]


def _type_name(annotation: Any) -> str:
    return annotation if isinstance(annotation, str) else getattr(annotation, "__name__", "")


def kernels_of(owner: type) -> list[Any]:
    return [getattr(owner, name) for name in ("select", "update", "settle", "draw") if hasattr(owner, name)]


def kernels_digest(owner: type) -> str:
    return _digest_of_ours(owner) if is_ours(owner) else code_digest(kernels_of(owner))


@functools.cache
def _digest_of_ours(owner: type) -> str:
    return code_digest(kernels_of(owner))


_digests: WeakKeyDictionary[Any, str] = WeakKeyDictionary()
"""Of functions that kernels call: the code that their machine code was made of."""


def _forget_what_changed(owner: type) -> None:
    """A constant may have changed since another class, such as this one in an earlier cell, had helpers compiled."""
    for item in reached(kernels_of(owner)):
        if isinstance(item, FunctionType) and is_overloaded(item):
            digest = code_digest([item])
            if _digests.setdefault(item, digest) != digest:
                forget_machine_code([item])
                _digests[item] = digest


NO_ARM = "must return the number of an arm, a whole number as in return int(arm)"

# The generic verbs. In Python they call the method; in compiled code they become it.


def select(policy: Any, state: Any, rng: np.random.Generator) -> int:
    """The arm that ``policy`` pulls next."""
    arm = policy.select(state, rng)
    try:
        return int(arm) if isinstance(arm, np.bool_) else operator.index(arm)
    except TypeError:
        raise PolicyError(f"{type(policy).__name__}.select {NO_ARM}; it returned {shown(arm)}") from None


def update(policy: Any, state: Any, arm: int, reward: float) -> None:
    """Tell ``policy`` the reward of a pull."""
    policy.update(state, arm, reward)


def settle(policy: Any, state: Any) -> None:
    """Let ``policy`` do what it has put off."""
    policy.settle(state)


def draw(noise: Any, mean: float, rng: np.random.Generator) -> float:
    """One reward with the given mean."""
    return noise.draw(mean, rng)  # type: ignore[no-any-return]


def learnt_of(takes: Any, reward: float) -> float:
    """What a policy learns of a reward: itself, or (reward - zero)/unit where it takes (low, high, zero, unit)."""
    return reward if len(takes) == 2 else (reward - takes[2]) / takes[3]


def event_count(state: Any) -> int:
    """How many events (tests passed, changes detected) the State has seen; 0 for policies that have none."""
    return state.event[0].count if hasattr(state, "event") else 0


def note_event(state: Any, log: Any, at: int) -> None:
    """Copy the State's last event to ``log[at]``."""
    if hasattr(state, "event"):
        log[at] = state.event[0]


def is_on(arms: Any, arm: int) -> bool:
    """Whether an arm may be chosen: unless the column ``off`` of a State's arms says that it may not."""
    return "off" not in arms.dtype.names or arms[arm].off == 0


def counts_pending(state: Any) -> bool:
    """Whether the arms of a State have a column ``pending``: the number of pulls whose reward has not come yet.

    The caller keeps it, since only the caller knows which arms are really pulled.
    """
    arms = getattr(state, "arms", None)
    return isinstance(arms, np.ndarray) and "pending" in (arms.dtype.names or ())


def note_pending(state: Any, arm: int, change: int) -> None:
    """Count pending rewards of an arm where its State does."""
    if counts_pending(state):
        state.arms[arm].pending += change


def as_arm(arm: Any) -> Any:
    """What ``select`` answered, if it is the number of an arm; in Python ``select`` itself has looked."""
    return arm


@overloaded(as_arm)
def _as_arm(arm: Any) -> Any:
    """As in Python: compiled, 0.5 would be arm 0 in one loop, and what can't be compiled in another."""
    if isinstance(arm, types.Integer):
        return lambda arm: arm
    if isinstance(arm, types.Boolean):
        return lambda arm: int(arm)
    found = "None on one of its paths" if isinstance(arm, types.Optional) else f"a number of type {arm}"
    raise numba.core.errors.TypingError(f"{NO_ARM}; it returns {found}")


def _method(kind: Any, name: str) -> Any:
    """The method itself, not a function that calls it: that would be compiled as well, for every policy and loop."""
    found = getattr(kind.instance_class.owner, name)
    return getattr(found, "py_func", found)  # which numba.njit may have wrapped


@overloaded(select)
def _select(policy: Any, state: Any, rng: Any) -> Any:
    return _method(policy, "select")


@overloaded(update)
def _update(policy: Any, state: Any, arm: Any, reward: Any) -> Any:
    return _method(policy, "update")


@overloaded(settle)
def _settle(policy: Any, state: Any) -> Any:
    return _method(policy, "settle")


@overloaded(draw)
def _draw(noise: Any, mean: Any, rng: Any) -> Any:
    return _method(noise, "draw")


def _has_events(state: Any) -> bool:
    return isinstance(state, types.BaseNamedTuple) and "event" in state.fields


@overloaded(learnt_of)
def _learnt_of(takes: Any, reward: Any) -> Any:
    if len(takes) == 2:
        return lambda takes, reward: reward
    return lambda takes, reward: (reward - takes[2]) / takes[3]


@overloaded(event_count)
def _event_count(state: Any) -> Any:
    if _has_events(state):
        return lambda state: state.event[0].count
    return lambda state: 0


@overloaded(note_event)
def _note_event(state: Any, log: Any, at: Any) -> Any:
    if _has_events(state):

        def impl(state: Any, log: Any, at: Any) -> None:
            log[at] = state.event[0]

        return impl
    return lambda state, log, at: None


@overloaded(is_on)
def _is_on(arms: Any, arm: Any) -> Any:
    if "off" in arms.dtype.fields:
        return lambda arms, arm: arms[arm].off == 0
    return lambda arms, arm: True


@overloaded(note_pending)
def _note_pending(state: Any, arm: Any, change: Any) -> Any:
    arms = dict(zip(state.fields, state, strict=True)).get("arms") if isinstance(state, types.BaseNamedTuple) else None
    if isinstance(arms, types.Array) and "pending" in getattr(arms.dtype, "fields", ()):

        def impl(state: Any, arm: int, change: int) -> None:
            state.arms[arm].pending += change

        return impl
    return lambda state, arm, change: None


STEP, ARM, REWARD = 0, 1, 2
"""The numbers of a fault: where a loop was when something went wrong."""


def mark(fault: Any, step: int, arm: int, reward: float) -> None:
    """Write down where a loop is, before a kernel that may fail."""
    fault[STEP], fault[ARM], fault[REWARD] = step, arm, reward


def blame(fault: Any, step: int, arm: int, reward: float, answer: int) -> int:
    """Record where a loop was, and return what went wrong."""
    fault[STEP], fault[ARM], fault[REWARD] = step, arm, reward
    return answer


@overloaded(mark)
def _mark(fault: Any, step: Any, arm: Any, reward: Any) -> Any:
    # Kernels that are compiled without checks can't fail, and are handed the fault in a tuple: a step saves three
    # writes, a tenth of what the cheapest policy costs.
    if isinstance(fault, types.BaseTuple):
        return lambda fault, step, arm, reward: None
    return mark


@overloaded(blame)
def _blame(fault: Any, step: Any, arm: Any, reward: Any, answer: Any) -> Any:
    if isinstance(fault, types.BaseTuple):

        def impl(fault: Any, step: int, arm: int, reward: float, answer: int) -> int:
            fault[0][STEP], fault[0][ARM], fault[0][REWARD] = step, arm, reward
            return answer

        return impl
    return blame

"""The only file, with ``lowlevel``, that imports numba: how code written once runs compiled, interpreted and online.

A policy (or a noise model) is an ordinary frozen dataclass. Its kernels are ordinary methods, written in the part of
Python that numba knows. In compiled code ``self`` is a NamedTuple of the fields annotated ``float``, ``int`` or
``bool``; its class tells numba which methods to use, so one loop serves every policy, and the loop's machine code can
be cached on disk.

Two traps decide the shape of this file. A dispatcher that is passed in or closed over misses numba's disk cache in
every new process, so kernels are reached through ``overload`` instead. And ``overload`` alone would silently reuse old
machine code after a kernel was edited, so a digest of all the code a kernel can reach sits in a closure cell of the
cached function, where it is part of the cache's key.
"""

from __future__ import annotations

import functools
from collections import namedtuple
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import Any, ClassVar, TypeVar

import numba
import numpy as np
from numba.core import types
from numba.core.errors import NumbaError
from numba.extending import overload, register_jitable

from driftbandits.digest import code_digest
from driftbandits.errors import InputError
from driftbandits.lowlevel import borrow, generator_at, seat

_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "forceinline": True}
_ENTRY_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy"}
_NAMEDTUPLE: Any = namedtuple  # noqa: PYI024 - its fields are only known at run time
_NUMBERS = {"float": float, "int": int, "bool": bool}

F = TypeVar("F", bound=Callable[..., Any])


def kernel(function: F) -> F:
    """Let compiled kernels call ``function``, which stays a plain Python function for everyone else.

    >>> @kernel
    ... def double(x):
    ...     return 2 * x
    >>> double(4)
    8
    """
    return register_jitable(**_OPTIONS)(function)  # type: ignore[no-any-return]


def loop(function: F) -> F:
    """Compile a whole loop over arrays on its first call, and cache it on disk; ``.py_func`` is the plain function.

    It may call kernels of its own file only: the cache notices when that file changes, and no other.
    """
    return numba.njit(cache=True, **_ENTRY_OPTIONS)(function)  # type: ignore[no-any-return]


class Compiled:
    """Base of everything whose methods are kernels: policies and noise models. Subclasses are frozen dataclasses."""

    Numbers: ClassVar[Any]
    """The NamedTuple class that stands for ``self`` in compiled code."""

    @classmethod
    def _numbers_class(cls) -> Any:
        if "Numbers" not in cls.__dict__:
            if not is_dataclass(cls):
                raise InputError(f"{cls.__name__} must be a dataclass: write @dataclass(frozen=True) above it")
            names = [field.name for field in fields(cls) if _type_name(field.type) in _NUMBERS]
            made = _NAMEDTUPLE("Numbers", names)
            # Pickled by reference, so that numba's cache finds the same class in the next process.
            made.__module__, made.__qualname__, made.owner = cls.__module__, f"{cls.__qualname__}.Numbers", cls
            cls.Numbers = made
        return cls.Numbers

    def compiled(self) -> Any:
        """This object as compiled code sees it."""
        made = self._numbers_class()
        kinds = {field.name: _NUMBERS.get(_type_name(field.type)) for field in fields(self)}  # type: ignore[arg-type]
        return made(*[kind(getattr(self, name)) for name, kind in kinds.items() if kind])


def _type_name(annotation: Any) -> str:
    return annotation if isinstance(annotation, str) else getattr(annotation, "__name__", "")


# The generic verbs. In Python they call the method; in compiled code they become it.


def select(policy: Any, state: Any, rng: np.random.Generator) -> int:
    """The arm that ``policy`` pulls next."""
    return policy.select(state, rng)  # type: ignore[no-any-return]


def update(policy: Any, state: Any, arm: int, reward: float) -> None:
    """Tell ``policy`` the reward of a pull."""
    policy.update(state, arm, reward)


def draw(noise: Any, mean: float, rng: np.random.Generator) -> float:
    """One reward with the given mean."""
    return noise.draw(mean, rng)  # type: ignore[no-any-return]


def event_count(state: Any) -> int:
    """How many events (tests passed, changes detected) the State has seen; 0 for policies that have none."""
    return state.event[0].count if hasattr(state, "event") else 0


def note_event(state: Any, log: Any, at: int) -> None:
    """Copy the State's last event to ``log[at]``."""
    if hasattr(state, "event"):
        log[at] = state.event[0]


@functools.cache
def _method(owner: type, name: str) -> Any:
    return register_jitable(**_OPTIONS)(getattr(owner, name))


@overload(select, strict=False, jit_options=_OPTIONS)
def _select(policy: Any, state: Any, rng: Any) -> Any:
    method = _method(policy.instance_class.owner, "select")
    return lambda policy, state, rng: method(policy, state, rng)


@overload(update, strict=False, jit_options=_OPTIONS)
def _update(policy: Any, state: Any, arm: Any, reward: Any) -> Any:
    method = _method(policy.instance_class.owner, "update")
    return lambda policy, state, arm, reward: method(policy, state, arm, reward)


@overload(draw, strict=False, jit_options=_OPTIONS)
def _draw(noise: Any, mean: Any, rng: Any) -> Any:
    method = _method(noise.instance_class.owner, "draw")
    return lambda noise, mean, rng: method(noise, mean, rng)


def _has_events(state: Any) -> bool:
    return isinstance(state, types.BaseNamedTuple) and "event" in state.fields


@overload(event_count, strict=False, jit_options=_OPTIONS)
def _event_count(state: Any) -> Any:
    if _has_events(state):
        return lambda state: state.event[0].count
    return lambda state: 0


@overload(note_event, strict=False, jit_options=_OPTIONS)
def _note_event(state: Any, log: Any, at: Any) -> Any:
    if _has_events(state):

        def impl(state: Any, log: Any, at: Any) -> None:
            log[at] = state.event[0]

        return impl
    return lambda state, log, at: None


def borrowed(state: Any) -> Any:
    """In Python, the State itself."""
    return state


@overload(borrowed, strict=False, jit_options=_OPTIONS)
def _overloaded_borrowed(state: Any) -> Any:
    return lambda state: borrow(state)


# The entry points: the only functions that numba caches on disk.

TALLY = np.dtype(
    [("regret", "f8"), ("realised", "f8"), ("checkpoint", "i8"), ("events", "i8"), ("step", "i8")], align=True
)
"""What a run has accumulated so far; ``advance`` continues from it."""

OUT_OF_RANGE = -1
"""``advance`` answers this when the policy chose an arm that does not exist."""


def _make_advance(digest: str) -> Callable[..., Any]:
    def advance(
        policy: Any,
        noise: Any,
        state: Any,
        means: Any,
        best: Any,
        world: Any,
        own: Any,
        times: Any,
        regret: Any,
        realised: Any,
        pulls: Any,
        log: Any,
        tally: Any,
        stop: int,
    ) -> int:
        """Play steps ``tally.step .. stop-1``; stop early when the event log is full. Answers the step reached."""
        assert digest
        held = borrowed(state)
        n_arms = means.shape[1]
        total, received = tally[0].regret, tally[0].realised
        checkpoint, events, seen = tally[0].checkpoint, tally[0].events, event_count(held)
        step = tally[0].step
        while step < stop:
            arm = select(policy, held, own)
            if arm < 0 or arm >= n_arms:
                tally[0].step = step
                return OUT_OF_RANGE
            reward = draw(noise, means[step, arm], world)
            update(policy, held, arm, reward)
            total += best[step] - means[step, arm]
            received += best[step] - reward
            pulls[arm] += 1
            step += 1
            if step == times[checkpoint]:
                regret[checkpoint] = total
                realised[checkpoint] = received
                checkpoint += 1
            if event_count(held) != seen:
                seen = event_count(held)
                if len(log) > 0:
                    note_event(held, log, events)
                    events += 1
                    if events == len(log):
                        break
        tally[0].regret, tally[0].realised = total, received
        tally[0].checkpoint, tally[0].events, tally[0].step = checkpoint, events, step
        return int(step)

    return advance


def _make_select(digest: str) -> Callable[..., Any]:
    def select_once(policy: Any, state: Any, generator: Any) -> int:
        assert digest
        return select(policy, borrowed(state), generator_at(generator))

    return select_once


def _make_update(digest: str) -> Callable[..., Any]:
    def update_once(policy: Any, state: Any, arm: int, reward: float) -> None:
        assert digest
        update(policy, borrowed(state), arm, reward)

    return update_once


def _make_replay(digest: str) -> Callable[..., Any]:
    def replay(
        policy: Any,
        state: Any,
        arms: Any,
        rewards: Any,
        keep: Any,
        resample: Any,
        gate: Any,
        own: Any,
        block: int,
        sums: Any,
        counts: Any,
        wanted: Any,
        start: int,
        stop: int,
    ) -> int:
        """Offer rows ``start .. stop-1`` of a log to the policy, which learns from those with the arm it wants.

        In place of each row comes one drawn from its block of ``block`` rows; 1 leaves the log as it is. It is kept
        with the chance ``keep``. ``sums`` and ``counts`` gather the rewards received, by equal parts of the log. Both
        draws are made for every row, so all policies are offered the same ones. ``wanted`` holds the arm that the
        policy waits for, -1 for none yet, and the number of arms.
        """
        assert digest
        held = borrowed(state)
        n_rows, n_parts = len(arms), len(sums)
        arm = wanted[0]
        for step in range(start, stop):
            first = step - step % block
            row = first + int(resample.random() * min(block, n_rows - first))
            if gate.random() >= keep[row]:
                continue
            if arm < 0:
                arm = select(policy, held, own)
                if arm < 0 or arm >= wanted[1]:
                    return OUT_OF_RANGE
            if arms[row] == arm:
                update(policy, held, arm, rewards[row])
                part = step * n_parts // n_rows
                sums[part] += rewards[row]
                counts[part] += 1
                arm = -1
        wanted[0] = arm
        return int(stop)

    return replay


def _make_select_many(digest: str) -> Callable[..., Any]:
    def select_many(
        policy: Any, state: Any, generator: Any, memory: Any, step: int, draws: int, explore: Any, arms: Any, p: Any
    ) -> None:
        """Choose for steps ``step``, ``step + 1``, ...; p receives the probability of each choice.

        ``explore`` is (n_arms, share): that share of choices falls on any arm alike. The others are one of ``draws``
        draws of the policy, taken at random. So the probability of an arm, given the draws, is known exactly for
        whatever policy: share/n_arms + (1 - share) * (share of the draws that agree).
        """
        assert digest
        held = borrowed(state)
        rng = generator_at(generator)
        drawn = np.empty(draws, np.int64)
        n_arms, share = explore
        for index in range(len(arms)):
            seat(memory, step + index)
            for draw_index in range(draws):
                drawn[draw_index] = select(policy, held, rng)
            arms[index] = drawn[0]
            if share > 0.0:
                by_chance = rng.random() < share
                where = rng.random()
                arms[index] = int(where * n_arms) if by_chance else drawn[int(where * draws)]
            p[index] = share / n_arms + (1.0 - share) * np.mean(drawn == arms[index])

    return select_many


def _make_update_many(digest: str) -> Callable[..., Any]:
    def update_many(policy: Any, state: Any, arms: Any, rewards: Any) -> None:
        assert digest
        held = borrowed(state)
        for index in range(len(arms)):
            update(policy, held, arms[index], rewards[index])

    return update_many


_MAKERS = {
    "advance": _make_advance,
    "select": _make_select,
    "update": _make_update,
    "select_many": _make_select_many,
    "update_many": _make_update_many,
    "replay": _make_replay,
}
interpreted_advance = _make_advance("interpreted")
"""The same loop in plain Python: for policies that know nothing of numba, and to check the compiled ones against."""
interpreted_replay = _make_replay("interpreted")


@functools.cache
def _dispatcher(verb: str, owners: tuple[type, ...]) -> Any:
    kernels = [
        getattr(owner, name) for owner in owners for name in ("select", "update", "draw") if hasattr(owner, name)
    ]
    function = _MAKERS[verb](code_digest([*kernels, _MAKERS[verb], select, update, draw]))
    # A cache file of its own for each set of classes: a user's module that has since vanished can't spoil others.
    function.__qualname__ = verb + "".join(f"-{owner.__module__}.{owner.__qualname__}" for owner in owners)
    importable = all(owner.__module__ != "__main__" and "<locals>" not in owner.__qualname__ for owner in owners)
    return numba.njit(cache=importable, **_ENTRY_OPTIONS)(function)


def entry(verb: str, owners: tuple[type, ...], arguments: tuple[Any, ...]) -> Callable[..., Any]:
    """The compiled ``verb`` (``advance``, ``select``, ...) for arguments of the types of ``arguments``.

    ``owners`` are the classes whose kernels it may reach: the policy's, and for ``advance`` the noise's. What comes
    back is the C function itself. It does not look at the types of what it is given, since for record arrays that look
    takes longer than the work; the caller must pass the same types again.
    """
    dispatcher = _dispatcher(verb, owners)
    types_given = tuple(numba.typeof(argument) for argument in arguments)
    try:
        try:
            return dispatcher.compile(types_given)  # type: ignore[no-any-return]
        except (AttributeError, ImportError):
            # The cache on disk names a State's class that has since been renamed or moved: begin it anew.
            dispatcher._cache.flush()
            return dispatcher.compile(types_given)  # type: ignore[no-any-return]
    except NumbaError as error:
        raise InputError(
            f"{owners[0].__name__} cannot be compiled: its kernels use something numba does not know. "
            f"Change that, or drop the base class Policy to run it as plain Python. numba says:\n{_short(error)}"
        ) from None


def _short(error: Exception) -> str:
    """numba's message without the types it spells out over and over."""
    lines = [line for line in str(error).splitlines() if line.strip() and len(line) < 160]
    return "\n".join(lines[:16])

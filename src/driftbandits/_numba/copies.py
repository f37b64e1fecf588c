"""Copies of all functions that a kernel reaches, compiled or not; the functions themselves stay as they are.

numba compiles what it finds in a function's globals. A copy has the same code object, so that errors name the same
file and line, and globals of its own. In these, functions are copies too. So helpers need no decorator, a user's
``@numba.njit`` helper is compiled with a check of its indices, and a stub of ``loops`` becomes a policy's own function.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from types import CellType, FunctionType, ModuleType
from typing import Any

import numba

from driftbandits._numba.compiled import OPTIONS, kernels_of
from driftbandits._numba.digest import attributes, codes, global_names, has_stand_in, is_foreign

HOME = __name__
"""The module that copies say they are of: numba imports it, and a function that was made by exec has none."""
UNDOCUMENTED = ("forceinline", "no_cpython_wrapper", "no_cfunc_wrapper")


@functools.cache
def inlined() -> dict[str, Any]:
    """The options of functions that become a part of their caller.

    Three of them are not in numba's documentation. If a release drops one, numba raises KeyError for it, and it is left
    out here. Results stay the same. Without ``forceinline`` SnoozeIt takes 2.7 times as long and AutoTS 3.4 times.
    Without ``no_cpython_wrapper`` and ``no_cfunc_wrapper``, compiling takes longer.
    """
    wanted = dict.fromkeys(UNDOCUMENTED, True)
    known = wanted if _knows(wanted) else {name: True for name in UNDOCUMENTED if _knows({name: True})}
    return {**OPTIONS, **known}


def _knows(options: dict[str, bool]) -> bool:
    try:
        numba.njit("void()", **options)(lambda: None)
    except KeyError:
        return False
    return True


class Copies:
    """Copies of functions, each made once, so that functions that call each other or themselves do so as copies.

    ``checked`` says whether indices are checked; None leaves copies plain Python. ``kept`` are functions that are used
    as they are. Those ``outlined`` stay functions of their own in machine code.
    """

    def __init__(self, checked: bool | None, kept: Iterable[Any] = (), outlined: Iterable[Any] = ()) -> None:
        self.checked, self.outlined = checked, frozenset(outlined)
        self.made: dict[Any, Any] = {each: each for each in kept}
        self._open: list[Any] = []
        """Functions whose copies are being filled, each reached from the one before."""
        self.recursive = False
        """Whether a function calls itself, or another that calls it: what numba caches of these crashes when loaded."""

    def replace(self, stub: Any, function: Any) -> None:
        """From now on a copy of ``function``, or what was made already, takes the place of ``stub``."""
        self.made[stub] = self.of(function) if isinstance(function, FunctionType) else function

    def of(self, function: Any) -> Any:
        """The copy of a function, compiled when it is first called."""
        function = getattr(function, "py_func", function)
        self.recursive = self.recursive or function in self._open
        if function not in self.made:
            body = self._empty(function)
            self.made[function] = body if self.checked is None else self._compiled(function, body)
            self._fill(function, body)
        return self.made[function]

    def _compiled(self, function: Any, body: Any) -> Any:
        options = inlined() if function not in self.outlined else {**inlined(), "forceinline": False}
        return numba.njit(boundscheck=self.checked, **options)(body)

    def _empty(self, function: FunctionType) -> FunctionType:
        """It is known by then to those that it calls, before its own names are filled in: recursion works."""
        closure = tuple(CellType() for _ in function.__closure__ or ())
        made = FunctionType(function.__code__, {}, function.__name__, None, closure)
        made.__qualname__, made.__module__ = function.__qualname__, HOME
        return made

    def _fill(self, function: Any, made: FunctionType) -> None:
        self._open.append(function)
        space, given = made.__globals__, function.__globals__
        space["__builtins__"], space["__name__"] = given["__builtins__"], HOME
        for code in codes(function.__code__):
            for name in global_names(code):
                if name in given:
                    space[name] = self._value(given[name], code.co_names)
        names = function.__code__.co_names
        for cell, mine in zip(function.__closure__ or (), made.__closure__ or (), strict=True):
            mine.cell_contents = self._value(cell.cell_contents, names)
        made.__defaults__ = function.__defaults__ and tuple(self._value(each, names) for each in function.__defaults__)
        if function.__kwdefaults__:
            made.__kwdefaults__ = {name: self._value(each, names) for name, each in function.__kwdefaults__.items()}
        self._open.pop()

    def _value(self, value: Any, names: tuple[str, ...]) -> Any:
        """What a name of the original means in the copy."""
        if isinstance(value, FunctionType) or hasattr(value, "py_func"):
            return value if is_foreign(value.__module__) else self.of(value)
        if not has_stand_in(value) or (self.checked is None and isinstance(value, type)):
            return value
        # Machine code reaches functions in modules, and knows nothing of classes: both are replaced by modules.
        key = value.__name__, names, id(value)
        if key not in self.made:
            self.made[key] = stand_in = ModuleType(value.__name__)
            for name, each in attributes(value, names).items():
                setattr(stand_in, name, self._value(each, names))
        return self.made[key]


def as_plain(thing: Any) -> Any:
    """The same policy or noise model with kernels that are plain Python throughout.

    What numba.njit has wrapped may write anywhere if an index is wrong; Python raises an error.
    """
    owner, copies = type(thing), Copies(None)
    kernels = {name: copies.of(kernel) for name, kernel in kernels_of(owner).items()}
    made: Any = object.__new__(type(owner.__name__, (owner,), {**kernels, "__module__": owner.__module__}))
    vars(made).update(vars(thing))
    return made

"""Low-level access to numba and numpy: arrays that own nothing, and random generators as memory.

All of it rests on how two libraries lay out their memory, which they may change. ``layouts_known`` checks this
once, before anything is used. If a layout is not the expected one, slower public functions do the same work.
"""

from __future__ import annotations

import ctypes
import functools
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numba
import numpy as np
from numba.core import cgutils, errors, ir, types
from numba.core.datamodel import default_manager
from numba.core.extending import _overload_default_jit_options
from numba.core.targetconfig import ConfigStack
from numba.core.typing.templates import infer, infer_global, make_overload_template
from numba.extending import intrinsic, lower_builtin, type_callable

from driftbandits._compile.sfc64 import Sfc64Type, sfc64_as_known

OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "forceinline": True, "no_cfunc_wrapper": True}
"""Of kernels: they become a part of their caller, and nobody calls them from C."""
_ADDRESSES = ("state_address", "state", "fnptr_next_uint64", "fnptr_next_double", "fnptr_next_uint32", "bit_generator")
_PHILOX_WORDS = 8
"""numpy's philox_state: pointers to counter and key, the buffer's place, its 4 numbers, and half a number kept."""
_templates: dict[Any, Any] = {}
FLAT = "an index of flat, which it can't check"


@functools.cache
def layouts_known() -> bool:
    """Whether numpy and numba keep their memory as this file takes it to be; looked at once, a warning if not."""
    try:
        known = _philox_as_known() and sfc64_as_known() and _generator_as_known()
    except Exception:
        known = False
    if not known:
        warnings.warn(
            f"numpy {np.__version__} or numba {numba.__version__} keeps random generators in memory otherwise than "
            "driftbandits knows: it works by slower means. The versions that pyproject.toml allows are fast",
            RuntimeWarning,
            stacklevel=2,
        )
    return known


def _philox_as_known() -> bool:
    """The buffer's random numbers are found where they should be, and the counter's address lies in the generator."""
    generator: Any = np.random.Philox(key=0x5EED)
    generator.random_raw(3)
    address, first = generator.ctypes.state_address, id(generator)
    past = first + type(generator).__basicsize__
    if not first <= address <= past - 8 * _PHILOX_WORDS:
        return False
    words = (ctypes.c_uint64 * _PHILOX_WORDS).from_address(address)
    buffered = list(words[3:7]) == generator.state["buffer"].tolist()
    placed = words[2] & 0xFFFFFFFF == generator.state["buffer_pos"] == 3
    if not (buffered and placed and first <= words[0] <= past - 32):
        return False
    counter = (ctypes.c_uint64 * 4).from_address(words[0])
    if list(counter) != generator.state["state"]["counter"].tolist():
        return False
    _write_place(counter, words, 7)
    return bool((generator.random_raw(5) == np.random.Philox(key=0x5EED, counter=[0, 7, 0, 0]).random_raw(5)).all())


def _generator_as_known() -> bool:
    """numba's own description of a Generator, of its bits and of an array has the fields that are written here."""
    import numba.np.random.generator_core

    example = np.random.Generator(np.random.SFC64(0))

    def fields(kind: Any) -> set[str]:
        return set(default_manager.lookup(kind)._fields)

    bits, generator = fields(numba.typeof(example.bit_generator)), fields(numba.typeof(example))
    array = fields(numba.typeof(np.zeros(1)))
    return (
        bits == {*_ADDRESSES, "parent"}
        and generator == {"bit_generator", "meminfo", "parent"}
        and {"meminfo", "parent"} <= array
    )


def overloaded(function: Any) -> Callable[[Any], Any]:
    """As ``numba.extending.overload``, but a kernel checks its indices exactly when its caller does.

    numba does not pass the setting ``boundscheck`` on to callees, and an overload never changes its setting. Here it
    is asked for when an overload is compiled, which numba does separately for each set of its caller's settings.
    """

    def decorate(choose: Any) -> Any:
        settled = {**_overload_default_jit_options, **OPTIONS}
        base: Any = make_overload_template(function, choose, settled, False, "never")

        def settings(template: Any) -> dict[str, Any]:
            caller = ConfigStack.top_or_none()
            return {**settled, "boundscheck": bool(caller and caller.boundscheck)}

        def generic(template: Any, args: Any, kws: Any) -> Any:
            signature = base.generic(template, args, kws)
            if signature is not None and template._jit_options["boundscheck"]:
                _refuse_flat(template._get_impl(args, kws)[0])
            return signature

        template = type(base.__name__, (base,), {"_jit_options": property(settings), "generic": generic})
        infer(template)
        infer_global(function, types.Function(template))
        _templates[function] = template
        return choose

    return decorate


def _refuse_flat(dispatcher: Any) -> None:
    """An index of ``array.flat`` is not checked even by code that checks its indices; to iterate over it is safe."""
    for compiled in dispatcher.overloads.values():
        for use, signature in compiled.type_annotation.calltypes.items():
            indexed = isinstance(use, ir.SetItem | ir.StaticSetItem) or getattr(use, "op", "").endswith("getitem")
            if indexed and signature is not None and isinstance(signature.args[0], types.NumpyFlatType):
                raise errors.TypingError(FLAT, use.loc)


def is_overloaded(function: Any) -> bool:
    """Whether compiled code may call it."""
    return function in _templates


def forget_machine_code(functions: Any = None) -> None:
    """Let the next compilation read these kernels again, or all: a constant that they name has changed."""
    for function in list(_templates) if functions is None else functions:
        if function in _templates:
            _templates[function]._impl_cache.clear()


def borrowed(value: Any) -> Any:
    """A NamedTuple of arrays, or a random generator, without its claims on memory, which the caller holds anyway.

    Taking an array out of a NamedTuple counts a reference, atomically, and so does handing a generator to a kernel that
    may fail. numba does not always see that it need not: a step then costs three to five times as much. What owns
    nothing has nothing to count. In Python it is the value itself.
    """
    return value


@type_callable(borrowed)
def _type_of_borrowed(typing: Any) -> Any:
    return lambda value: value


@lower_builtin(borrowed, types.Any)  # of an overload a function would be compiled for every State
def _borrow(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    kind, value = signature.args[0], arguments[0]
    if layouts_known():
        return _without_owner(context, builder, kind, value)
    context.nrt.incref(builder, kind, value)  # what is returned belongs to the caller
    return value


def _without_owner(context: Any, builder: Any, kind: Any, data: Any) -> Any:
    if isinstance(kind, types.Array):
        array = context.make_array(kind)(context, builder, data)
        array.meminfo = array.meminfo.type(None)
        array.parent = array.parent.type(None)
        return array._getvalue()
    if isinstance(kind, types.NumPyRandomGeneratorType):
        generator = cgutils.create_struct_proxy(kind)(context, builder, data)
        generator.meminfo = generator.meminfo.type(None)
        return generator._getvalue()
    if isinstance(kind, types.BaseTuple):
        parts = [builder.extract_value(data, index) for index in range(len(kind))]
        parts = [_without_owner(context, builder, part, value) for part, value in zip(kind, parts, strict=True)]
        return context.make_tuple(builder, kind, parts)
    return data


def workspace(length: int) -> Any:
    """An array of so many numbers to compute in, a fixed number, undefined at first; it is gone when the kernel ends.

    In compiled code it lies on the stack: it costs nothing, and nothing else can lie there, so that the compiler may
    compute several elements at a time without asking whether arrays overlap.
    """
    return np.empty(length)


@overloaded(workspace)
def _overloaded_workspace(length: Any) -> Any:
    if isinstance(length, types.IntegerLiteral):
        return lambda length: _on_the_stack(length)
    return None  # numba then asks again with the number itself


@intrinsic(prefer_literal=True)
def _on_the_stack(typing: Any, length: Any) -> Any:
    kind = types.Array(types.float64, 1, "C")

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        number, count = context.get_data_type(types.float64), length.literal_value
        begin = cgutils.alloca_once(builder, number, size=count)
        array = context.make_array(kind)(context, builder)
        intp = functools.partial(context.get_constant, types.intp)
        size = context.get_abi_sizeof(number)
        context.populate_array(
            array,
            data=begin,
            shape=[intp(count)],
            strides=[intp(size)],
            itemsize=intp(size),
            meminfo=None,
        )
        return array._getvalue()

    return kind(length), generate


class Sfc64Addresses(NamedTuple):
    """The addresses of a generator whose bits come from SFC64: the class tells the compiler so."""

    state_address: np.uint64
    state: np.uint64
    next_uint64: np.uint64
    next_double: np.uint64
    next_uint32: np.uint64
    bit_generator: np.uint64


def handle(rng: np.random.Generator) -> Any:
    """A random generator as compiled loops take it: where it lies, 6 microseconds cheaper a call than the object.

    Whoever calls the loop must keep the generator itself.
    """
    if not layouts_known():
        return rng
    found = addresses(rng)
    return Sfc64Addresses(*found) if type(rng.bit_generator) is np.random.SFC64 else found


def addresses(rng: np.random.Generator) -> tuple[np.uint64, ...]:
    """Where a random generator's state and functions lie. They stay there as long as the generator is kept."""
    interface: Any = rng.bit_generator.ctypes

    def address(pointer: Any) -> int:
        return ctypes.cast(pointer, ctypes.c_void_p).value or 0

    functions = (interface.next_uint64, interface.next_double, interface.next_uint32)
    found = (interface.state_address, address(interface.state), *map(address, functions))
    return tuple(np.uint64(value) for value in (*found, address(interface.bit_generator)))


def generator_of(handed: Any) -> Any:
    """The random generator that ``handle`` handed over; in Python that is the object itself."""
    return handed


@overloaded(generator_of)
def _generator_of(handed: Any) -> Any:
    if isinstance(handed, types.BaseTuple):
        return lambda handed: _generator_at(handed)
    return lambda handed: handed


@intrinsic
def _generator_at(typing: Any, where: Any) -> Any:
    example = np.random.Generator(np.random.SFC64(0))
    known = isinstance(where, types.BaseNamedTuple)  # Sfc64Addresses
    generator_type, bits_type = Sfc64Type() if known else numba.typeof(example), numba.typeof(example.bit_generator)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        bits = cgutils.create_struct_proxy(bits_type)(context, builder)
        for index, name in enumerate(_ADDRESSES):
            setattr(bits, name, builder.extract_value(arguments[0], index))
        bits.parent = bits.parent.type(None)
        generator = cgutils.create_struct_proxy(generator_type)(context, builder)
        generator.bit_generator = bits._getvalue()
        generator.meminfo = generator.meminfo.type(None)
        generator.parent = generator.parent.type(None)
        return generator._getvalue()

    return generator_type(where), generate


class StepStream:
    """A random stream of its own for every step: ``Philox(key=seed, counter=[0, step, 0, 0])``, nothing to store.

    Making a new Generator takes 20 microseconds; writing the counter where an old one keeps it takes a few nanoseconds
    in compiled code. ``move_to`` does the latter; ``memory`` is what it needs, empty where that is not known.
    """

    def __init__(self, seed: int) -> None:
        self.rng = np.random.Generator(np.random.Philox(key=seed))
        self.memory: tuple[Any, ...] = ()
        if layouts_known():
            address = self.rng.bit_generator.ctypes.state_address
            words = np.ctypeslib.as_array((ctypes.c_uint64 * _PHILOX_WORDS).from_address(address))
            counter = np.ctypeslib.as_array((ctypes.c_uint64 * 4).from_address(int(words[0])))
            self.memory = (counter, words)

    def at(self, step: int) -> np.random.Generator:
        """The generator, placed at the start of a step's stream."""
        if self.memory:
            move_to(self.memory, step)
        else:
            bits: Any = self.rng.bit_generator
            place = bits.state
            place["state"]["counter"] = np.array([0, step, 0, 0], np.uint64)
            bits.state = {**place, "buffer_pos": 4, "has_uint32": 0, "uinteger": 0}
        return self.rng


def _write_place(counter: Any, words: Any, step: int) -> None:
    counter[0], counter[1], counter[2], counter[3] = 0, step, 0, 0
    words[2], words[7] = 4, 0


def move_to(memory: Any, step: int) -> None:
    """Place a StepStream's generator: the counter at ``step``, and no numbers left over from before."""
    if memory:
        _write_place(memory[0], memory[1], step)


@overloaded(_write_place)
def _overloaded_write_place(counter: Any, words: Any, step: Any) -> Any:
    return _write_place


@overloaded(move_to)
def _move_to(memory: Any, step: Any) -> Any:
    if len(memory) == 0:
        return lambda memory, step: None
    return lambda memory, step: _write_place(memory[0], memory[1], step)

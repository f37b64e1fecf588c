"""Things said to numba and numpy in their own terms: arrays that own nothing, and random generators as memory."""

from __future__ import annotations

import ctypes
from typing import Any

import numba
import numpy as np
from numba.core import cgutils, types
from numba.extending import intrinsic, register_jitable

_ADDRESSES = ("state_address", "state", "fnptr_next_uint64", "fnptr_next_double", "fnptr_next_uint32", "bit_generator")


@intrinsic
def borrow(typing: Any, value: Any) -> Any:
    """A NamedTuple of arrays without its claims on memory, which the caller holds anyway.

    Taking an array out of a NamedTuple counts a reference, atomically, and numba does not always see that it need not:
    a step then costs five times as much. An array that owns nothing has nothing to count.
    """

    def without_owner(context: Any, builder: Any, kind: Any, data: Any) -> Any:
        if isinstance(kind, types.Array):
            array = context.make_array(kind)(context, builder, data)
            array.meminfo = array.meminfo.type(None)
            array.parent = array.parent.type(None)
            return array._getvalue()
        if isinstance(kind, types.BaseTuple):
            parts = [builder.extract_value(data, index) for index in range(len(kind))]
            parts = [without_owner(context, builder, part, value) for part, value in zip(kind, parts, strict=True)]
            return context.make_tuple(builder, kind, parts)
        return data

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return without_owner(context, builder, signature.args[0], arguments[0])

    return value(value), generate


def addresses(rng: np.random.Generator) -> tuple[np.uint64, ...]:
    """Where a random generator's state and functions lie. They stay there as long as the generator is kept."""
    interface: Any = rng.bit_generator.ctypes

    def address(pointer: Any) -> int:
        return ctypes.cast(pointer, ctypes.c_void_p).value or 0

    functions = (interface.next_uint64, interface.next_double, interface.next_uint32)
    found = (interface.state_address, address(interface.state), *map(address, functions))
    return tuple(np.uint64(value) for value in (*found, address(interface.bit_generator)))


class StepStream:
    """A random stream of its own for every step: ``Philox(key=seed, counter=[0, step, 0, 0])``, nothing to store.

    Making a new Generator takes 20 microseconds; writing the counter where an old one keeps it takes a few nanoseconds
    in compiled code. ``seat`` does the latter; ``memory`` is what it needs.
    """

    def __init__(self, seed: int) -> None:
        self.rng = np.random.Generator(np.random.Philox(key=seed))
        address = self.rng.bit_generator.ctypes.state_address
        words = np.ctypeslib.as_array((ctypes.c_uint64 * 8).from_address(address))
        counter = np.ctypeslib.as_array((ctypes.c_uint64 * 4).from_address(int(words[0])))
        self.memory = (counter, words)
        self.addresses = addresses(self.rng)

    def at(self, step: int) -> np.random.Generator:
        """The generator, placed at the start of a step's stream."""
        seat(self.memory, step)
        return self.rng


@register_jitable(forceinline=True)
def seat(memory: Any, step: int) -> None:
    """Place a StepStream's generator: the counter at ``step``, and no numbers left over from before."""
    counter, words = memory
    counter[0], counter[1], counter[2], counter[3] = 0, step, 0, 0
    words[2], words[7] = 4, 0


@intrinsic
def generator_at(typing: Any, where: Any) -> Any:
    """The random generator at these addresses: 6 microseconds a call cheaper than handing over the object."""
    example = np.random.Generator(np.random.SFC64(0))
    generator_type, bits_type = numba.typeof(example), numba.typeof(example.bit_generator)

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

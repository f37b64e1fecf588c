"""Two things said to numba in its own terms: arrays that own nothing, and a random generator known by its addresses."""

from __future__ import annotations

import ctypes
from typing import Any

import numba
import numpy as np
from numba.core import cgutils, types
from numba.extending import intrinsic

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

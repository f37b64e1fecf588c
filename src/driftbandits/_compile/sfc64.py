"""SFC64, the random generator of every run, computed in the kernel itself: the numbers are numpy's, bit for bit.

numba asks numpy for each number through a pointer to a function, and then decides the sign of a normal number by a
branch, which a processor guesses wrong half of the time. Here the next number is computed from the generator's memory
without a call, and the sign without a branch. Everything else that a Generator can do is left to numba, which goes on
in the same memory; so is one normal number in 80, which needs more than one draw.

``sfc64_as_known`` looks whether that memory is as this file takes it to be; ``lowlevel`` asks before anything is used.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
from numba.core import cgutils, types
from numba.extending import intrinsic, overload_method, register_model
from numba.np.random import generator_core
from numba.np.random.distributions import ki_double, wi_double

WIDTHS, INSIDE = wi_double.astype(np.float64), ki_double.astype(np.int64)
"""The 256 layers of numpy's normal numbers: how wide they are, and which numbers lie well inside of them."""
PER_UNIFORM = 2.0**-53
_ALL = (1 << 64) - 1


def sfc64_as_known() -> bool:
    """Four words lie in the generator, and what is computed from them as below is what numpy draws."""
    bits: Any = np.random.SFC64(0x5EED)
    rng, address, first = np.random.Generator(bits), bits.ctypes.state_address, id(bits)
    if not first <= address <= first + type(bits).__basicsize__ - 32 or bits.ctypes.state.value != address:
        return False
    words = (ctypes.c_uint64 * 4).from_address(address)
    for layer in range(0, 256, 17):
        drawn, after = _drawn(words)
        if rng.random() != (drawn >> 11) * PER_UNIFORM or list(words) != after:
            return False
        inside = int(INSIDE[layer])
        for far, sign in ((inside - 1, layer & 1), (inside, 0)):  # the largest number that is taken at once; one more
            words[0] = words[0] + (far << 9 | sign << 8 | layer) - _drawn(words)[0] & _ALL
            _, after = _drawn(words)
            at_once = rng.standard_normal() == far * WIDTHS[layer] * (1.0 - 2.0 * sign) and list(words) == after
            if at_once != (far < inside):
                return False
    return True


def _drawn(words: Any) -> tuple[int, list[int]]:
    """What comes next of these words, and the words after that."""
    a, b, c, count = words
    drawn = (a + b + count) & _ALL
    return drawn, [b ^ b >> 11, 9 * c & _ALL, ((c << 24 | c >> 40) + drawn) & _ALL, (count + 1) & _ALL]


class Sfc64Type(types.NumPyRandomGeneratorType):  # type: ignore[misc]
    """A Generator as numba knows it, of which it is also known that its bits come from SFC64."""

    def __init__(self) -> None:
        super().__init__("sfc64")
        self.name = "Sfc64Type"


register_model(Sfc64Type)(generator_core.NumPyRandomGeneratorTypeModel)


def _words(context: Any, builder: Any, generator: Any) -> tuple[list[Any], list[Any]]:
    """Where the four words lie, and the words."""
    word = context.get_value_type(types.uint64)
    bits = cgutils.create_struct_proxy(types.npy_rng)(context, builder, generator).bit_generator
    address = cgutils.create_struct_proxy(types.npy_bitgen)(context, builder, bits).state_address
    first = builder.inttoptr(address, word.as_pointer())
    places = [builder.gep(first, [word(index)]) for index in range(4)]
    return places, [builder.load(place) for place in places]


def _go_on(context: Any, builder: Any, generator: Any, drawn: Any) -> None:
    """Write the words that follow, after ``drawn`` was computed from those that are there."""
    word = context.get_value_type(types.uint64)
    places, (_, b, c, count) = _words(context, builder, generator)
    rotated = builder.or_(builder.shl(c, word(24)), builder.lshr(c, word(40)))
    after = (
        builder.xor(b, builder.lshr(b, word(11))),
        builder.mul(c, word(9)),
        builder.add(rotated, drawn),
        builder.add(count, word(1)),
    )
    for place, value in zip(places, after, strict=True):
        builder.store(value, place)


@intrinsic
def _next(typing: Any, rng: Any) -> Any:
    """The next 64 bits; they come again until ``_take`` or ``_normal`` has taken them."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        _, (a, b, _, count) = _words(context, builder, arguments[0])
        return builder.add(builder.add(a, b), count)

    return types.uint64(rng), generate


@intrinsic
def _take(typing: Any, rng: Any, drawn: Any) -> Any:
    """Take ``drawn``, which ``_next`` returned, and return it."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        _go_on(context, builder, *arguments)
        return arguments[1]

    return types.uint64(rng, types.uint64), generate


@intrinsic
def _normal(typing: Any, rng: Any, drawn: Any, inside: Any, number: Any) -> Any:
    """``number``, and ``drawn`` is taken, if it lies ``inside``; else what numba makes of the same bits and more.

    That is rare, and said to be: as a call of its own it does not take registers from the kernel around it.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        generator, drawn, inside, number = arguments
        slow = types.float64(signature.args[0])
        found = cgutils.alloca_once_value(builder, number)
        with builder.if_else(inside, likely=True) as (usual, rare):
            with usual:
                _go_on(context, builder, generator, drawn)
            with rare:
                made = context.compile_subroutine(builder, lambda rng: _as_numba(rng).standard_normal(), slow)
                function = context.declare_function(builder.module, made.fndesc)
                _, value = context.call_conv.call_function(
                    builder, function, slow.return_type, slow.args, [generator], attrs=("noinline",)
                )
                builder.store(value, found)
        return builder.load(found)

    return types.float64(rng, types.uint64, types.boolean, types.float64), generate


@intrinsic
def _as_numba(typing: Any, rng: Any) -> Any:
    """The same generator as numba's own methods take it."""
    return types.npy_rng(rng), lambda context, builder, signature, arguments: arguments[0]


def _one_number(size: Any, dtype: Any) -> bool:
    """Whether a method was called without arguments."""
    return getattr(size, "value", size) is None and getattr(dtype, "value", dtype) is np.float64


@overload_method(Sfc64Type, "random", jit_options={"forceinline": True})
def _random(rng, size=None, dtype=np.float64):  # type: ignore[no-untyped-def]  # numba compares both signatures
    if not _one_number(size, dtype):
        return lambda rng, size=None, dtype=np.float64: _as_numba(rng).random(size, dtype)

    def impl(rng, size=None, dtype=np.float64):  # type: ignore[no-untyped-def]
        return np.int64(_take(rng, _next(rng)) >> np.uint64(11)) * PER_UNIFORM

    return impl


@overload_method(Sfc64Type, "standard_normal", jit_options={"forceinline": True})
def _standard_normal(rng, size=None, dtype=np.float64):  # type: ignore[no-untyped-def]
    if not _one_number(size, dtype):
        return lambda rng, size=None, dtype=np.float64: _as_numba(rng).standard_normal(size, dtype)

    def impl(rng, size=None, dtype=np.float64):  # type: ignore[no-untyped-def]
        drawn = _next(rng)
        layer, far = drawn & np.uint64(0xFF), np.int64(drawn >> np.uint64(9) & np.uint64(0xFFFFFFFFFFFFF))
        sign = 1.0 - 2.0 * np.int64(drawn >> np.uint64(8) & np.uint64(1))
        return _normal(rng, drawn, far < INSIDE[layer], far * WIDTHS[layer] * sign)

    return impl

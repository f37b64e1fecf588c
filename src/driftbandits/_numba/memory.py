"""Addresses as pointers, and arrays to compute in, which in compiled code lie on the stack."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import carray, types
from numba.extending import intrinsic, overload


def to_pointer(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """The machine code of a function whose argument is an address, and whose result a pointer."""
    return builder.inttoptr(arguments[0], context.get_value_type(signature.return_type))


@intrinsic
def as_pointer(typing: Any, address: Any) -> Any:
    """An address as a pointer, which ``carray`` takes: the example in numba's documentation of ``intrinsic``."""
    return types.voidptr(types.intp), to_pointer


def workspace(length: int) -> Any:
    """An array of ``length`` numbers to compute in, undefined at first; it is gone when the kernel ends.

    ``length`` is a constant. In compiled code the array lies on the stack: it costs nothing, and the compiler knows
    that it overlaps with no other array, so that it computes several elements at a time.
    """
    return np.empty(length)


@overload(workspace, strict=False)  # or numba compares annotations too
def _workspace(length: Any) -> Any:
    if isinstance(length, types.IntegerLiteral):
        return lambda length: carray(_on_the_stack(length), length)
    return None  # numba then asks again with the number itself


@intrinsic(prefer_literal=True)
def _on_the_stack(typing: Any, length: Any) -> Any:
    count = length.literal_value

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        with builder.goto_entry_block():  # once for each call of the kernel, also if it stands in a loop
            return builder.alloca(context.get_value_type(types.float64), size=count)

    return types.CPointer(types.float64)(length), generate

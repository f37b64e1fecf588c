"""Random numbers in kernels: numpy's generators SFC64 and Philox, and numpy's distributions, with numpy's bits.

The state of a numpy Generator is copied into an array of words through ``bit_generator.state``, and kernels draw from
the array. ``Stream`` is such a copy. ``StepStream`` has a stream of its own for every step, with nothing to store.

Everything below ``NEXT`` is plain Python over 64-bit words. numba compiles it as ``Generator`` methods of a type that
is the address of the words. ``ziggurat.npy`` has the layers of numpy's normal and exponential distributions
(``ziggurat_constants.h``, BSD licence): for each layer which numbers lie well inside of it, its width, its density.

Citations: C. Doty-Humphrey, SFC64, PractRand 2014; J. Salmon et al., Philox, SC 2011; G. Marsaglia, W. W. Tsang, "The
ziggurat method", Journal of Statistical Software 2000, and "A simple method for generating gamma variables", ACM TOMS
2000; D. Lemire, bounded integers, ACM TOMACS 2019.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numba import types
from numba.extending import intrinsic, models, overload_method, register_model

from driftbandits._numba.copies import Copies
from driftbandits._numba.memory import to_pointer

_TABLES = np.load(Path(__file__).with_name("ziggurat.npy"))
NORMAL_INSIDE = np.tile(_TABLES[0].view(np.int64), 2)
NORMAL_WIDTH = np.concatenate([_TABLES[1], -_TABLES[1]])
"""512 entries, the sign in the highest bit of the index: a branch on it would be guessed wrong half of the time."""
NORMAL_DENSITY = _TABLES[2]
EXPONENTIAL_INSIDE, EXPONENTIAL_WIDTH, EXPONENTIAL_DENSITY = _TABLES[3].view(np.int64), _TABLES[4], _TABLES[5]
NORMAL_END, EXPONENTIAL_END = 3.6541528853610088, 7.69711747013104972
"""Where the tails begin."""
PER_NORMAL_END = 0.27366123732975828
TINY_BETA = 3e-103
U = np.uint64
_COUNTER, _PLACE, _BUFFER, _HALF = 2, 6, 7, 11
"""Places in a Philox's words: 2 of the key, 4 of the counter, the place in the buffer, 4 of the buffer; then, as in
SFC64, whether half a word is left, and that half."""
SFC64_HALF, SFC64_WORDS, PHILOX_WORDS = 4, 6, 13


class Stream:
    """A numpy Generator's state as an array of words that kernels draw from, until it is given back."""

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng
        self.kind = type(rng.bit_generator).__name__
        if self.kind not in ("SFC64", "Philox"):
            raise TypeError(f"kernels draw from SFC64 or Philox, and this is {self.kind}")
        self.words = np.zeros(SFC64_WORDS if self.kind == "SFC64" else PHILOX_WORDS, np.uint64)
        self.take()

    def take(self) -> None:
        """Copy the Generator's state."""
        state: Any = self._rng.bit_generator.state
        half = (state["has_uint32"], state["uinteger"])
        if self.kind == "SFC64":
            self.words[:] = (*state["state"]["state"].tolist(), *half)
        else:
            inner = state["state"]
            self.words[:] = (
                *inner["key"].tolist(),
                *inner["counter"].tolist(),
                state["buffer_pos"],
                *state["buffer"].tolist(),
                *half,
            )

    def give_back(self) -> np.random.Generator:
        """The Generator, as if it had made the draws; a kernel must not draw before the next ``take``."""
        state: Any = self._rng.bit_generator.state
        words, half = self.words, self.words[-2:].tolist()
        if self.kind == "SFC64":
            state["state"]["state"] = words[:SFC64_HALF].copy()
        else:
            state["state"] = {"key": words[:2].copy(), "counter": words[_COUNTER:_PLACE].copy()}
            state["buffer_pos"], state["buffer"] = int(words[_PLACE]), words[_BUFFER:_HALF].copy()
        state["has_uint32"], state["uinteger"] = half
        self._rng.bit_generator.state = state
        return self._rng


class StepStream(Stream):
    """A random stream of its own for every step: ``Philox(key=seed, counter=[0, step, 0, 0])``, nothing to store."""

    def __init__(self, seed: int) -> None:
        super().__init__(np.random.Generator(np.random.Philox(key=seed)))
        self._state: Any = self._rng.bit_generator.state

    def at(self, step: int) -> np.random.Generator:
        """The generator, placed at the start of a step's stream."""
        self._state["state"]["counter"][:] = (0, step, 0, 0)
        self._rng.bit_generator.state = self._state
        return self._rng


def placed(stream: Any, step: int) -> Any:
    """What to draw from at a step: a StepStream is moved to the start of that step's stream; others go on."""
    return stream.at(step) if isinstance(stream, StepStream) else stream


def move_philox(rng: Any, step: int) -> Any:
    """``placed`` in compiled code, for a StepStream."""
    words = words_of(rng)
    words[2], words[3], words[4], words[5] = U(0), U(step), U(0), U(0)
    words[_PLACE], words[_HALF] = U(4), U(0)
    return rng


# The types of kernels


class RngType(types.Type):  # type: ignore[misc]
    """The address of a generator's words, and which generator it is."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        super().__init__(f"Rng({kind})")


register_model(RngType)(models.OpaqueModel)


@intrinsic
def sfc64_at(typing: Any, address: Any) -> Any:
    """The generator whose words lie at an address."""
    return RngType("SFC64")(types.uintp), to_pointer


@intrinsic
def philox_at(typing: Any, address: Any) -> Any:
    """The generator whose words lie at an address."""
    return RngType("Philox")(types.uintp), to_pointer


@intrinsic
def words_of(typing: Any, rng: Any) -> Any:
    """A pointer to a generator's words."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], context.get_value_type(signature.return_type))

    return types.CPointer(types.uint64)(rng), generate


# Words


def next_word(rng: Any) -> Any:
    """The next 64 random bits."""
    raise NotImplementedError


def next_of_sfc64(rng: Any) -> Any:
    words = words_of(rng)
    a, b, c, count = words[0], words[1], words[2], words[3]
    drawn = a + b + count
    words[0], words[1] = b ^ (b >> U(11)), c + (c << U(3))
    words[2], words[3] = ((c << U(24)) | (c >> U(40))) + drawn, count + U(1)
    return drawn


def next_of_philox(rng: Any) -> Any:
    words = words_of(rng)
    place: Any = np.int64(words[_PLACE])
    if place >= 4:
        refill(words)
        place = 0
    words[_PLACE] = U(place + 1)
    return words[_BUFFER + place]


def refill(words: Any) -> None:
    """Four new words: Philox4x64 with ten rounds, of the next number of the counter."""
    for index in range(2, 6):
        words[index] += U(1)
        if words[index] != U(0):
            break
    key0, key1 = words[0], words[1]
    a, b, c, d = words[2], words[3], words[4], words[5]
    for _ in range(10):
        first, second = U(0xD2E7470EE14C6C93) * a, U(0xCA5A826395121157) * c
        high0, high1 = high_word(U(0xD2E7470EE14C6C93), a), high_word(U(0xCA5A826395121157), c)
        a, b, c, d = high1 ^ b ^ key0, second, high0 ^ d ^ key1, first
        key0, key1 = key0 + U(0x9E3779B97F4A7C15), key1 + U(0xBB67AE8584CAA73B)
    words[7], words[8], words[9], words[10] = a, b, c, d


@intrinsic
def high_word(typing: Any, one: Any, other: Any) -> Any:
    """The upper 64 bits of a product of 128."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        wide = context.get_value_type(types.Integer("uint128", 128, signed=False))
        product = builder.mul(*[builder.zext(argument, wide) for argument in arguments])
        return builder.trunc(builder.lshr(product, wide(64)), context.get_value_type(types.uint64))

    return types.uint64(types.uint64, types.uint64), generate


def next_half(rng: Any) -> Any:
    """32 bits; the other half of a word is kept for the next call."""
    words, at = words_of(rng), place_of_half(rng)
    if words[at] != U(0):
        words[at] = U(0)
        return words[at + 1]
    drawn = next_word(rng)
    words[at], words[at + 1] = U(1), drawn >> U(32)
    return drawn & U(0xFFFFFFFF)


def place_of_half(rng: Any) -> int:
    """Where the words say whether half a word is left."""
    raise NotImplementedError


# Distributions


def random(rng: Any) -> Any:
    return np.int64(next_word(rng) >> U(11)) * 2.0**-53


def standard_normal(rng: Any) -> Any:
    word = next_word(rng)
    # Of an unsigned index numba does not ask whether it counts from the end.
    layer, far = word & U(0x1FF), np.int64((word >> U(9)) & U(0xFFFFFFFFFFFFF))
    return far * NORMAL_WIDTH[layer] if far < NORMAL_INSIDE[layer] else rare_normal(rng, word)


def rare_normal(rng: Any, word: Any) -> Any:
    """One normal number in 80, which needs more than one draw: not inlined, or it takes registers from the kernel."""
    while True:
        layer, far = np.int64(word & U(0x1FF)), np.int64((word >> U(9)) & U(0xFFFFFFFFFFFFF))
        x, row = far * NORMAL_WIDTH[layer], layer & 0xFF
        if far < NORMAL_INSIDE[layer]:
            return x
        if row == 0:
            while True:
                beyond = -PER_NORMAL_END * math.log1p(-random(rng))
                height = -math.log1p(-random(rng))
                if height + height > beyond * beyond:
                    return -(NORMAL_END + beyond) if (far >> 8) & 1 else NORMAL_END + beyond
        density = NORMAL_DENSITY[row]
        if (NORMAL_DENSITY[row - 1] - density) * random(rng) + density < math.exp(-0.5 * x * x):
            return x
        word = next_word(rng)


def standard_exponential(rng: Any) -> Any:
    while True:
        word = next_word(rng) >> U(3)
        layer, far = np.int64(word & U(0xFF)), np.int64(word >> U(8))
        x = far * EXPONENTIAL_WIDTH[layer]
        if far < EXPONENTIAL_INSIDE[layer]:
            return x
        if layer == 0:
            return EXPONENTIAL_END - math.log1p(-random(rng))
        density = EXPONENTIAL_DENSITY[layer]
        if (EXPONENTIAL_DENSITY[layer - 1] - density) * random(rng) + density < math.exp(-x):
            return x


def standard_gamma(rng: Any, shape: float) -> Any:
    if shape == 1.0:
        return standard_exponential(rng)
    if shape == 0.0:
        return 0.0
    if shape < 1.0:
        while True:
            u, v = random(rng), standard_exponential(rng)
            if u <= 1.0 - shape:
                x = u ** (1.0 / shape)
                if x <= v:
                    return x
            else:
                y = -math.log((1.0 - u) / shape)
                x = (1.0 - shape + shape * y) ** (1.0 / shape)
                if x <= v + y:
                    return x
    b = shape - 1.0 / 3.0
    c = 1.0 / math.sqrt(9.0 * b)
    while True:
        x = standard_normal(rng)
        v = 1.0 + c * x
        while v <= 0.0:
            x = standard_normal(rng)
            v = 1.0 + c * x
        v, u = v * v * v, random(rng)
        if u < 1.0 - 0.0331 * (x * x) * (x * x):
            return b * v
        if math.log(u) < 0.5 * x * x + b * (1.0 - v + math.log(v)):
            return b * v


def beta(rng: Any, a: float, b: float) -> Any:
    if a > 1.0 or b > 1.0:
        first = standard_gamma(rng, a)
        return first / (first + standard_gamma(rng, b))
    if a < TINY_BETA and b < TINY_BETA:
        return 1.0 if (a + b) * random(rng) < a else 0.0
    while True:
        u, v = random(rng), random(rng)
        x, y = u ** (1.0 / a), v ** (1.0 / b)
        if x + y <= 1.0 and u + v > 0.0:
            if x > 0.0 and y > 0.0:
                return x / (x + y)
            log_x, log_y = math.log(u) / a, math.log(v) / b
            largest = max(log_x, log_y)
            log_x, log_y = log_x - largest, log_y - largest
            return math.exp(log_x - math.log(math.exp(log_x) + math.exp(log_y)))


def integers(rng: Any, low: int, high: int | None) -> Any:
    """One of low, low + 1, ..., high - 1; of 0, ..., low - 1 if high is None."""
    if high is None:
        return integers(rng, 0, low)
    if high <= low:
        raise ValueError("low >= high")
    count = U(high) - U(low)
    if count == U(1):
        return low
    if count == U(1 << 32):
        return low + np.int64(next_half(rng))
    if count < U(1 << 32):
        product = next_half(rng) * count
        if product & U(0xFFFFFFFF) < count:
            least = (U(1 << 32) - count) % count
            while product & U(0xFFFFFFFF) < least:
                product = next_half(rng) * count
        return low + np.int64(product >> U(32))
    word = next_word(rng)
    if word * count < count:
        least = (U(0) - count) % count
        while word * count < least:
            word = next_word(rng)
    return low + np.int64(high_word(word, count))


# Methods of generators in compiled code

_copies: dict[str, Copies] = {}
_OUTLINED = (rare_normal, refill, standard_gamma, beta)
"""Inlined, gamma and beta would see constant shapes, and the compiler writes x * x in place of pow(x, 2.0)."""


def _kernel(rng: RngType, function: Any) -> Any:
    """One of the functions above, compiled for a kind of generator."""
    if rng.kind not in _copies:
        sfc64 = rng.kind == "SFC64"
        made = Copies(False, outlined=_OUTLINED)
        made.replace(next_word, next_of_sfc64 if sfc64 else next_of_philox)
        made.replace(place_of_half, _half_of_sfc64 if sfc64 else _half_of_philox)
        _copies[rng.kind] = made
    return _copies[rng.kind].of(function)


def _half_of_sfc64(rng: Any) -> Any:
    return SFC64_HALF


def _half_of_philox(rng: Any) -> Any:
    return _HALF


_METHODS: dict[str, tuple[Any, Callable[[Any], Any]]] = {
    "random": (random, lambda draw: lambda rng: draw(rng)),
    "uniform": (random, lambda draw: lambda rng, low=0.0, high=1.0: low + (high - low) * draw(rng)),
    "standard_normal": (standard_normal, lambda draw: lambda rng: draw(rng)),
    "normal": (standard_normal, lambda draw: lambda rng, loc=0.0, scale=1.0: loc + scale * draw(rng)),
    "standard_exponential": (standard_exponential, lambda draw: lambda rng: draw(rng)),
    "exponential": (standard_exponential, lambda draw: lambda rng, scale=1.0: scale * draw(rng)),
    "standard_gamma": (standard_gamma, lambda draw: lambda rng, shape: draw(rng, float(shape))),
    "gamma": (standard_gamma, lambda draw: lambda rng, shape, scale=1.0: scale * draw(rng, float(shape))),
    "beta": (beta, lambda draw: lambda rng, a, b: draw(rng, float(a), float(b))),
    "integers": (integers, lambda draw: lambda rng, low, high=None: draw(rng, low, high)),
}
"""Methods of generators in kernels: the function above, and how it is called. Each makes one number."""


def _add_method(name: str, function: Any, called: Callable[[Any], Any]) -> None:
    def choose(rng: Any, *given: Any, **named: Any) -> Any:
        return called(_kernel(rng, function))

    choose.__signature__ = inspect.signature(called(None))  # type: ignore[attr-defined]
    # Without strict=False numba compares the arguments of both functions.
    overload_method(RngType, name, strict=False, jit_options={"forceinline": True})(choose)


for _name, (_function, _called) in _METHODS.items():
    _add_method(_name, _function, _called)

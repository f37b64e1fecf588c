"""Random numbers in kernels are numpy's, bit for bit, from both generators, and continue where numpy left off."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import pytest

import driftbandits as db
from driftbandits._numba import random
from driftbandits._numba.player import Player
from driftbandits._numba.random import StepStream, Stream, move_philox, philox_at, sfc64_at

AT = {np.random.SFC64: sfc64_at, np.random.Philox: philox_at}
KINDS = sorted(AT, key=lambda kind: kind.__name__)


def compiled(kind: Any, body: str) -> Any:
    """A function of a Stream's words that computes ``body`` of a generator ``rng``."""
    space: dict[str, Any] = {"at": AT[kind], "np": np, "move_philox": move_philox}
    exec(f"def drawn(words, count):\n    rng = at(words.ctypes.data)\n    {body}", space)
    return numba.njit(space["drawn"])


def generator(kind: Any, seed: int = 5) -> np.random.Generator:
    rng = np.random.Generator(kind(seed))
    rng.integers(0, 1000)  # half a word is left
    rng.random(3)
    return rng


MANY = "found = np.zeros(count)\n    for index in range(count):\n        found[index] = {}\n    return found"
CALLS = [
    "random()",
    "standard_normal()",
    "normal(2.0, 3.0)",
    "normal(scale=0.1)",
    "uniform(-1.0, 4.0)",
    "standard_exponential()",
    "exponential(2.5)",
    "standard_gamma(0.0)",
    "standard_gamma(1.0)",
    "standard_gamma(0.3)",
    "gamma(7.5, 2.0)",
    "beta(0.5, 0.7)",
    "beta(1e-200, 1e-200)",
    "beta(2.5, 0.5)",
    "integers(7)",
    "integers(-3, 1000)",
    "integers(0, 1 << 32)",
    "integers(0, 3 << 30)",
    "integers(-5, (1 << 40) + 12345)",
    "integers(0, 3 << 61)",
    "integers(4, 5)",
]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("call", CALLS)
def test_kernels_draw_what_numpy_draws(call: str, kind: Any) -> None:
    """After draws that leave half a word, and with the same state at the end."""
    stream, alone = Stream(generator(kind)), generator(kind)
    count = 200_000 if call == "standard_normal()" else 3_000
    found = compiled(kind, MANY.format(f"rng.{call}"))(stream.words, count)
    expected = [eval(f"rng.{call}", {"rng": alone}) for _ in range(count)]
    assert found.tobytes() == np.array(expected, float).tobytes()
    assert repr(stream.give_back().bit_generator.state) == repr(alone.bit_generator.state)


@pytest.mark.parametrize("kind", KINDS)
def test_methods_may_be_mixed(kind: Any) -> None:
    stream, alone = Stream(generator(kind)), generator(kind)
    body = (
        "found = np.zeros(5 * count)\n    for index in range(count):\n"
        "        found[5 * index] = rng.random()\n        found[5 * index + 1] = rng.standard_normal()\n"
        "        found[5 * index + 2] = rng.integers(0, 1000)\n        found[5 * index + 3] = rng.beta(2.0, 3.0)\n"
        "        found[5 * index + 4] = rng.standard_exponential()\n    return found"
    )
    found = compiled(kind, body)(stream.words, 2_000)
    expected: list[Any] = []
    for _ in range(2_000):
        expected += [alone.random(), alone.standard_normal(), alone.integers(0, 1000), alone.beta(2.0, 3.0)]
        expected += [alone.standard_exponential()]
    assert found.tobytes() == np.array(expected).tobytes()


def test_rare_normal_numbers_are_numpys_too() -> None:
    """One in 80 takes more than one draw, and one in 4,000 lies in the tails, beyond 3.65."""
    stream, alone = Stream(generator(np.random.SFC64, 8)), generator(np.random.SFC64, 8)
    found = compiled(np.random.SFC64, MANY.format("rng.standard_normal()"))(stream.words, 1_000_000)
    assert found.tobytes() == alone.standard_normal(1_000_000).tobytes()
    assert (abs(found) > 3.66).sum() > 100


def test_every_step_has_a_stream_of_its_own() -> None:
    stream = StepStream(12)
    body = "rng = move_philox(rng, count)\n    return rng.random(), rng.random(), rng.integers(0, 9), rng.random()"
    drawn = compiled(np.random.Philox, body.replace("move_philox", "moved"))
    drawn.py_func.__globals__["moved"] = numba.njit(move_philox)
    for step in (1, 1 << 61, 7, 7, (1 << 60) + (3 << 40) + 5):
        alone = np.random.Generator(np.random.Philox(key=12, counter=[0, step, 0, 0]))
        expected = alone.random(), alone.random(), alone.integers(0, 9), alone.random()
        assert drawn(stream.words, step) == expected
        rng = stream.at(step)
        assert (rng.random(), rng.random(), rng.integers(0, 9), rng.random()) == expected


def test_a_stream_goes_on_where_its_generator_was_and_gives_it_back() -> None:
    rng, alone = generator(np.random.SFC64), generator(np.random.SFC64)
    stream = Stream(rng)
    draw = compiled(np.random.SFC64, "return rng.random()")
    for _ in range(3):
        assert draw(stream.words, 0) == alone.random()
        assert stream.give_back().standard_normal() == alone.standard_normal()
        stream.take()


def test_kernels_draw_from_two_kinds_of_generators_only() -> None:
    with pytest.raises(TypeError, match=r"SFC64 or Philox, and this is PCG64"):
        Player(db.Uniform(), 3, np.random.default_rng(1))


def test_a_loop_takes_generators_of_the_kind_that_it_was_compiled_for() -> None:
    """It would take the words of another for its own."""
    one, other = (np.random.Generator(kind(1)) for kind in KINDS)
    player = Player(db.Uniform(), 3, one)
    player.select()
    player.restart(other)
    with pytest.raises(db.PolicyError, match=r"compiled for generators of \w+, and this is \w+"):
        player.select()


def test_draws_of_update_belong_to_the_run() -> None:
    """Without noise, policies that draw in ``update`` still differ from run to run, and with the seed."""
    instance = db.instances.sinusoid(3_000, 1e-3, n_arms=3)
    for policy in (db.MASTER(3_000, 0.01), db.BOB(3_000), db.AdSwitch(3_000, c1=0.05), db.META(3_000, 1e-3)):
        results = [
            db.simulate({"it": policy}, instance, db.Gaussian(1e-9), runs=20, seed=seed, progress=False)
            for seed in (0, 1)
        ]
        first, second = (result.regret["it"][:, -1] for result in results)
        assert len(np.unique(first)) > 10, policy
        assert not np.array_equal(first, second), policy
        again = db.simulate({"it": policy}, instance, db.Gaussian(1e-9), runs=20, seed=0, progress=False)
        assert np.array_equal(again.regret["it"][:, -1], first)


def test_tables_are_numpys() -> None:
    """A normal number that lies well inside its layer takes one word: where that ends is what numpy thinks, too."""
    for layer in range(0, 256, 5):
        for far in (int(random.NORMAL_INSIDE[layer]) - 1, int(random.NORMAL_INSIDE[layer])):
            rng = np.random.Generator(np.random.SFC64(1))
            state: Any = rng.bit_generator.state
            word = far << 9 | layer
            state["state"]["state"] = np.array([word, 0, 0, 0], np.uint64)
            rng.bit_generator.state = state
            drawn, after = rng.standard_normal(), rng.bit_generator.state["state"]["state"][3]
            at_once = drawn == far * random.NORMAL_WIDTH[layer] and after == 1
            assert at_once == (far < random.NORMAL_INSIDE[layer])

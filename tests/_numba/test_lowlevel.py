"""What is assumed about numpy's and numba's memory is looked at first; where it is not so, slower means do the same."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numba
import numpy as np
import pytest

import driftbandits as db
from broken_policies import Sound
from driftbandits._numba import digest, lowlevel, sfc64
from driftbandits._numba.digest import machinery_digest
from driftbandits._numba.player import Player

PLAYED = """
import warnings
import numpy as np
import driftbandits as db
from driftbandits._numba import lowlevel
{change}
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    session = db.Session(db.ThompsonSampling(), arms=["a", "b"], explore=0.3)
    arms = []
    for step in range(50):
        decisions = session.ask_many(3)
        arms += [decision.arm for decision in decisions]
        session.tell_many([(decision.id, float(step % 3)) for decision in decisions])
    play = db.Online(db.ThompsonSampling(), 3, seed=4)
    for step in range(50):
        arm = play.select()
        arms.append(arm)
        play.update(arm, float(step % 2))
    result = db.simulate({{"it": db.Uniform()}}, db.instances.stationary(500), runs=2, progress=False)
print(arms, result.regret["it"][:, -1].tolist())
print(lowlevel.layouts_known(), [str(each.message)[:90] for each in caught if each.category is RuntimeWarning])
"""


def played(change: str, **settings: str) -> list[str]:
    environment = {**os.environ, **settings}
    done = subprocess.run(
        [sys.executable, "-c", PLAYED.format(change=change)], capture_output=True, text=True, env=environment
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_the_slow_way_gives_the_same_with_one_warning(tmp_path: Any) -> None:
    fast = played("")
    assert fast[1] == "True []"
    slow = played("lowlevel._generator_as_known = lambda: {}['gone']", NUMBA_CACHE_DIR=str(tmp_path))
    assert slow[0] == fast[0]
    assert slow[1].startswith("False ['numpy ")
    assert slow[1].count("numpy ") == 1


@pytest.mark.parametrize("look", ["_philox_as_known", "sfc64_as_known", "_generator_as_known"])
def test_each_look_alone_makes_it_the_slow_way(look: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lowlevel, look, lambda: False)
    with pytest.warns(RuntimeWarning, match="^numpy .* slower means") as caught:
        assert not lowlevel.layouts_known.__wrapped__()  # what is remembered is true of this process
    assert len(caught) == 1


def test_the_look_notices_another_layout(monkeypatch: pytest.MonkeyPatch) -> None:
    assert lowlevel._philox_as_known()
    assert lowlevel._generator_as_known()

    class Moved(np.random.Philox):
        """Its buffer is not where it was, as far as its own account of itself goes."""

        @property  # type: ignore[misc]
        def state(self) -> Any:
            found = super().state
            return {**found, "buffer": np.roll(found["buffer"], 1)}

    with monkeypatch.context() as patched:
        patched.setattr(np.random, "Philox", Moved)
        assert not lowlevel._philox_as_known()
    with monkeypatch.context() as patched:
        patched.setattr(lowlevel, "_ADDRESSES", (*lowlevel._ADDRESSES[:-1], "elsewhere"))
        assert not lowlevel._generator_as_known()


@pytest.mark.parametrize("name", ["WIDTHS", "INSIDE"])
def test_the_look_notices_other_normal_numbers(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert sfc64.sfc64_as_known()
    monkeypatch.setattr(sfc64, name, np.roll(getattr(sfc64, name), 1))
    assert not sfc64.sfc64_as_known()


@pytest.mark.parametrize("other", [np.random.PCG64, np.random.Philox])
def test_the_look_notices_another_sfc64(other: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(np.random, "SFC64", other)
    assert not sfc64.sfc64_as_known()


@numba.njit  # type: ignore[untyped-decorator]
def draw_mixed(handed: Any, uniform: Any, normal: Any, small: Any, waiting: Any) -> Any:
    rng = lowlevel.generator_of(handed)
    for index in range(len(uniform)):
        uniform[index] = rng.random()
        normal[index] = rng.standard_normal()
        if index % 3 == 0:
            small[index] = rng.integers(0, 1000)  # takes half of 64 bits, and keeps the other half
            waiting[index] = rng.standard_exponential()
    return rng.random(5), rng.standard_normal(5), rng.standard_normal(5, np.float32)


@pytest.mark.parametrize("bits", [np.random.SFC64, np.random.Philox, np.random.PCG64])
def test_kernels_draw_what_numpy_draws(bits: Any) -> None:
    """SFC64 is computed in the kernel, others by numpy; all give numpy's numbers, alone and between other draws."""
    handed, alone = np.random.Generator(bits(5)), np.random.Generator(bits(5))
    assert isinstance(lowlevel.handle(handed), lowlevel.Sfc64Addresses) == (bits is np.random.SFC64)
    uniform, normal, small, waiting = (np.zeros(20_000) for _ in range(4))
    rest = draw_mixed(lowlevel.handle(handed), uniform, normal, small, waiting)
    for index in range(len(uniform)):
        assert uniform[index] == alone.random()
        assert normal[index] == alone.standard_normal()
        if index % 3 == 0:
            assert small[index] == alone.integers(0, 1000)
            assert waiting[index] == alone.standard_exponential()
    expected: list[Any] = [alone.random(5), alone.standard_normal(5), alone.standard_normal(5, np.float32)]
    assert [each.tobytes() for each in rest] == [each.tobytes() for each in expected]
    assert repr(handed.bit_generator.state) == repr(alone.bit_generator.state)


@numba.njit  # type: ignore[untyped-decorator]
def draw_normals(handed: Any, count: int) -> Any:
    rng, found = lowlevel.generator_of(handed), np.zeros(count)
    for index in range(count):
        found[index] = rng.standard_normal()
    return found


def test_rare_normal_numbers_are_numpys_too() -> None:
    """One in 80 takes more than one draw, and one in 4,000 lies in the tails, beyond 3.65."""
    handed, alone = (np.random.Generator(np.random.SFC64(8)) for _ in range(2))
    found = draw_normals(lowlevel.handle(handed), 1_000_000)
    assert found.tobytes() == alone.standard_normal(1_000_000).tobytes()
    assert (abs(found) > 3.66).sum() > 100


def test_a_player_takes_generators_of_one_kind() -> None:
    """Its loops are compiled for the kind, and would take the memory of another for that of SFC64."""
    one, same, other = (np.random.Generator(bits(1)) for bits in (np.random.SFC64, np.random.SFC64, np.random.Philox))
    player = Player(db.Uniform(), 3, lambda step: one)
    later = player.another(lambda step: same)
    player.random(one)
    later.random(same)
    for each in (player, later):
        with pytest.raises(TypeError, match=r"one kind, and this is Philox"):
            each.random(other)


def test_versions_are_bounded_above() -> None:
    """What is known of memory was checked with these; CONTRIBUTING.md says how to raise the bounds."""
    from importlib.metadata import requires

    bounds = {re.split(r"\W", line)[0]: line for line in requires("driftbandits") or [] if "extra" not in line}
    assert "<" in bounds["numpy"]
    assert "<" in bounds["numba"]
    assert tuple(map(int, numba.__version__.split(".")[:2])) >= (0, 61)


def test_the_digest_sees_the_machinery(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """An edit of generator_of or borrowed must not be served old machine code: their files are part of every key."""
    before = machinery_digest()
    for name in digest.MACHINERY:
        (tmp_path / name).write_bytes((digest.HERE / name).read_bytes())
    monkeypatch.setattr(digest, "HERE", tmp_path)
    try:
        machinery_digest.cache_clear()
        assert machinery_digest() == before
        for name in digest.MACHINERY:
            kept = (tmp_path / name).read_bytes()
            (tmp_path / name).write_bytes(kept + b"# edited\n")
            machinery_digest.cache_clear()
            assert machinery_digest() != before, name
            (tmp_path / name).write_bytes(kept)
    finally:
        machinery_digest.cache_clear()


def test_threads_make_one_numbers_class(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two classes for one policy would be two types to numba, and pickle finds only one of them."""
    from driftbandits._numba import kernels

    real = kernels._NAMEDTUPLE

    def slow(*arguments: Any) -> Any:
        time.sleep(0.05)  # what another thread needs to come in between
        return real(*arguments)

    monkeypatch.setattr(kernels, "_NAMEDTUPLE", slow)

    @dataclass(frozen=True)
    class Fresh(Sound):
        pass

    gate = threading.Barrier(4)

    def ask() -> Any:
        gate.wait(60)
        return Fresh.numbers_class()

    with ThreadPoolExecutor(4) as pool:
        made = [each.result() for each in [pool.submit(ask) for _ in range(4)]]
    assert len(set(map(id, made))) == 1


def test_random_numbers_of_their_own_belong_to_the_run() -> None:
    """Without noise, policies that draw by themselves still differ from run to run, and with the seed."""
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


def _fill(values: Any, count: int) -> float:
    mine, other = lowlevel.workspace(4), lowlevel.workspace(4)
    for index in range(count):
        mine[index], other[index] = values[index], -2.0 * values[index]
    return float(mine.sum() + other.sum() + len(mine))


def test_workspaces_are_arrays_of_their_own() -> None:
    values = np.array([1.0, 2.0, 4.0, 8.0, 16.0])
    assert _fill(values, 4) == numba.njit(_fill)(values, 4) == 4 - 15.0
    with pytest.raises(IndexError):
        numba.njit(boundscheck=True)(_fill)(values, 5)

"""BreakEven against AutoTS on instances that neither was developed on: one draw of nine families, with two noises.

python benchmarks/fresh_draws.py            # regret ratios by family: geometric means over the instances
python benchmarks/fresh_draws.py --delays   # the same with delayed and batched rewards, on a half of the instances

``SEED`` was chosen once, before any result of this file was seen. No constant of a policy may be changed because of
what it prints: for another judgement take another seed, and say so.
"""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

import driftbandits as db
from driftbandits.simulation.late import late_regret

SEED, T, RUNS, EACH = 20_261_119, 100_000, 20, 2
"""``EACH``: instances per family and noise."""
DELAYS = ((0, 1), (10, 1), (100, 1), (1_000, 1), (0, 10), (0, 100))
"""Delay in steps, and choices per batch."""

Draw = Callable[[np.random.Generator, int], Any]


class Fresh(NamedTuple):
    """One instance with its noise."""

    family: str
    noise_name: str
    instance: db.Instance
    noise: Any


def reflected(means: Any, low: float = 0.05, high: float = 0.95) -> Any:
    """Fold paths back into [low, high], as mirrors at both ends would."""
    place = np.mod(means - low, 2 * (high - low))
    return low + np.minimum(place, 2 * (high - low) - place)


def flat_and_ramp(rng: np.random.Generator, k: int) -> Any:
    """Levels that hold for a tenth to a third of T, joined by ramps of a fiftieth to a tenth of T."""
    paths = []
    for _ in range(k):
        times, levels = [0.0], [rng.uniform(0.1, 0.9)]
        while times[-1] < T:
            times += [times[-1] + rng.uniform(T / 10, T / 3)]
            times += [times[-1] + rng.uniform(T / 50, T / 10)]
            levels += [levels[-1], rng.uniform(0.1, 0.9)]
        paths.append(np.interp(np.arange(T), times, levels))
    return np.stack(paths, axis=1)


def beats(rng: np.random.Generator, k: int) -> Any:
    """Two sinusoids of nearly equal periods for each arm, so that the amplitude comes and goes."""
    period = np.exp(rng.uniform(math.log(2_000), math.log(40_000), k))
    other, phases = period * rng.uniform(1.05, 1.3, k), rng.uniform(0, 2 * math.pi, (2, k))
    steps = np.arange(T)[:, None]
    waves = np.sin(2 * math.pi * steps / period + phases[0]) + np.sin(2 * math.pi * steps / other + phases[1])
    return rng.uniform(0.35, 0.65, k) + rng.uniform(0.05, 0.15, k) * waves


def walks(rng: np.random.Generator, k: int) -> Any:
    """Random walks that are reflected at the ends."""
    size = np.exp(rng.uniform(math.log(3e-4), math.log(5e-3), k))
    return reflected(rng.uniform(0.1, 0.9, k) + np.cumsum(size * rng.standard_normal((T, k)), axis=0))


def persistent_walks(rng: np.random.Generator, k: int) -> Any:
    """Walks whose velocity is remembered for 500 to 10,000 steps."""
    memory = np.exp(rng.uniform(math.log(500), math.log(10_000), k))
    change = rng.uniform(0.1, 0.5, k) / memory * np.sqrt(2 / memory)
    velocity = np.empty((T, k))
    now = change * np.sqrt(memory / 2) * rng.standard_normal(k)
    for step, shock in enumerate(rng.standard_normal((T, k))):
        now = (1 - 1 / memory) * now + change * shock
        velocity[step] = now
    return reflected(rng.uniform(0.1, 0.9, k) + np.cumsum(velocity, axis=0))


def fading(rng: np.random.Generator, k: int) -> Any:
    """Arms that begin well and wear off, each at its own rate to its own level."""
    rate = 1 / np.exp(rng.uniform(math.log(T / 50), math.log(T), k))
    last = rng.uniform(0.1, 0.5, k)
    return last + rng.uniform(0.1, 0.4, k) * np.exp(-rate * np.arange(T)[:, None])


def bursts(rng: np.random.Generator, k: int) -> Any:
    """A constant level, and now and then a smooth rise of up to 0.5 for some hundred to thousand steps."""
    means = np.tile(rng.uniform(0.2, 0.4, k), (T, 1))
    for arm in range(k):
        for _ in range(rng.integers(2, 7)):
            width, center = np.exp(rng.uniform(math.log(300), math.log(5_000))), rng.uniform(0, T)
            means[:, arm] += rng.uniform(0.1, 0.5) * np.exp(-0.5 * ((np.arange(T) - center) / width) ** 2)
    return np.minimum(means, 0.95)


def stationary(rng: np.random.Generator, k: int) -> Any:
    """Constant means."""
    return np.tile(rng.uniform(0.2, 0.8, k), (T, 1))


def jumps(rng: np.random.Generator, k: int) -> Any:
    """Each arm jumps to another level three to eight times."""
    means = np.empty((T, k))
    for arm in range(k):
        edges = [0, *sorted(rng.integers(1, T, rng.integers(3, 9)).tolist()), T]
        for first, last in itertools.pairwise(edges):
            means[first:last, arm] = rng.uniform(0.1, 0.9)
    return means


def clicks(rng: np.random.Generator, k: int) -> Any:
    """Shares of 1 to 8 %, with a daily cycle that all arms have in common and a slow trend of their own."""
    day = 1 + 0.3 * np.sin(2 * math.pi * np.arange(T) / 10_000)[:, None]
    size = np.exp(rng.uniform(math.log(1e-4), math.log(1e-3), k))
    own = np.log(rng.uniform(0.01, 0.06, k)) + np.cumsum(size * rng.standard_normal((T, k)), axis=0)
    return np.clip(day * np.exp(own), 0.002, 0.2)


FAMILIES: dict[str, Draw] = {
    "flat and ramp": flat_and_ramp,
    "beats": beats,
    "walks": walks,
    "persistent walks": persistent_walks,
    "fading": fading,
    "bursts": bursts,
    "stationary": stationary,
    "jumps": jumps,
    "clicks": clicks,
}


def draws(seed: int = SEED, each: int = EACH) -> Iterator[Fresh]:
    """All instances of one draw; Gaussian noise has a standard deviation of 0.1 to 1, a tenth of that for clicks."""
    for number, (family, draw) in enumerate(FAMILIES.items()):
        for index in range(each):
            for noise_name in ("Gaussian", "Bernoulli"):
                rng = np.random.default_rng([seed, number, index, noise_name == "Bernoulli"])
                instance = db.Instance(draw(rng, int(rng.integers(2, 9))))
                sigma = float(np.exp(rng.uniform(math.log(0.1), 0.0))) * (0.1 if family == "clicks" else 1.0)
                noise: Any = db.Bernoulli() if noise_name == "Bernoulli" else db.Gaussian(sigma)
                yield Fresh(family, noise_name, instance, noise)


def geometric(ratios: Any) -> float:
    """The geometric mean."""
    return float(np.exp(np.mean(np.log(ratios))))


def at_once() -> None:
    """Rewards at once: mean regret, and 95th percentiles, over AutoTS's."""
    rows, tails = dict[str, list[float]](), list[float]()
    for fresh in draws():
        policies = {"new": db.BreakEven(), "old": db.AutoTS()}
        found = db.simulate(policies, fresh.instance, fresh.noise, runs=RUNS, checkpoints=1, seed=SEED, progress=False)
        new, old = (found.regret[name][:, -1] for name in ("new", "old"))
        tails.append(float(np.quantile(new, 0.95) / np.quantile(old, 0.95)))
        rows.setdefault(fresh.family, []).append(float(new.mean() / old.mean()))
        k = fresh.instance.means.shape[1]
        print(
            f"{fresh.family:17} {fresh.noise_name:9} K = {k}: {old.mean():8.1f} {new.mean():8.1f} "
            f"{rows[fresh.family][-1]:6.3f}",
            flush=True,
        )
    every = [ratio for ratios in rows.values() for ratio in ratios]
    for family, ratios in rows.items():
        print(f"{family:17} {geometric(ratios):6.3f}")
    print(f"geometric mean {geometric(every):.3f}, worst {max(every):.3f}, largest ratio of 95 % {max(tails):.2f}")


def delayed() -> None:
    """Rewards that come later, or in batches: geometric means over 18 instances, and the worst family."""
    for delay, batch in DELAYS:
        families = dict[str, list[float]]()
        for fresh in draws(each=1):
            policies = {"new": db.BreakEven(), "old": db.AutoTS()}
            found = late_regret(
                policies, fresh.instance, fresh.noise, delay=delay, bundle=batch, runs=RUNS // 2, seed=SEED
            )
            families.setdefault(fresh.family, []).append(float(found["new"].mean() / found["old"].mean()))
        means = {family: geometric(ratios) for family, ratios in families.items()}
        worst = max(means, key=lambda family: means[family])
        print(
            f"delay {delay:5} batch {batch:4}: {geometric(list(means.values())):.3f}, "
            f"worst {worst} {means[worst]:.2f}; " + ", ".join(f"{name} {value:.2f}" for name, value in means.items()),
            flush=True,
        )


if __name__ == "__main__":
    delayed() if "--delays" in sys.argv else at_once()

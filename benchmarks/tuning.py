"""The instances that AutoTS, KalmanTS and DriftUCB were tuned on, none of them the league's, and how they fare there.

    python benchmarks/tuning.py [--runs 12] [--worlds]

Regret over a yardstick's, geometric means; --worlds prints every world. Drifting: DiscountedTS told delta and the shape
of the noise. Stationary: in each world the best of UCB1, KLUCB, ThompsonSampling, ExploreThenCommit and
SuccessiveElimination. T = 100,000; random worlds have seeds from 1000 on, and so have the runs.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np

import driftbandits as db
from driftbandits import instances

T, SEED = 100_000, 1_000
USUAL, COIN = db.Gaussian(0.5), db.Bernoulli()
World = tuple[db.Instance, db.Noise]


def stationary() -> dict[str, World]:
    """32 draws: coins with means anywhere, near 1, near 0; Gaussians of deviation 1/2 or 1/10."""
    found: dict[str, World] = {}
    for seed in range(SEED, SEED + 32):
        rng = np.random.default_rng(seed)
        means = rng.random(int(rng.integers(2, 11)))
        kind = ("coins", "coins near 1", "coins near 0", "Gaussian")[seed % 4]
        noise: db.Noise = COIN
        if kind == "coins near 1":
            means = 1 - 0.5 * means**2
        elif kind == "coins near 0":
            means = 0.5 * means**2
        elif kind == "Gaussian":
            kind, noise = ("Gaussian 1/2", USUAL) if seed % 8 == 3 else ("Gaussian 1/10", db.Gaussian(0.1))
        found[f"{kind}, seed {seed}"] = instances.stationary(T, means.tolist()), noise
    return found


def drifting() -> dict[str, World]:
    t = np.arange(T)
    one_drifts = db.Instance(np.stack([0.5 + 0.4 * np.sin(4e-4 * t), np.full(T, 0.5)], axis=1))
    return {
        "toggling 3e-4": (instances.toggling(T, 3e-4), USUAL),
        "separated 4e-5": (instances.separated(T, 4e-5), USUAL),
        "equal drift, k = 6": (instances.equal_drift(6, T), USUAL),
        "sinusoid 5e-5": (instances.sinusoid(T, 5e-5), USUAL),
        "sinusoid 3e-4": (instances.sinusoid(T, 3e-4), USUAL),
        "sinusoid 2e-3": (instances.sinusoid(T, 2e-3), USUAL),
        "sinusoid 3e-5, 6 coins": (instances.sinusoid(T, 3e-5, 6, amplitude=0.3), COIN),
        "walk 6e-5": (instances.walk(T, 6e-5, seed=1001), USUAL),
        "walk 4e-4, coins": (instances.walk(T, 4e-4, seed=1002), COIN),
        "walk 1.5e-4, 8 coins": (instances.walk(T, 1.5e-4, 8, seed=1003), COIN),
        "walk 2e-5, 5 arms": (instances.walk(T, 2e-5, 5, seed=1008), USUAL),
        "wave 5e-5, 7 coins": (instances.wave(T, 5e-5, 7), COIN),
        "wave 3e-4, 12 arms": (instances.wave(T, 3e-4, 12), USUAL),
        "fading, 2 links": (instances.fading(T, doppler=4e-5, seed=1004), COIN),
        "fading, 4 links": (instances.fading(T, 4, 2e-5, 5.0, 1006), COIN),
        "fading, 3 links": (instances.fading(T, 3, 8e-5, 2.0, 1007), COIN),
        "one arm of two drifts": (one_drifts, USUAL),
    }


def abrupt() -> dict[str, World]:
    return {
        "jumps": (instances.abrupt(T, 2, 5, 1005), USUAL),
        "jumps, 5 coins": (instances.abrupt(T, 5, 5, 1009), COIN),
        "jumps, 8 arms": (instances.abrupt(T, 8, 5, 1010), USUAL),
    }


def told(world: db.Instance) -> float:
    """The drift limit; where means jump, the total variation spread evenly."""
    steps = np.abs(np.diff(world.means, axis=0)).max(axis=1)
    return float(steps.sum()) / T if steps.max() > 0.01 else world.drift_limit


def ours(drift: float, coin: bool) -> dict[str, db.Policy]:
    kl, posterior = ("bernoulli", "beta") if coin else ("gaussian", "gaussian")
    return {
        "AutoTS": db.AutoTS(),
        "KalmanTS": db.KalmanTS(drift, posterior=posterior),
        "DriftUCB": db.DriftUCB(T, drift, kl=kl),
        "risk=1e3": db.DriftUCB(T, drift, 1e3, kl),
        "risk=1e5": db.DriftUCB(T, drift, 1e5, kl),
        "half drift": db.DriftUCB(T, drift / 2, kl=kl),
    }


def yardsticks(drift: float, coin: bool) -> dict[str, db.Policy]:
    kl, posterior = ("bernoulli", "beta") if coin else ("gaussian", "gaussian")
    if drift > 0:
        return {"yardstick": db.DiscountedTS(drift, posterior=posterior)}
    return {
        "1": db.UCB1(),
        "2": db.KLUCB(kl=kl),
        "3": db.ThompsonSampling(posterior=posterior),
        "4": db.ExploreThenCommit(T),
        "5": db.SuccessiveElimination(T),
    }


def ratios(world: World, runs: int) -> dict[str, float]:
    """Regret over the yardstick's, for each of our policies; regrets below 1 count as 1."""
    instance, noise = world
    drift, coin = told(instance), isinstance(noise, db.Bernoulli)
    mine, theirs = ours(drift, coin), yardsticks(drift, coin)
    result = db.simulate({**mine, **theirs}, instance, noise, runs=runs, seed=SEED, checkpoints=1, progress=False)
    regret = {name: max(1.0, float(curves[:, -1].mean())) for name, curves in result.regret.items()}
    best = min(regret[name] for name in theirs)
    return {name: regret[name] / best for name in mine}


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--runs", type=int, default=12)
    words.add_argument("--worlds", action="store_true", help="print every world")
    given = words.parse_args()
    groups: dict[str, Callable[[], dict[str, World]]] = {
        "drifting": drifting,
        "stationary": stationary,
        "abrupt": abrupt,
    }
    names = list(ours(0.0, False))
    print(f"{'':28}" + "".join(f"{name:>12}" for name in names))
    for group, make in groups.items():
        rows = {}
        for name, world in make().items():
            rows[name] = ratios(world, given.runs)
            if given.worlds:
                print(f"{name:28}" + "".join(f"{rows[name][column]:12.2f}" for column in names), flush=True)
        kinds = sorted({name.split(", seed")[0] for name in rows}) if group == "stationary" else []
        for label in [group, *kinds]:
            chosen = [row for name, row in rows.items() if label in (group, name.split(", seed")[0])]
            means = {column: float(np.exp(np.mean([np.log(row[column]) for row in chosen]))) for column in names}
            print(f"{label:28}" + "".join(f"{means[column]:12.2f}" for column in names), flush=True)


if __name__ == "__main__":
    main()

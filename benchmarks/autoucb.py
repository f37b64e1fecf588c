"""What each part of AutoUCB is worth, how its runs scatter, what late rewards cost it: the tables of docs/autoucb.md.

python benchmarks/autoucb.py ablation [--runs 8]     regret over AutoTS's on the instances of tuning.py
python benchmarks/autoucb.py quantiles [--runs 200]  95th percentiles over AutoTS's, on six of them
python benchmarks/autoucb.py late [--runs 4]         late rewards and bundles, on seven of them
python benchmarks/autoucb.py figure docs/autoucb.png an arm predicted across a crossing
"""

from __future__ import annotations

import argparse
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from tuning import SEED, World, abrupt, drifting, stationary

import driftbandits as db
from driftbandits.policies._parts.bank import FILTERS, POOL, PRIOR, WALKS, WEIGHT
from driftbandits.policies.autoucb import AutoUCBState
from driftbandits.simulation.late import late_regret

os.environ.setdefault("DRIFTBANDITS_BOUNDSCHECK", "0")  # the kernels below are the package's own, but for one


@dataclass(frozen=True)
class NoSlopes(db.AutoUCB):
    """Slopes weigh next to nothing."""

    def init(self, n_arms: int) -> AutoUCBState:
        state = super().init(n_arms)
        weights = state.shared[PRIOR : PRIOR + FILTERS]
        weights[WALKS:] = 1e-100
        weights /= weights.sum()
        state.shared[POOL : POOL + FILTERS] = weights
        state.bank[:, WEIGHT : WEIGHT + FILTERS] = weights
        return state


@dataclass(frozen=True)
class NoLooks(db.AutoUCB):
    """The second bound never applies: no remedy against a filter that is sure and wrong."""

    def init(self, n_arms: int) -> AutoUCBState:
        state = super().init(n_arms)
        state.run.looks = 1e300
        return state


@dataclass(frozen=True)
class Closer(db.AutoUCB):
    """Bounds at 1.5 deviations."""

    def init(self, n_arms: int) -> AutoUCBState:
        state = super().init(n_arms)
        state.run.deviations = 1.5
        return state


def worlds() -> dict[str, dict[str, World]]:
    return {"drifting": drifting(), "stationary": dict(list(stationary().items())[::3]), "abrupt": abrupt()}


def ablation(runs: int) -> None:
    policies = {"AutoUCB": db.AutoUCB(), "no slopes": NoSlopes(), "no looks": NoLooks(), "1.5 dev.": Closer()}
    print(f"{'':28}" + "".join(f"{name:>18}" for name in policies) + "   (mean, and the largest 95th percentile)")
    for group, found in worlds().items():
        means: dict[str, list[float]] = {name: [] for name in policies}
        worst = dict.fromkeys(policies, 0.0)
        for instance, noise in found.values():
            regrets = play({"AutoTS": db.AutoTS(), **policies}, instance, noise, runs)
            for name in policies:
                means[name].append(np.log(max(1.0, regrets[name].mean()) / max(1.0, regrets["AutoTS"].mean())))
                worst[name] = max(worst[name], high(regrets[name]) / high(regrets["AutoTS"]))
        cells = (f"{np.exp(np.mean(means[name])):10.2f}{worst[name]:8.2f}" for name in policies)
        print(f"{group:28}" + "".join(cells), flush=True)


def quantiles(runs: int) -> None:
    chosen = ("toggling 3e-4", "sinusoid 5e-5", "walk 6e-5", "fading, 4 links", "one arm of two drifts", "jumps")
    every = drifting() | abrupt()
    print(f"{'':28}{'AutoTS':>22}{'AutoUCB':>22}    median, 95 %, largest")
    for name in chosen:
        regrets = play({"AutoTS": db.AutoTS(), "AutoUCB": db.AutoUCB()}, *every[name], runs)
        cells = "".join(f"{np.median(x):8.0f}{high(x):7.0f}{x.max():7.0f}" for x in regrets.values())
        print(f"{name:28}{cells}", flush=True)


def late(runs: int) -> None:
    chosen = ("toggling 3e-4", "sinusoid 3e-4", "walk 1.5e-4, 8 coins", "wave 5e-5, 7 coins", "fading, 3 links")
    found = [drifting()[name] for name in chosen] + [abrupt()["jumps, 8 arms"], stationary()["coins, seed 1024"]]
    policies = {"AutoTS": db.AutoTS(), "AutoUCB": db.AutoUCB()}
    at_once: list[float] = []
    for delay, bundle in ((0, 1), (10, 1), (100, 1), (1_000, 1), (0, 10), (0, 100)):
        ratios: dict[str, list[float]] = {name: [] for name in policies}
        for place, (instance, noise) in enumerate(found):
            regrets = late_regret(policies, instance, noise, delay=delay, bundle=bundle, runs=runs, seed=SEED)
            if len(at_once) == place:
                at_once.append(float(np.mean(regrets["AutoTS"])))
            for name in policies:
                ratios[name].append(np.log(float(np.mean(regrets[name])) / at_once[place]))
        cells = "".join(f"  {name} {np.exp(np.mean(x)):6.2f}" for name, x in ratios.items())
        print(f"delay {delay:5}, bundles of {bundle:3}:{cells}", flush=True)


def play(policies: dict[str, Any], instance: db.Instance, noise: db.Noise, runs: int) -> dict[str, Any]:
    result = db.simulate(policies, instance, noise, runs=runs, seed=SEED, checkpoints=1, progress=False)
    return {name: result.regret[name][:, -1] for name in policies}


def high(regrets: Any) -> float:
    return max(1.0, float(np.quantile(regrets, 0.95)))


def figure(path: Path) -> None:
    """One arm falls, the other rises unseen; what AutoUCB expects of both, and when it pulls which."""
    from matplotlib import pyplot as plt

    rng, steps = np.random.default_rng(SEED), 8_000
    t = np.arange(steps)
    means = np.stack([0.65 + 0.25 * np.cos(np.pi * t / 5_000), 0.35 - 0.25 * np.cos(np.pi * t / 5_000)], axis=1)
    play, shown, pulled = db.Online(db.AutoUCB(), 2), [], []
    for step in range(steps):
        arm = play.select()
        play.update(arm, float(means[step, arm] + 0.3 * rng.standard_normal()))
        pulled.append(arm)
        if step % 20 == 0 and step > 1:
            belief = play.policy.belief(play.state)
            shown.append((step, belief.estimate, belief.low, belief.high))
    at = [step for step, *_ in shown]
    drawing, axes = plt.subplots(figsize=(7.2, 3.6), layout="constrained")
    for arm, (name, colour) in enumerate((("red", "#b2182b"), ("blue", "#2166ac"))):
        axes.plot(t, means[:, arm], color=colour, linewidth=1, linestyle="--", label=f"{name}: its mean")
        axes.plot(at, [row[1][arm] for row in shown], color=colour, linewidth=1.5, label=f"{name}: what is expected")
        axes.fill_between(at, [r[2][arm] for r in shown], [r[3][arm] for r in shown], color=colour, alpha=0.15, lw=0)
        when = np.flatnonzero(np.array(pulled) == arm)
        axes.plot(when, np.full(len(when), -0.12 - 0.06 * arm), "|", color=colour, markersize=5, alpha=0.4)
    axes.set(xlabel="step", ylabel="mean reward", ylim=(-0.25, 1.15), xlim=(0, steps))
    axes.text(80, -0.06, "pulls", fontsize=8)
    axes.legend(fontsize=8, ncols=2, loc="upper center")
    drawing.savefig(path, dpi=120)


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("what", choices=("ablation", "quantiles", "late", "figure"))
    words.add_argument("path", nargs="?", type=Path, default=Path("autoucb.png"))
    words.add_argument("--runs", type=int, default=None)
    given = words.parse_args()
    if given.what == "figure":
        figure(given.path)
    else:
        usual = {"ablation": (ablation, 8), "quantiles": (quantiles, 200), "late": (late, 4)}[given.what]
        usual[0](given.runs or usual[1])


if __name__ == "__main__":
    main()

"""What each part of AutoUCB is worth, how its runs scatter, what late rewards cost it: the tables of docs/autoucb.md.

python benchmarks/autoucb.py ablation [--runs 8]     regret over AutoTS's on the instances of tuning.py
python benchmarks/autoucb.py quantiles [--runs 200]  95th percentiles over AutoTS's, on six of them
python benchmarks/autoucb.py late [--runs 4]         late rewards and bundles, on seven of them
python benchmarks/autoucb.py rare [--runs 8]         slow drift with rare clicks
python benchmarks/autoucb.py weak [--runs 16]        arms far apart, and bursts of an arm close below the best
python benchmarks/autoucb.py figure docs/autoucb.png an arm predicted across a crossing
"""

from __future__ import annotations

import argparse
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from tuning import COIN, SEED, USUAL, T, World, abrupt, drifting, stationary

import driftbandits as db
from driftbandits import instances
from driftbandits.policies._parts.bank import FILTERS, POOL, PRIOR, WALKS, WATCH, WEIGHT
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
    """The first bound alone: no remedy against a filter that is sure and wrong."""

    def init(self, n_arms: int) -> AutoUCBState:
        state = super().init(n_arms)
        state.run.pace, state.run.near, state.run.rise = 1e300, 1e-100, 1e300
        return state


@dataclass(frozen=True)
class NoCloseLooks(db.AutoUCB):
    """An arm close below the best is looked at no sooner than others."""

    def init(self, n_arms: int) -> AutoUCBState:
        state = super().init(n_arms)
        state.run.near = 1e-100
        return state


@dataclass(frozen=True)
class NoRepeats(db.AutoUCB):
    """A look that pleases is not repeated."""

    def init(self, n_arms: int) -> AutoUCBState:
        state = super().init(n_arms)
        state.run.rise = 1e300
        return state


@dataclass(frozen=True)
class NoMemory(db.AutoUCB):
    """An arm is looked at as often as any other, whatever looks at it cost so far."""

    def init(self, n_arms: int) -> AutoUCBState:
        state = super().init(n_arms)
        state.run.rarely = 1.0
        return state


@dataclass(frozen=True)
class Closer(db.AutoUCB):
    """Bounds at 1.5 deviations."""

    def init(self, n_arms: int) -> AutoUCBState:
        state = super().init(n_arms)
        state.run.deviations = 1.5
        return state


@dataclass(frozen=True)
class Draws(db.AutoUCB):
    """The same filters, but always a draw in place of the index."""

    def init(self, n_arms: int) -> AutoUCBState:
        state = super().init(n_arms)
        state.run.patience = -1.0
        return state


@dataclass(frozen=True)
class NoAlarm(db.AutoUCB):
    """Fast walks can never outweigh the others in the watch, so there is no alarm."""

    def init(self, n_arms: int) -> AutoUCBState:
        state = super().init(n_arms)
        state.run.hazard, state.shared[WATCH + 1 : WATCH + WALKS] = 0.0, 0.0
        return state


@dataclass(frozen=True)
class NeverDraws(db.AutoUCB):
    """The index also when rewards come late."""

    def init(self, n_arms: int) -> AutoUCBState:
        state = super().init(n_arms)
        state.run.patience = 1e300
        return state


def jumps() -> dict[str, World]:
    """40 draws of means that jump: 2 to 8 arms, coins and Gaussians in turn; the alarm was tuned on them."""
    found: dict[str, World] = {}
    for seed in (*range(1_300, 1_324), *range(1_400, 1_416)):
        arms = int(np.random.default_rng(seed).integers(2, 9))
        found[f"jumps, seed {seed}"] = (instances.abrupt(T, arms, 5, seed), COIN if seed % 2 else USUAL)
    return found


def rare_clicks(periods: float, seed: int) -> World:
    """Five arms with rates of 1 to 4 % that swing slowly, so many times in T steps; 0: they stand still."""
    rng, t = np.random.default_rng(seed), np.arange(T)[:, None] / T
    phase, level, swing = rng.random(5), rng.uniform(0.015, 0.03, 5), rng.uniform(0.002, 0.01, 5)
    return db.Instance(level + swing * np.sin(2 * np.pi * (periods * t + phase))), COIN


def apart(seed: int) -> World:
    """One arm on top that moves slowly, one to four others far below it, which stand still or swing a little."""
    rng, t = np.random.default_rng(seed), np.arange(T)
    below = int(rng.integers(1, 5))
    knots, levels = np.sort(rng.random(6)) * T, rng.uniform(0.6, 0.95, 8)
    means = [np.interp(t, np.r_[0, knots, T], levels)]
    for _ in range(below):
        level, swing = rng.uniform(0.05, 0.2), 0.05 * float(rng.random() < 0.4)
        means.append(level + swing * np.sin(2 * np.pi * (rng.uniform(0.5, 3) * t / T + rng.random())))
    return db.Instance(np.stack(means, axis=1)), COIN if seed % 2 else USUAL


def bursts(seed: int) -> World:
    """Three to eight low arms that swing together, two of them close; now and then one of three rises far, for a while.

    The arm that is pulled shows nothing of a burst. This is what tweets about companies are like.
    """
    rng, t = np.random.default_rng(seed), np.arange(T)[:, None]
    arms = int(rng.integers(3, 9))
    level = np.sort(rng.uniform(0.0, 0.25, arms))[::-1]
    level[1] = level[0] * rng.uniform(0.8, 1.0)
    phase = rng.random() + 0.1 * rng.random(arms)
    means = level * (1 + 0.25 * np.sin(2 * np.pi * (rng.integers(8, 30) * t / T + phase)))
    for _ in range(8):
        arm, middle, width, height = rng.integers(3), rng.random() * T, rng.uniform(500, 2_000), rng.uniform(0.05, 0.45)
        means[:, arm] += height * np.exp(-(((t[:, 0] - middle) / width) ** 2) / 2)
    return db.Instance(np.clip(means, 0.0, 1.0)), COIN if seed % 3 else USUAL


def worlds() -> dict[str, dict[str, World]]:
    some_jumps = dict(list(jumps().items())[::3])
    still = dict(list(stationary().items())[::3])
    return {"drifting": drifting(), "stationary": still, "abrupt": abrupt() | some_jumps}


def ablation(runs: int) -> None:
    policies: dict[str, Any] = {"AutoUCB": db.AutoUCB(), "draws": Draws(), "no slopes": NoSlopes()}
    policies |= {"no looks": NoLooks(), "no close looks": NoCloseLooks(), "no repeats": NoRepeats()}
    policies |= {"no memory": NoMemory(), "no alarm": NoAlarm(), "1.5 dev.": Closer()}
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
    policies = {"AutoTS": db.AutoTS(), "AutoUCB": db.AutoUCB(), "never draws": NeverDraws()}
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


def rare(runs: int) -> None:
    """Regret over AutoTS's where clicks are rare, for slower and faster swings; six instances each."""
    policies: dict[str, Any] = {"AutoUCB": db.AutoUCB(), "ThompsonSampling": db.ThompsonSampling(posterior="beta")}
    print(f"{'periods':10}{'best arms':>10}" + "".join(f"{name:>18}" for name in policies))
    for periods in (0.0, 0.25, 0.5, 1.0, 2.0, 4.0):
        logs: dict[str, list[float]] = {name: [] for name in policies}
        best = []
        for seed in range(1_500, 1_506):
            instance, noise = rare_clicks(periods, seed)
            best.append(1 + int((np.diff(instance.means.argmax(axis=1)) != 0).sum()))
            regrets = play({"AutoTS": db.AutoTS(), **policies}, instance, noise, runs)
            for name in policies:
                logs[name].append(np.log(regrets[name].mean() / regrets["AutoTS"].mean()))
        cells = "".join(f"{np.exp(np.mean(logs[name])):18.2f}" for name in policies)
        print(f"{periods:<10g}{np.mean(best):10.1f}{cells}", flush=True)


def weak(runs: int) -> None:
    """Regret over AutoTS's, and the ratio of 95th percentiles, where AutoUCB is weak."""
    policies: dict[str, Any] = {"AutoUCB": db.AutoUCB(), "no looks": NoLooks(), "no close looks": NoCloseLooks()}
    policies |= {"no repeats": NoRepeats(), "no memory": NoMemory(), "no alarm": NoAlarm()}
    print(f"{'':16}" + "".join(f"{name:>18}" for name in policies) + "   (mean, 95th percentile)")
    for make, first in ((apart, 1_600), (bursts, 1_700)):
        logs: dict[str, list[Any]] = {name: [] for name in policies}
        for seed in range(first, first + 8):
            regrets = play({"AutoTS": db.AutoTS(), **policies}, *make(seed), runs)
            theirs = regrets["AutoTS"]
            for name in policies:
                ratio = (regrets[name].mean() / theirs.mean(), high(regrets[name]) / high(theirs))
                logs[name].append(np.log(ratio))
            cells = "".join(f"{x:12.2f}{y:6.2f}" for x, y in (np.exp(logs[name][-1]) for name in policies))
            print(f"{make.__name__:8}{seed:8}{cells}", flush=True)
        means = "".join(f"{x:12.2f}{y:6.2f}" for x, y in (np.exp(np.mean(logs[name], axis=0)) for name in policies))
        print(f"{make.__name__:8}{'all':>8}{means}", flush=True)


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
    words.add_argument("what", choices=("ablation", "quantiles", "late", "rare", "weak", "figure"))
    words.add_argument("path", nargs="?", type=Path, default=Path("autoucb.png"))
    words.add_argument("--runs", type=int, default=None)
    given = words.parse_args()
    if given.what == "figure":
        figure(given.path)
    else:
        usual = {"ablation": (ablation, 8), "quantiles": (quantiles, 200), "late": (late, 4)}
        usual |= {"rare": (rare, 8), "weak": (weak, 16)}
        what, runs = usual[given.what]
        what(given.runs or runs)


if __name__ == "__main__":
    main()

"""Draw the figure of docs/breakeven.md: python benchmarks/breakeven_figure.py docs/breakeven.png."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import driftbandits as db


def draw(path: Path, steps: int = 8_000) -> None:
    """One arm falls while the other rises, and back; what BreakEven expects of both, and which it pulls."""
    from matplotlib import pyplot as plt

    rng, t = np.random.default_rng(0), np.arange(steps)
    swing = 0.25 * np.cos(np.pi * t / 5_000)
    means = np.stack([0.65 + swing, 0.35 - swing], axis=1)
    play, shown, pulled = db.Online(db.BreakEven(), 2), [], []
    for step in range(steps):
        arm = play.select()
        play.update(arm, float(means[step, arm] + 0.3 * rng.standard_normal()))
        pulled.append(arm)
        if step % 20 == 0 and step > 60:
            belief = play.policy.belief(play.state)
            shown.append((step, belief.estimate, belief.low, belief.high))
    at = [step for step, *_ in shown]
    figure, axes = plt.subplots(figsize=(7.2, 3.6), layout="constrained")
    for arm, (name, colour) in enumerate((("red", "#b2182b"), ("blue", "#2166ac"))):
        axes.plot(t, means[:, arm], color=colour, linewidth=1, linestyle="--", label=f"{name}: mean")
        axes.plot(at, [row[1][arm] for row in shown], color=colour, linewidth=1.5, label=f"{name}: expected, 95 %")
        axes.fill_between(at, [r[2][arm] for r in shown], [r[3][arm] for r in shown], color=colour, alpha=0.15, lw=0)
        when = np.flatnonzero(np.array(pulled) == arm)
        axes.plot(when, np.full(len(when), -0.12 - 0.06 * arm), "|", color=colour, markersize=5, alpha=0.4)
    axes.set(xlabel="step", ylabel="mean reward", ylim=(-0.25, 1.25), xlim=(0, steps))
    axes.text(80, -0.06, "pulls", fontsize=8)
    axes.legend(fontsize=8, ncols=2, loc="upper center")
    figure.savefig(path, dpi=120)


if __name__ == "__main__":
    draw(Path(sys.argv[1] if len(sys.argv) > 1 else "breakeven.png"))

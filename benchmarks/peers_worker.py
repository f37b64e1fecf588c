# mypy: disable-error-code="import-not-found,import-untyped,misc,no-any-unimported"
"""One library on the shared workload: ``peers_worker.py ours|river|pymab workload.npz window`` prints JSON lines.

``peers.py`` starts it with the interpreter that has the library. All libraries are timed by the same few lines: the
CPU time of the process, the best of several repetitions, means and noise drawn before the clock starts.
"""

from __future__ import annotations

import functools
import json
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

STEP, WHOLE, LOOP = "step by step", "simulator, whole call", "simulator, loop only"
INDEX, WEIGHTS, BLIND = "index", "weights", "blind"

SIGMA = 0.5
DRIFT = 1e-4
DISCOUNT = 0.999
GAMMA = 0.05
SHORT_WINDOW = 1_000
SECONDS = 5.0
"""One repetition may take about so long; an entry that would take longer plays fewer steps."""
ENOUGH = 2.5
"""No further repetition after so many seconds; nor, after three, when a fifth of them is spent."""

Play = Callable[[int], "Played"]


@dataclass(frozen=True)
class Played:
    """What one repetition did."""

    seconds: float
    steps: int
    note: str = ""


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    library: str
    policy: str
    kind: str
    mode: str
    steps: int
    nanoseconds: float
    note: str = ""


class Workload:
    """Two drifting arms: their means, and the noise of every step."""

    def __init__(self, path: str) -> None:
        with np.load(path) as arrays:
            self.means = arrays["means"]
            noise = arrays["noise"]
        self.steps = len(self.means)
        self.rewards: list[list[float]] = (self.means + noise[:, None]).tolist()
        self.unit_rewards: list[list[float]] = np.clip(self.means + noise[:, None], 0.0, 1.0).tolist()


def measure(play: Play, steps: int) -> Played:
    """The best of up to 15 repetitions of at most ``steps`` steps, after two short ones (warm-up, guess)."""
    play(min(steps, 2_000))
    trial = play(min(steps, 2_000))
    affordable = int(SECONDS * trial.steps / max(trial.seconds, 1e-9))
    steps = min(steps, max(affordable, 1_000))
    best, spent = None, 0.0
    for repetition in range(1, 16):
        played = play(steps)
        spent += played.seconds
        if best is None or played.seconds / played.steps < best.seconds / best.steps:
            best = played
        if spent > ENOUGH or (repetition >= 3 and spent > ENOUGH / 5):
            break
    assert best is not None
    return best


def report(library: str, policy: str, kind: str, mode: str, play: Play, steps: int, note: str = "") -> None:
    """Measure an entry and print it."""
    played = measure(play, steps)
    notes = "; ".join(part for part in (note, played.note) if part)
    row = Row(library, policy, kind, mode, played.steps, 1e9 * played.seconds / played.steps, notes)
    print(json.dumps(asdict(row)), flush=True)


# ---- ours


def ours(work: Workload, window: int) -> None:
    """driftbandits: the compiled loop, the whole call, and step by step."""
    import driftbandits as db

    T = work.steps
    runs = 4
    policies: dict[str, tuple[str, Any]] = {
        "SWUCBSharp": (INDEX, db.SWUCBSharp(T, DRIFT)),
        "SnoozeIt": (INDEX, db.SnoozeIt(T, DRIFT)),
        "Rexp3": (WEIGHTS, db.Rexp3(T, DRIFT)),
        "Exp3S": (WEIGHTS, db.Exp3S(T, DRIFT)),
        "Uniform": (BLIND, db.Uniform()),
    }

    def simulate(steps: int, policy: Any, mode: str) -> Played:
        instance = db.Instance(work.means[:steps])
        begin = time.process_time()
        result = db.simulate(
            {"policy": policy}, instance, db.Gaussian(SIGMA), runs=runs, seed=0, workers=1, progress=False
        )
        whole = (time.process_time() - begin) / runs
        return Played(float(result.seconds["policy"].mean()) if mode == LOOP else whole, steps)

    def step_by_step(steps: int, policy: Any, rows: list[list[float]]) -> Played:
        play = db.Online(policy, n_arms=2, seed=0)
        begin = time.process_time()
        for t in range(steps):
            arm = play.select()
            play.update(arm, rows[t][arm])
        return Played(time.process_time() - begin, steps)

    for name, (kind, policy) in policies.items():
        rows = work.unit_rewards if kind == WEIGHTS else work.rewards
        report("driftbandits", name, kind, STEP, lambda n, p=policy, r=rows: step_by_step(n, p, r), T)
        for mode in (WHOLE, LOOP):
            report("driftbandits", name, kind, mode, lambda n, p=policy, m=mode: simulate(n, p, m), T, "our means")


# ---- river


def river(work: Workload, window: int) -> None:
    """river: pull and update, and its own evaluate and evaluate_offline."""
    from river import bandit, proba, stats, utils

    class WindowMean(stats.base.Univariate):
        """river's rolling mean as a statistic that river's policies can clone (utils.Rolling loses its window)."""

        def __init__(self, window_size: int) -> None:
            self.window_size = window_size
            self._mean = utils.Rolling(stats.Mean, window_size=window_size)

        def update(self, x: float) -> None:
            self._mean.update(x)

        def get(self) -> float:
            return float(self._mean.get())

    class ActionSpace:
        n = 2

        def seed(self, seed: int) -> None:
            pass

    class World:
        """What evaluate asks of an environment and no more, so that no wrapper is timed."""

        action_space = ActionSpace()

        def __init__(self, rows: list[list[float]], steps: int) -> None:
            self.rows = rows
            self.steps = steps
            self.now = 0

        def __deepcopy__(self, memo: dict[int, Any]) -> World:
            return World(self.rows, self.steps)

        def reset(self, seed: int) -> None:
            self.now = 0

        def step(self, arm: int) -> tuple[None, float, bool, bool, dict[str, Any]]:
            reward = self.rows[self.now][arm]
            self.now += 1
            return None, reward, self.now == self.steps, False, {}

    tuned = float(np.sqrt(2 * np.log(2) / ((np.e - 1) * work.steps)))
    policies: dict[str, tuple[str, Callable[[], Any]]] = {
        "UCB": (INDEX, lambda: bandit.UCB(delta=SIGMA, seed=0)),
        f"UCB, window of {window:,}": (
            INDEX,
            lambda: bandit.UCB(delta=SIGMA, reward_obj=WindowMean(window), seed=0),
        ),
        "UCB, discounted mean": (
            INDEX,
            lambda: bandit.UCB(delta=SIGMA, reward_obj=stats.EWMean(1 - DISCOUNT), seed=0),
        ),
        "EpsilonGreedy": (INDEX, lambda: bandit.EpsilonGreedy(epsilon=0.1, seed=0)),
        "ThompsonSampling": (INDEX, lambda: bandit.ThompsonSampling(reward_obj=proba.Gaussian(), seed=0)),
        f"Exp3, gamma {GAMMA:g}": (WEIGHTS, lambda: bandit.Exp3(gamma=GAMMA, seed=0)),
        f"Exp3, gamma {tuned:.2g}": (WEIGHTS, lambda: bandit.Exp3(gamma=tuned, seed=0)),
        "RandomPolicy": (BLIND, lambda: bandit.RandomPolicy(seed=0)),
    }

    def step_by_step(steps: int, make: Callable[[], Any], rows: list[list[float]]) -> Played:
        policy, arms = make(), [0, 1]
        begin = time.process_time()
        for t in range(steps):
            try:
                arm = policy.pull(arms)
                policy.update(arm, rows[t][arm])
            except (ValueError, OverflowError, ZeroDivisionError) as error:
                return Played(time.process_time() - begin, t, f"dies at step {t + 1:,}: {error}")
        return Played(time.process_time() - begin, steps)

    def evaluate(steps: int, make: Callable[[], Any], rows: list[list[float]]) -> Played:
        instance, t = World(rows, steps), 0
        begin = time.process_time()
        try:
            for _ in bandit.evaluate([make()], instance, n_episodes=1, seed=0):
                t += 1
        except (ValueError, OverflowError, ZeroDivisionError) as error:
            return Played(time.process_time() - begin, t, f"dies at step {t + 1:,}: {error}")
        return Played(time.process_time() - begin, steps)

    logged = np.random.default_rng(0).integers(2, size=work.steps).tolist()
    history = [([0, 1], None, arm, row[arm]) for arm, row in zip(logged, work.rewards, strict=True)]

    def offline(steps: int) -> Played:
        part = history[:steps]
        begin = time.process_time()
        bandit.evaluate_offline(bandit.UCB(delta=SIGMA, seed=0), part)
        return Played(time.process_time() - begin, steps)

    for name, (kind, make) in policies.items():
        rows = work.unit_rewards if kind == WEIGHTS else work.rewards
        for mode, play in ((STEP, step_by_step), (WHOLE, evaluate)):
            report(
                "river", name, kind, mode, lambda n, play=play, make=make, rows=rows: play(n, make, rows), work.steps
            )
    report("river", "UCB, evaluate_offline", INDEX, WHOLE, offline, work.steps, "replays a log; half of it is skipped")


# ---- pymab


def pymab(work: Workload, window: int) -> None:
    """pymab: select and update; its compiled experiments on its own drift, and its Python ones on our means."""
    from pymab import (
        BanditEnvironment,
        BernoulliReward,
        Experiment,
        ExperimentConfig,
        GaussianReward,
        GradualDrift,
        ProbabilityDrift,
    )
    from pymab import policies as make
    from pymab._backend import run_native_experiment
    from pymab.environments import EnvironmentDynamics
    from pymab.types import RewardDomain

    class Table(EnvironmentDynamics):
        """The user's table of means."""

        supported_domains = frozenset(RewardDomain)

        def __init__(self, rows: Any) -> None:
            self._rows = rows  # under another name than the argument's: pymab copies the latter into its provenance

        def apply(self, means: Any, *, step: int, rng: np.random.Generator) -> Any:
            return self._rows[step]

        def clone(self) -> Table:
            return self

    policies: dict[str, tuple[str, Any]] = {
        "UCB": (INDEX, make.UCBPolicy(n_arms=2, reward_scale=SIGMA)),
        f"SlidingWindowUCB, {SHORT_WINDOW:,}": (
            INDEX,
            make.SlidingWindowUCBPolicy(n_arms=2, reward_scale=SIGMA, window_size=SHORT_WINDOW),
        ),
        f"SlidingWindowUCB, {window:,}": (
            INDEX,
            make.SlidingWindowUCBPolicy(n_arms=2, reward_scale=SIGMA, window_size=window),
        ),
        "DiscountedUCB": (INDEX, make.DiscountedUCBPolicy(n_arms=2, reward_scale=SIGMA, discount_factor=DISCOUNT)),
        "CUSUMUCB": (INDEX, make.CUSUMUCBPolicy(n_arms=2, reward_scale=SIGMA)),
        "EpsilonGreedy": (INDEX, make.EpsilonGreedyPolicy(n_arms=2, epsilon=0.1)),
        "GaussianThompsonSampling": (
            INDEX,
            make.GaussianThompsonSamplingPolicy(n_arms=2, reward_precision=SIGMA**-2),
        ),
        "EXP3": (WEIGHTS, make.EXP3Policy(n_arms=2, gamma=GAMMA)),
        "Random": (BLIND, make.RandomPolicy(n_arms=2)),
    }
    start = np.array([0.5, 0.5])
    gaussian = BanditEnvironment(means=start, reward_model=GaussianReward(SIGMA), dynamics=GradualDrift(std=DRIFT))
    # EXP3 takes rewards in [0, 1] only; a logit moves four times as fast as its probability does at one half.
    binary = BanditEnvironment(
        means=start, reward_model=BernoulliReward(), dynamics=ProbabilityDrift(logit_std=4 * DRIFT)
    )
    table = BanditEnvironment(means=start, reward_model=GaussianReward(SIGMA), dynamics=Table(work.means))

    def step_by_step(steps: int, policy: Any, rows: list[list[float]]) -> Played:
        policy, rng = policy.clone(), np.random.default_rng(0)
        begin = time.process_time()
        for t in range(steps):
            arm = policy.select_action(rng=rng)
            policy.update(action=arm, reward=rows[t][arm])
        return Played(time.process_time() - begin, steps)

    def experiment(steps: int, policy: Any, environment: Any, backend: str) -> Played:
        config = ExperimentConfig(horizon=steps, n_replicates=1, seed=0, backend=backend)
        begin = time.process_time()
        Experiment(environment=environment, policies={"policy": policy}, config=config).run()
        return Played(time.process_time() - begin, steps)

    def compiled_loop(steps: int, policy: Any, environment: Any) -> Played:
        begin = time.process_time()
        run_native_experiment(
            environment=environment,
            policies={"policy": policy},
            horizon=steps,
            n_replicates=1,
            seed=0,
            reward_coupling="common",
            record_contexts=False,
        )
        return Played(time.process_time() - begin, steps)

    for name, (kind, policy) in policies.items():
        rows, instance = (work.unit_rewards, binary) if kind == WEIGHTS else (work.rewards, gaussian)
        drift = "its own random walk" if kind != WEIGHTS else "its own random walk, 0/1 rewards"
        report("pymab", name, kind, STEP, lambda n, p=policy, r=rows: step_by_step(n, p, r), work.steps)
        report(
            "pymab", name, kind, WHOLE, lambda n, p=policy, w=instance: experiment(n, p, w, "rust"), work.steps, drift
        )
        report(
            "pymab",
            name,
            kind,
            LOOP,
            lambda n, p=policy, w=instance: compiled_loop(n, p, w),
            work.steps,
            f"private; {drift}",
        )
    for name in ("UCB", f"SlidingWindowUCB, {SHORT_WINDOW:,}", "DiscountedUCB"):
        kind, policy = policies[name]
        play = functools.partial(experiment, policy=policy, environment=table, backend="python")
        report("pymab", name, kind, WHOLE, play, work.steps, "our means, which only its Python backend takes")


def main() -> None:
    library, path, window = sys.argv[1:]
    {"ours": ours, "river": river, "pymab": pymab}[library](Workload(path), int(window))


if __name__ == "__main__":
    main()

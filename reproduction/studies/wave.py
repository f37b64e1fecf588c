"""Two statements of the appendix on one instance that breaks both: Lemma 4 (episodic regret), Claim 8 (block regret).

Arms cross in a triangle wave of slope delta. Round robin pays about a quarter of the wave's amplitude per step, while
no window shows a gap: one episode holds all of it, and its regret is linear in its length, where Lemma 4 allows the
root. If the arms separate at the end, the test passes, and Claim 8 charges all of it to the block of that step.
"""

from dataclasses import dataclass

import driftbandits as db
from reproduction.context import Context
from reproduction.experiments import ALGORITHM_1, CALM, WAVE_DRIFT, wave
from reproduction.statistics import Interval, positive_interval
from reproduction.studies.episodes import Run, charged_blocks, played_runs, within_blocks

RUNS = 5


@dataclass(frozen=True)
class WaveRow:
    """One run: its longest episode, and the largest ratios to the bounds."""

    calm: int
    horizon: int
    run: int
    episode: int
    regret: float
    lemma4: float
    claim8: float
    within: float


@dataclass(frozen=True)
class Wave:
    """A row per run and form of the wave; horizons of 1/4, 1/2 and 1 times T show the order in the episode's length."""

    rows: tuple[WaveRow, ...]

    def at(self, calm: bool, horizon: int) -> list[WaveRow]:
        """The runs of one form at one horizon."""
        return [row for row in self.rows if bool(row.calm) is calm and row.horizon == horizon]


def wave_study(context: Context) -> Wave:
    """Play Algorithm 1 on the wave that ends with separated arms, and on the wave to the end."""
    T, rows = context.settings.horizon, []
    for calm, horizon in ((CALM, T), (0, T // 4), (0, T // 2), (0, T)):
        instance = wave(horizon, min(calm, horizon // 2))
        for number, (run, gaps) in enumerate(played_runs(instance, WAVE_DRIFT, **context.settings.few(RUNS))):
            rows.append(_row(run, gaps, calm, number))
    return Wave(tuple(rows))


def _row(run: Run, gaps: object, calm: int, number: int) -> WaveRow:
    T = run.instance.horizon
    start, test, end = max(run.spans, key=lambda span: span[1] - span[0])
    cost = float(run.paid[end] - run.paid[start])
    return WaveRow(
        calm, T, number, test - start, cost, cost / float(db.bounds.episode_regret(test - start, T)),
        float(charged_blocks(run, gaps)[0].max()), float(within_blocks(run, gaps)[0].max()),
    )  # fmt: skip


@dataclass(frozen=True)
class EpisodicRegret:
    """Experiment 2's flips with 1,000 steps between turns: regret of Algorithm 1, and Lemma 4's bound for one phase."""

    regret: Interval
    runs: int
    passed: int
    """Tests that passed, in all runs."""
    bound: float
    above: int
    """Runs whose regret exceeds the bound."""
    reach: float
    """How far means get from 1/2."""


def episodic_regret(context: Context) -> EpisodicRegret:
    """One active phase in which the best arm keeps changing."""
    played, T = context.simulation("episodic-regret"), context.settings.horizon
    regret, bound = played.regret[ALGORITHM_1][:, -1], float(db.bounds.episode_regret(T, T))
    return EpisodicRegret(
        positive_interval(regret), played.runs, len(played.events[ALGORITHM_1]), bound, int((regret > bound).sum()),
        float(abs(played.instance.means - 0.5).max()),
    )  # fmt: skip

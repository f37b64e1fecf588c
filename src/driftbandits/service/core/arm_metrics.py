"""What Prometheus reads of each experiment and arm: the numbers of the dashboard, of a bounded number of arms."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from driftbandits.service.core.held import Held
from driftbandits.service.dashboard.tracks import ARMS
from driftbandits.service.dashboard.views import View

TURN = 8
"""Experiments that are looked at before others have their turn on the event loop."""
ASKS, REWARDS, TOTAL = (ARMS.index(name) for name in ("asks", "rewards", "total"))


class Arm(NamedTuple):
    """Of one arm: all asks and rewards that the dashboard knows of, and its mean and share lately."""

    experiment: str
    arm: str
    asks: float
    rewards: float
    mean: float
    share: float


class ArmMetrics:
    """A collector that shows what ``look`` found. At most ``most`` arms: those of the experiments used last."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._arms: list[Arm] = []
        self._alarms: list[tuple[str, int]] = []
        self._hidden = 0

    async def look(self, held: Iterable[Held]) -> None:
        """Read the numbers of as many experiments as may be shown."""
        arms, alarms, left = list[Arm](), list[tuple[str, int]](), self._most
        experiments = sorted(held, key=lambda each: each.used, reverse=True)
        for number, each in enumerate(experiments):
            left -= len(each.view.names)
            if left < 0:
                break
            arms += _arms_of(each.id, each.view)
            alarms.append((each.id, each.view.alarm_count))
            if number % TURN == TURN - 1:
                await asyncio.sleep(0)
        self._arms, self._alarms, self._hidden = arms, alarms, len(experiments) - len(alarms)

    def collect(self) -> Iterator[Metric]:
        """For Prometheus's library."""
        labels = ["experiment", "arm"]
        asks = CounterMetricFamily("driftbandits_arm_asks", "Decisions for this arm.", labels=labels)
        rewards = CounterMetricFamily("driftbandits_arm_rewards", "Rewards of this arm.", labels=labels)
        mean = GaugeMetricFamily("driftbandits_arm_recent_mean", "Mean of its recent rewards.", labels=labels)
        share = GaugeMetricFamily("driftbandits_arm_recent_share", "Its share of recent Decisions.", labels=labels)
        for arm in self._arms:
            names = [arm.experiment, arm.arm]
            asks.add_metric(names, arm.asks)
            rewards.add_metric(names, arm.rewards)
            mean.add_metric(names, arm.mean)
            share.add_metric(names, arm.share)
        alarms = CounterMetricFamily(
            "driftbandits_drift_alarms", "Times that rewards drifted faster than declared.", labels=["experiment"]
        )
        for experiment, count in self._alarms:
            alarms.add_metric([experiment], count)
        yield from (asks, rewards, mean, share, alarms)
        yield GaugeMetricFamily(
            "driftbandits_hidden_experiments", "Experiments in memory whose arms are not shown.", value=self._hidden
        )


def _arms_of(id: str, view: View) -> Iterator[Arm]:
    view.take_in()
    whole, recent = (view.rows(track).arms.sum(axis=0) for track in (view.whole, view.recent))
    asked = recent[:, ASKS].sum()
    for index, name in enumerate(view.names):
        known = recent[index, REWARDS]
        mean = (view.origin or 0.0) + recent[index, TOTAL] / known if known else float("nan")
        share = recent[index, ASKS] / asked if asked else float("nan")
        yield Arm(id, name, whole[index, ASKS], whole[index, REWARDS], mean, share)

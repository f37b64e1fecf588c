"""A world for the demo: visitors of drifting taste, who answer late, out of order, or never."""

from __future__ import annotations

import asyncio
import heapq
import itertools
import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import httpx
import numpy as np

TICK = 0.05
"""Seconds between two requests of each kind."""


@dataclass(frozen=True)
class Visitors:
    """Those of one experiment: as it is created, the mean reward of each arm at a step, and how they behave."""

    experiment: dict[str, Any]
    means: Callable[[int], list[float]]
    each_tick: int = 3
    delay: float = 0.4
    never: float = 0.02


def _turns(step: int) -> list[float]:
    """Two arms that stand still and change places in turn, by 1/5000 a step, as in the paper's second experiment."""
    place = step % 12_000
    fallen = min(max((place - 2_000) / 4_000, 0.0), 1.0) - min(max((place - 8_000) / 4_000, 0.0), 1.0)
    return [0.9 - 0.8 * fallen, 0.1 + 0.8 * fallen]


def _swings(step: int) -> list[float]:
    return [0.5 + 0.35 * math.sin(step / 1_500 + 2 * math.pi * arm / 4) for arm in range(4)]


def _hurries(step: int) -> list[float]:
    return [0.5, 0.5 + 0.4 * math.sin(step / 500)]


VISITORS = (
    Visitors(
        {
            "id": "checkout-button",
            "title": "Checkout button",
            "arms": ["blue button", "green button"],
            "policy": "SnoozeItTight",
            "policy_settings": {"horizon": 100_000, "drift": 1 / 5_000},
            "timeout": 5.0,
            "default_reward": 0.0,
        },
        _turns,
    ),
    Visitors(
        {
            "id": "headline",
            "title": "Headline of the day",
            "arms": ["Rain again", "Ten easy soups", "The lost map", "Who won?"],
            "timeout": 10.0,
        },
        _swings,
        delay=1.5,
    ),
    Visitors(
        {
            "id": "shipping-note",
            "title": "Shipping note, drift declared too small",
            "arms": ["free from 40", "two days"],
            "policy": "KalmanTS",
            "policy_settings": {"drift": 1e-5},
            "timeout": 20.0,
        },
        _hurries,
        delay=0.2,
        never=0.0,
    ),
)


def run_world(url: str, stop: threading.Event, ready: Callable[[], None]) -> None:
    """Wait for the service, create the experiments, and visit until told to stop."""
    asyncio.run(_run(url, stop, ready))


async def _run(url: str, stop: threading.Event, ready: Callable[[], None]) -> None:
    async with httpx.AsyncClient(base_url=url, timeout=10) as client:
        while not stop.is_set():
            try:
                if (await client.get("/readyz")).status_code == 200:
                    break
            except httpx.TransportError:
                await asyncio.sleep(TICK)
        if stop.is_set():
            return
        for visitors in VISITORS:
            (await client.post("/v1/experiments", json=visitors.experiment)).raise_for_status()
        ready()
        await asyncio.gather(*(_visit(client, visitors, stop) for visitors in VISITORS))


async def _visit(client: httpx.AsyncClient, visitors: Visitors, stop: threading.Event) -> None:
    luck = np.random.default_rng(0)
    arms, path = visitors.experiment["arms"], f"/v1/experiments/{visitors.experiment['id']}"
    coming: list[tuple[float, int, dict[str, Any]]] = []
    order = itertools.count()
    while not stop.is_set():
        try:
            asked = await client.post(f"{path}/ask_many", json={"count": visitors.each_tick})
            for decision in asked.json().get("decisions", ()):  # a paused experiment makes none
                mean = visitors.means(decision["step"])[arms.index(decision["arm"])]
                reward = {"id": decision["id"], "reward": float(luck.random() < mean)}
                if luck.random() >= visitors.never:
                    heapq.heappush(coming, (time.monotonic() + luck.exponential(visitors.delay), next(order), reward))
            due = []
            while coming and coming[0][0] <= time.monotonic():
                due.append(heapq.heappop(coming)[2])
            if due:
                await client.post(f"{path}/tell_many", json={"rewards": due})
        except httpx.TransportError:
            pass  # the service stops, or is not there for a moment
        await asyncio.sleep(TICK)

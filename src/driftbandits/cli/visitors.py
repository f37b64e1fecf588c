"""Simulated visitors for the demo: their taste drifts, and they answer late, out of order, or never."""

from __future__ import annotations

import asyncio
import heapq
import math
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from driftbandits.client import AsyncClient, AsyncRemoteSession, RefusedError, UnavailableError

TICK = 0.05
"""Seconds between two requests of each kind."""


@dataclass(frozen=True)
class Visitors:
    """Those of one experiment: what it is declared as, the mean reward of each arm at a step, and how they behave.

    Of each tick's ``each_tick`` Decisions a share ``never`` is never answered, the others after an exponential time.
    """

    id: str
    declared: dict[str, Any]
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
        "checkout-button",
        {
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
        "headline",
        {
            "title": "Headline of the day",
            "arms": ["Rain again", "Ten easy soups", "The lost map", "Who won?"],
            "timeout": 10.0,
        },
        _swings,
        delay=1.5,
    ),
    Visitors(
        "shipping-note",
        {
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


def run_visitors(url: str, stop: threading.Event, say: Callable[[str], None], ready: Callable[[], None]) -> None:
    """Wait for the service, create the experiments, say how far that is, and visit until told to stop."""
    asyncio.run(_run(url, stop, say, ready))


async def _run(url: str, stop: threading.Event, say: Callable[[str], None], ready: Callable[[], None]) -> None:
    from driftbandits.policies.registry import DEFAULT

    async with AsyncClient(url, patience=1.0) as client:
        opened = []
        for number, visitors in enumerate(VISITORS, start=1):
            policy = visitors.declared.get("policy", DEFAULT)
            say(f"creating experiment {number} of {len(VISITORS)}: {visitors.id}, policy {policy}")
            opened.append(await _open(client, visitors, stop))
        if not stop.is_set():
            ready()
        pairs = zip(VISITORS, opened, strict=True)
        await asyncio.gather(*(_visit(session, visitors, stop) for visitors, session in pairs if session))


async def _open(client: AsyncClient, visitors: Visitors, stop: threading.Event) -> AsyncRemoteSession | None:
    """The experiment, as soon as the service is there."""
    while not stop.is_set():
        try:
            return await client.open(visitors.id, **visitors.declared)
        except UnavailableError:
            await asyncio.sleep(TICK)
    return None


async def _visit(session: AsyncRemoteSession, visitors: Visitors, stop: threading.Event) -> None:
    rng = np.random.default_rng(0)
    arms: list[str] = visitors.declared["arms"]
    coming: list[tuple[float, str, float]] = []
    while not stop.is_set():
        with suppress(RefusedError, UnavailableError):  # someone paused it, or the service is about to stop
            for decision in await session.ask_many(visitors.each_tick):
                mean = visitors.means(decision.step)[arms.index(decision.arm)]
                when, reward = time.monotonic() + rng.exponential(visitors.delay), float(rng.random() < mean)
                if rng.random() >= visitors.never:
                    heapq.heappush(coming, (when, decision.id, reward))
        due = []
        while coming and coming[0][0] <= time.monotonic():
            due.append(heapq.heappop(coming)[1:])
        with suppress(RefusedError, UnavailableError):
            await session.tell_many(due)
        await asyncio.sleep(TICK)

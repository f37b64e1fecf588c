"""Clients that ask and tell at full rate while services are killed, and what must be true of the log then."""

from __future__ import annotations

import asyncio
import itertools
import random
import signal
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from driftbandits.client import AsyncClient, UnavailableError, calls
from driftbandits.client.calls import Call, Found
from driftbandits.live.decisions import Asked, ExpiredError, Outcome, Settled, Told
from driftbandits.live.session import Session
from driftbandits.store import Store
from driftbandits.store.sessions import Snapshot
from serving import Process
from waiting import PATIENCE

LEASE = 2.0


@dataclass
class Acknowledged:
    """What clients were told is done."""

    asked: dict[str, str] = field(default_factory=dict)
    told: dict[str, float] = field(default_factory=dict)
    expired: set[str] = field(default_factory=set)


class Storm:
    """Two services on one store, clients that know both, and someone who kills."""

    def __init__(self, store: str, seed: int) -> None:
        self.store, self.random = store, random.Random(seed)
        self.services = [Process(store, lease=LEASE) for _ in range(2)]
        self.seen: dict[str, Acknowledged] = {}
        self.folds: dict[str, tuple[Session, int]] = {}
        """Of each log, from its first event on, as far as it was when last looked at."""
        self.answers = 0
        self.stopping = False
        self.last = self.services[0]

    async def rage(self, kills: int, stalls: int) -> None:
        """Kill (-9) and stall services at random moments while clients go on; at the end stop gracefully."""
        for service in self.services:
            await asyncio.to_thread(service.wait)
        clients = [AsyncClient(service.url, patience=0.0, timeout=10.0) for service in self.services]
        both = list(zip(self.services, clients, strict=True))
        await self._do(both, calls.create("quick", {"arms": ["red", "blue", "green"], "timeout": 0.3}))
        await self._do(
            both,
            calls.create(
                "in-turn",
                {
                    "arms": ["red", "blue"],
                    "policy": "SnoozeIt",
                    "policy_settings": {"horizon": 100_000, "drift": 1e-5},
                    "timeout": 0.5,
                    "default_reward": 0.0,
                },
            ),
        )
        await self._do(both, calls.create("patient", {"arms": ["red", "blue"]}))
        self.seen = {name: Acknowledged() for name in ("quick", "in-turn", "patient")}
        tasks = [asyncio.create_task(self._client(both, name)) for name in self.seen for _ in range(4)]
        ends = ["kill"] * kills + ["stall"] * stalls
        self.random.shuffle(ends)
        for end in ends:
            await self._progress()
            await asyncio.sleep(self.random.uniform(0.0, 0.3))
            victim = self.last
            if end == "kill":
                await asyncio.to_thread(victim.kill)
                await asyncio.to_thread(self.check_fold)
                victim.start()
            else:
                victim.signal(signal.SIGSTOP)
                await asyncio.sleep(1.5 * LEASE)
                victim.signal(signal.SIGCONT)
        await self._progress()
        self.stopping = True
        await asyncio.gather(*tasks)
        for client in clients:
            await client.close()
        for service in self.services:
            await asyncio.to_thread(service.wait)
            await asyncio.to_thread(service.stop)

    async def _progress(self) -> None:
        """Until clients were answered again, so that no kill hits a service that has not begun."""
        before, deadline = self.answers, time.monotonic() + PATIENCE
        while self.answers < before + 20:
            await asyncio.sleep(0.005)
            assert time.monotonic() < deadline, f"waited {PATIENCE:.0f} seconds in vain for 20 answers"

    async def _client(self, both: list[tuple[Process, AsyncClient]], name: str) -> None:
        mine, chance = self.seen[name], random.Random(self.random.random())
        while not self.stopping:
            if chance.random() < 0.5:
                decisions = [await self._do(both, calls.ask(name))]
            else:
                decisions = await self._do(both, calls.ask_many(name, chance.randint(1, 50)))
            for decision in decisions:
                assert decision.id not in mine.asked, f"{decision.id} was given to two askers"
                mine.asked[decision.id] = decision.arm
            told = [(decision.id, chance.random()) for decision in decisions if chance.random() < 0.9]
            await self._tell(both, name, mine, told)

    async def _tell(
        self, both: list[tuple[Process, AsyncClient]], name: str, mine: Acknowledged, told: list[tuple[str, float]]
    ) -> None:
        if len(told) == 1:
            try:
                outcomes = [await self._do(both, calls.tell(name, *told[0]))]
            except ExpiredError:
                outcomes = [Outcome.EXPIRED]
        else:
            _, call = calls.tell_many(name, told)
            outcomes = await self._do(both, call) if call else []
        for (id, reward), outcome in zip(told, outcomes, strict=True):
            if outcome is Outcome.EXPIRED:
                mine.expired.add(id)
            else:
                assert outcome is Outcome.NEW, f"{id} was told once, and is {outcome}"
                mine.told[id] = reward

    async def _do(self, both: list[tuple[Process, AsyncClient]], call: Call[Found]) -> Found:
        """Send the same call to one service and the other until it is answered."""
        for service, client in itertools.cycle(both if self.last is both[0][0] else both[::-1]):
            try:
                answer = await client.do(call)
            except UnavailableError:
                await asyncio.sleep(0.01)
                continue
            self.last, self.answers = service, self.answers + 1
            return answer
        raise AssertionError

    # What must be true

    def check_fold(self) -> None:
        """Between two services: what a snapshot and the rest of the log give is what the whole log gives."""
        store = Store(self.store)
        for name in self.seen:
            experiment = store.experiments.get(name)
            session, _ = store.sessions.at(experiment, experiment.last_seq)
            whole, seq = self.folds.get(name) or (experiment.session(), 0)
            for event in store.history.events(name, seq, experiment.last_seq):
                whole.apply(event)
            self.folds[name] = whole, experiment.last_seq
            assert session.snapshot() == whole.snapshot()
        store.close()

    def check_end(self) -> Counter[str]:
        """Everything that was acknowledged is in the log exactly once, and nothing else is."""
        store, counted = Store(self.store), Counter[str]()
        for name, mine in self.seen.items():
            arms = store.experiments.get(name).arms
            events = list(store.history.events(name))
            asked = [event for event in events if isinstance(event, Asked)]
            told = [event for event in events if isinstance(event, Told)]
            settled = [event for event in events if isinstance(event, Settled)]
            assert [event.step for event in asked] == list(range(1, len(asked) + 1))
            assert {f"{name}-{event.step}": arms[event.arm] for event in asked} == mine.asked
            assert sorted((f"{name}-{event.step}", event.reward) for event in told) == sorted(mine.told.items())
            assert not mine.expired - {f"{name}-{event.step}" for event in settled}
            closed = [event.step for event in told] + [event.step for event in settled]
            assert len(closed) == len(set(closed))
            # The services have let go, and what they had in memory is what the log says.
            assert store.experiments.get(name).holder is None
            assert saved(store, name) == folded(store, name, len(events))
            counted += Counter(asked=len(asked), told=len(told), settled=len(settled))
        store.close()
        return counted


def folded(store: Store, name: str, seq: int) -> Snapshot:
    """The Session as the log alone makes it."""
    session = store.experiments.get(name).session()
    for event in store.history.events(name, until=seq):
        session.apply(event)
    return Snapshot.of(session)


def saved(store: Store, name: str) -> Snapshot:
    """The last snapshot that a service saved."""
    import zlib

    from sqlalchemy import select

    from driftbandits.store.schema import snapshots

    newest = select(snapshots).where(snapshots.c.experiment == store.experiments.get(name).key)
    with store.database.reading() as connection:
        row: Any = connection.execute(newest.order_by(snapshots.c.seq.desc()).limit(1)).one()
    return Snapshot(row.seq, zlib.decompress(row.data))


def storm(store: str, kills: int, stalls: int, seed: int = 0) -> Counter[str]:
    """The whole test; returns how many events of each kind it made."""
    weather = Storm(store, seed)
    try:
        asyncio.run(weather.rage(kills, stalls))
    finally:
        for service in weather.services:
            service.kill()
    return weather.check_end()

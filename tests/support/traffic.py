"""Clients that ask and tell while something goes wrong, and what of it must be in the log afterwards."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeAlias

import httpx

from driftbandits.live.decisions import Asked, Told
from driftbandits.store import Store
from waiting import wait_until

ID = "button"
PATH = f"/v1/experiments/{ID}"
Acknowledged: TypeAlias = tuple[dict[str, str], dict[str, float]]
"""Arms and rewards by Decision."""


class Traffic:
    """What was acknowledged: arms by Decision, rewards by Decision. Requests that fail are not tried again."""

    def __init__(self, url: str, declare: bool = True, **declared: object) -> None:
        self.url, self.seen = url, Counter[str]()
        self.asked: dict[str, str] = {}
        self.told: dict[str, float] = {}
        self._ended = threading.Event()
        if not declare:
            return
        with httpx.Client(base_url=url, timeout=60) as client:
            made = client.post("/v1/experiments", json={"id": ID, "arms": ["red", "blue"], **declared})
            assert made.status_code == 201, made.text

    @contextmanager
    def flowing(self, clients: int = 4) -> Iterator[Traffic]:
        """While the block runs."""
        self._ended.clear()
        threads = [threading.Thread(target=self._ask_and_tell) for _ in range(clients)]
        for thread in threads:
            thread.start()
        try:
            yield self
        finally:
            self._ended.set()
            for thread in threads:
                thread.join()

    def wait_for(self, kind: str, more: int = 20) -> None:
        """Until so many more requests came to that: "asked", "told" or "refused"."""
        goal = self.seen[kind] + more
        wait_until(lambda: self.seen[kind] >= goal, f"{more} requests that are {kind}")

    def _ask_and_tell(self) -> None:
        with httpx.Client(base_url=self.url, timeout=60) as client:
            while not self._ended.is_set():
                try:
                    answer = client.post(f"{PATH}/ask")
                    if answer.status_code == 200:
                        decision = answer.json()
                        assert decision["id"] not in self.asked, f"{decision['id']} was given to two askers"
                        self.asked[decision["id"]] = decision["arm"]
                        self.seen["asked"] += 1
                        reward = decision["step"] % 11 / 11
                        answer = client.post(f"{PATH}/tell", json={"id": decision["id"], "reward": reward})
                        if answer.status_code == 200:
                            self.told[decision["id"]] = reward
                            self.seen["told"] += 1
                except httpx.TransportError:
                    self.seen["refused"] += 1
                    time.sleep(0.05)
                    continue
                if answer.status_code != 200:
                    assert answer.status_code in (503, 410), answer.text
                    self.seen["refused"] += 1
                    time.sleep(0.02)

    def copy(self) -> Acknowledged:
        """What was acknowledged until now."""
        told = dict(self.told)  # first: a reward is told after its Decision
        return dict(self.asked), told

    def check(self, store_url: str, acknowledged: Acknowledged | None = None) -> Counter[str]:
        """Everything acknowledged is in the log, and the Store has nothing wrong; returns what was seen."""
        asked, told = acknowledged or self.copy()
        store = Store(store_url)
        arms = store.experiments.get(ID).arms
        events = list(store.history.events(ID))
        made = {f"{ID}-{event.step}": arms[event.arm] for event in events if isinstance(event, Asked)}
        rewards = {f"{ID}-{event.step}": event.reward for event in events if isinstance(event, Told)}
        lost = [id for id in asked if made.get(id) != asked[id]] + [id for id in told if rewards.get(id) != told[id]]
        assert not lost, f"{len(lost)} acknowledged, and lost: {lost[:5]}"
        assert store.maintenance.check() == []
        store.close()
        return +self.seen

"""A plain twin of runs on instances whose arms come and go: one step after the other, arms by name."""

from __future__ import annotations

import copy
from typing import Any

from driftbandits._numba.loops import update
from driftbandits.instances import Instance
from driftbandits.instances.noise import Noise
from driftbandits.simulation.engine import NOISE, OWN, stream


class NaiveRun:
    """A policy, the arms that it knows in its own order, and those of them that are on."""

    def __init__(self, policy: Any, first: list[int], n_arms: int, own: Any) -> None:
        self.original, self.own = policy, own
        self.rule = getattr(policy, "arms_change", "anew")
        self.past: list[tuple[int, float]] = []
        self.begin(list(range(n_arms)) if self.rule == "told" else first)

    def begin(self, known: list[int]) -> None:
        self.policy, self.known, self.off = copy.deepcopy(self.original), known, set[int]()
        self.state = self.policy.init(len(known))
        self.wanted: int | None = None

    def there(self, arms: list[int]) -> None:
        """These arms can be chosen from now on."""
        if self.rule == "anew":
            if arms != self.known:
                self.begin(arms)
                self.learn_again([pull for pull in self.past[-1_000:] if pull[0] in arms])
            return
        for arm in arms:
            if arm not in self.known:
                self.state = self.policy.add_arm(self.state)
                self.known = [*self.known, arm]
            elif arm in self.off:
                self.off.remove(arm)
                self.policy.set_arm(self.state, self.known.index(arm), True)
        for place, arm in enumerate(self.known):
            if arm not in arms and arm not in self.off:
                self.off.add(arm)
                self.policy.set_arm(self.state, place, False)

    def learn_again(self, pulls: list[tuple[int, float]]) -> None:
        if getattr(self.policy, "any_order", False):
            for arm, reward in pulls:
                self.update(arm, reward)
            return
        left = list(pulls)
        while True:
            arm = self.select()
            first = next((at for at, pull in enumerate(left) if pull[0] == arm), None)
            if first is None:
                self.wanted = arm
                return
            self.update(*left.pop(first))

    def select(self) -> int:
        if self.wanted is not None:
            arm, self.wanted = self.wanted, None
            return arm
        return self.known[int(self.policy.select(self.state, self.own))]

    def update(self, arm: int, reward: float) -> None:
        if hasattr(self.policy, "reserve"):
            self.state = self.policy.reserve(self.state, 1)
        update(self.policy, self.state, self.known.index(arm), reward, self.own)


def play_changing(policy: Any, instance: Instance, noise: Noise, seed: int, run: int) -> tuple[list[int], list[float]]:
    """One run: at every step the arms that are there, a choice, a reward."""
    assert instance.available is not None
    world, own = stream(seed, run, NOISE), stream(seed, run, OWN)
    offered = [[arm for arm, there in enumerate(row) if there] for row in instance.available.tolist()]
    it = NaiveRun(policy, offered[0], instance.n_arms, own)
    for means, arms in zip(instance.means, offered, strict=True):
        it.there(arms)
        arm = it.select()
        reward = noise.draw(float(means[arm]), world)
        it.update(arm, reward)
        it.past.append((arm, reward))
    return [arm for arm, _ in it.past], [reward for _, reward in it.past]

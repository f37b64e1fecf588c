"""Late rewards said as plainly as can be: every Decision is kept, and every sum is over Decisions one by one."""

from __future__ import annotations

import math
from typing import Any

OCTAVES, PER_OCTAVE, PER_LEVEL, PRIOR, RENEWALS = 14, 8, 16, 5.0, 256


class NaiveLate:
    """What a Session with ``late=True`` learns, as (arm, reward), when its policy is of no interest."""

    def __init__(self, timeout: float, default: float, n_arms: int) -> None:
        self.timeout, self.default, self.n_arms = timeout, default, n_arms
        self.tick = timeout / 2**OCTAVES
        top = math.ceil(PER_OCTAVE * math.log2(timeout))
        powers = range(top - OCTAVES * PER_OCTAVE, top)
        self.bounds: list[float] = [2.0 ** (power / PER_OCTAVE) for power in powers] + [timeout]
        self.decisions: list[dict[str, Any]] = []
        self.groups: list[tuple[int, list[dict[str, Any]]]] = []
        self.gone: list[dict[str, Any]] = []
        self.learnt: list[tuple[int, float]] = []
        self.ahead = [0] * n_arms
        self.time = -math.inf
        self.law, self.renewed = [1.0] * len(self.bounds), -math.inf

    def ask(self, now: float, arms: list[int]) -> None:
        for arm in arms:
            made = {"arm": arm, "time": now, "told": None, "settled": False}
            self.decisions.append(made)
            if self.groups and now // self.tick <= self.groups[-1][1][-1]["time"] // self.tick:
                self.groups[-1][1].append(made)
                continue
            while self.groups and self._is_over(self.groups[0][1], now):
                self.gone += self.groups.pop(0)[1]
            self.groups.append((0, [made]))
            level = 0
            while sum(of == level for of, _ in self.groups) > PER_LEVEL:
                place = next(place for place, (of, _) in enumerate(self.groups) if of == level)
                self.groups[place : place + 2] = [(level + 1, self.groups[place][1] + self.groups[place + 1][1])]
                level += 1
            self.law, self.renewed = self.current(now)
        self.time = now

    def _is_over(self, group: list[dict[str, Any]], now: float) -> bool:
        closed = all(each["settled"] or each["told"] is not None for each in group)
        return closed and group[-1]["time"] + self.timeout <= now

    def tell(self, now: float, step: int, reward: float) -> None:
        decision = self.decisions[step - 1]
        decision["told"] = now
        self.learnt.append((decision["arm"], reward))
        self.time = now

    def estimate(self, now: float) -> list[float]:
        """The product-limit estimator, from delays one by one; F at each bound."""
        age = max(now - self.decisions[0]["time"], self.tick)
        kept, below = 1.0, [0.0, *self.bounds[:-1]]
        found: list[float] = []
        for low, high in reversed(list(zip(below, self.bounds, strict=True))):
            found.append(kept)
            of_late = PRIOR * (min(high / age, 1.0) - min(low / age, 1.0))
            of_all = PRIOR * min(high / age, 1.0)
            watched = [group for _, group in self.groups if now - group[-1]["time"] >= high]
            for each in [*self.gone, *(each for group in watched for each in group)]:
                delay = math.inf if each["told"] is None else each["told"] - each["time"]
                of_all += delay <= high
                of_late += low < delay <= high or (low == 0.0 and delay <= high)
            kept *= 1.0 - of_late / of_all
        return found[::-1]

    def current(self, now: float) -> tuple[list[float], float]:
        """The law as it is used now, and when it was estimated."""
        since = self.decisions[0]["time"]
        old = now - self.renewed >= min(self.timeout / RENEWALS, (self.renewed - since) / 16)
        return (self.estimate(now), now) if old else (self.law, self.renewed)

    def missing(self, now: float) -> list[float]:
        found = [0.0] * self.n_arms
        law = self.current(now)[0] if self.decisions else []
        for _, group in self.groups:
            weight = self._law_at(law, now - (group[0]["time"] + group[-1]["time"]) / 2)
            for each in group:
                found[each["arm"]] += weight * (not each["settled"]) - (each["told"] is not None)
        return found

    def _law_at(self, law: list[float], age: float) -> float:
        low, before = 0.0, 0.0
        for bound, value in zip(self.bounds, law, strict=True):
            if age <= bound:
                return before + (value - before) * (age - low) / (bound - low)
            low, before = bound, value
        return 1.0

    def settle(self, now: float) -> None:
        """As at the beginning of every ask and tell."""
        last = self.time
        for decision in self.decisions:
            if not decision["settled"] and decision["told"] is None and decision["time"] + self.timeout <= now:
                decision["settled"] = True
                self.time = now
                if self.ahead[decision["arm"]]:
                    self.ahead[decision["arm"]] -= 1
                else:
                    self.learnt.append((decision["arm"], self.default))
        if last == -math.inf or last // self.tick == now // self.tick:
            return
        for arm, missing in enumerate(self.missing(now)):
            for _ in range(math.floor(missing + 1e-9) - self.ahead[arm]):
                self.learnt.append((arm, self.default))
                self.ahead[arm] += 1
                self.time = now

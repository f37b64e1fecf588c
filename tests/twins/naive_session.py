"""A Session said as plainly as can be: the policy's own methods, lists, a new random generator for every choice.

Settings, arms and policy change while it runs. Nothing here comes from ``driftbandits.live``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from driftbandits._numba.loops import update
from driftbandits.policies.base import Policy

Range = tuple[float, float] | None
UPDATES, EXPLORING, HOLDOUT = 2**60, 2**61, 3 * 2**61
"""Where the random numbers of what a policy draws when it learns, of exploration and of the holdout begin."""
ERA = 2**40
RECENT, DRAWS, ROOM = 1_000, 100, 10_000


class NaiveSession:
    def __init__(
        self, policy: Policy, n_arms: int, seed: int, timeout: float | None, default: float | None, explore: float = 0.0
    ) -> None:
        self.seed, self.timeout, self.default, self.explore = seed, timeout, default, explore
        self.statuses = ["on"] * n_arms
        self.forced: int | None = None
        self.holdout: tuple[float, int] | None = None
        self.range: Range = None
        self.decisions: list[dict[str, Any]] = []
        self.recent: list[tuple[int, int, float]] = []
        self.most_open, self.era = 0, 0
        self.begin(policy)

    def rng(self, step: int) -> np.random.Generator:
        return np.random.Generator(np.random.Philox(key=self.seed, counter=[0, step, 0, 0]))

    # A policy begins, and arms come and go

    def begin(self, policy: Policy) -> None:
        """It knows the arms that are there: ``places`` are their numbers, in the policy's own order."""
        self.policy, self.anew = policy, policy.arms_change == "anew"
        self.scale = self.range if policy.rewards.rescaled else None
        known = ("on",) if self.anew else ("on", "off")
        self.places = [arm for arm, status in enumerate(self.statuses) if status in known]
        self.off: set[int] = set()
        self.state = policy.init(len(self.places))
        self.state = policy.reserve(self.state, ROOM)
        self.aside: list[tuple[int, int, float]] = []
        self.learnt = 0
        self.unknown = set(self.places)
        self.late: set[int] = set()
        """Arms of which nothing is known, that came when others were."""
        self.fresh = not self.decisions and (self.anew or self.era == 0)
        """Whether no ask has had a chance of the arm that a policy which learns in turn waits for."""

    def restart(self, policy: Policy) -> None:
        """A policy begins, and learns the last rewards again; what it has no use for is not put aside."""
        self.era += 1
        self.begin(policy)
        self.learn(self.recent, 0)
        self.aside = []
        self.fresh = self.fresh and self.learnt == 0
        if not self.anew:
            self.switch()

    def switch(self) -> None:
        """The policy is told which of its arms are on."""
        off = {arm for arm in self.places if self.statuses[arm] != "on"}
        for arm in sorted(self.off - off):
            self.policy.set_arm(self.state, self.places.index(arm), True)
        for arm in sorted(off - self.off):
            self.policy.set_arm(self.state, self.places.index(arm), False)
        self.off = off

    def arm(self, arm: int, status: str) -> None:
        """An arm has that status from now on; the next number is a new arm."""
        new = arm == len(self.statuses)
        self.statuses[arm : arm + 1] = [status]
        if self.anew:
            if [each for each, status in enumerate(self.statuses) if status == "on"] != self.places:
                self.restart(self.policy)
            return
        some_known = len(self.unknown) < len(self.places)
        if new:
            self.places.append(arm)
            self.state = self.policy.reserve(self.policy.add_arm(self.state), ROOM)
            self.unknown.add(arm)
        self.late = self.late | ({arm} if new else set()) if some_known else set()
        self.switch()
        self.fresh = False

    # Settings

    def change(self, **settings: Any) -> None:
        """``policy``, ``explore``, ``timeout``, ``default`` or ``range``."""
        policy = settings.pop("policy", self.policy)
        before = self.scale
        for name, value in settings.items():
            setattr(self, name, value)
        if policy != self.policy or (self.range if policy.rewards.rescaled else None) != before:
            self.restart(policy)

    # Choosing

    @property
    def on(self) -> list[int]:
        """The arms that can be chosen."""
        return [arm for arm in self.places if self.statuses[arm] == "on"]

    def select(self, step: int, times: int = 1) -> tuple[list[int], np.random.Generator]:
        """Arms that the policy draws with the numbers of that step, which go on behind them."""
        rng = self.rng(step)
        return [self.places[int(self.policy.select(self.state, rng))] for _ in range(times)], rng

    def wait_for(self) -> int:
        """A policy that learns in turn: the arm it waits for."""
        return self.select(self.era * ERA + self.learnt + 1)[0][0]

    def mixed(self, arm: int, p: float) -> float:
        """The probability of an arm that the policy wants with probability p."""
        p = self.explore / len(self.on) + (1 - self.explore) * p
        if self.holdout is not None:
            p = self.holdout[0] * (arm == self.holdout[1]) + (1 - self.holdout[0]) * p
        return p

    def likely(self) -> dict[int, float] | None:
        """The probability with which the policy chooses each arm, if it tells."""
        found = self.policy.probabilities(self.state)
        return None if found is None else dict(zip(self.places, map(float, found), strict=True))

    def by_chance(self, step: int, wish: int) -> int:
        """That arm, or any."""
        rng = self.rng(EXPLORING + step)
        return self.on[int(rng.random() * len(self.on))] if rng.random() < self.explore else wish

    def choose(self, step: int) -> tuple[int, float | None]:
        """An arm before the holdout, and its probability with it; None if it is not known."""
        waiting = sum(decision["open"] for decision in self.decisions)
        if not self.policy.any_order:
            arm, likely = self.held(step, self.by_chance(step, wish := self.wait_for())), self.likely()
            if likely is not None and self.fresh and not self.aside:
                return arm, self.mixed(arm, likely[arm])
            return arm, self.mixed(arm, float(arm == wish)) if self.explore > 0 else None
        unknown = [arm for arm in sorted(self.unknown) if arm in self.on]
        likely = self.likely()
        if not unknown and self.explore == 0:
            arm = self.held(step, self.select(step)[0][0])
            return arm, None if likely is None else self.mixed(arm, likely[arm])
        if not unknown:
            drawn, rng = self.select(step, DRAWS)
            by_chance, where = rng.random() < self.explore, rng.random()
            arm = self.held(step, self.on[int(where * len(self.on))] if by_chance else drawn[int(where * DRAWS)])
            return arm, self.mixed(arm, drawn.count(arm) / DRAWS if likely is None else likely[arm])
        turned = {each: unknown[(place + waiting) % len(unknown)] for place, each in enumerate(unknown)}
        wish = self.select(step)[0][0]
        wish = turned.get(wish, wish)
        arm = self.held(step, self.by_chance(step, wish))
        if likely is not None:
            wanted = {after: before for before, after in turned.items()}.get(arm, arm)
            return arm, self.mixed(arm, likely[wanted])
        return arm, self.mixed(arm, float(arm == wish)) if self.explore > 0 else None

    def held(self, step: int, arm: int) -> int:
        """The arm, or that of the holdout."""
        self.is_held = self.holdout is not None and bool(self.rng(HOLDOUT + step).random() < self.holdout[0])
        return self.holdout[1] if self.holdout is not None and self.is_held else arm

    def with_new_arms(self, step: int) -> tuple[int, float | None]:
        """As ``choose``; an arm that came later gets one ask in as many as there are arms until its reward comes."""
        new = [arm for arm in sorted(self.late & self.unknown) if arm in self.on]
        if not self.policy.any_order or not new or len(new) == len(self.on):
            return self.choose(step)
        turn = step % len(self.on)
        if turn < len(new):
            arm = self.held(step, self.by_chance(step, new[turn]))
            return arm, self.mixed(arm, float(arm == new[turn])) if self.explore > 0 else None
        statuses = list(self.statuses)
        self.statuses = ["off" if arm in new else status for arm, status in enumerate(statuses)]
        self.switch()
        try:
            return self.choose(step)
        finally:
            self.statuses = statuses
            self.switch()

    def ask(self, now: float, count: int) -> list[tuple[int, float | None]]:
        self.settle(now)
        chosen: list[tuple[int, float | None]] = []
        keeps = self.explore > 0 or self.likely() is not None
        for _ in range(count):
            step = len(self.decisions) + 1
            if self.forced is None:
                arm, p = self.with_new_arms(step)
            else:
                arm, p = self.forced, 1.0 if keeps else None
            self.fresh = False
            compared = None if self.forced is not None or self.holdout is None else self.is_held
            self.decisions.append({"arm": arm, "time": now, "open": True, "reward": None, "held": compared})
            chosen.append((arm, p))
        self.most_open = max(self.most_open, sum(decision["open"] for decision in self.decisions))
        return chosen

    # Rewards

    def tell(self, now: float, rewards: list[tuple[int, float]]) -> list[str]:
        self.settle(now)
        outcomes, came = [], []
        for step, reward in rewards:
            if not np.isfinite(reward):
                outcomes.append("invalid")
            elif not 1 <= step <= len(self.decisions):
                outcomes.append("unknown")
            else:
                decision = self.decisions[step - 1]
                if decision["open"]:
                    decision.update(open=False, reward=reward, learnt=reward)
                    came.append((step, decision["arm"], reward))
                    outcomes.append("new")
                elif decision["reward"] is None:
                    outcomes.append("expired")
                else:
                    outcomes.append("again" if decision["reward"] == reward else "conflict")
        if came:
            self.take(came)
        return outcomes

    def settle(self, now: float) -> None:
        came, any_due = [], False
        for step, decision in enumerate(self.decisions, 1):
            if decision["open"] and self.timeout is not None and decision["time"] + self.timeout <= now:
                any_due = True
                decision["open"] = False
                if self.default is not None:
                    decision["learnt"] = self.default
                    came.append((step, decision["arm"], self.default))
        if any_due:
            self.take(came)

    def take(self, came: list[tuple[int, int, float]]) -> None:
        self.learn(came, len(self.decisions) - 2 * self.most_open)
        self.recent = (self.recent + came)[-RECENT:]

    def learn(self, came: list[tuple[int, int, float]], oldest: int) -> None:
        """Rewards of arms that the policy knows; those put aside for long are forgotten."""
        came = [each for each in came if each[1] in self.places]
        if self.policy.any_order:
            for _, arm, reward in came:
                self.update(arm, reward)
            return
        self.aside = [each for each in self.aside + came if each[0] >= oldest]
        while True:
            wish = self.wait_for()
            fitting = [each for each in self.aside if each[1] == wish]
            if not fitting:
                return
            self.aside.remove(fitting[0])
            self.update(wish, fitting[0][2])
            self.fresh = True

    def update(self, arm: int, reward: float) -> None:
        if self.scale is not None:
            low, high = self.scale
            reward = (reward - low) / (high - low)
        rng = self.rng(UPDATES + self.era * ERA + self.learnt)
        update(self.policy, self.state, self.places.index(arm), reward, rng)
        self.learnt += 1
        self.unknown.discard(arm)

    def lift(self) -> tuple[list[float], list[float], int]:
        """Rewards of Decisions that the policy made while some were held out, of the holdout, and how many lack one."""
        groups = [[each.get("learnt") for each in self.decisions if each["held"] is held] for held in (False, True)]
        made, held_out = ([reward for reward in group if reward is not None] for group in groups)
        return made, held_out, sum(map(len, groups)) - len(made) - len(held_out)

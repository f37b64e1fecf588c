"""A policy between asks and tells: it chooses for a step, and learns rewards in the order that it needs."""

from __future__ import annotations

import copy
import math
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from driftbandits._common.checks import shown
from driftbandits._common.rewards import excess_for, range_for
from driftbandits._numba.loops import counts_pending, select_many, update_many
from driftbandits._numba.player import Player
from driftbandits._numba.random import StepStream
from driftbandits.errors import PolicyError
from driftbandits.live.past import Past, copy_of
from driftbandits.policies._parts.belief import Belief, among, belief_of, of_rewards
from driftbandits.policies._parts.changing_arms import RECENT, learn_in_turn, with_arms
from driftbandits.policies.base import Policy, State

DRAWS = 100
"""Of so many draws of the policy one is taken, where the probability of a choice must be known."""
SUM_OFF = 1e-6
"""How far the probabilities that a policy tells may sum to another number than 1."""
UPDATE_STEPS, EXPLORE_STEPS, EXPLAIN_STEPS, HELD_STEPS = 1 << 60, 1 << 61, 1 << 62, 3 << 61
"""No ask has a step as large as these. Random streams from here on serve what ``update`` draws, exploration,
``shares``, and the holdout."""

ON, OFF, REMOVED = "on", "off", "removed"
"""What an arm is: it may be chosen, it may not for a while, or never again."""

NOBODY = np.zeros(1, np.bool_), 0.0, 0
"""Held out: the flags are not read where the share is 0."""

NONE: Mapping[int, int] = {}
"""No reward is pending."""

Rewards = Sequence[tuple[int, int, float]]
"""Rewards that came, as (step, arm, reward)."""


def horizon_of(policy: Policy) -> float:
    """The steps that a policy was told, infinite if none."""
    horizon: float | None = getattr(policy, "horizon", None)
    return math.inf if horizon is None else horizon


class Learner:
    """For policies that take rewards of any arm in any order: each is learnt when it comes.

    A Session numbers all arms that it ever had; ``places`` are those that the policy knows, in the policy's own order.
    A policy defined for [0, 1] learns rewards rescaled from ``reward_range``. Rewards told here are as they came.
    """

    def __init__(
        self,
        policy: Policy,
        places: Sequence[int],
        seed: int,
        explore: float,
        era: int = 0,
        reward_range: tuple[float, float] | None = None,
    ) -> None:
        self.policy, self.seed, self.explore = policy, seed, explore
        self.reward_range = range_for(policy, reward_range)
        """What rewards are rescaled from; None if the policy learns them as they are."""
        self.excess = excess_for(policy, reward_range)
        """Of the rewards that were told since it was made or restored; no part of what it learns."""
        self.stream = StepStream(seed)
        self.recent: deque[tuple[int, int, float]] = deque(maxlen=RECENT)
        """The last rewards of all arms, as they came."""
        self.seen = len(places)
        """How many arms the Session has ever had."""
        self.unknown = set(range(len(places)))
        """Arms of which no reward has been learnt."""
        self.late: set[int] = set()
        """Those of them that came when others were known."""
        self.forced: int | None = None
        """The arm that is chosen whatever the policy wants, if there is one."""
        self.holdout: tuple[float, int] | None = None
        """The share of Decisions that is held out, and the arm that they get."""
        self.horizon = horizon_of(policy)
        """The steps that the policy was told; infinite if none, or once it was said that they are over."""
        self.units_held: dict[int, bool] = {}
        """Of the asks that are being answered, those for units: whether each is held out."""
        self._set_places(places, [True] * len(places))
        self.player = Player(policy, len(places), self.stream, reward_range=self.reward_range)
        self.resume_era(era)
        self.has_probabilities = type(self.player.stage.policy).probabilities is not Policy.probabilities
        """Whether the policy tells the exact probability of each arm."""
        # Compile now, so that the first ask takes no longer than the others.
        arms, p = np.zeros(1, np.int64), np.zeros(1)
        chances, held = (self._on, self._choices, explore), (np.zeros(1, np.bool_), 0.0, 0)
        self.player.prepare(select_many, self.stream, 1, 1, chances, held, True, arms, p)
        self.player.prepare(update_many, self.player.update_stream, 0, (arms, p), 1)
        self.begin_past()

    def resume_era(self, era: int) -> None:
        """Count it as the learner that began after ``era`` others; its updates draw from numbers of their own."""
        self.era, self.player.offset = era, UPDATE_STEPS + (era << 40)

    def _set_places(self, places: Sequence[int], on: Sequence[bool]) -> None:
        self.places, self.n_arms = list(places), len(places)
        self._place_of = {arm: place for place, arm in enumerate(places)}
        self._same = self.places == list(range(self.n_arms))
        self._arm_at = np.array(places, np.int64)
        self._on = np.array(on, np.bool_)
        self._choices = np.flatnonzero(self._on)
        self._chances = self._on, self._choices, 0.0

    @property
    def learnt(self) -> int:
        """How many rewards have been learnt."""
        return self.player.step

    @property
    def state(self) -> State:
        """What has been learnt."""
        learnt: State = self.player.state
        return learnt

    def place_of(self, arm: int) -> int | None:
        """The policy's number of an arm; None if it does not know it."""
        return self._place_of.get(arm)

    def is_on(self, place: int) -> bool:
        """Whether that arm may be chosen."""
        return bool(self._on[place])

    # Arms that come and go

    def changed(self, statuses: Sequence[str]) -> Learner:
        """The learner that goes on when arms are what ``statuses`` say; this one stays as it is."""
        if self.policy.arms_change == "anew":
            places = [arm for arm, status in enumerate(statuses) if status == ON]
            return self if places == self.places else self.anew(self.policy, statuses, self.explore, self.reward_range)
        places = self.places + list(range(self.seen, len(statuses)))
        on = [statuses[arm] == ON for arm in places]
        made, state = copy.copy(self), with_arms(self.policy, copy_of(self.state), self._on.tolist(), on)
        new = set(range(self.n_arms, len(places)))
        made.unknown = self.unknown | new
        made.late = self.late | new if len(self.unknown) < self.n_arms else set()
        made.recent, made.seen = self.recent.copy(), len(statuses)
        made._set_places(places, on)
        made.player = self.player.at(state, self.learnt, len(places))
        made.begin_past()
        return made

    def anew(
        self, policy: Policy, statuses: Sequence[str], explore: float, reward_range: tuple[float, float] | None
    ) -> Learner:
        """A learner that begins with the arms that are there, and learns their last rewards again."""
        wanted = (ON,) if policy.arms_change == "anew" else (ON, OFF)
        places = [arm for arm, status in enumerate(statuses) if status in wanted]
        made = make_learner(policy, places, self.seed, explore, self.era + 1, reward_range)
        made.seen = len(statuses)
        made.take(list(self.recent), 0, -1)
        made.recent, made.forced = self.recent.copy(), self.forced
        made.holdout = self.holdout
        if isinstance(made, InTurnLearner):
            made.aside = [deque() for _ in places]  # what it had no use for is old
        if policy.arms_change == "anew":
            return made
        return made.changed(statuses)

    def again(self) -> Learner:
        """A learner that goes on with all that is known."""
        made = copy.copy(self)
        made.recent, made.unknown = self.recent.copy(), self.unknown.copy()
        made.player = self.player.at(copy_of(self.state), self.learnt)
        made.begin_past()
        return made

    def belief(self, player: Player, n_arms: int, ahead: int = 0) -> Belief:
        """What the policy thinks of the Session's arms, or forecasts; nothing of those that it does not know."""
        own = among(belief_of(player, ahead), self._on.tolist())
        found = of_rewards(own, (reward for _, _, reward in self.recent))
        if self.places == list(range(n_arms)):
            return found
        spread: dict[str, Any] = {}
        for name in ("estimate", "low", "high", "slope"):
            if (known := getattr(found, name)) is not None:
                spread[name] = np.full(n_arms, np.nan)
                spread[name][self.places] = known
        snoozed = tuple(s._replace(arm=self.places[s.arm], better=self.places[s.better]) for s in found.snoozed)
        crossing = found.crossing
        if crossing is not None:
            crossing = crossing._replace(arm=self.places[crossing.arm], other=self.places[crossing.other])
        return found._replace(**spread, snoozed=snoozed, crossing=crossing)

    # Choosing

    def kept(self, p: Any) -> list[float | None] | None:
        """Of these probabilities of choices, those that are kept; None if the log keeps none.

        Without exploration it is the policy that must give every arm a chance, and tell which. Whether it does is
        settled before the choice, so that the choices whose probability is kept are not selected by what they chose.
        """
        if self.explore > 0:
            return p.tolist()  # type: ignore[no-any-return]
        return [None if math.isnan(each) else each for each in p.tolist()] if self.has_probabilities else None

    def choose(self, step: int, count: int, waiting: int, pending: Mapping[int, int] = NONE) -> tuple[Any, Any]:
        """As ``_choose_known``; a State that counts them is told how many rewards of each arm are ``pending``.

        What learning makes of a State must not depend on who asked in between: so it is told for this choice alone.
        """
        if self.forced is not None:
            return np.full(count, self.forced), np.ones(count)
        state: Any = self.state
        if not counts_pending(state):
            return self._choose_known(step, count, waiting)
        state.arms.pending[: self.n_arms] = [pending.get(arm, 0) for arm in self.places]
        try:
            return self._choose_known(step, count, waiting)
        finally:
            state.arms.pending[:] = 0

    def _choose_known(self, step: int, count: int, waiting: int) -> tuple[Any, Any]:
        """Arms for the asks ``step``, ``step + 1``, ..., and the probability of each choice, NaN if it is not kept.

        At first most policies want each arm once, the first of them as long as they have learnt nothing. Asks that
        don't wait for rewards cycle through the arms not known yet instead: ``waiting`` asks have done so already. An
        arm that came later gets its turn, one ask in as many as there are arms, until its first reward comes.
        """
        new = [place for place in sorted(self.late & self.unknown) if self._on[place]] if self.late else []
        if not new or len(new) == len(self._choices):  # if all that are on are new, they take turns as at first
            arms, p = self._choose(step, count, waiting)
        else:
            for place in new:
                self.policy.set_arm(self.state, place, False)
            before = self._on.tolist()
            self._set_places(self.places, [is_on and place not in new for place, is_on in enumerate(before)])
            try:
                arms, p = self._choose(step, count, waiting)
            finally:
                for place in new:
                    self.policy.set_arm(self.state, place, True)
                self._set_places(self.places, before)
            turns = (step + np.arange(count)) % len(self._choices)
            for index in np.flatnonzero(turns < len(new)).tolist():
                arms[index : index + 1], p[index : index + 1] = self._by_chance(
                    step + index, np.array([new[turns[index]]])
                )
        return arms if self._same else self._arm_at[arms], p

    def _choose(self, step: int, count: int, waiting: int) -> tuple[Any, Any]:
        unknown = [place for place in sorted(self.unknown) if self._on[place]] if self.unknown else []
        if not unknown:
            arms, p = self._draw(self.player, step, count, self.explore, self._held(step, count), played=True)
            return arms, self._mixed(arms, self._probabilities()[arms]) if self.has_probabilities else p
        arms, _ = self._draw(self.player, step, count, played=True)
        for index, arm in enumerate(arms.tolist()):
            if arm in unknown:
                arms[index] = unknown[(unknown.index(arm) + waiting + index) % len(unknown)]
        if not self.has_probabilities:
            return self._by_chance(step, arms)
        known = self._probabilities()

        def wanted(index: int, arm: int) -> float:
            """The probability of the arm that is ``arm`` after the turn."""
            turned = unknown[(unknown.index(arm) - waiting - index) % len(unknown)] if arm in unknown else arm
            return float(known[turned])

        return self._by_chance(step, arms, wanted)

    def _probabilities(self) -> Any:
        """The probability with which the policy chooses each arm now, as it tells them itself."""
        policy = self.player.stage.policy
        found = np.asarray(policy.probabilities(self.state), np.float64)
        if found.shape != (self.n_arms,) or not ((found >= 0) & (found <= 1)).all() or abs(found.sum() - 1) > SUM_OFF:
            raise PolicyError(
                f"{type(policy).__name__}.probabilities must return a probability for each of {self.n_arms} arms, "
                f"which sum to 1; got {shown(found.tolist())}"
            )
        return found

    def _mixed(self, arms: Any, p: Any) -> Any:
        """The probability of arms that the policy wants with probabilities p, with exploration and holdout."""
        p = self.explore / len(self._choices) + (1.0 - self.explore) * p
        if self.holdout is not None:
            share, control = self.holdout[0], self._place_of[self.holdout[1]]
            p = share * (arms == control) + (1.0 - share) * p
        if self.has_probabilities and (p == 0).any():
            name = type(self.player.stage.policy).__name__
            raise PolicyError(f"{name}.probabilities gives 0 for an arm that {name}.select chose: it must be above 0")
        return p

    def take(self, rewards: Rewards, oldest: int, asked: int) -> None:
        """Rewards came, after the ask of step ``asked``; -1 if that was another learner's.

        Those of asks before step ``oldest`` are too old for a policy that must put them aside.
        Those that the policy is not defined for are not learnt. A Session refuses them, but where the log is folded
        again with corrected rewards, policies of before may meet what only a later one is defined for.
        PolicyError when a kernel fails at one of them: then none was taken.
        """
        before, unknown = self.learnt, self.unknown.copy()
        self._past.mark(self.player, self.unknown)
        # Where arms were taken from the end their numbers are still the policy's, but their rewards are not.
        own = rewards if self._same and self.seen == self.n_arms else self._own(rewards)
        if self.policy.rewards.rescaled:
            low, high, _, _ = self.player.taken
            own = [each for each in own if low <= each[2] <= high]
        try:
            self._take(own, oldest, asked)
        except PolicyError:
            # A kernel that failed may have changed anything: go back to the State before.
            self.player = self.past(before)
            self.unknown = unknown
            self._past.undo(before)
            raise
        self.recent.extend(rewards)

    def _own(self, rewards: Rewards) -> Rewards:
        """Rewards of arms that the policy knows, under its own numbers."""
        known = self._place_of
        return [(step, known[arm], reward) for step, arm, reward in rewards if arm in known]

    def _take(self, rewards: Rewards, oldest: int, asked: int) -> None:
        self._learn([(arm, reward) for _, arm, reward in rewards])

    def past(self, learnt: int) -> Player:
        """The policy as it was after so many updates; InputError when that is too long ago."""
        return self._past.at(self.player, learnt)

    def unknown_at(self, learnt: int) -> list[int]:
        """The arms that could be chosen and of which nothing was known after so many updates."""
        return [place for place in sorted(self._past.unknown(learnt)) if self._on[place]]

    def rewards_before(self, learnt: int, most: int) -> list[list[float]]:
        """Each arm's last rewards, at most ``most``, among the remembered ones of the first ``learnt`` updates."""
        return self._past.rewards_before(learnt, most, self.n_arms)

    def shares(self, learnt: int, draws: int) -> Any:
        """The probability with which each arm is chosen after so many updates, as its share of so many draws."""
        if self.forced is not None:
            return np.arange(self.n_arms) == self._place_of[self.forced]
        arms, _ = self._draw(self.past(learnt), EXPLAIN_STEPS, draws)
        return np.bincount(arms, minlength=self.n_arms) / draws

    def begin_past(self) -> None:
        """Remember from here on."""
        self._past = Past(self.player, self.unknown)

    def resume_places(self, places: Sequence[int], statuses: Sequence[str]) -> None:
        """The arms that the policy knew, and what they were, at a snapshot."""
        self.seen = len(statuses)
        self._set_places(places, [statuses[arm] == ON for arm in places])

    def resume(self, state: State, learnt: int, unknown: Iterable[int], aside: Rewards) -> None:
        """Go on from a snapshot."""
        self.player.resume(state, learnt)
        self.unknown = set(unknown)
        self.begin_past()

    # The holdout

    def is_held_out(self, step: int, share: float | None = None) -> bool:
        """Whether the ask of that step is one of the holdout, of that share or the present one: by chance."""
        if step in self.units_held:
            return self.units_held[step]
        share = (0.0 if self.holdout is None else self.holdout[0]) if share is None else share
        return share > 0.0 and bool(self.stream.at(HELD_STEPS + step).random() < share)

    def chances(self, shares: Any) -> Any:
        """The probability of each arm that the policy alone chooses with these: explore and the holdout included."""
        if self.forced is not None:
            return shares
        p = self.explore / len(self._choices) * self._on + (1.0 - self.explore) * shares
        if self.holdout is not None:
            share, control = self.holdout
            p *= 1.0 - share
            p[self._place_of[control]] += share
        return p

    def _held(self, step: int, count: int) -> tuple[Any, float, int]:
        """Which of these asks are held out, as the loop takes it."""
        if self.holdout is None:
            return NOBODY
        flags = np.array([self.is_held_out(step + index) for index in range(count)], np.bool_)
        return flags, self.holdout[0], self._place_of[self.holdout[1]]

    def _draw(
        self,
        player: Player,
        step: int,
        count: int,
        explore: float = 0.0,
        held: tuple[Any, float, int] | None = None,
        played: bool = False,
    ) -> tuple[Any, Any]:
        arms, p = np.empty(count, np.int64), np.empty(count)
        if self._chances[2] != explore:  # as long as it is the same object, a loop need not be given it again
            self._chances = self._on, self._choices, float(explore)
        draws = DRAWS if explore > 0 else 1
        player.play_alone(select_many, self.stream, step, draws, self._chances, held or NOBODY, played, arms, p)
        return arms, p

    def _by_chance(self, step: int, arms: Any, likely: Callable[[int, int], float] | None = None) -> tuple[Any, Any]:
        """These arms, or any arm by chance.

        ``likely`` tells the probability with which the policy wanted an arm at each of these asks. Without it, which
        ones the policy wanted is certain, and the probabilities know it; without exploration others have no chance.
        """
        wanted, choices = arms.copy(), self._choices
        if self.explore > 0:
            for index in range(len(arms)):
                rng = self.stream.at(EXPLORE_STEPS + step + index)
                if rng.random() < self.explore:
                    arms[index] = choices[int(rng.random() * len(choices))]
        flags, share, control = self._held(step, len(arms))
        if share > 0.0:
            arms[flags] = control
        if likely is None and self.explore == 0:
            return arms, np.full(len(arms), math.nan)
        p = arms == wanted if likely is None else np.array(list(map(likely, range(len(arms)), arms.tolist())))
        return arms, self._mixed(arms, p)

    def _learn(self, pulls: list[tuple[int, float]]) -> None:
        self.player.update_many(pulls)
        if self.unknown:
            self.unknown.difference_update(arm for arm, _ in pulls)
        self._past.pulls.extend(pulls)


class InTurnLearner(Learner):
    """For policies that must be told the reward of exactly the arm they chose before they choose again.

    All asks get the arm that the policy waits for. When rewards come it learns one of that arm, chooses the next, and
    continues while there are rewards of what it chooses (Joulani, György, Szepesvári 2013, QPM-D). Rewards put aside
    are dropped when they are older than ``oldest``: means drift.
    """

    def __init__(
        self,
        policy: Policy,
        places: Sequence[int],
        seed: int,
        explore: float,
        era: int = 0,
        reward_range: tuple[float, float] | None = None,
    ) -> None:
        super().__init__(policy, places, seed, explore, era, reward_range)
        self.aside: list[deque[tuple[int, float]]] = [deque() for _ in places]
        self.next_arm = self._choice()
        self.first = 1
        """The step of the ask that comes first after ``next_arm`` was drawn; 0 if the draw was used before."""

    def changed(self, statuses: Sequence[str]) -> Learner:
        """As for other policies; the next arm is chosen anew, and rewards put aside stay there."""
        made = super().changed(statuses)
        if made.policy.arms_change != "anew":
            assert isinstance(made, InTurnLearner)
            made.aside = [queue.copy() for queue in self.aside] + [deque() for _ in made.places[self.n_arms :]]
            made.next_arm, made.first = made._choice(), 0
        return made

    def again(self) -> Learner:
        """As for other policies; rewards put aside stay there."""
        made = super().again()
        assert isinstance(made, InTurnLearner)
        made.aside = [queue.copy() for queue in self.aside]
        return made

    def _choice(self) -> int:
        # No learner of another era may have drawn from this stream: what it chose would tell the choice.
        arms, _ = self._draw(self.player, (self.era << 40) + self.learnt + 1, 1)
        return int(arms[0])

    def choose(self, step: int, count: int, waiting: int, pending: Mapping[int, int] = NONE) -> tuple[Any, Any]:
        if self.forced is not None:
            return np.full(count, self.forced), np.ones(count)
        arms, p = self._by_chance(step, np.full(count, self.next_arm), self._likely(step))
        return arms if self._same else self._arm_at[arms], p

    def _likely(self, step: int) -> Callable[[int, int], float] | None:
        """How likely the policy was to wait for each arm, given all that was asked and told before.

        None where that is certain: later asks get the same arm. It is taken as certain, too, where rewards are put
        aside: the policy can't be waiting for their arms, which would have no chance.
        """
        if not self.has_probabilities or step != self.first or any(self.aside):
            return None
        drawn = self._probabilities()
        certain = float if self.explore > 0 else lambda wanted: math.nan
        return lambda index, arm: float(drawn[arm]) if index == 0 else certain(arm == self.next_arm)

    def _take(self, rewards: Rewards, oldest: int, asked: int) -> None:
        aside, next_arm, first = [queue.copy() for queue in self.aside], self.next_arm, self.first

        def chosen() -> int:
            self.first = asked + 1
            return self._choice()

        try:
            for step, arm, reward in rewards:
                self.aside[arm].append((step, reward))
            # Every old one, wherever it stands in its queue: what is learnt must not depend on how rewards came.
            self.aside = [deque(kept for kept in queue if kept[0] >= oldest) for queue in self.aside]
            self.next_arm = learn_in_turn(
                self.aside, self.next_arm, lambda arm, kept: self._learn([(arm, kept[1])]), chosen
            )
        except PolicyError:
            self.aside, self.next_arm, self.first = aside, next_arm, first
            raise

    def resume(self, state: State, learnt: int, unknown: Iterable[int], aside: Rewards) -> None:
        """Go on from a snapshot, with the rewards that were put aside."""
        super().resume(state, learnt, unknown, aside)
        for step, arm, reward in aside:
            self.aside[arm].append((step, reward))
        self.next_arm = self._choice()


def make_learner(
    policy: Policy,
    places: Sequence[int],
    seed: int,
    explore: float,
    era: int = 0,
    reward_range: tuple[float, float] | None = None,
) -> Learner:
    """The learner for this policy, of those arms; ``era`` counts how often one began anew before it."""
    return (Learner if policy.any_order else InTurnLearner)(policy, places, seed, explore, era, reward_range)

"""One live experiment: ask for a decision, tell the reward later, see why. No I/O."""

from __future__ import annotations

import math
import warnings
from collections import Counter, OrderedDict
from collections.abc import Callable, Mapping, Sequence
from itertools import repeat
from typing import Any

from driftbandits._common import checks
from driftbandits._common.rewards import rewards_of
from driftbandits.errors import FeasibilityWarning, InputError
from driftbandits.live.arms import arm_changed, forced, held_out
from driftbandits.live.clocks import check_clock, read_clock
from driftbandits.live.decisions import (
    Asked,
    Decision,
    Event,
    Outcome,
    Rewards,
    Settled,
    id_of,
    make_asked,
    make_decision,
    pairs_of,
    step_of,
)
from driftbandits.live.explanation import Explanation, explain
from driftbandits.live.fold import apply_asked, apply_event, apply_rewards, is_due, settle_due
from driftbandits.live.late import Late, check_late, switch
from driftbandits.live.learners import DRAWS, OFF, ON, REMOVED, Learner, horizon_of, make_learner
from driftbandits.live.lift import Lift, Strata, lift_of
from driftbandits.live.outcomes import TAKEN, check_room, outcomes_of, refusal, warn_of_invalid
from driftbandits.live.settings import UNCHANGED, changes, check_default_for, check_policy
from driftbandits.live.shown import as_html, facts_of, in_a_line
from driftbandits.live.snapshots import pack_session, restore_session
from driftbandits.live.units import MetadataList, UnitList, Units, check_given, check_key, choose, hash_of
from driftbandits.policies import Policy, make_policy
from driftbandits.policies._parts.belief import Belief
from driftbandits.policies.registry import DEFAULT

MOST_OPEN = 1_000_000
MOST_SETTLED = 10_000
"""Decisions that one ask or tell settles, at most, so that it is answered in time. The next one settles more."""


class Session:
    """One live experiment with named arms. Default policy: BreakEven, which requires no parameters.

    ``ask`` makes a Decision, ``tell`` its reward: late and in any order, or never. A policy that takes rewards in any
    order learns each when it comes; for others they are put in the order that the policy needs (``docs/sessions.md``).

    ``timeout``: seconds after which a Decision is settled without its reward: with ``default_reward`` in its place, or
    dropped if that is None. A reward that comes later is refused. Without a timeout a Decision waits forever.
    ``reward_range``: the least and the largest reward; others are refused. Policies defined for rewards in [0, 1] then
    learn (reward - low)/(high - low), and their parameters are on that scale; estimates are told on the scale of the
    rewards. None, the default, takes all rewards that the policy is defined for (``Policy.rewards``).

    ``late``: rewards come late, and silence is weighed by its age until the timeout ends (``docs/sessions.md``).

    ``explore``: this share of Decisions choose any arm with equal probability, and the exact probability of every
    choice is kept. ``replay`` needs these to evaluate other policies on the log: give ``explore=0.1`` from the start.
    With 0, the default, only policies that state the probability of each arm keep it: Uniform, Exp3S, Rexp3. The last
    ``remember`` answered Decisions are remembered: to tell one's reward again is fine, to tell another is a conflict.

    ``sticky``: for so many seconds ``ask(unit="user-17")`` gives the same unit the same arm; None, the default, chooses
    anew every time. Only a hash of a unit is kept, keyed by the secret ``unit_key``. Default: a random key, which the
    snapshot holds. The key decides which units are held out: to repeat that, give the same key.

    A Session has no lock: it is for one thread at a time. ``Store.open`` gives one that threads may share.

    >>> session = Session(arms=["red", "blue"])
    >>> decision = session.ask()
    >>> decision.arm
    'red'
    >>> session.tell(decision.id, 0.7)
    <Outcome.NEW: 'new'>
    >>> session.tell(decision.id, 0.7)
    <Outcome.AGAIN: 'again'>
    """

    def __init__(
        self,
        policy: Policy | None = None,
        arms: Sequence[str] = (),
        seed: int | None = 0,
        *,
        timeout: float | None = None,
        default_reward: float | None = None,
        reward_range: Sequence[float] | None = None,
        explore: float = 0.0,
        late: bool = False,
        name: str = "d",
        remember: int = 100_000,
        sticky: float | None = None,
        unit_key: str | None = None,
        clock: Callable[[], float] | None = None,
    ) -> None:
        policy = make_policy(DEFAULT) if policy is None else policy
        check_policy(policy)
        self.policy, self.arms, self.seed = policy, checks.check_names("arms", arms), checks.check_seed(seed, 2**64 - 1)
        self.timeout, self.sticky = checks.check_timeout(timeout), checks.check_sticky(sticky)
        self.reward_range = checks.check_range("reward_range", reward_range)
        self.default_reward = check_default_for(policy, default_reward, self.reward_range)
        self.explore, self.name = checks.check_share("explore", explore), checks.check_name("name must be a text", name)
        self.remember = checks.check_whole("remember", remember, 0)
        self.unit_key = check_key(unit_key)
        self.clock, self._usual_clock = check_clock(clock), clock is None
        self.step = 0
        self.changes = 0
        """How many events were neither asks nor closed one."""
        self.time = -math.inf
        self.most_open = 0
        self.journal: list[Event] | None = None
        """When a list, every event is appended to it: what a Store writes down."""
        self._open: dict[str, tuple[Asked, int]] = {}
        """By id, so that telling rewards need not take ids apart."""
        self._open_by_arm: Counter[int] = Counter()
        self._closed: OrderedDict[int, tuple[int, int, float | None, float | None]] = OrderedDict()
        self.statuses = [ON] * len(self.arms)
        """What each arm is: "on", "off" or "removed"."""
        self._learner = make_learner(
            policy, range(len(self.arms)), self.seed, self.explore, reward_range=self.reward_range
        )
        self._eras: list[tuple[int, int, Learner, list[str]]] = []
        """Learners of before: the last step before each one's first, its own last, and what arms were then."""
        self._since = 0
        """The last step before the present learner's first."""
        self._holdouts: list[tuple[int, float]] = []
        """From which step on which share was held out."""
        self._strata = Strata()
        self._units = Units()
        self._ways: dict[int, int] = {}
        """``Note.way`` of Decisions that are open or remembered."""
        self._late: Late | None = None
        if check_late(late, self.policy, self.timeout, self.default_reward):
            switch(self, True)

    @property
    def limits(self) -> tuple[float, float]:
        """The least and the largest reward: those declared, or else those that the policy is defined for by now."""
        limits, excess = self.reward_range or rewards_of(self.policy).limits, self._learner.excess
        return limits if excess is None else excess.narrowed(limits)

    @property
    def open(self) -> int:
        """How many Decisions wait for their reward."""
        return len(self._open)

    @property
    def pending(self) -> Mapping[int, int]:
        """How many rewards of each arm the policy has not learnt yet, counted by what was played."""
        if self._late is None:
            return self._open_by_arm
        ahead = self._late.ahead
        return {arm: max(0, count - ahead[arm]) for arm, count in self._open_by_arm.items()}

    @property
    def late(self) -> bool:
        """Whether silence is weighed by its age."""
        return self._late is not None and self._late.cohorts is not None

    @property
    def seq(self) -> int:
        """How many events it is the fold of."""
        return 2 * self.step - len(self._open) + self.changes

    @property
    def next_due(self) -> float | None:
        """When the oldest open Decision is to be settled, if it ever is."""
        return next((event.due for event, _ in self._open.values()), None)

    def draws(self, count: int) -> int:
        """How many times the policy looks at an arm to make so many Decisions, about: what they cost."""
        return count * len(self.arms) * (DRAWS if self.explore > 0 else 1) if self.policy.any_order else count

    def waiting(self) -> list[Decision]:
        """The Decisions that wait for their reward, oldest first."""
        return [Decision(id, self.arms[event.arm], event.step, event.due) for id, (event, _) in self._open.items()]

    @property
    def learnt(self) -> int:
        """How many rewards the policy has learnt from."""
        return self._learner.learnt

    def past_horizon(self) -> str | None:
        """What to do if the policy has learnt as many rewards as the horizon it was told; None if it has not.

        The first ask after that warns of it.

        >>> session = Session(arms=["red", "blue"])
        >>> session.past_horizon() is None
        True
        """
        horizon = horizon_of(self.policy)
        if self.learnt < horizon:
            return None
        return (
            f"{type(self.policy).__name__} was told horizon={horizon} and has learnt {self.learnt:,} rewards, beyond "
            "which it was not tuned: change to a policy without a horizon, such as BreakEven, or to a longer horizon"
        )

    @property
    def state(self) -> Any:
        """The policy's State."""
        return self._learner.state

    # Asking and telling

    def ask(self, unit: str | None = None, metadata: Mapping[str, Any] | None = None) -> Decision:
        """Which arm to pull now; for a ``unit``, such as a visitor, the one that it has, if Decisions are ``sticky``.

        ``metadata``, an object of JSON of at most 1,024 bytes, goes to the log, and from there to exports.

        >>> session = Session(arms=["red", "blue"], sticky=3600)
        >>> len({session.ask(unit="user-17", metadata={"page": "home"}).arm for _ in range(50)})
        1
        """
        return self.ask_many(1, None if unit is None else [unit], None if metadata is None else [metadata])[0]

    def ask_many(self, count: int, units: UnitList = None, metadata: MetadataList = None) -> list[Decision]:
        """So many Decisions at once, all made from what is known now; for each its unit and metadata, if any have."""
        if not (type(count) is int and 1 <= count <= MOST_OPEN):
            count = checks.check_whole("count", count, 1, MOST_OPEN)
        given = check_given(self, count, units, metadata)
        now = self._settled_now()
        if self._learner.player.step >= self._learner.horizon:
            self._learner.horizon = math.inf
            warnings.warn(self.past_horizon() or "", FeasibilityWarning, stacklevel=3)
        check_room(self, count, MOST_OPEN)
        chosen, probabilities, notes = choose(self, count, given, now)
        due = None if self.timeout is None else now + self.timeout
        steps = range(self.step + 1, self.step + count + 1)
        asked = list(map(make_asked, zip(steps, chosen, repeat(now), repeat(due), probabilities, notes, strict=False)))
        ids = apply_asked(self, asked, given is not None)
        if count == 1:
            return [make_decision((ids[0], self.arms[chosen[0]], self.step, due))]
        return list(map(make_decision, zip(ids, map(self.arms.__getitem__, chosen), steps, repeat(due), strict=False)))

    def tell(self, id: str | Decision, reward: float) -> Outcome:
        """The reward of a Decision, given itself or its id. A wrong one raises InputError and changes nothing."""
        id = id_of(id)
        outcome = self._tell([(id, reward)])[0]
        if outcome in TAKEN:
            return outcome
        raise self.refusal(outcome, id, reward)

    def tell_many(self, rewards: Rewards) -> list[Outcome]:
        """Many rewards at once, and the outcome of each; those that cannot be accepted change nothing.

        If one is not a number that the policy is defined for, a FeasibilityWarning says why.
        ``rewards`` are pairs of a Decision, or its id, and its reward; or a mapping of the one to the other.

        >>> session = Session(arms=["red", "blue"])
        >>> session.tell_many(dict.fromkeys(session.ask_many(2), 1.0)), session.tell_many({"d-1": 1.0})
        ([<Outcome.NEW: 'new'>, <Outcome.NEW: 'new'>], [<Outcome.AGAIN: 'again'>])
        """
        pairs = pairs_of(rewards)
        outcomes = self._tell(pairs)
        warn_of_invalid(self, pairs, outcomes)
        return outcomes

    def _tell(self, pairs: Sequence[tuple[Any, Any]]) -> list[Outcome]:
        now = self._settled_now()
        outcomes, told = outcomes_of(self, pairs, now)
        apply_rewards(self, told, told.values())
        if self._learner.excess is not None:
            self._learner.excess.add(event.reward for event in told.values())
        return outcomes

    def settle(self, most: int | None = None) -> list[Settled]:
        """Settle the Decisions whose timeout has ended, or the first ``most``, as ``ask`` and ``tell`` do."""
        return settle_due(self, None if most is None else checks.check_whole("most", most, 0))

    def change(
        self,
        *,
        timeout: float | None = UNCHANGED,
        default_reward: float | None = UNCHANGED,
        reward_range: Sequence[float] | None = UNCHANGED,
        explore: float = UNCHANGED,
        policy: Policy = UNCHANGED,
        sticky: float | None = UNCHANGED,
        late: bool = UNCHANGED,
    ) -> None:
        """Change what is declared, from now on and for open Decisions; what is not given stays.

        Another ``policy`` learns the last 1,000 rewards, in the order that it needs, and takes over. So does the policy
        itself if it learns rewards rescaled from ``reward_range``, and that changes. It must be defined for these
        rewards. Decisions of before stay explainable.

        >>> session = Session(arms=["red", "blue"], clock=lambda: 100.0)
        >>> decision = session.ask()
        >>> session.change(timeout=60, default_reward=0)
        >>> session.waiting()[0].due
        160.0
        """
        for event in changes(self, timeout, default_reward, reward_range, policy, explore, sticky, late):
            self.apply(event)

    # Arms that come and go

    @property
    def available(self) -> list[str]:
        """The arms that can be chosen."""
        return [arm for arm, status in zip(self.arms, self.statuses, strict=True) if status == ON]

    def add_arm(self, name: str) -> None:
        """A new arm, from the next ask on. What that means to the policy: ``Policy.arms_change``.

        >>> session = Session(arms=["red", "blue"])
        >>> session.add_arm("green")
        >>> session.disable_arm("red")
        >>> session.available
        ['blue', 'green']
        """
        self._note(arm_changed(self, name, ON, new=True))

    def disable_arm(self, name: str) -> None:
        """Don't choose an arm until it is enabled; rewards of Decisions that chose it are still learnt."""
        self._note(arm_changed(self, name, OFF))

    def enable_arm(self, name: str) -> None:
        """Choose an arm again that was disabled."""
        self._note(arm_changed(self, name, ON))

    def remove_arm(self, name: str) -> None:
        """Never choose an arm again. The log keeps it, and its name is not given to another one."""
        self._note(arm_changed(self, name, REMOVED))

    @property
    def forced(self) -> str | None:
        """The arm that all Decisions get, if one was forced."""
        arm = self._learner.forced
        return None if arm is None else self.arms[arm]

    def force_arm(self, name: str | None) -> None:
        """Give all Decisions this arm, whatever the policy wants; None lets it choose again. Rewards are learnt.

        >>> session = Session(arms=["red", "blue"])
        >>> session.force_arm("blue")
        >>> {decision.arm for decision in session.ask_many(10)}
        {'blue'}
        """
        self._note(forced(self, name))

    @property
    def holdout(self) -> tuple[float, str] | None:
        """The share of Decisions that is held out and the arm that they get, if any."""
        found = self._learner.holdout
        return None if found is None else (found[0], self.arms[found[1]])

    def hold_out(self, share: float, arm: str | None = None) -> None:
        """Give this share of Decisions always the same arm, by chance; 0 ends it. ``lift`` compares.

        >>> session = Session(arms=["red", "blue"])
        >>> session.hold_out(0.1, "red")
        >>> session.holdout
        (0.1, 'red')
        """
        self._note(held_out(self, share, arm))

    def lift(self) -> Lift:
        """What the policy gains over the holdout since there is one; with ``late=True`` before any that is open."""
        return lift_of(self)

    def _note(self, event: Event | None) -> None:
        if event is not None:
            self.apply(event)

    def erase(self, unit: str) -> None:
        """Forget a unit; what was learnt stays. ``Store.erase`` erases it in the log too."""
        self._units.forget(hash_of(unit, self.unit_key))

    # Why

    def belief(self, ahead: int = 0) -> Belief:
        """What the policy thinks of the arms now, or forecasts for so many steps ``ahead``, if it looks ahead."""
        ahead = checks.check_whole("ahead", ahead, 0, checks.FOREVER)
        return self._learner.belief(self._learner.player, len(self.arms), ahead)

    def explain(self, decision: Decision | str) -> Explanation:
        """Why that arm: what the policy knew and believed at that Decision."""
        return explain(self, decision)

    # Events: a Session is the fold of its log

    def apply(self, event: Event) -> None:
        """Apply one event of a log, as ``ask``, ``tell`` and ``settle`` made it."""
        apply_event(self, event)

    # Snapshots

    def snapshot(self) -> bytes:
        """Everything, as bytes: ``Session.restore`` continues bit for bit."""
        return pack_session(self)

    @classmethod
    def restore(cls, data: bytes, clock: Callable[[], float] | None = None) -> Session:
        """The Session that took the snapshot, as it was then."""
        return restore_session(cls, data, clock)

    def __deepcopy__(self, memo: dict[int, Any]) -> Session:
        """A Session that goes on from here by itself; like a restored one it keeps no journal."""
        return type(self).restore(self.snapshot(), self.clock)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled as its snapshot. A clock that was given is pickled too; the default one starts again."""
        clock = None if self._usual_clock else self.clock
        return restore_session, (type(self), self.snapshot(), clock)

    # What Python and notebooks ask

    def __repr__(self) -> str:
        return in_a_line(f"Session {self.name}", facts_of(self))

    def _repr_html_(self) -> str:
        return as_html(f"Session {self.name}", facts_of(self), self.arms, self.belief())

    # Odds and ends

    def _now(self) -> float:
        """Time never runs backwards here, whatever the clock does."""
        return max(self.time, read_clock(self.clock))

    def _settled_now(self) -> float:
        if is_due(self, now := self._now()):
            self.settle(MOST_SETTLED)
            now = self._now()
        return now

    def takes(self, reward: Any) -> bool:
        """Whether it is a reward: a finite number, and within the ``limits``."""
        low, high = self.limits
        return checks.is_reward(reward) and low <= reward <= high

    def remembers(self, id: str) -> bool:
        """Whether the Decision is open or among the last answered; of others only a Store knows the outcome."""
        return id in self._open or step_of(id, self.name) in self._closed

    @property
    def remembers_all(self) -> bool:
        """Whether it remembers as many answered Decisions as it is to: then none that it should know is missing."""
        return len(self._closed) == self.remember

    def refusal(self, outcome: Outcome, id: Any, reward: Any) -> InputError:
        """The error that says why such a reward is not taken."""
        return refusal(self, outcome, id, reward)

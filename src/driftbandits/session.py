"""One live experiment: ask for a decision, tell the reward later, see why. No I/O."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import Any

import numpy as np

from driftbandits.checks import LARGEST_REWARD, check_names, check_whole, is_reward
from driftbandits.decisions import (
    Asked,
    ConflictError,
    Decision,
    Event,
    ExpiredError,
    Outcome,
    Settled,
    Told,
    TooOldError,
    UnknownDecisionError,
)
from driftbandits.errors import InputError
from driftbandits.explanation import Explanation, explain_choice
from driftbandits.learners import InTurnLearner, make_learner
from driftbandits.policies import AutoTS, Policy
from driftbandits.recipe import build, describe
from driftbandits.snapshots import pack, unpack, unpack_state

MOST_OPEN = 1_000_000
OPEN = np.dtype([(name, "f8") for name in ("step", "arm", "time", "due", "probability", "learnt")])
CLOSED = np.dtype([("step", "i8"), ("arm", "i8"), ("learnt", "i8"), ("reward", "f8"), ("probability", "f8")])
ASIDE = np.dtype([("step", "i8"), ("arm", "i8"), ("reward", "f8")])


class Session:
    """One live experiment with named arms; AutoTS, which must be told nothing, decides unless you name another policy.

    ``ask`` makes a Decision, ``tell`` its reward: late and in any order, or never. A policy that takes rewards in any
    order learns each when it comes; for others they are put in the order that the policy needs (``docs/sessions.md``).

    ``timeout``: seconds after which a Decision is settled without its reward: with ``default_reward`` in its place, or
    dropped if that is None. A reward that comes later is refused. Without a timeout a Decision waits for ever.

    ``explore``: this share of Decisions falls on any arm alike, and the exact probability of every choice is kept.
    That is what ``replay`` needs to judge other policies by the log; 0, the default, explores no more than the policy
    does. The last ``remember`` answered Decisions are remembered: to tell the same reward again is fine, to tell
    another is a conflict.

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
        seed: int = 0,
        *,
        timeout: float | None = None,
        default_reward: float | None = None,
        explore: float = 0.0,
        name: str = "d",
        remember: int = 100_000,
        clock: Callable[[], float] | None = None,
    ) -> None:
        policy = AutoTS() if policy is None else policy
        if not isinstance(policy, Policy):
            raise InputError(f"a Session needs a policy derived from Policy; got {policy!r}")
        self.policy, self.arms, self.seed = policy, check_names("arms", arms), check_whole("seed", seed, 0, 2**64 - 1)
        self.timeout, self.default_reward = _check_timeout(timeout), default_reward
        if default_reward is not None and not is_reward(default_reward):
            raise InputError(
                f"default_reward must be a finite number, or None to drop what never comes; got {default_reward!r}"
            )
        self.explore, self.name = _check_explore(explore), str(name)
        self.remember = check_whole("remember", remember, 0)
        self.clock = clock or steady_clock()
        self.step = 0
        self.time = -math.inf
        self.most_open = 0
        self.journal: list[Event] | None = None
        """When a list, every event is appended to it: what a Store writes down."""
        self._open: dict[int, tuple[Asked, int]] = {}
        self._closed: dict[int, tuple[int, int, float | None, float | None]] = {}
        self._learner = make_learner(policy, len(self.arms), self.seed, self.explore)

    @property
    def open(self) -> int:
        """How many Decisions wait for their reward."""
        return len(self._open)

    def waiting(self) -> list[Asked]:
        """The Decisions that wait for their reward, oldest first."""
        return [event for event, _ in self._open.values()]

    @property
    def learnt(self) -> int:
        """How many rewards the policy has learnt from."""
        return self._learner.learnt

    @property
    def state(self) -> Any:
        """The policy's State."""
        return self._learner.state

    # Asking and telling

    def ask(self) -> Decision:
        """Which arm to pull now."""
        return self.ask_many(1)[0]

    def ask_many(self, count: int) -> list[Decision]:
        """So many Decisions at once, all made from what is known now."""
        count = check_whole("count", count, 1)
        now = self._settled_now()
        if self.open + count > MOST_OPEN:
            raise InputError(
                f"{self.open:,} Decisions wait for their reward and {count:,} more would pass the limit of "
                f"{MOST_OPEN:,}: tell rewards, or give the Session a timeout"
            )
        arms, p = self._learner.choose(self.step + 1, count, self.open)
        due = None if self.timeout is None else now + self.timeout
        probabilities = p.tolist() if self.explore > 0 else [None] * count
        asked = [
            Asked(step, arm, now, due, probability)
            for step, (arm, probability) in enumerate(zip(arms.tolist(), probabilities, strict=True), self.step + 1)
        ]
        self._apply_asked(asked)
        prefix, names = f"{self.name}-", self.arms
        return [Decision(f"{prefix}{event.step}", names[event.arm], event.step, due) for event in asked]

    def tell(self, id: str, reward: float) -> Outcome:  # noqa: A002 - the word users know
        """The reward of a Decision. A wrong id or reward raises InputError and changes nothing."""
        outcome = self.tell_many([(id, reward)])[0]
        if outcome in (Outcome.NEW, Outcome.AGAIN):
            return outcome
        raise self.refusal(outcome, id, reward)

    def tell_many(self, rewards: Iterable[tuple[str, float]]) -> list[Outcome]:
        """Many rewards at once, and what became of each; those that cannot be taken change nothing."""
        now = self._settled_now()
        meant: dict[int, float] = {}
        outcomes, fresh = [], []
        for id, reward in rewards:  # noqa: A001
            step = self._step_of(id)
            outcome = Outcome.UNKNOWN if step is None else self._judge(step, reward, meant)
            if outcome is Outcome.NEW and step is not None:
                meant[step] = float(reward) + 0.0  # -0.0 becomes 0.0, as it would in a Store
                fresh.append(Told(step, meant[step], now))
            outcomes.append(outcome)
        self._apply_rewards(fresh)
        return outcomes

    def settle(self) -> list[Settled]:
        """Settle the Decisions whose time is up, as ``ask`` and ``tell`` do by themselves."""
        now = self._now()
        due: list[Settled] = []
        for event, _ in self._open.values():
            if event.due is None or event.due > now:
                break  # the rest was asked later, and is due later
            due.append(Settled(event.step, self.default_reward, now))
        self._apply_rewards(due)
        return due

    # Why

    def explain(self, decision: Decision | str) -> Explanation:
        """Why that arm: what the policy knew and thought at that Decision."""
        id = decision.id if isinstance(decision, Decision) else decision  # noqa: A001
        step = self._step_of(id)
        if step in self._open:
            event, learnt = self._open[step]
            arm, probability = event.arm, event.probability
        elif step in self._closed:
            arm, learnt, _, probability = self._closed[step]
        elif step is not None and 0 < step <= self.step:
            raise TooOldError(f"{id!r} is older than the last {self.remember:,} answered Decisions: ask the Store")
        else:
            raise self.refusal(Outcome.UNKNOWN, id, None)
        try:
            return explain_choice(self._learner, self.arms, id, step, arm, learnt, probability)
        except InputError as error:
            raise TooOldError(f"{id!r} is too old for this Session to explain ({error}): ask the Store") from None

    # Events: a Session is the fold of its log

    def apply(self, event: Event) -> None:
        """Take over one event of a log, as ``ask``, ``tell`` and ``settle`` made it."""
        if isinstance(event, Asked):
            if event.step != self.step + 1:
                raise InputError(
                    f"step {event.step} cannot follow step {self.step}: the log has a gap or is out of order"
                )
            self._apply_asked([event])
        else:
            if event.step not in self._open:
                raise InputError(f"the log settles step {event.step}, which is not open")
            self._apply_rewards([event])

    def _apply_asked(self, events: list[Asked]) -> None:
        learnt = self._learner.learnt
        for event in events:
            self._open[event.step] = (event, learnt)
        self.step, self.time = events[-1].step, max(self.time, events[-1].time)
        self.most_open = max(self.most_open, self.open)
        if self.journal is not None:
            self.journal.extend(events)

    def _apply_rewards(self, events: Sequence[Told | Settled]) -> None:
        if not events:
            return
        came = []
        for event in events:
            asked, learnt = self._open.pop(event.step)
            told = event.reward if isinstance(event, Told) else None
            self._closed[event.step] = (asked.arm, learnt, told, asked.probability)
            if event.reward is not None:
                came.append((event.step, asked.arm, event.reward))
        # A reward put aside for a policy that wants others first is as late again as the latest answers were, at most.
        self._learner.take(came, self.step - 2 * self.most_open)
        self.time = max(self.time, events[-1].time)
        for step in list(islice(self._closed, max(0, len(self._closed) - self.remember))):
            del self._closed[step]
        if self.journal is not None:
            self.journal.extend(events)

    # Snapshots

    def snapshot(self) -> bytes:
        """Everything, as bytes: ``Session.restore`` continues bit for bit."""
        learner = self._learner
        header = {
            "policy": describe(self.policy),
            "settings": {
                "arms": self.arms,
                "seed": self.seed,
                "timeout": self.timeout,
                "default_reward": self.default_reward,
                "explore": self.explore,
                "name": self.name,
                "remember": self.remember,
            },
            "step": self.step,
            "time": None if self.time == -math.inf else self.time,
            "most_open": self.most_open,
            "learnt": learner.learnt,
            "unknown": sorted(learner.unknown),
        }
        aside = learner.aside if isinstance(learner, InTurnLearner) else []
        return pack(
            header,
            learner.state,
            open=np.array([(*_numbers(event), learnt) for event, learnt in self._open.values()], OPEN),
            closed=np.array(
                [  # thousands at every snapshot: no calls in here
                    (step, arm, learnt, math.nan if r is None else r, math.nan if p is None else p)
                    for step, (arm, learnt, r, p) in self._closed.items()
                ],
                CLOSED,
            ),
            aside=np.array([(step, arm, r) for arm, queue in enumerate(aside) for step, r in queue], ASIDE),
        )

    @classmethod
    def restore(cls, data: bytes, clock: Callable[[], float] | None = None) -> Session:
        """The Session that took the snapshot, as it was then."""
        header, arrays = unpack(data, "a Session")
        try:
            policy = build(header["policy"])
            session = cls(policy, clock=clock, **header["settings"])
            session.step, session.most_open = header["step"], header["most_open"]
            session.time = -math.inf if header["time"] is None else header["time"]
            for step, arm, at, due, p, learnt in arrays["open"].tolist():
                event = Asked(int(step), int(arm), at, _absent(due), _absent(p))
                session._open[event.step] = (event, int(learnt))
            for step, arm, learnt, reward, p in arrays["closed"].tolist():
                session._closed[step] = (arm, learnt, _absent(reward), _absent(p))
            learner, aside = session._learner, arrays["aside"].tolist()
        except KeyError as error:
            raise InputError(f"this is not a snapshot of a Session: {error} is missing") from error
        learner.learnt, learner.unknown = header["learnt"], set(header["unknown"])
        learner.state = unpack_state(arrays, learner.player(learner.learnt).init(len(session.arms)), "a Session")
        learner.begin_past()
        if isinstance(learner, InTurnLearner):
            learner.resume(aside)
        return session

    # Odds and ends

    def _now(self) -> float:
        """Time never runs backwards here, whatever the clock does."""
        return max(self.time, float(self.clock()))

    def _settled_now(self) -> float:
        self.settle()
        return self._now()

    def _step_of(self, id: str) -> int | None:  # noqa: A002
        name, dash, digits = id.rpartition("-") if isinstance(id, str) else ("", "", "")
        return int(digits) if dash and name == self.name and digits.isdecimal() and len(digits) < 19 else None

    def _judge(self, step: int, reward: Any, meant: dict[int, float]) -> Outcome:
        if not is_reward(reward):
            return Outcome.INVALID
        if step in meant:
            return Outcome.AGAIN if meant[step] == reward else Outcome.CONFLICT
        if step in self._open:
            return Outcome.NEW
        if step in self._closed:
            told = self._closed[step][2]
            return Outcome.EXPIRED if told is None else Outcome.AGAIN if told == reward else Outcome.CONFLICT
        return Outcome.EXPIRED if 0 < step <= self.step else Outcome.UNKNOWN

    def remembers(self, id: str) -> bool:  # noqa: A002
        """Whether the Decision is open or among the last answered; of others only a Store knows what became."""
        step = self._step_of(id)
        return step in self._open or step in self._closed

    def refusal(self, outcome: Outcome, id: Any, reward: Any) -> InputError:  # noqa: A002
        """The error that says why such a reward is not taken."""
        if outcome is Outcome.INVALID:
            return InputError(f"a reward must be a finite number, at most {LARGEST_REWARD:g} in size; got {reward!r}")
        if outcome is Outcome.UNKNOWN:
            return UnknownDecisionError(
                f"there is no Decision {id!r} here: ids are {self.name}-1 to {self.name}-{self.step}"
            )
        if outcome is Outcome.CONFLICT:
            return ConflictError(f"Decision {id!r} has another reward already, and keeps it; got {reward!r}")
        return ExpiredError(
            f"Decision {id!r} was settled without this reward: its time was up, or it is long forgotten"
        )


def steady_clock() -> Callable[[], float]:
    """Seconds since 1970 that never jump: the wall clock at the start, and a monotonic clock from there."""
    offset = time.time() - time.monotonic()
    return lambda: offset + time.monotonic()


def _check_timeout(timeout: float | None) -> float | None:
    if timeout is not None and not (is_reward(timeout) and timeout > 0):
        raise InputError(f"timeout must be a positive number of seconds, or None to wait for ever; got {timeout!r}")
    return None if timeout is None else float(timeout)


def _check_explore(explore: float) -> float:
    if not (is_reward(explore) and 0 <= explore <= 1):
        raise InputError(f"explore is a share of all Decisions, from 0 to 1; got {explore!r}")
    return float(explore)


def _number(value: float | None) -> float:
    return math.nan if value is None else value


def _absent(value: float) -> float | None:
    return None if math.isnan(value) else value


def _numbers(event: Asked) -> tuple[float, ...]:
    return (event.step, event.arm, event.time, _number(event.due), _number(event.probability))

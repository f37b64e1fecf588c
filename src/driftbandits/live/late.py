"""Late rewards: a young Decision without one is not yet a failure, so silence is weighed by its age.

Let a reward that comes before the timeout have come by age a with probability F(a). A Decision of that age is then
known to the extent F(a): of n of them, n F(a) p had their reward by now if p of all get one, and so n F(a) (1 - p)
should have been learnt as silence. With W the sum of F(age) over all Decisions of an arm, and S the rewards that came,
the policy is told of W - S silences, and S/W estimates p whatever the ages (Vernade, Cappé, Perchet 2017).

Rewards are learnt when they come. Silence is learnt *ahead* of its timeout, by an event that counts it for each arm;
a Decision whose timeout ends takes back one that was learnt ahead, or is learnt then. So when all Decisions are closed
each was learnt exactly once, however wrong F was: nothing is ever unlearnt, and nothing stays wrong.

How sure that is: S is a sum of independent coins with p F(age), so that the variance of S/W is p (1 - p G)/W, with G
the sum of F^2 over the sum of F. Of W rewards that were all known it would be p (1 - p)/W. The effective number is
therefore W (1 - p)/(1 - p G), which a policy that counts W takes for at most 1/(1 - p) times as much, and exactly W
when all are old. To that comes the error of F, which all arms share.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from driftbandits._common.arrays import Array
from driftbandits._common.checks import shown
from driftbandits.errors import InputError
from driftbandits.live.cohorts import Cohorts
from driftbandits.live.decisions import Asked, Counted, Settled, Told
from driftbandits.policies import Policy

if TYPE_CHECKING:
    from driftbandits.live.session import Session


class Late:
    """What was learnt ahead, for each arm, and while it is on the Decisions since ``step``."""

    def __init__(self, n_arms: int) -> None:
        self.ahead = [0] * n_arms
        """Silences that were learnt before their timeout."""
        self.cohorts: Cohorts | None = None
        self.step = 0
        """The last Decision before it was switched on."""

    def add_arm(self) -> None:
        """One more."""
        self.ahead.append(0)
        if self.cohorts is not None:
            self.cohorts.add_arm()

    def redeclare(self, timeout: float | None, latest: float, now: float) -> None:
        """Another timeout, or time was set back."""
        if self.cohorts is not None and timeout is not None:
            self.cohorts.rewind(latest)
            if timeout != self.cohorts.timeout:
                self.cohorts.change_timeout(timeout, now)

    def ask(self, events: Iterable[Asked]) -> None:
        """Decisions are made."""
        if self.cohorts is not None:
            for event in events:
                self.cohorts.ask(event.arm, event.time)

    def unlearnt(self, asked: Sequence[Asked], events: Iterable[Told | Settled]) -> list[tuple[int, int, float]]:
        """What is to be learnt when these close, as (step, arm, reward): silence that was learnt ahead is not."""
        left, found = self.ahead.copy(), []
        for (_, arm, *_), event in zip(asked, events, strict=True):
            if event.reward is not None:
                if type(event) is Settled and left[arm] > 0:
                    left[arm] -= 1
                else:
                    found.append((event.step, arm, event.reward))
        return found

    def close(self, asked: Sequence[Asked], events: Iterable[Told | Settled]) -> None:
        """These are closed, and what was to be learnt has been."""
        for (step, arm, time, *_), event in zip(asked, events, strict=True):
            silent = type(event) is Settled and event.reward is not None
            if silent and self.ahead[arm] > 0:
                self.ahead[arm] -= 1
            if self.cohorts is not None and step > self.step:
                if silent:
                    self.cohorts.settle(arm, time)
                elif event.reward is None:
                    self.cohorts.drop(arm, time)
                else:
                    self.cohorts.tell(arm, time, event.time - time)

    def due(self, now: float, most: int | None) -> dict[int, int]:
        """How many silences of which arms are to be learnt now, at most so many."""
        if self.cohorts is None:
            return {}
        wanted = np.floor(self.cohorts.missing(now) + 1e-9) - np.array(self.ahead)
        total = wanted.clip(0.0).sum()
        if most is not None and total > most:
            wanted = np.floor(wanted * (most / total))
        return {arm: int(count) for arm, count in enumerate(wanted.tolist()) if count > 0}

    def packed(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """For a snapshot: what goes into its header, and arrays."""
        header = {"ahead": self.ahead, "ahead_since": self.step}
        return header, {} if self.cohorts is None else self.cohorts.packed()


def restored_late(header: dict[str, Any], arrays: dict[str, Array], timeout: float | None, n_arms: int) -> Late:
    """As it was packed."""
    late = Late(n_arms)
    late.ahead, late.step = header["ahead"], header["ahead_since"]
    if timeout is not None and header["settings"]["late"]:
        late.cohorts = Cohorts(timeout, n_arms)
        late.cohorts.resume(arrays)
    return late


def check_late(late: Any, policy: Policy, timeout: float | None, default_reward: float | None) -> bool:
    """Whether silence is weighed; InputError where that can't be."""
    if not isinstance(late, bool):
        raise InputError(f"late must be True or False; got {shown(late)}")
    if late and not policy.any_order:
        raise InputError(
            f"late=True is for policies that take rewards in any order, such as BreakEven; got {type(policy).__name__}"
        )
    if late and (timeout is None or default_reward is None):
        raise InputError(
            "late=True needs a timeout, after which silence is final, and a default_reward, which is what it means; "
            f"got timeout={timeout!r} and default_reward={default_reward!r}"
        )
    return late


def count_silence(session: Session, before: float, now: float, most: int | None) -> None:
    """Learn the silence that is due, once a tick: not again if there was an event ``before`` in this one."""
    late = session._late
    if late is None or late.cohorts is None or before // late.cohorts.tick == now // late.cohorts.tick:
        return
    due = late.due(now, most)
    if due:
        assert session.default_reward is not None
        session.apply(Counted(tuple(due.items()), float(session.default_reward), now))


def apply_counted(session: Session, event: Counted) -> None:
    """Silence is learnt ahead."""
    late = session._late
    if late is None or not all(0 <= arm < len(late.ahead) and count > 0 for arm, count in event.counts):
        raise InputError("the log counts silence of arms that are not there, or before it was to be weighed")
    learnt = [(session.step, arm, event.reward) for arm, count in event.counts for _ in range(count)]
    session._learner.take(learnt, session.step - 2 * session.most_open, session.step)
    for arm, count in event.counts:
        late.ahead[arm] += count


def switch(session: Session, on: bool) -> None:
    """Weigh the silence of Decisions from the next one on, or of none; what was learnt ahead is still taken back."""
    if on and session.timeout is None:
        raise InputError("the log weighs silence, and there is no timeout")
    session._late = late = session._late or Late(len(session.arms))
    late.cohorts, late.step = (
        Cohorts(session.timeout, len(session.arms)) if on and session.timeout else None,
        session.step,
    )

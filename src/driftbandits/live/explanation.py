"""Why an arm was chosen: what the policy knew and believed at that moment."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from driftbandits._common.intervals import Z, wilson_interval
from driftbandits._numba.loops import counts_pending
from driftbandits.errors import InputError
from driftbandits.live.decisions import AGAIN, HELD, Decision, Outcome, TooOldError, id_of, step_of
from driftbandits.live.eras import learner_of
from driftbandits.live.learners import ON, REMOVED, Learner
from driftbandits.policies._parts.belief import Belief, Snooze, among, belief_of, of_rewards

if TYPE_CHECKING:
    from driftbandits.live.session import Session

RECENT = 100
RECENT_REWARDS = (
    f"the last rewards of each arm, {RECENT} at most, since arms or policy changed or the Session was loaded"
)
"""Where estimates come from if the policy keeps none."""
DRAWN = 1000
"""Draws that the probabilities of a choice are estimated from."""


@dataclass(frozen=True)
class ArmView:
    """One arm as the policy saw it: its mean's ``estimate`` with a 95 % interval, the ``probability`` of its choice.

    The probabilities are those of the Decision, with ``explore`` and the holdout: together they are 1.

    ``estimate``, ``low`` and ``high`` are None while nothing is known. ``snoozed_until`` is the policy's own step.
    ``slope`` is what the mean is expected to gain a step, for a policy that thinks of slopes. ``available``: whether it
    could be chosen, or was disabled.
    """

    arm: str
    estimate: float | None
    low: float | None
    high: float | None
    probability: float
    snoozed_until: float | None
    slope: float | None = None
    available: bool = True


@dataclass(frozen=True)
class Overtaking:
    """``arm`` is expected to overtake ``best``, the best arm now, in about so many ``steps``."""

    arm: str
    best: str
    steps: int


@dataclass(frozen=True)
class Explanation:
    """Why a Decision chose its arm.

    ``phase`` is "forced" when the policy had no say, "held out" when the Decision was in the holdout, "again" when its
    unit got the arm that it had, "snoozed" when some arm was snoozed, "exploring" when none was and the policy snoozes
    arms, else "chosen". ``learnt`` counts the rewards
    known to the policy. ``gap`` is the difference that the policy tested (over ``window`` pairs of pulls, where it has
    windows), ``threshold`` what it must exceed; for a snooze, the gap that was found and the window that passed the
    test.
    ``source`` says where the estimates come from: the policy, or, for policies that keep none, the last rewards of each
    arm, 100 at most, since a change or since the Session was loaded. ``probability`` is the one that the log keeps, if
    it keeps any, else from 1,000 draws like those of all arms; of an arm that was given again it is that of its first
    choice, and those of the arms are what a new unit would get. Arms of which nothing is known take turns, all alike.
    ``overtaking`` is the next change of the best arm that the policy expects, if it thinks of slopes and expects one.
    ``late``: silence is weighed by its age, so that the policy's intervals are too narrow while data is young: by a
    factor of up to 1/sqrt(1 - p) where a share p converts.
    """

    id: str
    step: int
    arm: str
    phase: str
    learnt: int
    probability: float
    gap: float | None
    threshold: float | None
    window: int | None
    until: float | None
    source: str
    arms: tuple[ArmView, ...]
    overtaking: Overtaking | None = None
    late: bool = False

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON: a snooze without end has ``until`` None."""
        found = asdict(self)
        for view in (found, *found["arms"]):
            for key, value in view.items():
                if isinstance(value, float) and not math.isfinite(value):
                    view[key] = None
        return found

    def __str__(self) -> str:
        chance = f"with probability {self.probability:.3g}"
        lines = [f"{self.id}: {self.arm}, {chance}, after {self.learnt:,} rewards; {self.phase}"]
        if self.gap is not None:
            window = "" if self.window is None else f" over {self.window:,} pairs"
            limit = "" if self.threshold is None else f" against a threshold of {self.threshold:.4g}"
            until = "" if self.until is None else f"; until step {self.until:,.0f}"
            lines.append(f"  gap {self.gap:.4g}{window}{limit}{until}")
        for view in self.arms:
            told = (
                "nothing known" if view.estimate is None else f"{view.estimate:.4g} ({view.low:.4g} to {view.high:.4g})"
            )
            slope = f", {view.slope:+.2g} a step" if view.slope else ""
            chosen = f"chosen with probability {view.probability:.3g}" if view.available else "disabled"
            lines.append(f"  {view.arm}: {told}{slope}, {chosen}")
        if self.overtaking is not None:
            after = f"{float(f'{self.overtaking.steps:.1e}'):,.0f}"
            lines.append(
                f"  {self.overtaking.arm} is expected to overtake {self.overtaking.best} in about {after} steps"
            )
        if self.late:
            lines.append("  silence is weighed by its age: while data is young the intervals are too narrow")
        return "\n".join(lines)


def explain(session: Session, decision: Decision | str) -> Explanation:
    """Why that arm; InputError when there is no such Decision, TooOldError when a Session can't tell any more."""
    id = id_of(decision)
    step = step_of(id, session.name)
    if step is None or step > session.step:
        raise session.refusal(Outcome.UNKNOWN, id, None)
    if id in session._open:
        event, learnt = session._open[id]
        arm, probability = event.arm, event.probability
    elif step in session._closed:
        arm, learnt, _, probability = session._closed[step]
    else:
        raise TooOldError(f"{id!r} is older than the last {session.remember:,} answered Decisions: ask the Store")
    try:
        learner, statuses = learner_of(session, step)
        way = session._ways.get(step)
        held_out = learner.is_held_out(step) if way is None else bool(way & HELD)
        phase = "forced" if learner.forced is not None else "held out" if held_out else None
        phase = "again" if phase is None and way is not None and way & AGAIN else phase
        found = _explain_choice(learner, session.arms, statuses, id, step, arm, learnt, probability, phase)
        return replace(found, late=session.late)
    except InputError as error:
        raise TooOldError(f"{id!r} is too old for this Session to explain ({error}): ask the Store") from None


def _explain_choice(
    learner: Learner,
    names: list[str],
    statuses: list[str],
    id: str,
    step: int,
    arm: int,
    learnt: int,
    probability: float | None,
    phase: str | None,
) -> Explanation:
    """The Explanation of a choice made when arms had those ``statuses`` and the policy had learnt so many rewards.

    ``phase`` is what it is for reasons that are not the policy's.
    """
    past = learner.past(learnt)
    belief = among(belief_of(past), list(map(learner.is_on, range(learner.n_arms))))
    rewards, source = learner.rewards_before(learnt, RECENT), "policy"
    if belief.estimate is None:
        belief, source = _recent(belief, rewards), RECENT_REWARDS
    belief = of_rewards(belief, list(chain(*rewards)) or [reward for _, _, reward in learner.recent])
    shares, crossing, place = learner.shares(learnt, DRAWN), belief.crossing, learner.places.index(arm)
    if phase is None and probability is None:
        shares = _with_choice(learner, learnt, place, shares)
    chances = learner.chances(shares)
    if probability is None:
        probability = float(chances[place])
    elif phase != "again":
        chances = _agreeing(chances, place, probability, learner)
    own = [names[place] for place in learner.places]
    snoozed = {snooze.arm: snooze for snooze in belief.snoozed}

    def view(index: int, status: str) -> ArmView:
        place = learner.place_of(index)
        if place is None:
            return ArmView(names[index], None, None, None, 0.0, None, None, status == ON)
        return ArmView(
            names[index],
            _known(belief.estimate, place),
            _known(belief.low, place),
            _known(belief.high, place),
            float(chances[place]),
            snoozed[place].until if place in snoozed else None,
            _known(belief.slope, place),
            status == ON,
        )

    last: Snooze | None = max(belief.snoozed, key=lambda snooze: snooze.since, default=None)
    return Explanation(
        id=id,
        step=step,
        arm=names[arm],
        phase=phase or ("snoozed" if last else "exploring" if past.stage.policy.snoozes else "chosen"),
        learnt=learnt,
        probability=probability,
        gap=last.gap if last else belief.gap,
        threshold=None if last else belief.threshold,
        window=last.window if last else belief.window,
        until=last.until if last else None,
        source=source,
        arms=tuple(view(index, status) for index, status in enumerate(statuses) if status != REMOVED),
        overtaking=crossing and Overtaking(own[crossing.arm], own[crossing.other], crossing.steps),
    )


def _with_choice(learner: Learner, learnt: int, chosen: int, shares: Any) -> Any:
    """Shares of draws in none of which the choice was made: what happened had a probability."""
    if shares[chosen] > 0.0:
        return shares
    unknown = learner.unknown_at(learnt)
    if chosen in unknown:  # such arms take turns, while their first rewards don't come
        return np.isin(np.arange(learner.n_arms), unknown) / len(unknown)
    if counts_pending(learner.state):  # it is what pending rewards made of a choice without chance
        return np.arange(learner.n_arms) == chosen
    shares[chosen] = 1 / DRAWN  # the choice was one draw more
    return shares / shares.sum()


def _agreeing(chances: Any, chosen: int, probability: float, learner: Learner) -> Any:
    """What was drawn, made to agree with the probability that the log keeps of the choice: together they are 1."""
    others = np.arange(len(chances)) != chosen
    weights = np.where(others, chances, 0.0)
    if not weights.any():  # others are so rare that no draw had one
        weights = 1.0 * (others & list(map(learner.is_on, range(len(chances)))))
    found: Any = weights * ((1.0 - probability) / max(weights.sum(), 1e-300))
    found[chosen] = probability
    return found


def _recent(belief: Belief, rewards: list[list[float]]) -> Belief:
    """Means of recent rewards with 95 % intervals, for policies that keep no estimates.

    Of rewards that are 0 or 1 Wilson's intervals, else 1.96 standard errors to each side.
    """
    found = [_mean_of(arm) for arm in rewards]
    mean, low, high = (np.array(column) for column in zip(*found, strict=True))
    return belief._replace(estimate=mean, low=low, high=high)


def _mean_of(rewards: list[float]) -> tuple[float, float, float]:
    if not rewards:
        return math.nan, math.nan, math.nan
    mean, count = float(np.mean(rewards)), len(rewards)
    if set(rewards) <= {0.0, 1.0}:
        low, high = wilson_interval(mean, count)
        return mean, float(low), float(high)
    error = float(np.std(rewards, ddof=1)) / math.sqrt(count) if count > 1 else math.inf
    return mean, mean - Z * error, mean + Z * error


def _known(values: Any, index: int) -> float | None:
    return None if values is None or math.isnan(values[index]) else float(values[index])

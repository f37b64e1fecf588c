"""What of a Session can change while it runs: its settings, corrected rewards, a clock that was ahead."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from driftbandits._common.checks import check_default, check_range, check_share, check_sticky, check_timeout, shown
from driftbandits._common.rewards import first_not_taken, not_taken, range_for
from driftbandits.errors import InputError
from driftbandits.live.arms import apply_arm, apply_traffic
from driftbandits.live.decisions import (
    ArmChanged,
    Changed,
    Corrected,
    Counted,
    Event,
    Forced,
    HeldOut,
    LateSwitched,
    PolicyChanged,
    Rewound,
    StickyChanged,
)
from driftbandits.live.eras import go_on_with
from driftbandits.live.late import apply_counted, check_late, switch
from driftbandits.policies import Policy

if TYPE_CHECKING:
    from driftbandits.live.session import Session

UNCHANGED: Any = ...
"""A setting that is left as it is."""


def changes(
    session: Session,
    timeout: float | None,
    default_reward: float | None,
    reward_range: Sequence[float] | None,
    policy: Policy,
    explore: float,
    sticky: float | None,
    late: bool,
) -> list[Changed | PolicyChanged | StickyChanged | LateSwitched]:
    """The events that change these settings; an UNCHANGED one stays."""
    another = _policy_changed(session, policy, explore)
    event = _changed(session, (another or session).policy, timeout, default_reward, reward_range)
    sticky_now = session.sticky if sticky is UNCHANGED else check_sticky(sticky)
    on = check_late(
        session.late if late is UNCHANGED else late, (another or session).policy, event.timeout, event.default_reward
    )
    # The policy first, since it may not be defined for these arms.
    found: list[Changed | PolicyChanged | StickyChanged | LateSwitched] = [] if another is None else [another]
    if sticky_now != session.sticky:
        found.append(StickyChanged(sticky_now, event.time))
    same = event[:3] == (session.timeout, session.default_reward, session.reward_range)
    if not same or all(setting is UNCHANGED for setting in (explore, policy, sticky, late)):
        found.append(event)
    if on != session.late:
        found.insert(len(found) if on else 0, LateSwitched(on, event.time))  # on when it has its timeout
    return found


def _changed(
    session: Session,
    policy: Policy,
    timeout: float | None,
    default_reward: float | None,
    reward_range: Sequence[float] | None,
) -> Changed:
    timeout = session.timeout if timeout is UNCHANGED else check_timeout(timeout)
    limits = session.reward_range if reward_range is UNCHANGED else check_range("reward_range", reward_range)
    default = session.default_reward if default_reward is UNCHANGED else default_reward
    check_default_for(policy, default, limits)
    scale = range_for(policy, limits)
    if policy != session.policy or scale != session._learner.reward_range:
        recent = list(session._learner.recent)
        wrong = first_not_taken(policy, scale, [reward for _, _, reward in recent])
        if wrong is not None:
            step, _, reward = recent[wrong]
            got = f"{reward:.6g} for '{session.name}-{step}', which it would learn again"
            raise not_taken(policy, scale, got)
    return Changed(timeout, None if default is None else float(default), limits, session._now())


def _policy_changed(session: Session, policy: Any, explore: Any) -> PolicyChanged | None:
    """None if both stay."""
    policy = session.policy if policy is UNCHANGED else check_policy(policy)
    explore = session.explore if explore is UNCHANGED else check_share("explore", explore)
    same = policy == session.policy and explore == session.explore
    return None if same else PolicyChanged(policy, explore, session._now())


def check_policy(policy: Any) -> Policy:
    """A Session is played by a Policy."""
    if not isinstance(policy, Policy):
        raise InputError(f"a Session needs an object derived from Policy, such as UCB1(); got {shown(policy)}")
    return policy


def check_default_for(policy: Policy, reward: Any, limits: tuple[float, float] | None) -> Any:
    """What a policy learns in place of a reward that never came: a reward that it is defined for, or None."""
    if check_default(reward, limits) is not None and first_not_taken(policy, limits, [reward]) is not None:
        raise not_taken(policy, limits, f"default_reward={shown(reward)}")
    return reward


def apply_change(
    session: Session,
    event: Event,
) -> None:
    """A correction is noted here; the rewards before it were those that it says (``amended``)."""
    if isinstance(event, Corrected):
        if not 1 <= event.step <= session.step or f"{session.name}-{event.step}" in session._open:
            raise InputError(f"the log corrects step {event.step}, which has no reward yet")
    elif isinstance(event, ArmChanged):
        apply_arm(session, event)
    elif isinstance(event, PolicyChanged):
        before, same = session._learner, event.policy == session.policy
        limits = session.reward_range
        learner = before.again() if same else before.anew(event.policy, session.statuses, event.explore, limits)
        learner.explore = event.explore
        go_on_with(session, learner, session.statuses)
        session.policy, session.explore, _ = event
    elif isinstance(event, Forced | HeldOut):
        apply_traffic(session, event)
    elif isinstance(event, StickyChanged):
        session.sticky = event.sticky
        if session.sticky is None:
            session._units.clear()
    elif isinstance(event, Counted):
        apply_counted(session, event)
    elif isinstance(event, LateSwitched):
        switch(session, event.on)
    elif isinstance(event, Changed | Rewound):
        latest = math.inf
        if isinstance(event, Changed):
            session.timeout, session.default_reward, session.reward_range, _ = event
            before, limits = session._learner, range_for(session.policy, session.reward_range)
            if limits != before.reward_range:
                learner = before.anew(session.policy, session.statuses, session.explore, limits)
                go_on_with(session, learner, session.statuses)
        else:
            latest = session.time = event.time
            session._units.rewind(latest)
        for id, (asked, learnt) in session._open.items():
            at = min(asked.time, latest)
            due = None if session.timeout is None else at + session.timeout
            session._open[id] = asked._replace(time=at, due=due), learnt
        if session._late is not None:
            session._late.redeclare(session.timeout, latest, event.time)
    else:
        raise InputError(
            f"an event of a log is one that a Session notes, such as an Asked or a Told; got {shown(event)}"
        )
    session.changes += 1
    session.time = max(session.time, event.time)
    if session.journal is not None:
        session.journal.append(event)

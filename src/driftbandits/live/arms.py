"""Arms of a Session that come and go, and those that get Decisions whatever the policy wants: forced, held out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from driftbandits._common.checks import check_names, check_share, look_of, shown
from driftbandits.errors import InputError
from driftbandits.live.decisions import ArmChanged, Forced, HeldOut
from driftbandits.live.eras import go_on_with
from driftbandits.live.learners import OFF, ON, REMOVED

if TYPE_CHECKING:
    from driftbandits.live.session import Session

MOST_ARMS = 1_000
"""Arms that a Session may ever have had when one is added."""


def arm_changed(session: Session, name: Any, status: str, new: bool = False) -> ArmChanged | None:
    """The event that gives an arm that status, a ``new`` one or one that is there; None if it has it already."""
    if new:
        [name] = check_names("arms", [name])
        there = next((arm for arm in session.arms if look_of(arm) == look_of(name)), None)
        if there is not None:
            raise InputError(f"there is or was an arm {there!r} already: enable it, or choose another name")
        if len(session.arms) >= MOST_ARMS:
            raise InputError(f"{session.name!r} has had {MOST_ARMS:,} arms and takes no more: begin another experiment")
    else:
        place = session.arms.index(name) if isinstance(name, str) and name in session.arms else None
        if place is None or session.statuses[place] == REMOVED:
            left = [arm for arm, is_now in zip(session.arms, session.statuses, strict=True) if is_now != REMOVED]
            raise InputError(f"{session.name!r} has no arm {shown(name)}; it has {shown(left)}")
        if session.statuses[place] == status:
            return None
        if session.forced == name and status != ON:
            raise InputError(f"all Decisions get {name!r}: force another arm, or none, first")
        if session.holdout is not None and session.holdout[1] == name and status != ON:
            raise InputError(f"the holdout gets {name!r}: hold out another arm, or none, first")
        if session.available == [name]:
            raise InputError(f"{name!r} is the only arm that can be chosen: enable or add another one first")
    arm = len(session.arms) if new else session.arms.index(name)
    return ArmChanged(arm, name, status, session._now())


def apply_arm(session: Session, event: ArmChanged) -> None:
    """The Session with that arm as it is now; a policy that can't do with the arms that are left changes nothing."""
    arm, name, status, _ = event
    if not 0 <= arm <= len(session.arms) or status not in (ON, OFF, REMOVED):
        raise InputError(f"the log changes arm {arm} to {shown(status)}, and there are {len(session.arms)}")
    names, statuses = list(session.arms), list(session.statuses)
    names[arm : arm + 1], statuses[arm : arm + 1] = [name], [status]
    go_on_with(session, session._learner.changed(statuses), statuses)
    if session._late is not None and len(names) > len(session.arms):
        session._late.add_arm()
    session.arms = names


def forced(session: Session, name: Any) -> Forced | None:
    """The event that sends all Decisions to an arm, or to none in particular; None if that is so already."""
    if name is not None and name not in session.available:
        raise InputError(f"an arm can be forced that is on: {shown(session.available)}; got {shown(name)}")
    arm = None if name is None else session.arms.index(name)
    return None if arm == session._learner.forced else Forced(arm, session._now())


def held_out(session: Session, share: Any, name: Any) -> HeldOut | None:
    """The event that holds out a share of Decisions, which get that arm; None if that is so already."""
    share = check_share("share", share)
    if share >= 1.0:
        raise InputError("a share of 1 leaves nothing to the policy: hold out less, or force an arm")
    if share > 0.0 and name not in session.available:
        raise InputError(f"the holdout gets an arm that is on: {shown(session.available)}; got {shown(name)}")
    now = (share, session.arms.index(name)) if share > 0.0 else None
    if now == session._learner.holdout:
        return None
    return HeldOut(0.0, None, session._now()) if now is None else HeldOut(now[0], now[1], session._now())


def apply_traffic(session: Session, event: Forced | HeldOut) -> None:
    """All Decisions, or a share of them, get that arm from here on."""
    if event.arm is not None and not 0 <= event.arm < len(session.arms):
        raise InputError(f"the log sends Decisions to arm {event.arm}, and there are {len(session.arms)}")
    learner = session._learner.again()
    if isinstance(event, Forced):
        learner.forced = event.arm
    else:
        learner.holdout = None if event.arm is None else (event.share, event.arm)
    go_on_with(session, learner, session.statuses)
    share = 0.0 if learner.holdout is None or learner.forced is not None else learner.holdout[0]
    if share > 0.0 or session._holdouts:
        session._holdouts = [each for each in session._holdouts if each[0] <= session.step]
        session._holdouts.append((session.step + 1, share))

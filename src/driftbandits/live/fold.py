"""A Session is the fold of its log: what each event does to it."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from itertools import islice, repeat
from typing import TYPE_CHECKING

from driftbandits.errors import InputError
from driftbandits.live.decisions import HELD, Asked, Event, Settled, Told
from driftbandits.live.late import count_silence
from driftbandits.live.settings import apply_change
from driftbandits.live.units import take_notes

if TYPE_CHECKING:
    from driftbandits.live.session import Session


def apply_event(session: Session, event: Event) -> None:
    """Apply one event of a log; InputError if it can't follow those before it."""
    if isinstance(event, Asked):
        if event.step != session.step + 1:
            raise InputError(
                f"step {event.step} cannot follow step {session.step}: the log has a gap or is out of order"
            )
        if not 0 <= event.arm < len(session.arms):
            raise InputError(f"the log asks for arm {event.arm}, and there are {len(session.arms)}")
        apply_asked(session, [event], event.note is not None)
    elif not isinstance(event, Told | Settled):
        apply_change(session, event)
    else:
        id = f"{session.name}-{event.step}"
        if id not in session._open:
            raise InputError(f"the log settles step {event.step}, which is not open")
        apply_rewards(session, [id], [event])


def apply_asked(session: Session, events: list[Asked], noted: bool = False) -> list[str]:
    """Decisions that follow the last one are open now; returns their ids. ``noted``: whether any has a note."""
    prefix = f"{session.name}-"
    ids = [f"{prefix}{event[0]}" for event in events]
    kept = take_notes(session, events) if noted else events
    learnt = session._learner.learnt
    if len(ids) == 1:  # as most are: less than half the time
        session._open[ids[0]] = kept[0], learnt
    else:
        session._open.update(zip(ids, zip(kept, repeat(learnt), strict=False), strict=True))
    session._open_by_arm.update(event[1] for event in events)
    session.step, session.time = events[-1][0], max(session.time, events[-1][2])
    if session._late is not None:
        session._late.ask(events)
    session.most_open = max(session.most_open, len(session._open))
    if session.journal is not None:
        session.journal.extend(events)
    return ids


def apply_rewards(session: Session, ids: Iterable[str], events: Collection[Told | Settled]) -> None:
    """Open Decisions are closed, and what rewards they have is learnt."""
    if not events:
        return
    ids, waiting, late = list(ids), session._open, session._late
    closing = list(map(waiting.__getitem__, ids))
    came = [
        (step, asked[1], reward)
        for (asked, _), (step, reward, _) in zip(closing, events, strict=True)
        if reward is not None
    ]
    waited = [] if late is None else [asked for asked, _ in closing]
    # A reward put aside for a policy that wants others first is at most as late again as the latest rewards were.
    # It comes first: a policy that fails leaves the Session as it was.
    came_first = came if late is None else late.unlearnt(waited, events)
    session._learner.take(came_first, session.step - 2 * session.most_open, session.step)
    if late is not None:
        late.close(waited, events)
    if session._holdouts:
        _compare(session, came)
    closed = session._closed
    for id, ((_, arm, _, _, probability, _), learnt), event in zip(ids, closing, events, strict=True):
        step, reward, time = event
        closed[step] = (arm, learnt, reward if type(event) is Told else None, probability)
        session._open_by_arm[arm] -= 1
        del waiting[id]
    session.time = max(session.time, time)
    while len(closed) > session.remember:  # ordered: a dict looks for its oldest in all that was emptied
        step, _ = closed.popitem(last=False)
        if session._ways:
            session._ways.pop(step, None)
    if session.journal is not None:
        session.journal.extend(events)


def is_due(session: Session, now: float) -> bool:
    """Whether there is anything for ``settle_due`` to do."""
    if session._late is not None:
        return True
    for (_, _, _, due, _, _), _ in session._open.values():
        return due is not None and due <= now  # the rest was asked later, and is due later
    return False


def settle_due(session: Session, most: int | None) -> list[Settled]:
    """Settle the Decisions whose timeout has ended, or the first ``most``; learn the silence that is due."""
    before, now = session.time, session._now()
    due: dict[str, Settled] = {}
    for id, (event, _) in islice(session._open.items(), most):
        if event.due is None or event.due > now:
            break  # the rest was asked later, and is due later
        due[id] = Settled(event.step, session.default_reward, now)
    apply_rewards(session, due, due.values())
    count_silence(session, before, now, most)
    return list(due.values())


def _compare(session: Session, came: Iterable[tuple[int, int, float]]) -> None:
    """Rewards of Decisions made while some were held out are compared."""
    for step, _, reward in came:
        share = next((share for first, share in reversed(session._holdouts) if first <= step), 0.0)
        if share > 0.0:
            way = session._ways.get(step)
            held_out = session._learner.is_held_out(step, share) if way is None else bool(way & HELD)
            session._strata.add(step, held_out, reward, None if way is None else way >> 2)

"""Arms, policy, holdout, brake and settings change, the process dies and is taken over: the Store tells the same."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from hypothesis import Phase, given
from hypothesis import strategies as st

import driftbandits as db
from clock import Clock
from driftbandits.live.decisions import Decision
from driftbandits.live.explanation import Explanation
from many_examples import examples
from stores import fold

POLICIES = [db.AutoTS(), db.SWTS(window=30, posterior="beta"), db.UCB1(), db.KLUCB()]
Verb = Callable[[db.Session, st.DataObject], object]


def an_arm(session: db.Session, data: st.DataObject) -> str:
    return data.draw(st.sampled_from(session.arms))


CHANGES: dict[str, Verb] = {
    "add": lambda session, data: session.add_arm(f"new {len(session.arms)}"),
    "disable": lambda session, data: session.disable_arm(an_arm(session, data)),
    "enable": lambda session, data: session.enable_arm(an_arm(session, data)),
    "remove": lambda session, data: session.remove_arm(an_arm(session, data)),
    "force": lambda session, data: session.force_arm(data.draw(st.sampled_from([None, *session.arms]))),
    "hold": lambda session, data: session.hold_out(data.draw(st.sampled_from([0.0, 0.3])), an_arm(session, data)),
    "policy": lambda session, data: session.change(policy=data.draw(st.sampled_from(POLICIES))),
    "explore": lambda session, data: session.change(explore=data.draw(st.sampled_from([0.0, 0.3]))),
    "timeout": lambda session, data: session.change(timeout=data.draw(st.sampled_from([3.0, 20.0]))),
    "sticky": lambda session, data: session.change(sticky=data.draw(st.sampled_from([None, 5.0]))),
    "late": lambda session, data: session.change(late=data.draw(st.booleans())),
}
VERBS = ["ask"] * 8 + ["visit"] * 4 + ["tell"] * 8 + ["write"] * 4 + ["snapshot", "forget", "hand over"] * 2


def what_was_said(why: Explanation) -> dict[str, Any]:
    """All of it, but for means of remembered rewards: how many are remembered depends on when one began to.

    So does whether only rewards of 0 and 1 are remembered, and intervals are cut to [0, 1].
    """
    found = why.as_dict()
    for view in found["arms"]:
        for name in ("estimate", "low", "high"):
            view[name] = view[name] and min(max(view[name], 0.0), 1.0)
    if why.source != "policy":
        for view in found["arms"]:
            view["estimate"] = view["low"] = view["high"] = None
    return found


@given(data=st.data())
@examples(12, phases=[Phase.generate])
def test_any_sequence_of_changes_and_crashes_is_told_by_the_store(data: st.DataObject) -> None:
    clock, one = Clock(), db.Store("sqlite://")
    other = db.Store(f"sqlite:///{one.database.engine.url.database}")
    one.create("x", arms=["a", "b", "c"], timeout=20.0, default_reward=0.0)
    here, there = one, other
    writer = here.writers.acquire("x")
    written, told, kept = writer.session.snapshot(), dict[int, Any](), dict[int, Any]()
    for verb in data.draw(st.lists(st.sampled_from([*VERBS, *CHANGES]), min_size=25, max_size=60)):
        session, made = writer.session, list[Decision]()
        session.clock = clock
        clock.now += 1.0
        if verb == "ask":
            made = session.ask_many(data.draw(st.integers(1, 3)))
        elif verb == "visit":
            made = [session.ask(data.draw(st.sampled_from(["ann", "bob"])), {"page": "home"})]
        elif verb == "tell" and session.open:
            waiting = data.draw(st.sampled_from(session.waiting()))  # its time may be up
            session.tell_many({waiting: data.draw(st.sampled_from([0.0, 0.5, 1.0]))})
        elif verb == "forget":  # as when the process dies before it wrote
            writer, told = here.writers.reload(writer), kept.copy()
            assert writer.session.snapshot() == written
        elif verb in ("write", "snapshot", "hand over"):
            events, session.journal = session.journal or [], []
            here.writers.append([(writer, events)])
            written, kept = session.snapshot(), told.copy()
            assert fold(there, "x").snapshot() == written
            stored = there.experiments.get("x")
            assert (stored.arms, stored.statuses) == (session.arms, session.statuses)
            if verb == "snapshot":
                here.writers.save_snapshot(writer)
            elif verb == "hand over":
                here.writers.release(writer)
                here, there = there, here
                writer = here.writers.acquire("x")
                assert writer.session.snapshot() == written
        elif verb in CHANGES:
            with suppress(db.InputError):  # the last arm that is on can't be disabled, and the like
                CHANGES[verb](session, data)
        told |= {each.step: what_was_said(session.explain(each)) for each in made}
    for step, why in kept.items():
        assert what_was_said(there.history.explain("x", step)) == why, "what was said when it was made"

"""A log that was written once, in which policy, arms, exploration and holdout change, is continued as it was then.

Each change lets a policy begin again, with random numbers of its own. ``python`` this file writes log_with_eras.jsonl;
logs of other versions are replayed differently if it has to be written again.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import driftbandits as db
from driftbandits.live import decisions
from driftbandits.live.decisions import Asked, Event, Told

LOG = Path(__file__).with_name("log_with_eras.jsonl")
POLICIES: dict[str, db.Policy] = {
    "META": db.META(2_000, c0=0.01),
    "BOB": db.BOB(2_000),
    "Exp3S": db.Exp3S(gamma=0.1, alpha=0.01),
    "AutoTS": db.AutoTS(),
    "KLUCB": db.KLUCB(),
}
DECLARED: dict[str, Any] = {"policy": POLICIES["BOB"], "arms": ["a", "b", "c"], "seed": 5, "unit_key": "k"}


def written(event: Event) -> str:
    fields = event._asdict()
    if "policy" in fields:
        fields["policy"] = next(name for name, policy in POLICIES.items() if policy == fields["policy"])
    return json.dumps([type(event).__name__, fields])


def read() -> Iterator[Event]:
    for line in LOG.read_text(encoding="utf-8").splitlines():
        kind, fields = json.loads(line)
        if "policy" in fields:
            fields["policy"] = POLICIES[fields["policy"]]
        yield getattr(decisions, kind)(**fields)


@pytest.mark.usefixtures("interpreted")
def test_a_log_in_which_the_policy_changes_is_played_again_as_it_was() -> None:
    session, log = db.Session(**DECLARED, clock=lambda: 0.0), list(read())
    session.journal = []
    for event in log:
        if isinstance(event, Asked):
            session.ask()
            assert session.journal[-1] == event
        elif isinstance(event, Told):
            session.tell(f"d-{event.step}", event.reward)
        else:
            session.apply(event)
    assert session.journal == log


@pytest.mark.usefixtures("interpreted")
def test_a_log_in_which_the_policy_changes_is_folded_and_continued() -> None:
    """From its first half, at a place where several policies have begun."""
    session, log = db.Session(**DECLARED, clock=lambda: 0.0), list(read())
    half = len(log) // 2
    for event in log[:half]:
        session.apply(event)
    session = db.Session.restore(session.snapshot(), clock=lambda: 0.0)
    assert session._learner.era >= 3
    for event in log[half:]:
        if isinstance(event, Asked):
            assert session.arms.index(session.ask().arm) == event.arm
        else:
            session.apply(event)


def write() -> None:
    session = db.Session(**DECLARED, clock=lambda: 0.0)
    session.journal = []

    def play(steps: int) -> None:
        for _ in range(steps):
            decision = session.ask()
            session.tell(decision, (7 * decision.step + 3 * session.arms.index(decision.arm)) % 10 / 10)

    play(20)
    for name in ("META", "Exp3S", "AutoTS", "KLUCB", "META", "BOB"):
        session.change(policy=POLICIES[name], explore=0.0 if name == "Exp3S" else 0.2)
        session.hold_out(0.1 if name in ("AutoTS", "META") else 0.0, "a")
        play(20)
        if name in ("Exp3S", "AutoTS"):
            session.add_arm(f"after {name}")
            play(10)
    LOG.write_text("".join(f"{written(event)}\n" for event in session.journal), encoding="utf-8")


if __name__ == "__main__":
    write()

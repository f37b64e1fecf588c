"""Which unit has which arm, by names and lists: what ``live/units.py`` does with hashes, slots and notes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import driftbandits as db
from driftbandits.live.units import _place, hash_of

Slot = tuple[str | None, str, float, bool]


class NaiveUnits:
    """Slots of a name, an arm, when it was chosen and whether held out, oldest first; at most ``most`` are kept."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.slots: list[Slot] = []

    def visit(self, session: db.Session, made: Sequence[db.Decision], units: Sequence[Any], now: float) -> None:
        """Check the Decisions that a Session made for these units at that time, all at once."""
        before = list(self.slots)
        for decision, unit in zip(made, units, strict=True):
            if unit is None or session.forced is not None:
                continue
            held_out = False
            if session.holdout is not None:
                held_out = _place(hash_of(unit, session.unit_key)) < session.holdout[0]
                assert not held_out or decision.arm == session.holdout[1], "a unit is held out, or never"
            if session.sticky is None:
                continue
            arm = next((arm for name, arm, at, held in reversed(before) if name == unit), None)
            good = [at + session.sticky > now and held == held_out for name, _, at, held in before if name == unit]
            if arm is not None and good[-1] and arm in session.available and not (held_out and arm != decision.arm):
                assert decision.arm == arm, "a unit keeps its arm"
                assert decision.arm == session.holdout[1] if held_out and session.holdout else True
                continue
            before.append((unit, decision.arm, now, held_out))
            self.slots.append((unit, decision.arm, now, held_out))
            self.slots = [slot for slot in self.slots if slot[2] + session.sticky > now][-self.most :]
        assert len(self.slots) == len(session._units)

"""Units: within ``sticky`` seconds the same visitor gets the same arm. Known by a keyed hash alone, and erasable.

Who gets which arm, the first rule that fits: a forced arm, for everybody; the holdout's arm, for a unit that is held
out; the arm that the unit has, if it was chosen less than ``sticky`` seconds ago and is on; what the policy chooses.
Which units are held out is decided by their hash, u in [0, 1): those with u below the share, so always the same ones.

The time runs from the Decision that chose the arm, and visits in between do not prolong it. A slot is kept for each
such Decision until it is over, or until there are more than MOST_UNITS, when the oldest goes. What is erased leaves its
slots behind, without a name: so a Session is still the fold of its log, in which the names are erased as well.
"""

from __future__ import annotations

import json
import secrets
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from itertools import repeat
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from driftbandits._common.checks import shown
from driftbandits.errors import InputError
from driftbandits.live.decisions import AGAIN, HELD, Asked, Note
from driftbandits.live.learners import ON
from driftbandits.live.lift import GROUPS

if TYPE_CHECKING:
    from driftbandits.live.session import Session

MOST_UNITS = 1_000_000
LONGEST_UNIT, MOST_METADATA = 200, 1_024
"""Characters of a unit, bytes of metadata."""
HASH, LONGEST_KEY = 16, 64
SLOT = np.dtype(
    [("unit", f"V{HASH}"), ("arm", "i8"), ("step", "i8"), ("time", "f8"), ("probability", "f8"), ("held_out", "?")]
)
NOBODY = bytes(HASH)

UnitList: TypeAlias = Sequence[str | None] | None
MetadataList: TypeAlias = Sequence[Mapping[str, Any] | None] | None
"""Of each ask, where it has one; None where no ask has."""
Given = tuple[bytes | None, str | None]
"""What an ask came with: the hash of its unit, and its metadata as JSON."""


class Slot(NamedTuple):
    """The arm of a unit, and the Decision that chose it."""

    unit: bytes | None
    arm: int
    step: int
    time: float
    probability: float | None
    held_out: bool


class Units:
    """The arms that units have, by the time at which they were chosen."""

    def __init__(self) -> None:
        self._slots: deque[Slot] = deque()
        self._of: dict[bytes, Slot] = {}

    def __len__(self) -> int:
        return len(self._slots)

    def get(self, unit: bytes) -> Slot | None:
        """The last that is kept of a unit, over or not."""
        return self._of.get(unit)

    def keep(self, slot: Slot, sticky: float) -> None:
        """One more; those that are over by its time are forgotten."""
        self._add(slot)
        while len(self._slots) > MOST_UNITS or self._slots[0].time + sticky <= slot.time:
            gone = self._slots.popleft()
            if gone.unit is not None and self._of[gone.unit] is gone:
                del self._of[gone.unit]

    def _add(self, slot: Slot) -> None:
        self._slots.append(slot)
        if slot.unit is not None:
            self._of[slot.unit] = slot

    def forget(self, unit: bytes) -> None:
        """Take a unit's name off its slots."""
        if self._of.pop(unit, None) is not None:
            self._slots = deque(slot._replace(unit=None) if slot.unit == unit else slot for slot in self._slots)

    def rewind(self, time: float) -> None:
        """The clock had been ahead: none was chosen later than this."""
        self._fill([slot._replace(time=min(slot.time, time)) for slot in self._slots])

    def clear(self) -> None:
        """Forget all."""
        self._fill([])

    def packed(self) -> Any:
        """As an array."""
        return np.array(
            [
                (unit or NOBODY, arm, step, time, np.nan if p is None else p, h)
                for unit, arm, step, time, p, h in self._slots
            ],
            SLOT,
        )

    def resume(self, packed: Any) -> None:
        """From such an array."""
        self._fill(
            Slot(None if bytes(unit) == NOBODY else bytes(unit), arm, step, time, None if np.isnan(p) else p, held_out)
            for unit, arm, step, time, p, held_out in packed.tolist()
        )

    def _fill(self, slots: Iterable[Slot]) -> None:
        self.__init__()  # type: ignore[misc]
        for slot in slots:
            self._add(slot)


def check_key(key: Any) -> str:
    """The secret that hashes are made with; None draws a new one."""
    if key is None:
        return secrets.token_hex(HASH)
    if isinstance(key, str) and key.isascii() and 1 <= len(key) <= LONGEST_KEY:
        return key
    raise InputError(f"unit_key must be a secret text of 1 to {LONGEST_KEY} ASCII characters; got {shown(key)}")


def hash_of(unit: Any, key: str) -> bytes:
    """What is kept of a unit: nobody without the key can tell whose it is, or make one to compare with."""
    try:
        if isinstance(unit, str) and 1 <= len(unit) <= LONGEST_UNIT:
            return blake2b(unit.encode(), digest_size=HASH, key=key.encode()).digest()
    except UnicodeEncodeError:
        pass
    raise InputError(f"a unit is a text of 1 to {LONGEST_UNIT} characters, such as 'user-17'; got {shown(unit)}")


def json_of(metadata: Any) -> str:
    """Metadata as they are kept.

    >>> json_of({"page": "home", "visits": 3})
    '{"page":"home","visits":3}'
    >>> json_of({"page": "x" * 2000})
    Traceback (most recent call last):
    driftbandits.errors.InputError: metadata has at most 1,024 bytes as JSON, and this has 2,011: keep it elsewhere, ...
    """
    try:
        if not isinstance(metadata, Mapping) or not all(isinstance(name, str) for name in metadata):
            raise TypeError
        text = json.dumps(dict(metadata), allow_nan=False, ensure_ascii=False, separators=(",", ":"))
        size = len(text.encode())
    except (TypeError, ValueError, RecursionError):
        raise InputError(
            f"metadata must be an object of JSON, such as {{'page': 'home', 'visits': 3}}; got {shown(metadata)}"
        ) from None
    if size > MOST_METADATA:
        raise InputError(
            f"metadata has at most {MOST_METADATA:,} bytes as JSON, and this has {size:,}: keep it elsewhere, under "
            "the Decision's id"
        )
    return text


def check_given(session: Session, count: int, units: UnitList, metadata: MetadataList) -> list[Given] | None:
    """What each of so many asks came with; None if none did with anything."""
    if units is None and metadata is None:
        return None
    columns = []
    for name, values in (("units", units), ("metadata", metadata)):
        if values is not None and not (isinstance(values, Sequence) and not isinstance(values, str | bytes)):
            raise InputError(f"{name} must be a list with one for each Decision, or None; got {shown(values)}")
        if values is not None and len(values) != count:
            raise InputError(f"{name} must be as many as Decisions, {count:,}; got {len(values):,}")
        columns.append([None] * count if values is None else values)
    return [
        (None if unit is None else hash_of(unit, session.unit_key), None if given is None else json_of(given))
        for unit, given in zip(*columns, strict=True)
    ]


def choose(
    session: Session, count: int, given: Sequence[Given] | None, now: float
) -> tuple[list[int], Iterable[float | None], Iterable[Note | None]]:
    """Arms for so many asks, their probabilities where these are kept, and what is noted of each."""
    if given is None:
        arms, p = session._learner.choose(session.step + 1, count, session.open, session.pending)
        return arms.tolist(), session._learner.kept(p) or repeat(None), repeat(None)
    learner, first = session._learner, session.step + 1
    share = 0.0 if learner.holdout is None or learner.forced is not None else learner.holdout[0]
    learner.units_held = {
        step: _place(unit) < share for step, (unit, _) in enumerate(given, first) if unit is not None and share > 0.0
    }
    held = learner.units_held
    try:
        arms, p = learner.choose(first, len(given), session.open, session.pending)
    finally:
        learner.units_held = {}
    chosen: list[int] = arms.tolist()
    notes: list[Note | None] = []
    probabilities: list[float | None] = learner.kept(p) or [None] * len(given)
    fresh: dict[bytes, Slot] = {}
    for index, (unit, metadata) in enumerate(given):
        if unit is None:
            notes.append(None if metadata is None else Note(None, None, metadata))
            continue
        held_out = held.get(first + index, False)
        slot = _slot(session, fresh.get(unit) or session._units.get(unit), held_out, now)
        again = slot is not None and (not held_out or slot.arm == chosen[index])
        if slot is not None and again:
            chosen[index], probabilities[index] = slot.arm, slot.probability
        else:
            fresh[unit] = Slot(unit, chosen[index], first + index, now, probabilities[index], held_out)
        notes.append(Note(unit, unit[-1] % GROUPS * 4 + HELD * held_out + AGAIN * again, metadata))
    return chosen, probabilities, notes


def _place(unit: bytes) -> float:
    """A number of [0, 1) for each unit."""
    return int.from_bytes(unit[:8], "big") / 2**64


def _slot(session: Session, slot: Slot | None, held_out: bool, now: float) -> Slot | None:
    """The slot whose arm a unit gets again, if it does."""
    if slot is None or session.sticky is None or session._learner.forced is not None:
        return None
    good = slot.held_out == held_out and slot.time + session.sticky > now and session.statuses[slot.arm] == ON
    return slot if good else None


def take_notes(session: Session, events: Sequence[Asked]) -> list[Asked]:
    """Keep what asks tell of their units; returns the asks as they are remembered, which is without their notes."""
    for step, arm, time, _, probability, note in events:
        if note is None or note.way is None:
            continue
        session._ways[step] = note.way
        if session.sticky is not None and session._learner.forced is None and not note.way & AGAIN:
            held_out = bool(note.way & HELD)
            session._units.keep(Slot(note.unit, arm, step, time, probability, held_out), session.sticky)
    return [event if event.note is None else event._replace(note=None) for event in events]

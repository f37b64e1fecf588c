"""An experiment that this service holds: in its memory, and its to write."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from driftbandits.errors import InputError
from driftbandits.live.decisions import Event
from driftbandits.live.session import MOST_OPEN
from driftbandits.service.dashboard.views import View
from driftbandits.store import Answer, AuditEntry, Writer

if TYPE_CHECKING:
    from driftbandits.live.session import Session
    from driftbandits.store.sessions import Snapshot
    from driftbandits.store.views import SavedView


WARN_AT = 0.1
"""The share of the most open Decisions from which on there are warnings."""


class PausedError(InputError):
    """The experiment makes no Decisions until it is resumed."""


class ArchivedError(InputError):
    """The experiment is over."""


@dataclass(eq=False)
class Batch:
    """What one experiment gives to a commit, and who waits for it."""

    held: Held
    events: list[Event] = field(default_factory=list)
    kept: list[Answer | AuditEntry] = field(default_factory=list)
    waiting: list[asyncio.Future[None]] = field(default_factory=list)
    snapshot: Snapshot | None = None
    view: SavedView | None = None
    error: Exception | None = None


class Held:
    """One experiment that this service holds: its Session, and what of it is on the way to disk.

    ``staged`` goes into the next commit, ``writing`` is in the present one.
    """

    def __init__(self, writer: Writer, view: View) -> None:
        self.writer, self.view = writer, view
        self.id = writer.experiment.id
        self.status = writer.experiment.status
        self.session: Session = writer.session
        self.used = time.monotonic()
        self.staged: Batch | None = None
        self.writing: Batch | None = None
        self.frames: dict[Any, tuple[float, Any]] = {}
        """What the dashboard was sent lately, and when that was made."""
        self.lost = False
        """Whether its memory is no longer what the log holds, or another service writes it."""
        self._warned = 0

    def take_over(self, writer: Writer, view: View) -> None:
        """Go on with a writer whose Session was folded anew."""
        self.writer, self.view, self.session = writer, view, writer.session

    @property
    def at_rest(self) -> bool:
        """Whether all that happened is on disk."""
        return self.staged is None and self.writing is None and not self.session.journal

    def take_events(self) -> list[Event]:
        """The events since the last time."""
        events, self.session.journal = self.session.journal or [], []
        return events

    def warnings(self) -> list[str]:
        """What will stop it unless something is done."""
        waiting = self.session.open
        if waiting < MOST_OPEN * WARN_AT:
            return []
        way_out = "tell rewards, or " + ("set a timeout" if self.session.timeout is None else "shorten the timeout")
        return [f"{waiting:,} Decisions wait for their reward, and at {MOST_OPEN:,} no more are made: {way_out}"]

    def new_warnings(self) -> list[str]:
        """The warnings, if twice as many wait as when they were given last."""
        found = self.warnings() if self.session.open >= 2 * self._warned else []
        if found:
            self._warned = self.session.open
        return found

    def check_asks(self) -> None:
        """Decisions are made while the experiment is running."""
        if self.status != "running":
            self.check_tells()
            raise PausedError(f"{self.id!r} is paused and makes no Decisions: resume it first")

    def check_tells(self) -> None:
        """Rewards are taken until the experiment is archived."""
        if self.status == "archived":
            raise ArchivedError(f"{self.id!r} is archived: its log can be exported; to go on, resume it first")

"""An experiment in this service's memory."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from driftbandits.decisions import Event
from driftbandits.errors import InputError
from driftbandits.service.dashboard.views import View
from driftbandits.store import Answer, Writer

if TYPE_CHECKING:
    from driftbandits.session import Session


class PausedError(InputError):
    """The experiment makes no Decisions until it is resumed."""


class ArchivedError(InputError):
    """The experiment is over."""


class Held:
    """One experiment that this service writes: its Session, and what of it is on the way to disk.

    ``waiting`` is the future of the events that the next commit takes, ``writing`` of those that the present one is
    writing. A Held that is ``lost`` differs from the log, and must not be used again.
    """

    def __init__(self, writer: Writer, view: View) -> None:
        self.writer, self.view = writer, view
        self.id = writer.experiment.id
        self.status = writer.experiment.status
        self.session: Session = writer.session
        self.used = time.monotonic()
        self.answers: list[Answer] = []
        self.waiting: asyncio.Future[None] | None = None
        self.writing: asyncio.Future[None] | None = None
        self.lost = False

    @property
    def at_rest(self) -> bool:
        """Whether all that happened is on disk."""
        return self.waiting is None and self.writing is None and not self.session.journal

    def take_events(self) -> list[Event]:
        """The events since the last commit began."""
        events, self.session.journal = self.session.journal or [], []
        return events

    def check_asks(self) -> None:
        """Decisions are made while the experiment is running."""
        if self.status != "running":
            self.check_tells()
            raise PausedError(f"{self.id!r} is paused and makes no Decisions: resume it first")

    def check_tells(self) -> None:
        """Rewards are taken until the experiment is archived."""
        if self.status == "archived":
            raise ArchivedError(f"{self.id!r} is archived: its log can be exported; to go on, resume it first")

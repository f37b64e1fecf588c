"""What can go wrong with a Store, each with its own name so that a service can respond to each."""

from __future__ import annotations

from collections.abc import Sequence

from driftbandits.errors import DriftbanditsError, InputError
from driftbandits.live.decisions import TooOldError


class StoreError(DriftbanditsError):
    """A Store could not do what it was asked. What was to be written is not acknowledged.

    ``reason`` says why, without the Store's address; None where only the database's own words are known.
    """

    reason: str | None = None


class StoreUnavailableError(StoreError):
    """The database cannot be used now: no response, a full disk, or another program has locked it. Try later."""


class LockedError(StoreUnavailableError):
    """Another transaction has locked what is to be written; nothing was written. Try later.

    ``ids`` are the experiments that are locked, where that is known; for all others the writer may try again.
    """

    ids: Sequence[str] = ()


class DamagedStoreError(StoreError):
    """Part of the database cannot be read."""


class UnusableStoreError(StoreError, InputError):
    """What the URL names cannot be a Store: its folder is not there, it is no database, or may not be written."""


class UnknownExperimentError(StoreError, InputError):
    """No experiment has that id."""


class ExperimentExistsError(StoreError, InputError):
    """An experiment of that id exists already."""


class PastRetentionError(TooOldError):
    """The Decision was erased: its experiment keeps events for a declared time only."""


class BusyError(StoreError, InputError):
    """Another process is the experiment's writer: ``holder`` names it, ``url`` is its address, if it gave one."""

    def __init__(self, message: str, holder: str, url: str | None, lease_until: float) -> None:
        super().__init__(message)
        self.holder, self.url, self.lease_until = holder, url, lease_until


class FencedError(StoreError, InputError):
    """This is no longer the writer: another took over, or the log moved on. Nothing was written.

    ``ids`` are the experiments concerned; for all others the writer may try again.
    """

    def __init__(self, message: str, ids: list[str]) -> None:
        super().__init__(message)
        self.ids = ids

"""What can go wrong with a Store, each with its own name so that a service can answer each in its own way."""

from __future__ import annotations

from driftbandits.errors import InputError


class StoreError(InputError):
    """The database could not be reached, read or written. What was to be written is not acknowledged."""


class UnknownExperimentError(StoreError):
    """No experiment has that id."""


class ExperimentExistsError(StoreError):
    """An experiment of that id exists already."""


class BusyError(StoreError):
    """Another process is the experiment's writer: ``holder`` names it, ``url`` is where it answers, if it said so."""

    def __init__(self, message: str, holder: str, url: str | None, lease_until: float) -> None:
        super().__init__(message)
        self.holder, self.url, self.lease_until = holder, url, lease_until


class FencedError(StoreError):
    """This writer is the writer no longer: another took over, or the log moved on. Nothing was written.

    ``ids`` are the experiments concerned; for all others the writer may try again.
    """

    def __init__(self, message: str, ids: list[str]) -> None:
        super().__init__(message)
        self.ids = ids

"""The Store: all verbs in one class, and durable sessions."""

from __future__ import annotations

from typing import Any

from driftbandits.errors import InputError
from driftbandits.recipe import describe
from driftbandits.store.durable import DurableSession
from driftbandits.store.errors import ExperimentExistsError
from driftbandits.store.experiments import Experiment
from driftbandits.store.export import Exports
from driftbandits.store.tokens import Tokens
from driftbandits.store.views import Views


class Store(Views, Exports, Tokens):
    """Live experiments in a database: ``Store("sqlite:///file.db")`` or ``Store("postgresql://user@host/name")``.

    ``"sqlite://"`` is a database that vanishes with the Store. ``lease``: seconds after which a writer that no longer
    answers is taken over; longer than any pause you want to bear without that. ``existing``: an SQLite file that is not
    there is an error, and not made.
    """

    def open(self, id: str, **declared: Any) -> DurableSession:
        """A durable session: ``with store.open("button", arms=["red", "blue"]) as session: session.ask()``.

        With ``declared``, as ``create`` takes it, the experiment is created if it is missing; if it is there, it must
        be as declared.
        """
        if declared:
            try:
                self.create(id, **declared)
            except ExperimentExistsError:
                _check_same(self.experiment(id), declared)
        return DurableSession(self, id)


def _check_same(experiment: Experiment, declared: dict[str, Any]) -> None:
    for name, value in declared.items():
        there = getattr(experiment, name)
        wanted = (describe(value) if value else there) if name == "policy" else list(value) if name == "arms" else value
        if wanted != there:
            raise InputError(
                f"{experiment.id!r} was created with {name}={there!r}; got {value!r}. Choose another id, or drop {name}"
            )

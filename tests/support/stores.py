"""What the tests of the contract share."""

from __future__ import annotations

import secrets
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from driftbandits.live.decisions import Decision
from driftbandits.live.session import Session

if TYPE_CHECKING:
    from driftbandits.store import Answer, Store, Writer

ARMS = ["red", "blue"]


class StoreTests(ABC):
    """Tests of Stores that share a database."""

    @abstractmethod
    def store(self) -> Store:
        """A new Store on the database under test; those of one test share it."""

    def new(self, store: Store, **declared: Any) -> str:
        """A new experiment's id."""
        declared = {"arms": ARMS, "seed": 3, **declared}
        return store.create(f"contract-{secrets.token_hex(6)}", **declared).id

    def pairs(self, store: Store, writer: Writer, count: int) -> list[Decision]:
        """Ask and tell so many times, and append."""
        decisions = writer.session.ask_many(count)
        writer.session.tell_many((decision.id, decision.step % 7 / -7) for decision in decisions)
        store.writers.append([(writer, journal(writer))])
        return decisions


def fold(store: Store, name: str) -> Session:
    """The Session that the whole log makes, with no snapshot's help."""
    session, experiment = store.experiments.get(name).session(), store.experiments.get(name)
    for event in store.history.amended(name, 0, experiment.last_seq):
        session.apply(event)
    return session


def kept_answer(store: Store, name: str, key: str) -> Answer | None:
    """What was answered under that idempotency key of an experiment."""
    where = store.experiments.get(name).key, key
    return store.answers.find([where]).get(where)


def refused(kind: type[Exception], said: str, call: Callable[[], Any]) -> Exception:
    """The error that a call raises, which must be of that kind and say that."""
    try:
        call()
    except kind as error:
        found = error
    else:
        raise AssertionError(f"{kind.__name__} was expected, and nothing was refused")
    assert said in str(found), f"{found} should say {said!r}"
    return found


def journal(writer: Writer) -> list[Any]:
    """The events that it collected; it begins anew."""
    events, writer.session.journal = writer.session.journal or [], []
    return events


def fails(*_: Any) -> None:
    """As a full disk does."""
    raise OSError("no space left on device")

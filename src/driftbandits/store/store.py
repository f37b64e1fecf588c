"""The Store: its parts, put together, and what needs several of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Self

from driftbandits._common.checks import check_between, shown
from driftbandits.errors import InputError
from driftbandits.instances.describe import describe
from driftbandits.live.session import Session
from driftbandits.policies import Policy
from driftbandits.store.answers import Answer, Answers
from driftbandits.store.audit import Audit, AuditEntry
from driftbandits.store.database import Database
from driftbandits.store.durable import DurableSession
from driftbandits.store.errors import ExperimentExistsError
from driftbandits.store.experiments import Experiment, Experiments
from driftbandits.store.history import History
from driftbandits.store.log import Log
from driftbandits.store.maintenance import Maintenance
from driftbandits.store.retention import Retention
from driftbandits.store.sessions import Sessions
from driftbandits.store.tokens import Tokens
from driftbandits.store.views import Views
from driftbandits.store.writers import Writers


class Store:
    """Live experiments in a database: ``Store("sqlite:///file.db")`` or ``Store("postgresql://user@host/name")``.

    ``"sqlite://"`` is a database in memory, lost with the Store. ``lease``: seconds after which a writer that no longer
    responds is taken over; choose it longer than any pause that should not cause that. ``existing``: an SQLite file
    that is not there is an error, and not made.

    Threads may share a Store, and a session of ``open``; a ``Writer`` and its Session are for one thread at a time. A
    process that was forked must make its own Store.

    Attributes
    ----------
    url : str
        The database, without its password.
    experiments : Experiments
        What was declared: ``get``, ``all``, ``set_status``, ``update``.
    history : History
        What the log says: ``events``, ``reward``, ``explain``, ``export`` and others.
    writers : Writers
        Who may append, and appending: ``acquire``, ``append``, ``reload``, ``release``, ``correct`` and others.
    retention : Retention
        ``prune`` erases old events.
    maintenance : Maintenance
        ``check``, ``repair``, ``backup``, ``compact``.
    tokens : Tokens
        Who may use the service: ``add``, ``find``, ``all``, ``revoke``.
    audit : Audit
        Who did what: ``entries``.
    answers : Answers
        What a service answered, under idempotency keys: ``find``, ``prune``.
    views : Views
        What a service's dashboard remembers: ``find``, ``summaries``.
    sessions : Sessions
        Sessions from snapshots and the log.
    log : Log
        The rows of the log, by the key of an experiment.
    database : Database
        Connections, transactions, and the ``clock``: seconds since 1970, for leases and for what is noted as created.
    """

    def __init__(self, url: str, *, lease: float = 15.0, existing: bool = False) -> None:
        check_between("lease", lease, 0.001, 1e9)
        self.database = database = Database(url, existing)
        self.url = database.url
        self.answers, self.audit = Answers(database), Audit(database)
        self.tokens, self.views, self.log = Tokens(database), Views(database), Log(database)
        self.experiments = experiments = Experiments(database, self.answers)
        self.sessions = Sessions(database, self.log)
        self.history = History(database, experiments, self.log, self.sessions)
        self.writers = Writers(database, experiments, self.log, self.sessions, self.answers, self.views, lease)
        self.retention = Retention(database, experiments, self.log, self.sessions)
        self.maintenance = Maintenance(database, experiments, self.sessions)

    def close(self) -> None:
        """Close all connections, as happens by itself when the Store is no longer used.

        Writers that were not released can be taken over when their lease runs out or this process ends.
        """
        self.database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def open(self, id: str, **declared: Any) -> DurableSession:
        """A durable session: ``with store.open("button", arms=["red", "blue"]) as session: session.ask()``.

        With ``declared``, as ``create`` takes it, the experiment is created if it is missing; if it is there, it must
        be as declared.
        """
        if declared:
            try:
                self.create(id, **declared)
            except ExperimentExistsError:
                _check_same(self.experiments.get(id), declared)
        return DurableSession(self.experiments, self.writers, self.history, id)

    def create(
        self,
        id: str,
        *,
        arms: Sequence[str],
        policy: Policy | None = None,
        seed: int = 0,
        timeout: float | None = None,
        default_reward: float | None = None,
        reward_range: Sequence[float] | None = None,
        explore: float = 0.0,
        sticky: float | None = None,
        late: bool = False,
        title: str = "",
        drift: float | None = None,
        keep: float | None = None,
        answer: Callable[[Experiment], Answer] | None = None,
        audit: AuditEntry | None = None,
    ) -> Experiment:
        """Declare an experiment; the default policy is that of a Session.

        ``explore=0.1`` makes a log that ``replay`` can evaluate other policies on; most logs without it can't be.
        ``keep``: seconds after which ``prune`` erases events; never unless given. ``answer`` makes of the new
        experiment what is kept under an idempotency key, and ``audit`` says who created it: both are written in the
        same transaction. So it is with every ``audit`` of the verbs below.
        """
        declared: dict[str, Any] = {"timeout": timeout, "default_reward": default_reward, "reward_range": reward_range}
        session = Session(policy, arms, seed, **declared, explore=explore, sticky=sticky, late=late)
        return self.experiments.add(id, session, title, drift, keep, answer, audit)


def _check_same(experiment: Experiment, declared: dict[str, Any]) -> None:
    for name, value in declared.items():
        there = (experiment.first or {}).get(name, getattr(experiment, name))  # as it was created
        wanted = (describe(value) if value else there) if name == "policy" else value
        if name == "arms" or (name == "reward_range" and value is not None):
            there, wanted = list(there or ()), list(value)
        if wanted != there:
            raise InputError(
                f"{experiment.id!r} was created with {name}={shown(there)}; got {shown(value)}: choose another id, or "
                f"drop {name}"
            )

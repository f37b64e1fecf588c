"""Live experiments in a database: an append-only log of events in SQLite or PostgreSQL, plus snapshots.

A Session lives in memory; the Store holds the log whose fold it is. What is on disk, and how machines share it, is
explained in ``docs/store.md``. The simple way is a durable session, which writes every result to disk before it returns
it:

>>> from driftbandits import Store
>>> store = Store("sqlite://")  # gone with the process; "sqlite:///file.db" and "postgresql://..." stay
>>> with store.open("button", arms=["red", "blue"]) as session:
...     decision = session.ask()
...     session.tell(decision.id, 1.0)
<Outcome.NEW: 'new'>

A Store's parts are its attributes. A service has many experiments and commits for all of them at once; it uses these:

- ``store.create`` declares an experiment; ``experiments`` has what was declared: ``get``, ``all``, ``set_status``,
  ``update``.
- ``writers.acquire(id)`` makes this process the experiment's one ``Writer``, or raises ``BusyError`` naming the other;
  ``writer.session`` is loaded, and its ``journal`` collects events. ``renew`` the lease every few seconds, ``release``
  at the end.
- ``writers.append([(writer, events), ...])``: one transaction for all, on disk when it returns. A writer that was taken
  over gets ``FencedError``, and one that another transaction has locked ``LockedError``; then nothing of the group is
  written. After any error memory and log may disagree: ``writer = writers.reload(writer)`` starts again from the log.
  Answers to idempotency keys go into the same transaction, and so does an ``AuditEntry``.
- ``writer.snapshot_due``, ``taken = writer.snapshot()``, ``writers.save_snapshot(writer, taken)``: every 20,000 events
  or so.
- ``writers.correct(writer, [(step, reward), ...])`` replaces rewards, and folds the log again;
  ``writers.delete(writer)`` erases an experiment.
- ``history`` reads the log, which needs no writer: ``events``, ``amended``, ``reward``, ``outcomes``, ``explain``,
  ``export``, ``stream``.
- ``experiments.update(id, keep=...)`` says for how long events are kept; ``retention.prune`` erases those that are
  older.
- ``maintenance``: ``check``, ``repair``, ``backup`` and ``compact``, for whoever runs the database.
- ``tokens``, ``audit``, ``answers`` and ``views`` are what a service keeps.

>>> writer = store.writers.acquire("button")
>>> decision = writer.session.ask()
>>> events, writer.session.journal = writer.session.journal, []
>>> store.writers.append([(writer, events)])  # now, and not before, the decision may be handed out
>>> store.writers.release(writer)
>>> store.experiments.get("button").last_seq
3
>>> store.close()
"""

from __future__ import annotations

from driftbandits._common.extras import needs
from driftbandits.store.errors import (
    BusyError,
    DamagedStoreError,
    ExperimentExistsError,
    FencedError,
    LockedError,
    PastRetentionError,
    StoreError,
    StoreUnavailableError,
    UnknownExperimentError,
    UnusableStoreError,
)

with needs("serve", "a Store"):
    from driftbandits.store.answers import Answer, Answers
    from driftbandits.store.audit import Audit, AuditEntry, AuditRecord
    from driftbandits.store.experiments import Experiment, Experiments
    from driftbandits.store.history import History
    from driftbandits.store.maintenance import Maintenance
    from driftbandits.store.retention import Retention
    from driftbandits.store.store import Store
    from driftbandits.store.tokens import Token, Tokens
    from driftbandits.store.views import Views
    from driftbandits.store.writers import Writer, Writers

__all__ = [
    "Answer",
    "Answers",
    "Audit",
    "AuditEntry",
    "AuditRecord",
    "BusyError",
    "DamagedStoreError",
    "Experiment",
    "ExperimentExistsError",
    "Experiments",
    "FencedError",
    "History",
    "LockedError",
    "Maintenance",
    "PastRetentionError",
    "Retention",
    "Store",
    "StoreError",
    "StoreUnavailableError",
    "Token",
    "Tokens",
    "UnknownExperimentError",
    "UnusableStoreError",
    "Views",
    "Writer",
    "Writers",
]

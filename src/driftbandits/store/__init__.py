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

A service, which has many experiments and commits for all of them at once, uses the lower-level calls:

- ``create``, ``experiments``, ``experiment``, ``set_status``: what was declared, as an ``Experiment``.
- ``acquire(id)`` makes this process the experiment's one ``Writer``, or raises ``BusyError`` naming the other;
  ``writer.session`` is loaded, and its ``journal`` collects events. ``renew`` the lease every few seconds, ``release``
  at the end.
- ``append([(writer, events), ...])``: one transaction for all, on disk when it returns. A writer that was taken over
  gets ``FencedError``, and one that another transaction has locked ``LockedError``; then nothing of the group is
  written. After any error memory and log may disagree:
  ``writer = store.reload(writer)`` starts again from the log. Answers to idempotency keys go into the same transaction,
  and so does an ``AuditEntry``: who did it, for ``deeds``.
- ``writer.snapshot_due``, ``taken = writer.snapshot()``, ``store.snapshot(writer, taken)``: every 20,000 events or so.
- ``correct(writer, [(step, reward), ...])`` puts other rewards in the place of those told, and folds the log anew;
  ``delete(writer)`` erases an experiment.
- ``events``, ``amended``, ``reward``, ``outcomes``, ``explain``, ``export``, ``stream`` read the log; that needs no
  writer.
- ``describe(id, keep=...)``, ``prune``: for how long events are kept, and erasing those that are older.
- ``check``, ``repair``, ``backup``, ``compact`` and ``try_to_write`` are for whoever runs the database.
- ``add_token``, ``token``, ``tokens``, ``revoke_token``; ``answer``, ``answers``, ``prune_answers``; ``view`` and
  ``save_view``.

>>> writer = store.acquire("button")
>>> decision = writer.session.ask()
>>> events, writer.session.journal = writer.session.journal, []
>>> store.append([(writer, events)])  # now, and not before, the decision may be handed out
>>> store.release(writer)
>>> store.experiment("button").last_seq
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
    from driftbandits.store.answers import Answer
    from driftbandits.store.audit import AuditEntry
    from driftbandits.store.experiments import Experiment
    from driftbandits.store.store import Store
    from driftbandits.store.tokens import Token
    from driftbandits.store.writers import Writer

__all__ = [
    "Answer",
    "AuditEntry",
    "BusyError",
    "DamagedStoreError",
    "Experiment",
    "ExperimentExistsError",
    "FencedError",
    "LockedError",
    "PastRetentionError",
    "Store",
    "StoreError",
    "StoreUnavailableError",
    "Token",
    "UnknownExperimentError",
    "UnusableStoreError",
    "Writer",
]

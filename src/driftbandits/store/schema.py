"""The tables. What is written at every commit (``writers``, ``events``) is kept apart from what is declared once."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Double,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    SmallInteger,
    String,
    Table,
    Text,
    false,
    text,
)

REVISION = "r0001"
"""The last migration; names of migrations grow, so a database with a greater one is of a newer version."""

LARGEST_NUMBER = 2**63 - 1
"""Of an event or an entry: the largest that a column holds."""

metadata = MetaData()

experiments = Table(
    "experiments",
    metadata,
    Column("key", Integer, primary_key=True),
    Column("id", String(64), nullable=False, unique=True),
    Column("title", Text, nullable=False),
    Column("policy", Text, nullable=False),
    Column("arms", Text, nullable=False),  # names, as JSON; of one that is not on, its name and its status
    Column("seed", String(20), nullable=False),  # up to 2**64 - 1, which no integer column holds
    Column("timeout", Double),
    Column("default_reward", Double),
    Column("drift", Double),
    Column("created", Double, nullable=False),
    Column("status", String(8), nullable=False),
    Column("explore", Double, nullable=False, server_default="0"),
    Column("reward_low", Double),
    Column("reward_high", Double),
    Column("keep", Double),  # seconds after which events are erased; null: never
    Column("sticky", Double),  # seconds for which a unit gets its arm again
    Column("unit_key", String(64)),  # what hashes of units are made with: a secret
    Column("late", Boolean, nullable=False, server_default=false()),
    Column("first", Text),  # the settings before the first change, as JSON; null while nothing was changed
)

writers = Table(
    "writers",
    metadata,
    Column("experiment", Integer, primary_key=True, autoincrement=False),
    Column("last_seq", BigInteger, nullable=False),
    Column("epoch", BigInteger, nullable=False),
    Column("holder", Text),
    Column("url", Text),
    Column("lease_until", Double, nullable=False),
)

events = Table(
    "events",
    metadata,
    # No foreign key: every append moves the experiment's row of ``writers`` first, which checks as much for less.
    Column("experiment", Integer, primary_key=True, autoincrement=False),
    Column("seq", BigInteger, primary_key=True, autoincrement=False),
    Column("kind", String(1), nullable=False),  # "a" asked, "t" told, "s" settled
    Column("step", BigInteger, nullable=False),
    Column("arm", SmallInteger),
    Column("reward", Double),
    Column("time", Double, nullable=False),
    Column("due", Double),
    Column("probability", Double),
    sqlite_with_rowid=False,
)
# One step is asked once and answered once, whatever else goes wrong. The same indexes find a step.
IS_ASKED, IS_CLOSED = text("kind = 'a'"), text("kind <> 'a'")
Index("asked_once", events.c.experiment, events.c.step, unique=True, sqlite_where=IS_ASKED, postgresql_where=IS_ASKED)
Index(
    "answered_once", events.c.experiment, events.c.step, unique=True, sqlite_where=IS_CLOSED, postgresql_where=IS_CLOSED
)

notes = Table(
    "notes",
    metadata,
    # What asks came with, of those that came with something; apart, so that those of every day stay small.
    Column("experiment", Integer, primary_key=True, autoincrement=False),
    Column("step", BigInteger, primary_key=True, autoincrement=False),
    Column("unit", LargeBinary),  # a keyed hash; null when there was none, or it was erased
    Column("way", SmallInteger),  # as in Note
    Column("metadata", Text),
    sqlite_with_rowid=False,
)
IS_NAMED = text("unit IS NOT NULL")
Index("units", notes.c.experiment, notes.c.unit, sqlite_where=IS_NAMED, postgresql_where=IS_NAMED)

changes = Table(
    "changes",
    metadata,
    # Rare events of the same log, under the same numbers; apart, so that those of every day stay small.
    Column("experiment", Integer, primary_key=True, autoincrement=False),
    Column("seq", BigInteger, primary_key=True, autoincrement=False),
    Column(
        "kind", String(1), nullable=False
    ),  # corrected, declared, forced, held out, late, "m" arm, "n" counted, policy, rewound, "u" units
    Column("step", BigInteger),
    Column("reward", Double),
    Column("settings", Text),
    Column("time", Double, nullable=False),
    sqlite_with_rowid=False,
)
Index("corrected", changes.c.experiment, changes.c.step)

snapshots = Table(
    "snapshots",
    metadata,
    Column("experiment", Integer, primary_key=True, autoincrement=False),
    Column("seq", BigInteger, primary_key=True, autoincrement=False),
    Column("whole", Boolean, nullable=False),  # old ones forget the answered Decisions, which takes most of the room
    Column("data", LargeBinary, nullable=False),
)

folded = Table(
    "folded",
    metadata,
    # The Session after the first ``seq`` events, which were erased: the log begins here.
    Column("experiment", Integer, primary_key=True, autoincrement=False),
    Column("seq", BigInteger, nullable=False),
    Column("step", BigInteger, nullable=False),  # Decisions that were asked by then
    Column("corrected", BigInteger, nullable=False),  # the last event behind ``seq`` that corrected one erased; or 0
    Column("data", LargeBinary, nullable=False),
)

views = Table(
    "views",
    metadata,
    Column("experiment", Integer, primary_key=True, autoincrement=False),
    Column("seq", BigInteger, nullable=False),
    Column("data", LargeBinary, nullable=False),
    Column("summary", Text),  # of the data, as JSON: what a list of a thousand experiments shows of each
)

tokens = Table(
    "tokens",
    metadata,
    Column("name", String(64), primary_key=True),
    Column("hash", String(64), nullable=False, unique=True),
    Column("scope", String(8), nullable=False),
    Column("created", Double, nullable=False),
    Column("revoked", Double),
    Column("expires", Double),
    Column("experiments", Text),  # ids and beginnings of ids, as JSON; null for all
)

audit = Table(
    "audit",
    metadata,
    Column("number", Integer, primary_key=True),
    Column("time", Double, nullable=False),
    Column("who", Text, nullable=False),
    Column("did", String(16), nullable=False),
    Column("experiment", Text),  # its id, which outlives it
    Column("details", Text),
)

answers = Table(
    "answers",
    metadata,
    Column("experiment", Integer, primary_key=True, autoincrement=False),
    Column("idempotency_key", String(255), primary_key=True),
    Column("digest", String(64), nullable=False),
    Column("response", Text, nullable=False),
    Column("created", Double, nullable=False, index=True),
)

"""The tables of the first release."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "r0001"
down_revision = None


def upgrade() -> None:
    """Create all tables. What their columns mean is in ``store/schema.py``."""
    op.create_table(
        "experiments",
        sa.Column("key", sa.Integer, primary_key=True),
        sa.Column("id", sa.String(64), nullable=False, unique=True),
        sa.Column("title", sa.Text, nullable=False),
        sa.Column("policy", sa.Text, nullable=False),
        sa.Column("arms", sa.Text, nullable=False),
        sa.Column("seed", sa.String(20), nullable=False),
        sa.Column("timeout", sa.Double),
        sa.Column("default_reward", sa.Double),
        sa.Column("drift", sa.Double),
        sa.Column("created", sa.Double, nullable=False),
        sa.Column("status", sa.String(8), nullable=False),
        sa.Column("explore", sa.Double, nullable=False, server_default="0"),
        sa.Column("reward_low", sa.Double),
        sa.Column("reward_high", sa.Double),
        sa.Column("keep", sa.Double),
        sa.Column("sticky", sa.Double),
        sa.Column("unit_key", sa.String(64)),
        sa.Column("late", sa.Boolean, nullable=False, server_default=sa.false()),
        sa.Column("first", sa.Text),
    )
    op.create_table(
        "writers",
        _experiment(),
        sa.Column("last_seq", sa.BigInteger, nullable=False),
        sa.Column("epoch", sa.BigInteger, nullable=False),
        sa.Column("holder", sa.Text),
        sa.Column("url", sa.Text),
        sa.Column("lease_until", sa.Double, nullable=False),
    )
    op.create_table(
        "events",
        _experiment(),
        _number("seq"),
        sa.Column("kind", sa.String(1), nullable=False),
        sa.Column("step", sa.BigInteger, nullable=False),
        sa.Column("arm", sa.SmallInteger),
        sa.Column("reward", sa.Double),
        sa.Column("time", sa.Double, nullable=False),
        sa.Column("due", sa.Double),
        sa.Column("probability", sa.Double),
        sqlite_with_rowid=False,
    )
    _index("asked_once", "events", ["experiment", "step"], "kind = 'a'", unique=True)
    _index("answered_once", "events", ["experiment", "step"], "kind <> 'a'", unique=True)
    op.create_table(
        "notes",
        _experiment(),
        _number("step"),
        sa.Column("unit", sa.LargeBinary),
        sa.Column("way", sa.SmallInteger),
        sa.Column("metadata", sa.Text),
        sqlite_with_rowid=False,
    )
    _index("units", "notes", ["experiment", "unit"], "unit IS NOT NULL")
    op.create_table(
        "changes",
        _experiment(),
        _number("seq"),
        sa.Column("kind", sa.String(1), nullable=False),
        sa.Column("step", sa.BigInteger),
        sa.Column("reward", sa.Double),
        sa.Column("settings", sa.Text),
        sa.Column("time", sa.Double, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_index("corrected", "changes", ["experiment", "step"])
    op.create_table(
        "snapshots",
        _experiment(),
        _number("seq"),
        sa.Column("whole", sa.Boolean, nullable=False),
        sa.Column("data", sa.LargeBinary, nullable=False),
    )
    op.create_table(
        "folded",
        _experiment(),
        sa.Column("seq", sa.BigInteger, nullable=False),
        sa.Column("step", sa.BigInteger, nullable=False),
        sa.Column("corrected", sa.BigInteger, nullable=False),
        sa.Column("data", sa.LargeBinary, nullable=False),
    )
    op.create_table(
        "views",
        _experiment(),
        sa.Column("seq", sa.BigInteger, nullable=False),
        sa.Column("data", sa.LargeBinary, nullable=False),
        sa.Column("summary", sa.Text),
    )
    op.create_table(
        "tokens",
        sa.Column("name", sa.String(64), primary_key=True),
        sa.Column("hash", sa.String(64), nullable=False, unique=True),
        sa.Column("scope", sa.String(8), nullable=False),
        sa.Column("created", sa.Double, nullable=False),
        sa.Column("revoked", sa.Double),
        sa.Column("expires", sa.Double),
        sa.Column("experiments", sa.Text),
    )
    op.create_table(
        "audit",
        sa.Column("number", sa.Integer, primary_key=True),
        sa.Column("time", sa.Double, nullable=False),
        sa.Column("who", sa.Text, nullable=False),
        sa.Column("did", sa.String(16), nullable=False),
        sa.Column("experiment", sa.Text),
        sa.Column("details", sa.Text),
    )
    op.create_table(
        "answers",
        _experiment(),
        sa.Column("idempotency_key", sa.String(255), primary_key=True),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("response", sa.Text, nullable=False),
        sa.Column("created", sa.Double, nullable=False, index=True),
    )


def _experiment() -> sa.Column[int]:
    return sa.Column("experiment", sa.Integer, primary_key=True, autoincrement=False)


def _number(name: str) -> sa.Column[int]:
    return sa.Column(name, sa.BigInteger, primary_key=True, autoincrement=False)


def _index(name: str, table: str, columns: list[str], condition: str, unique: bool = False) -> None:
    where = sa.text(condition)
    op.create_index(name, table, columns, unique=unique, sqlite_where=where, postgresql_where=where)

"""The first tables."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Create all tables."""
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
        sa.Column("propensities", sa.Boolean, nullable=False),
        sa.Column("drift", sa.Double),
        sa.Column("created", sa.Double, nullable=False),
        sa.Column("status", sa.String(8), nullable=False),
    )
    op.create_table(
        "writers",
        sa.Column("experiment", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("last_seq", sa.BigInteger, nullable=False),
        sa.Column("epoch", sa.BigInteger, nullable=False),
        sa.Column("holder", sa.Text),
        sa.Column("url", sa.Text),
        sa.Column("lease_until", sa.Double, nullable=False),
    )
    op.create_table(
        "events",
        sa.Column("experiment", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("seq", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("kind", sa.String(1), nullable=False),
        sa.Column("step", sa.BigInteger, nullable=False),
        sa.Column("arm", sa.SmallInteger),
        sa.Column("reward", sa.Double),
        sa.Column("time", sa.Double, nullable=False),
        sa.Column("due", sa.Double),
        sa.Column("probability", sa.Double),
        sqlite_with_rowid=False,
    )
    for name, condition in (("asked_once", sa.text("kind = 'a'")), ("answered_once", sa.text("kind <> 'a'"))):
        op.create_index(
            name,
            "events",
            ["experiment", "step"],
            unique=True,
            sqlite_where=condition,
            postgresql_where=condition,
        )
    op.create_table(
        "snapshots",
        sa.Column("experiment", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("seq", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("whole", sa.Boolean, nullable=False),
        sa.Column("data", sa.LargeBinary, nullable=False),
    )
    op.create_table(
        "tokens",
        sa.Column("name", sa.String(64), primary_key=True),
        sa.Column("hash", sa.String(64), nullable=False, unique=True),
        sa.Column("scope", sa.String(8), nullable=False),
        sa.Column("created", sa.Double, nullable=False),
        sa.Column("revoked", sa.Double),
    )
    op.create_table(
        "answers",
        sa.Column("experiment", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("idempotency_key", sa.String(255), primary_key=True),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("response", sa.Text, nullable=False),
        sa.Column("created", sa.Double, nullable=False, index=True),
    )

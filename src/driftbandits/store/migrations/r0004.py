"""Rewards have a declared range; what was declared can change, and rewards can be corrected: events of a new kind."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Columns for the range and for what was declared first; a table for the rare events."""
    for name, kind in (("reward_low", sa.Double), ("reward_high", sa.Double), ("first", sa.Text)):
        op.add_column("experiments", sa.Column(name, kind))
    op.create_table(
        "changes",
        sa.Column("experiment", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("seq", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("kind", sa.String(1), nullable=False),
        sa.Column("step", sa.BigInteger),
        sa.Column("reward", sa.Double),
        sa.Column("settings", sa.Text),
        sa.Column("time", sa.Double, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_index("corrected", "changes", ["experiment", "step"])

"""Tokens end, and may be for some experiments only; who did what is noted."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Two columns and a table."""
    op.add_column("tokens", sa.Column("expires", sa.Double))
    op.add_column("tokens", sa.Column("experiments", sa.Text))
    op.create_table(
        "audit",
        sa.Column("number", sa.Integer, primary_key=True),
        sa.Column("time", sa.Double, nullable=False),
        sa.Column("who", sa.Text, nullable=False),
        sa.Column("did", sa.String(16), nullable=False),
        sa.Column("experiment", sa.Text),
        sa.Column("details", sa.Text),
    )

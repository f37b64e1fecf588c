"""Old events are erased, and what they came to is kept."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """A column for how long, a table for what they came to."""
    op.add_column("experiments", sa.Column("keep", sa.Double))
    op.create_table(
        "folded",
        sa.Column("experiment", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("seq", sa.BigInteger, nullable=False),
        sa.Column("step", sa.BigInteger, nullable=False),
        sa.Column("corrected", sa.BigInteger, nullable=False),
        sa.Column("data", sa.LargeBinary, nullable=False),
    )

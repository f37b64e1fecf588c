"""Silence can be weighed by its age."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    """A column for whether it is."""
    op.add_column("experiments", sa.Column("late", sa.Boolean, nullable=False, server_default=sa.false()))

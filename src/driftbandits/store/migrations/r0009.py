"""A list of experiments needs a little of each one's view, and not the whole of it."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    """A column."""
    op.add_column("views", sa.Column("summary", sa.Text))

"""Experiments declare the share that they explore, and no longer whether probabilities are kept.

For a short time 0001 itself had made the column, so there are databases of 0001 and 0002 that have it already.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Experiments of before explored nothing beside their policy; the probabilities that they kept stay in the log."""
    columns = {column["name"] for column in sa.inspect(op.get_bind()).get_columns("experiments")}
    if "explore" not in columns:
        op.add_column("experiments", sa.Column("explore", sa.Double, nullable=False, server_default="0"))
    if "propensities" in columns:
        op.drop_column("experiments", "propensities")

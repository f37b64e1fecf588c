"""Asks may name a unit and have metadata; experiments keep a unit's arm, and hash units with a secret of their own."""

from __future__ import annotations

import secrets

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """Two columns, a secret for each experiment that is there, and a table."""
    op.add_column("experiments", sa.Column("sticky", sa.Double))
    op.add_column("experiments", sa.Column("unit_key", sa.String(64)))
    connection = op.get_bind()
    for key in connection.execute(sa.text('SELECT "key" FROM experiments')).scalars().all():
        statement = sa.text('UPDATE experiments SET unit_key = :secret WHERE "key" = :key')
        connection.execute(statement, {"secret": secrets.token_hex(16), "key": key})
    op.create_table(
        "notes",
        sa.Column("experiment", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("step", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("unit", sa.LargeBinary),
        sa.Column("way", sa.SmallInteger),
        sa.Column("metadata", sa.Text),
        sqlite_with_rowid=False,
    )
    named = sa.text("unit IS NOT NULL")
    op.create_index("units", "notes", ["experiment", "unit"], sqlite_where=named, postgresql_where=named)

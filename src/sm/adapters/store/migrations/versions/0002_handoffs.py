"""Handoffs: each passage of a session to its next context, with the trail that proves it."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    op.create_table(
        "handoff",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("session_id", sa.Text, sa.ForeignKey("session.id"), nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("requested_at", sa.Double, nullable=False),
        sa.Column("body", sa.LargeBinary, nullable=False),
    )
    op.create_index("handoff_by_session", "handoff", ["session_id", "requested_at"])
    op.create_index("handoff_by_age", "handoff", ["requested_at"])

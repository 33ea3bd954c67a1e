"""The first tables: sessions, messages, the log of events, pending effects."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

_number = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    op.create_table(
        "session",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("updated_at", sa.Double, nullable=False),
        sa.Column("body", sa.LargeBinary, nullable=False),
    )
    op.create_table(
        "message",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("session_id", sa.Text, sa.ForeignKey("session.id"), nullable=False),
        sa.Column("number", sa.Integer, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("queued_at", sa.Double, nullable=False),
        sa.Column("body", sa.LargeBinary, nullable=False),
    )
    op.create_index("message_by_number", "message", ["session_id", "number"])
    op.create_index("message_by_state", "message", ["session_id", "state"])
    op.create_index("message_by_age", "message", ["queued_at"])
    op.create_table(
        "event",
        sa.Column("seq", _number, primary_key=True, autoincrement=True),
        sa.Column("session_id", sa.Text, sa.ForeignKey("session.id"), nullable=False),
        sa.Column("at", sa.Double, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("hook_id", sa.Text),
        sa.Column("body", sa.LargeBinary, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_index("event_by_session", "event", ["session_id", "seq"])
    op.create_index(
        "event_by_hook",
        "event",
        ["hook_id"],
        sqlite_where=sa.text("hook_id IS NOT NULL"),
    )
    op.create_table(
        "effect",
        sa.Column("id", _number, primary_key=True, autoincrement=False),
        sa.Column("session_id", sa.Text, sa.ForeignKey("session.id"), nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("body", sa.LargeBinary, nullable=False),
    )
    op.create_table(
        "counter",
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("value", sa.BigInteger, nullable=False),
    )

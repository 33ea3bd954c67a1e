"""The tables as they are today. How older stores get here is in ``migrations``.

Bodies are JSON written by ``codec``; the columns beside them are only what is searched by.
"""

from sqlalchemy import (
    BigInteger,
    Column,
    Double,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
)

REVISIONS = ("0001", "0002")
"""Every revision, oldest first, so that opening a store needs no Alembic to place it."""

HEAD = REVISIONS[-1]

metadata = MetaData()

# SQLite makes a key its row id, without an index of its own, only when it is called INTEGER.
_Number = BigInteger().with_variant(Integer, "sqlite")

session = Table(
    "session",
    metadata,
    Column("id", Text, primary_key=True),
    Column("name", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("updated_at", Double, nullable=False),
    Column("body", LargeBinary, nullable=False),
)

message = Table(
    "message",
    metadata,
    Column("id", Text, primary_key=True),
    Column("session_id", Text, ForeignKey("session.id"), nullable=False),
    Column("number", Integer, nullable=False),
    Column("state", Text, nullable=False),
    Column("queued_at", Double, nullable=False),
    Column("body", LargeBinary, nullable=False),
    Index("message_by_number", "session_id", "number"),
    Index("message_by_state", "session_id", "state"),
    Index("message_by_age", "queued_at"),
)

event = Table(
    "event",
    metadata,
    Column("seq", _Number, primary_key=True, autoincrement=True),
    Column("session_id", Text, ForeignKey("session.id"), nullable=False),
    Column("at", Double, nullable=False),
    Column("kind", Text, nullable=False),
    Column("hook_id", Text),
    Column("body", LargeBinary, nullable=False),
    # Readers follow the log by number: one that was pruned must never be given out again.
    sqlite_autoincrement=True,
)
Index("event_by_session", event.c.session_id, event.c.seq)
Index(
    "event_by_hook",
    event.c.hook_id,
    # For SQLite alone: naming PostgreSQL here would load its dialect, 40 ms and 4 MB.
    sqlite_where=event.c.hook_id.is_not(None),
)

handoff = Table(
    "handoff",
    metadata,
    Column("id", Text, primary_key=True),
    Column("session_id", Text, ForeignKey("session.id"), nullable=False),
    Column("state", Text, nullable=False),
    Column("requested_at", Double, nullable=False),
    Column("body", LargeBinary, nullable=False),
    Index("handoff_by_session", "session_id", "requested_at"),
    Index("handoff_by_age", "requested_at"),
)

effect = Table(
    "effect",
    metadata,
    Column("id", _Number, primary_key=True, autoincrement=False),
    Column("session_id", Text, ForeignKey("session.id"), nullable=False),
    Column("kind", Text, nullable=False),
    Column("body", LargeBinary, nullable=False),
)

counter = Table(
    "counter",
    metadata,
    Column("name", Text, primary_key=True),
    Column("value", BigInteger, nullable=False),
)

LAST_EFFECT = "last_effect"
"""The counter that remembers effect ids after their rows are gone."""

version = Table(
    "alembic_version",
    # Alembic's own table: apart from ours, so that Alembic does not compare it with them.
    MetaData(),
    Column("version_num", String(32), primary_key=True),
)

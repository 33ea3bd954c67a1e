"""The ledger's tables, and how a row becomes a handoff."""

import os
import sqlite3

from sm.core.channel import ChannelHandoff, Kind, Status
from sm.core.ids import ContextId, HandoffId, SessionId

VERSION = 1
"""What ``PRAGMA user_version`` says."""
TABLES = (
    """
    CREATE TABLE handoff (
        seq INTEGER PRIMARY KEY AUTOINCREMENT,
        id TEXT NOT NULL UNIQUE,
        channel TEXT NOT NULL,
        root NOT NULL,
        status TEXT NOT NULL CHECK (status IN
            ('active', 'claimed', 'consumed', 'expired', 'cleared', 'superseded')),
        kind TEXT NOT NULL,
        session TEXT NOT NULL,
        context TEXT,
        created_at REAL NOT NULL,
        created_by_pid INTEGER NOT NULL,
        working_dir NOT NULL,
        document NOT NULL,
        sha256 TEXT NOT NULL,
        meant_for TEXT,
        claimed_by TEXT,
        claimed_context TEXT,
        claimed_pid INTEGER,
        claimed_started INTEGER,
        claimed_at REAL,
        transcript,
        consumed_by TEXT,
        consumed_at REAL,
        ended_at REAL,
        CHECK ((status = 'claimed') <= (claimed_by IS NOT NULL AND claimed_at IS NOT NULL)),
        CHECK ((status = 'consumed') = (consumed_by IS NOT NULL AND consumed_at IS NOT NULL)),
        CHECK ((status IN ('active', 'claimed')) = (ended_at IS NULL))
    )
    """,
    "CREATE UNIQUE INDEX one_active ON handoff (channel) WHERE status = 'active'",
    "CREATE INDEX handoff_channel ON handoff (channel, seq)",
    "CREATE INDEX handoff_session ON handoff (session, seq)",
    "CREATE INDEX handoff_claimed ON handoff (seq) WHERE status = 'claimed'",
    # How often a channel changed: an export that says less is out of date.
    "CREATE TABLE channel (name TEXT PRIMARY KEY, revision INTEGER NOT NULL) WITHOUT ROWID",
    # Which folder each name belongs to that nobody registered.
    "CREATE TABLE root (name TEXT PRIMARY KEY, root NOT NULL UNIQUE) WITHOUT ROWID",
)
FIELDS = (
    "id", "channel", "root", "status", "kind", "session", "context", "created_at",
    "created_by_pid", "working_dir", "document", "sha256", "meant_for", "claimed_by",
    "claimed_context", "claimed_pid", "claimed_started", "claimed_at", "transcript",
    "consumed_by", "consumed_at", "ended_at",
)  # fmt: skip
COLUMNS = ", ".join(FIELDS)
_PATHS = ("root", "working_dir", "document", "transcript")

Stored = str | bytes | int | float | None


class BadRowError(sqlite3.DatabaseError):
    """A row that nobody here has written."""


def as_row(handoff: ChannelHandoff) -> dict[str, Stored]:
    row: dict[str, Stored] = {
        "id": handoff.id,
        "channel": handoff.channel,
        "root": handoff.root,
        "status": handoff.status.value,
        "kind": handoff.kind.value,
        "session": handoff.session,
        "context": handoff.context,
        "created_at": handoff.created_at,
        "created_by_pid": handoff.created_by_pid,
        "working_dir": handoff.working_dir,
        "document": handoff.document,
        "sha256": handoff.sha256,
        "meant_for": handoff.meant_for,
        "claimed_by": handoff.claimed_by,
        "claimed_context": handoff.claimed_context,
        "claimed_pid": handoff.claimed_pid,
        "claimed_started": handoff.claimed_started,
        "claimed_at": handoff.claimed_at,
        "transcript": handoff.transcript,
        "consumed_by": handoff.consumed_by,
        "consumed_at": handoff.consumed_at,
        "ended_at": handoff.ended_at,
    }
    return {**row, **{name: stored_path(row[name]) for name in _PATHS}}


def from_row(row: tuple[Stored, ...]) -> ChannelHandoff:
    try:
        return _decoded(row)
    except ValueError as error:
        raise BadRowError(f"a handoff cannot be read: {error}") from error


def _decoded(row: tuple[Stored, ...]) -> ChannelHandoff:
    told = dict(zip(FIELDS, row, strict=True))
    context, meant_for = _text(told["context"]), _text(told["meant_for"])
    claimed_by, claimed_context = _text(told["claimed_by"]), _text(told["claimed_context"])
    consumed_by = _text(told["consumed_by"])
    return ChannelHandoff(
        id=HandoffId(str(told["id"])),
        channel=str(told["channel"]),
        root=path_of(told["root"]),
        status=Status(str(told["status"])),
        kind=Kind(str(told["kind"])),
        session=SessionId(str(told["session"])),
        context=None if context is None else ContextId(context),
        created_at=_time(told["created_at"]) or 0.0,
        created_by_pid=_whole(told["created_by_pid"]) or 0,
        working_dir=path_of(told["working_dir"]),
        document=path_of(told["document"]),
        sha256=str(told["sha256"]),
        meant_for=None if meant_for is None else SessionId(meant_for),
        claimed_by=None if claimed_by is None else SessionId(claimed_by),
        claimed_context=None if claimed_context is None else ContextId(claimed_context),
        claimed_pid=_whole(told["claimed_pid"]),
        claimed_started=_whole(told["claimed_started"]),
        claimed_at=_time(told["claimed_at"]),
        transcript=None if told["transcript"] is None else path_of(told["transcript"]),
        consumed_by=None if consumed_by is None else SessionId(consumed_by),
        consumed_at=_time(told["consumed_at"]),
        ended_at=_time(told["ended_at"]),
    )


def stored_path(path: Stored) -> Stored:
    """Text where it can be: a path that is not UTF-8 is kept as its bytes."""
    if not isinstance(path, str):
        return path
    try:
        path.encode()
    except UnicodeEncodeError:
        return os.fsencode(path)
    return path


def path_of(stored: Stored) -> str:
    return os.fsdecode(stored) if isinstance(stored, bytes) else str(stored)


def put(connection: sqlite3.Connection, handoff: ChannelHandoff) -> None:
    """The row as it is now, in the place of what it was."""
    row = as_row(handoff)
    changed = ", ".join(f"{name} = excluded.{name}" for name in FIELDS[1:])
    values = ", ".join(f":{name}" for name in FIELDS)
    connection.execute(
        f"INSERT INTO handoff ({COLUMNS}) VALUES ({values}) ON CONFLICT (id) DO UPDATE SET {changed}",  # noqa: S608, E501 - our own names
        row,
    )


def find(
    connection: sqlite3.Connection, where: str = "1", *values: Stored, limit: int = -1
) -> list[ChannelHandoff]:
    """The newest of those the condition is true of, newest first."""
    query = f"SELECT {COLUMNS} FROM handoff WHERE {where} ORDER BY seq DESC LIMIT ?"  # noqa: S608 - our own words
    return [from_row(row) for row in connection.execute(query, (*values, limit))]


def _text(value: Stored) -> str | None:
    return None if value is None else str(value)


def _time(value: Stored) -> float | None:
    return value if isinstance(value, float) else None


def _whole(value: Stored) -> int | None:
    return value if isinstance(value, int) else None

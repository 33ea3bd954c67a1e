"""The store as one SQLite file: private, in WAL mode, every commit on the disk when it returns."""

import os
import sqlite3
from contextlib import closing
from pathlib import Path

from sqlalchemy import URL, Connection, Engine, create_engine, event
from sqlalchemy.exc import DBAPIError

from sm.adapters.store.errors import StoreDamagedError, StoreError
from sm.adapters.store.sql import SqlStore
from sm.adapters.store.upgrade import bring_to_head

BUSY_SECONDS = 5.0
_PRAGMAS = (
    "journal_mode=WAL",
    "synchronous=FULL",
    "journal_size_limit=67108864",
    # Many sessions at work touch many pages: not read anew, not copied back, at every commit.
    "cache_size=-8000",
    "wal_autocheckpoint=4000",
)
_DAMAGED = {sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT}


def open_sqlite(path: Path, *, busy_seconds: float = BUSY_SECONDS) -> SqlStore:
    """Open the store, made or migrated as needed. Blocks: call it from a thread."""
    _make_private(path)
    try:
        _bring_to_head(path, busy_seconds)
        return SqlStore(_engine(path, busy_seconds, "foreign_keys=ON"), place=str(path))
    except DBAPIError as error:
        raise _explained(path, error.orig) from error
    except (sqlite3.Error, UnicodeDecodeError, OSError) as error:
        # Of the copy, which SQLite makes with nobody in between; and where SQLite's own words hold
        # what it has found, these need not be text.
        raise _explained(path, error) from error


def _bring_to_head(path: Path, busy_seconds: float) -> None:
    # SQLite alters a table by making it anew; with foreign keys on, dropping the old one fails.
    engine = _engine(path, busy_seconds, "foreign_keys=OFF")
    try:
        with engine.connect() as connection, connection.begin():
            bring_to_head(connection, place=str(path), keep_copy=lambda rev: _copy(path, rev))
    finally:
        engine.dispose()


def _make_private(path: Path) -> None:
    """SQLite gives the -wal and -shm files the mode of the file they belong to."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
        for name in (path.name, f"{path.name}-wal", f"{path.name}-shm"):
            file = path.with_name(name)
            if file.exists():
                file.chmod(0o600)
    except OSError as error:
        raise StoreError(
            f"{path} cannot be opened: {error.strerror}. Check who owns it and its folder."
        ) from error


def _engine(path: Path, busy_seconds: float, *pragmas: str) -> Engine:
    engine = create_engine(
        URL.create("sqlite", database=str(path)),
        # None: Python begins no transactions of its own, so that _begin decides how.
        connect_args={"timeout": busy_seconds, "isolation_level": None},
        # Rows are bound by name as they are, not laid out in a statement's order first.
        paramstyle="named",
        # An error is logged with its cause, and the rows hold what people and agents said.
        hide_parameters=True,
    )
    event.listen(engine, "connect", lambda raw, _record: _prepare(raw, pragmas))
    event.listen(engine, "begin", _begin)
    return engine


def _prepare(connection: sqlite3.Connection, pragmas: tuple[str, ...]) -> None:
    for pragma in (*_PRAGMAS, *pragmas):
        connection.execute(f"PRAGMA {pragma}")


def _begin(connection: Connection) -> None:
    # A writer takes its lock at once: one taken halfway could fail without waiting its turn.
    reads = connection.get_execution_options().get("sm_reads", False)
    connection.exec_driver_sql("BEGIN" if reads else "BEGIN IMMEDIATE")


def _copy(path: Path, revision: str) -> None:
    """Keep the store as it is, beside it, before a migration changes it."""
    copy = path.with_name(f"{path.name}.before-{revision}")
    part = copy.with_name(f"{copy.name}.part")
    part.unlink(missing_ok=True)
    _make_private(part)
    with closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(part)) as target:
        source.backup(target)
    part.replace(copy)


def _explained(path: Path, error: BaseException | None) -> StoreError:
    is_damaged = isinstance(error, sqlite3.Error) and error.sqlite_errorcode in _DAMAGED
    if is_damaged or isinstance(error, UnicodeDecodeError):
        return StoreDamagedError(
            f"{path} is not a readable database ({error}). Restore it from a copy, or move "
            "it away (with its -wal and -shm files) to start with an empty store."
        )
    return StoreError(
        f"{path} cannot be opened: {error}. "
        "Check free space and that no other program holds the file."
    )

"""The tables a new store gets."""

import asyncio
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from sm.adapters.store import schema
from sm.adapters.store.sqlite import open_sqlite

from .samples import asked, entry, session


async def use_once(path: Path) -> None:
    store = await asyncio.to_thread(open_sqlite, path)
    await store.commit([entry(session("ada"), asked=(asked(7),))])
    await store.close()


@pytest.fixture
def database(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    """The file of a new store that was used once and closed."""
    path = tmp_path / "store.db"
    asyncio.run(use_once(path))
    with closing(sqlite3.connect(path)) as database:
        yield database


def test_a_new_store_is_of_the_last_revision(database: sqlite3.Connection) -> None:
    """It needs no migration when it is opened again, and an older sm refuses it."""
    assert schema.HEAD == schema.REVISIONS[-1] == max(schema.REVISIONS)
    assert database.execute("SELECT * FROM alembic_version").fetchall() == [(schema.HEAD,)]


@pytest.mark.parametrize("table", ["event", "effect"])
def test_a_numbered_row_needs_no_index_to_be_found(
    database: sqlite3.Connection, table: str
) -> None:
    """Its number is SQLite's own: a second copy of each would be written at every commit."""
    indices = database.execute(
        "SELECT name FROM pragma_index_list(?) WHERE origin != 'c'", (table,)
    )

    assert indices.fetchall() == []


@pytest.mark.parametrize(
    ("question", "index"),
    [
        ("SELECT 1 FROM event WHERE hook_id = 'h1'", "event_by_hook"),
        ("SELECT 1 FROM event WHERE session_id = 'ada' ORDER BY seq", "event_by_session"),
        ("SELECT 1 FROM message WHERE session_id = 'ada' ORDER BY number", "message_by_number"),
        ("SELECT 1 FROM message WHERE session_id = 'ada' AND state = 'x'", "message_by_state"),
        ("SELECT 1 FROM message ORDER BY queued_at", "message_by_age"),
    ],
)
def test_what_is_searched_for_is_found_without_reading_a_whole_table(
    database: sqlite3.Connection, question: str, index: str
) -> None:
    """A history of a year answers as fast as one of a day."""
    (step,) = database.execute(f"EXPLAIN QUERY PLAN {question}").fetchall()

    assert index in step[3]


def test_the_last_effects_number_is_under_its_name(database: sqlite3.Connection) -> None:
    """Later releases look for the counter by this name: it is part of the file."""
    assert database.execute("SELECT * FROM counter").fetchall() == [("last_effect", 7)]


def test_the_tables_do_not_load_postgresql() -> None:
    """A start on SQLite does not pay 40 ms for a database it does not use."""
    code = (
        "import sys, sm.adapters.store.schema\n"
        "assert 'sqlalchemy.dialects.postgresql' not in sys.modules"
    )

    subprocess.run([sys.executable, "-c", code], check=True)

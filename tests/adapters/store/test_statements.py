"""The same statements in both databases' words."""

import sqlite3
from contextlib import closing
from pathlib import Path

from sqlalchemy import make_url

from sm.adapters.store.sqlite import open_sqlite
from sm.adapters.store.statements import OPEN_MESSAGES, Writes

SQLITE = Writes(make_url("sqlite://").get_dialect()())
POSTGRESQL = Writes(make_url("postgresql+psycopg://").get_dialect()())


def test_a_counter_only_rises_in_either_database() -> None:
    rises = (
        "ON CONFLICT (name) DO UPDATE SET value = excluded.value"
        " WHERE excluded.value > counter.value"
    )

    assert rises in SQLITE._counter.sql
    assert rises in POSTGRESQL._counter.sql


def test_parameters_go_by_place_or_by_name_as_the_driver_likes_it() -> None:
    assert SQLITE.drop_events.order == ("key",)
    assert SQLITE.drop_events.sql == "DELETE FROM event WHERE event.seq = ?"
    assert POSTGRESQL.drop_events.order is None
    assert POSTGRESQL.drop_events.sql == "DELETE FROM event WHERE event.seq = %(key)s::BIGINT"


async def test_a_start_does_not_read_the_messages_of_the_past(tmp_path: Path) -> None:
    """A history of a year starts as fast as one of a day."""
    await open_sqlite(tmp_path / "store.db").close()
    question = OPEN_MESSAGES.compile(compile_kwargs={"literal_binds": True})

    with closing(sqlite3.connect(tmp_path / "store.db")) as database:
        steps = [row[3] for row in database.execute(f"EXPLAIN QUERY PLAN {question}")]

    assert "SEARCH message USING INDEX message_by_state (session_id=? AND state=?)" in steps

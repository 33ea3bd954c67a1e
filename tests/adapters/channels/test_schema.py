"""Rows and handoffs."""

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from sm.adapters.channels import schema
from sm.core.channel import ChannelHandoff, Status
from tests.adapters.channels.samples import ADA, NOON, claimant, left


def _made(work: Path, at: float = NOON) -> ChannelHandoff:
    new = left(work, at)
    fields = {name: getattr(new, name) for name in new.__dataclass_fields__}
    return ChannelHandoff(**fields, sha256="ab")


@pytest.fixture
def connection() -> sqlite3.Connection:
    made = sqlite3.connect(":memory:")
    for statement in schema.TABLES:
        made.execute(statement)
    return made


def test_every_field_has_its_column(connection: sqlite3.Connection) -> None:
    """One that was forgotten would silently be lost."""
    with closing(connection):
        columns = [row[1] for row in connection.execute("PRAGMA table_info(handoff)")]

    assert set(schema.FIELDS) == set(ChannelHandoff.__dataclass_fields__)
    assert columns == ["seq", *schema.FIELDS]


def test_a_handoff_comes_back_as_it_was(connection: sqlite3.Connection, work: Path) -> None:
    """At every stage."""
    made = _made(work)
    given = made.given(claimant(transcript="/t\udcff"), NOON)
    with closing(connection):
        for stage in (made, given, given.consumed(ADA, NOON)):
            schema.put(connection, stage)
            assert schema.find(connection) == [stage]


def test_the_newest_come_first(connection: sqlite3.Connection, work: Path) -> None:
    """In the order they were left; a change moves none."""
    first = _made(work).given(claimant(), NOON)
    second = _made(work, NOON + 1)
    with closing(connection):
        for handoff in (first, second, first):
            schema.put(connection, handoff)

        assert schema.find(connection) == [second, first]
        assert schema.find(connection, limit=1) == [second]
        assert schema.find(connection, "status = ?", "claimed") == [first]


def test_the_database_itself_refuses_a_second_active_one(
    connection: sqlite3.Connection, work: Path
) -> None:
    schema.put(connection, _made(work))
    with closing(connection), pytest.raises(sqlite3.IntegrityError, match="UNIQUE"):
        schema.put(connection, _made(work, NOON + 1))


@pytest.mark.parametrize("status", [Status.CLAIMED, Status.CONSUMED, Status.EXPIRED])
def test_the_database_itself_refuses_half_a_step(
    connection: sqlite3.Connection, work: Path, status: Status
) -> None:
    """A status without what belongs to it."""
    with closing(connection), pytest.raises(sqlite3.IntegrityError, match="CHECK"):
        schema.put(connection, replace(_made(work), status=status))

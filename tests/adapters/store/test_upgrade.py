"""Stores of every earlier sm become stores of this one."""

import asyncio
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import create_engine

from sm.adapters.store import StoreError, open_store, schema
from sm.adapters.store.batch import batch_of
from sm.adapters.store.upgrade import migrate
from tests.kit.disk import largest_file

from .samples import entry, handoff, message, session

ADA = session("ada")
BASE = None
EARLIER = [BASE, *schema.REVISIONS[:-1]]


def make_store_at(revision: str | None, path: Path) -> None:
    """A store as the sm of that revision left it; BASE has only Alembic's own table."""
    engine = create_engine(f"sqlite:///{path}")
    with engine.begin() as connection:
        if revision is BASE:
            schema.version.create(connection)
        else:
            migrate(connection, revision)
    engine.dispose()


def tables(path: Path) -> set[tuple[str, str, str]]:
    """Each table and index, by the words that made it."""
    with closing(sqlite3.connect(path)) as database:
        rows = database.execute(
            "SELECT type, name, sql FROM sqlite_master"
            " WHERE sql IS NOT NULL AND name NOT LIKE 'alembic%'"
        ).fetchall()
    return {(kind, name, " ".join(sql.replace('"', "").split())) for kind, name, sql in rows}


def test_the_revisions_are_the_migration_scripts() -> None:
    """Opening a store places its revision without reading the scripts: the list must agree."""
    config = Config()
    config.set_main_option("script_location", "sm.adapters.store:migrations")
    scripts = ScriptDirectory.from_config(config)

    assert scripts.get_heads() == [schema.HEAD]
    assert tuple(s.revision for s in scripts.walk_revisions())[::-1] == schema.REVISIONS


@pytest.mark.parametrize("revision", EARLIER, ids=str)
async def test_every_earlier_store_becomes_todays(tmp_path: Path, revision: str | None) -> None:
    """However old the store, it ends with the tables a new one gets."""
    old, new = tmp_path / "old.db", tmp_path / "new.db"
    await asyncio.to_thread(make_store_at, revision, old)
    before = tables(old)

    await (await open_store(old)).close()
    await (await open_store(new)).close()

    assert tables(old) == tables(new) != before
    assert version(old) == version(new) == schema.HEAD


async def test_a_store_of_before_there_were_handoffs_keeps_all_it_has(tmp_path: Path) -> None:
    """Its sessions, messages and events are as they were; its first handoff can be kept."""
    path = tmp_path / "store.db"
    await asyncio.to_thread(make_store_at, "0001", path)
    assert "handoff" not in {name for _, name, _ in tables(path)}
    row = batch_of([entry(ADA, messages=(message(1),))])
    with closing(sqlite3.connect(path)) as database:
        for table, (values,) in (
            ("session", row.sessions), ("message", row.messages), ("event", row.events),
        ):  # fmt: skip
            names = ", ".join(values)
            places = ", ".join(f":{name}" for name in values)
            database.execute(f"INSERT INTO {table} ({names}) VALUES ({places})", values)
        database.commit()

    store = await open_store(path)

    assert await store.sessions() == [replace(ADA, messages=(message(1),))]
    assert (len(await store.events()), await store.handoffs()) == (1, [])
    await store.commit([entry(ADA, handoffs=(handoff(1),))])
    assert await store.handoffs() == [handoff(1)]
    await store.close()


async def test_the_tables_are_those_the_code_uses(tmp_path: Path) -> None:
    """Alembic, comparing a store made by migrations with the code, finds no difference."""
    path = tmp_path / "store.db"
    await asyncio.to_thread(make_store_at, schema.HEAD, path)
    engine = create_engine(f"sqlite:///{path}")
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, schema.metadata) == []
    engine.dispose()


async def test_a_copy_is_kept_before_a_migration(tmp_path: Path) -> None:
    """A person can always go back to the sm they had."""
    path = tmp_path / "store.db"
    await asyncio.to_thread(make_store_at, BASE, path)
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE keepsake (id INTEGER)")
    before = tables(path)

    await (await open_store(path)).close()
    await (await open_store(path)).close()

    copy = tmp_path / f"store.db.before-{schema.HEAD}"
    assert {p.name for p in tmp_path.iterdir()} == {path.name, copy.name}
    assert tables(copy) == before != tables(path)
    assert copy.stat().st_mode & 0o777 == 0o600


async def test_a_copy_that_does_not_fit_is_told_and_changes_nothing(tmp_path: Path) -> None:
    """Without a way back there is no migration."""
    path = tmp_path / "store.db"
    await asyncio.to_thread(make_store_at, BASE, path)
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("CREATE TABLE keepsake AS SELECT zeroblob(500000) AS body")
    before = tables(path)

    with largest_file(200_000), pytest.raises(StoreError, match="Check free space"):
        await open_store(path)

    assert tables(path) == before


async def test_a_migration_that_fails_changes_nothing(tmp_path: Path) -> None:
    """A half-migrated store would be readable by no sm."""
    path = tmp_path / "store.db"
    await asyncio.to_thread(make_store_at, BASE, path)
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE effect (in_the_way TEXT)")
    before = tables(path)

    with pytest.raises(StoreError, match="effect already exists"):
        await open_store(path)

    assert tables(path) == before


def version(path: Path) -> str:
    with closing(sqlite3.connect(path)) as database:
        (found,) = database.execute("SELECT version_num FROM alembic_version").fetchone()
    return str(found)

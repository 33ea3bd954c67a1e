"""The store as a file: private, durable, and plain about what is wrong with it."""

# ruff: noqa: ASYNC221  nothing else runs on a test's loop: it may block

import asyncio
import sqlite3
import subprocess
import sys
import time
import traceback
from collections.abc import AsyncIterator, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from sm.adapters.store import (
    StoreDamagedError,
    StoreError,
    StoreTooNewError,
    StoreWriteError,
    open_store,
    schema,
)
from sm.adapters.store.sql import SqlStore
from sm.adapters.store.sqlite import open_sqlite
from sm.core.state import State
from tests.kit.disk import largest_file

from . import committer
from .samples import NOON, entry, message, session

ADA = session("ada")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "store.db"


@pytest.fixture
async def store(path: Path) -> AsyncIterator[SqlStore]:
    """One that gives up soon when another program holds the file."""
    store = await asyncio.to_thread(open_sqlite, path, busy_seconds=0.05)
    yield store
    await store.close()


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


async def test_its_files_are_private(path: Path) -> None:
    """Other users of the machine can read none of it, not even while it is open."""
    store = await open_store(path)
    await store.commit([entry(ADA)])

    assert mode(path.parent) == 0o700
    names = {"store.db", "store.db-wal", "store.db-shm"}
    assert {p.name: mode(p) for p in path.parent.iterdir()} == dict.fromkeys(names, 0o600)
    await store.close()


async def test_a_file_somebody_opened_up_is_made_private_again(path: Path) -> None:
    await (await open_store(path)).close()
    path.chmod(0o644)

    await (await open_store(path)).close()

    assert mode(path) == 0o600


async def test_a_commit_waits_for_the_disk(store: SqlStore) -> None:
    """The journal is a WAL, synced at every commit; both connections mind foreign keys."""
    for lane in (store._writer, store._reader):
        pragmas = {
            name: await lane.run(lambda c, n=name: c.exec_driver_sql(f"PRAGMA {n}").scalar())  # type: ignore[misc]
            for name in ("journal_mode", "synchronous", "foreign_keys", "busy_timeout")
        }
        assert pragmas == {
            "journal_mode": "wal",
            "synchronous": 2,
            "foreign_keys": 1,
            "busy_timeout": 50,
        }


@pytest.mark.parametrize("name", ["a?b.db", "a#b%20.db", "a b'.db", "ä.db"])
async def test_any_file_name_will_do(tmp_path: Path, name: str) -> None:
    await (await open_store(str(tmp_path / name))).close()

    assert [p.name for p in tmp_path.iterdir()] == [name]


async def test_a_url_names_the_same_file(path: Path) -> None:
    await (await open_store(f"sqlite:///{path}")).close()

    assert path.exists()


async def test_another_kind_of_database_is_refused(path: Path) -> None:
    with pytest.raises(StoreError, match="sm has no store for mysql://"):
        await open_store("mysql://host/sm")


async def test_many_callers_at_once_each_get_their_commit(store: SqlStore) -> None:
    commits = [[entry(ADA, at=float(n)), entry(ADA, at=n + 0.5)] for n in range(40)]
    await asyncio.gather(*(store.commit(entries) for entries in commits))

    assert [r.at for r in await store.events()] == [n / 2 for n in range(80)]


async def test_two_programs_may_open_a_new_store_at_once(path: Path) -> None:
    """Whoever comes second waits until the first has made the tables, then uses them."""
    stores = await asyncio.gather(*(open_store(path) for _ in range(6)))
    await asyncio.gather(*(store.commit([entry(ADA)]) for store in stores))

    assert len(await stores[0].events()) == 6
    for store in stores:
        await store.close()


async def test_reads_go_on_while_another_program_writes(store: SqlStore, path: Path) -> None:
    await store.commit([entry(ADA)])

    with locked(path):
        await store.commit([])
        assert await store.sessions() == [ADA]


async def test_a_locked_file_fails_the_commit_and_only_that(store: SqlStore, path: Path) -> None:
    """While another program holds the file nothing is kept; afterwards all is well again."""
    with locked(path), pytest.raises(StoreWriteError) as failure:
        await store.commit([entry(ADA)])

    assert str(failure.value) == (
        f"{path} cannot be written: database is locked. Nothing of this was kept. "
        "Check free space and that no other program holds the file."
    )
    await store.commit([entry(ADA, at=NOON + 1)])
    assert [r.at for r in await store.events()] == [NOON + 1]


async def test_a_full_disk_fails_the_commit_and_only_that(store: SqlStore, path: Path) -> None:
    """A commit that does not fit leaves nothing; once there is room, the next one goes through."""
    await store.commit([entry(ADA)])
    working = session("ada", state=State.WORKING)
    large = [entry(working, messages=(message(n),)) for n in range(5000)]

    with largest_file(path.with_name("store.db-wal").stat().st_size + 1_000_000):
        with pytest.raises(StoreWriteError, match="Nothing of this was kept"):
            await store.commit(large)
        assert len(await store.events()) == 1

    assert await store.messages() == []
    assert await store.sessions() == [ADA]
    await store.commit(large)
    assert len(await store.events(limit=9999)) == 5001


async def test_a_failure_tells_nothing_of_what_was_to_be_kept(store: SqlStore) -> None:
    """It is logged with its cause, and nobody's words belong into a log."""
    secret = replace(message(1, to="nobody"), text="the word is xylophone")

    with pytest.raises(StoreWriteError) as failure:
        await store.commit([entry(session("ada"), messages=(secret,))])

    told = "".join(traceback.format_exception(failure.value))
    assert "IntegrityError" in told
    assert "xylophone" not in told


async def test_closing_twice_is_closing_once(store: SqlStore, path: Path) -> None:
    """A closed store leaves one file behind: nothing waits in a journal."""
    await store.close()
    await store.close()

    assert [p.name for p in path.parent.iterdir()] == ["store.db"]


async def test_a_file_that_is_no_database_is_left_as_it_is(path: Path) -> None:
    path.parent.mkdir()
    path.write_text("Dear diary, " * 500)

    with pytest.raises(StoreDamagedError) as failure:
        await open_store(path)

    assert str(failure.value) == (
        f"{path} is not a readable database (file is not a database). Restore it from a copy, or "
        "move it away (with its -wal and -shm files) to start with an empty store."
    )
    assert path.read_text() == "Dear diary, " * 500


async def test_a_database_of_another_program_is_left_as_it_is(path: Path) -> None:
    path.parent.mkdir()
    with closing(sqlite3.connect(path)) as other:
        other.execute("CREATE TABLE recipe (id INTEGER)")

    with pytest.raises(StoreDamagedError, match="is a database, but not one of sm's"):
        await open_store(path)

    with closing(sqlite3.connect(path)) as other:
        assert other.execute("SELECT name FROM sqlite_master").fetchall() == [("recipe",)]


async def test_damage_that_cannot_be_put_into_words_is_damage(path: Path) -> None:
    """SQLite quotes what it has found; here that is no text."""
    await (await open_store(path)).close()
    path.write_bytes(
        path.read_bytes().replace(b"CREATE TABLE session", b"CREATE \xff\xfe\xfd session")
    )

    with pytest.raises(StoreDamagedError, match="is not a readable database"):
        await open_store(path)


async def test_damage_is_reported_when_it_is_met(path: Path) -> None:
    """A torn page is told as such: never as an empty history."""
    store = await open_store(path)
    await store.commit([entry(ADA, messages=(message(n),)) for n in range(500)])
    await store.close()
    tear_first_page_of("event", path)

    store = await open_store(path)
    with pytest.raises(StoreDamagedError, match="restore it from a copy"):
        await store.events()
    with pytest.raises(StoreWriteError, match="malformed"):
        await store.commit([entry(ADA)])
    assert len(await store.messages()) == 500
    await store.close()


async def test_a_store_of_a_newer_sm_is_refused(path: Path) -> None:
    """An older sm does not touch what it would misread."""
    await (await open_store(path)).close()
    with closing(sqlite3.connect(path)) as newer, newer:
        newer.execute("UPDATE alembic_version SET version_num = '9999'")

    with pytest.raises(StoreTooNewError) as failure:
        await open_store(path)

    assert str(failure.value) == (
        f"{path} was written by a newer sm (revision 9999, this sm knows up to {schema.HEAD}). "
        "Upgrade sm, or move the file away to start with an empty store."
    )


async def test_a_folder_it_may_not_write_to_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(StoreError, match="Check who owns it"):
        await open_store(tmp_path / "file" / "store.db")


async def test_opening_does_not_load_the_migration_machinery(path: Path) -> None:
    """Alembic takes a third of a second to import; a start without a migration does without."""
    code = (
        "import asyncio, sys; from sm.adapters.store import open_store\n"
        "assert 'sqlalchemy' not in sys.modules\n"
        "async def main(): await (await open_store(sys.argv[1])).close()\n"
        "asyncio.run(main()); asyncio.run(main())\n"
        "assert 'sqlalchemy' in sys.modules and 'alembic' not in sys.modules"
    )

    subprocess.run([sys.executable, "-c", code, path], check=True)


async def test_kill_9_loses_no_commit_and_halves_none(path: Path) -> None:
    """Whatever was acknowledged is there, and of every batch all or nothing."""
    # After the first, third, … commit begins the encoding and then the writing of a long one.
    for commits, delay in ((1, 0.0), (1, 0.004), (3, 0.008), (9, 0.012), (15, 0.002)):
        acknowledged = commit_until_killed(path, commits, delay)
        store = await open_store(path)

        last = await store.last_effect()
        assert last >= acknowledged
        assert is_end_of_a_batch(last)
        log = await store.events(limit=100_000)
        assert [r.event for r in log] == [committer.entry_of(r.seq).event for r in log]
        assert len(log) == last
        assert [m.number for m in await store.messages(to=committer.ADA.id, limit=100_000)] == [
            *range(1, last + 1)
        ]
        assert [p.id for p in await store.pending()] == [last]
        assert [s.next_number for s in await store.sessions()] == [last]
        await store.close()
        path.unlink()


def tear_first_page_of(table: str, path: Path) -> None:
    with closing(sqlite3.connect(path)) as database:
        (page,) = database.execute(
            "SELECT rootpage FROM sqlite_master WHERE name = ?", (table,)
        ).fetchone()
        (size,) = database.execute("PRAGMA page_size").fetchone()
    with path.open("r+b") as file:
        file.seek((page - 1) * size)
        file.write(b"\xff" * size)


def commit_until_killed(path: Path, commits: int, delay: float) -> int:
    """How far it said it had come."""
    with subprocess.Popen(
        [sys.executable, committer.__file__, path], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        acknowledged = [process.stdout.readline() for _ in range(commits)]
        time.sleep(delay)
        process.kill()
        rest = process.stdout.read().splitlines(keepends=True)
    whole = [line for line in (*acknowledged, *rest) if line.endswith("\n")]
    return int(whole[-1])


def is_end_of_a_batch(number: int) -> bool:
    ends = {sum(committer.SIZES[:n]) for n in range(len(committer.SIZES))}
    return number % sum(committer.SIZES) in ends


@contextmanager
def locked(path: Path) -> Iterator[None]:
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield
        other.execute("ROLLBACK")

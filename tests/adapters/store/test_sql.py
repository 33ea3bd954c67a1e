"""One thread that writes, one that reads, and an end that waits for both."""

import asyncio
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from sqlalchemy import Connection

from sm.adapters.store import StoreDamagedError, open_store
from sm.adapters.store.sql import SqlStore

from .samples import NOON, entry, session

ADA = session("ada")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture
async def store(path: Path) -> AsyncIterator[SqlStore]:
    store = await open_store(path)
    await store.commit([entry(ADA)])
    yield store
    await store.close()


class SlowWrite:
    """Drops every event, and holds its transaction open until it is let go."""

    def __init__(self) -> None:
        self._begun = threading.Event()
        self._let_go = threading.Event()

    def __call__(self, connection: Connection) -> None:
        connection.exec_driver_sql("DELETE FROM event")
        self._begun.set()
        assert self._let_go.wait(10)

    async def begun(self) -> None:
        assert await asyncio.to_thread(self._begun.wait, 10)

    def let_go(self) -> None:
        self._let_go.set()


async def test_a_read_does_not_wait_for_a_write_and_sees_nothing_of_it(store: SqlStore) -> None:
    """While a long commit is under way, people still see everything as it was before."""
    slow = SlowWrite()
    writing = asyncio.create_task(store._write(slow))
    await slow.begun()
    try:
        async with asyncio.timeout(2):
            assert [r.at for r in await store.events()] == [NOON]
        assert not writing.done()
    finally:
        slow.let_go()
        await writing

    assert await store.events() == []


async def test_commits_wait_for_each_other_in_the_order_they_came(store: SqlStore) -> None:
    slow = SlowWrite()
    writing = asyncio.create_task(store._write(slow))
    await slow.begun()
    commits = [asyncio.create_task(store.commit([entry(ADA, at=float(n))])) for n in range(9)]
    slow.let_go()
    await asyncio.gather(writing, *commits)

    assert [r.at for r in await store.events()] == [float(n) for n in range(9)]


async def test_closing_waits_for_the_commit_under_way(store: SqlStore, path: Path) -> None:
    """Whoever asked for a commit before the end finds it on the disk afterwards."""
    slow = SlowWrite()
    writing = asyncio.create_task(store._write(slow))
    await slow.begun()
    commit = asyncio.create_task(store.commit([entry(ADA, at=NOON + 1)]))
    closing = asyncio.create_task(store.close())
    # The commit and the close have both been asked for once the loop came round to this.
    await asyncio.sleep(0)
    assert not closing.done()
    slow.let_go()
    await asyncio.gather(writing, commit, closing)

    again = await open_store(path)
    assert [r.at for r in await again.events()] == [NOON + 1]
    await again.close()


async def test_a_closed_store_leaves_no_thread_and_takes_nothing_more(path: Path) -> None:
    """A commit after the end fails aloud: it is never taken and then lost."""
    others = set(threading.enumerate())
    store = await open_store(path)
    await store.commit([entry(ADA)])
    await store.events()
    lanes = [t for t in threading.enumerate() if t not in others and t.name.startswith("store-")]
    assert len(lanes) == 2

    await store.close()

    assert not any(thread.is_alive() for thread in lanes)
    with pytest.raises(RuntimeError, match="after shutdown"):
        await store.commit([entry(ADA)])


async def test_a_row_that_cannot_be_understood_is_told_not_left_out(store: SqlStore) -> None:
    """An event of an unknown kind stops the reading: a history with holes would mislead."""
    await store._write(lambda c: c.exec_driver_sql("UPDATE event SET kind = 'Danced'").close())

    with pytest.raises(StoreDamagedError, match="holds a Danced"):
        await store.events()
    assert await store.sessions() == [ADA]

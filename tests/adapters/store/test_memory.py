"""What the store without a disk promises beyond what every store does."""

import asyncio

import pytest

from sm.adapters.store import StoreWriteError
from sm.adapters.store.memory import MemoryStore
from sm.core.journal import Recorded

from .samples import NOON, asked, entry, message, session

ADA = session("ada")


async def test_closing_it_keeps_what_it_holds() -> None:
    """The next engine of a test finds it as a disk after a crash, and goes on writing to it."""
    store = MemoryStore()
    await store.commit([entry(ADA, messages=(message(1),), asked=(asked(1),))])

    await store.close()

    assert [m.id for m in await store.messages()] == ["ada-1"]
    assert await store.pending() == [asked(1)]
    await store.commit([entry(ADA, at=NOON + 1, finished=1)])
    assert [r.seq for r in await store.events()] == [1, 2]
    assert await store.pending() == []


async def test_two_of_them_share_nothing() -> None:
    one, other = MemoryStore(), MemoryStore()

    await one.commit([entry(ADA)])

    assert await other.sessions() == []


async def test_others_run_before_a_commit_is_done() -> None:
    """As with a disk: an engine that counts on a commit being instant fails its tests."""
    store = MemoryStore()

    async def meanwhile() -> list[Recorded]:
        return await store.events()

    _, seen = await asyncio.gather(store.commit([entry(ADA)]), meanwhile())

    assert seen == []
    assert len(await store.events()) == 1


async def test_a_refused_commit_uses_no_number() -> None:
    """What was refused left nothing at all, so the next event follows the last one that counts."""
    store = MemoryStore()
    await store.commit([entry(ADA)])
    with pytest.raises(StoreWriteError, match="Nothing of this was kept"):
        await store.commit([entry(ADA), entry(ADA, messages=(message(1, to="nobody"),))])

    await store.commit([entry(ADA)])

    assert [r.seq for r in await store.events()] == [1, 2]

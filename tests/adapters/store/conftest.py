"""Stores to test: each kind of store is one more parameter of ``place``."""

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from sm.adapters.store import open_store
from sm.adapters.store.memory import MemoryStore
from sm.engine.ports import Store

Place = Callable[[], Awaitable[Store]]
"""Opens the store that is kept there; again and again the same one."""


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(params=["memory", "sqlite"])
async def place(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Place]:
    opened: list[Store] = []
    memory = MemoryStore()

    async def open_it() -> Store:
        store = memory if request.param == "memory" else await open_store(tmp_path / "store.db")
        opened.append(store)
        return store

    yield open_it
    for store in opened:
        await store.close()


@pytest.fixture
async def store(place: Place) -> Store:
    return await place()

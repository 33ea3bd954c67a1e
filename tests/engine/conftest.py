"""Every test of the engine runs on a loop whose waiting costs nothing."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from sm.adapters.store import open_store
from sm.adapters.store.memory import MemoryStore
from sm.engine.ports import Store
from tests.engine.rig import FlakyStore, Rig
from tests.engine.timelapse import TimelapseLoop


@pytest.fixture
def anyio_backend() -> tuple[str, dict[str, object]]:
    return "asyncio", {"loop_factory": TimelapseLoop}


@pytest.fixture
async def flaky() -> FlakyStore:
    return FlakyStore()


@pytest.fixture
async def rig(flaky: FlakyStore) -> Rig:
    return Rig(store=flaky)


@pytest.fixture(params=["memory", "sqlite"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    """Each kind of store the engine runs on."""
    memory = request.param == "memory"
    opened: Store = MemoryStore() if memory else await open_store(tmp_path / "store.db")
    yield opened
    await opened.close()

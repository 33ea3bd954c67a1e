"""A desk for each test; whoever still sits there at the end is sent away."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.adapters.pty.rig import Desk


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def null() -> Iterator[int]:
    """Nobody's terminal."""
    with Path("/dev/null").open("r+b") as file:
        yield file.fileno()


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    desk = Desk(tmp_path)
    yield desk
    desk.close()

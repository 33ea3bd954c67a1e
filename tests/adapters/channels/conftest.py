"""A ledger in a folder of its own, and one to write documents in."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from sm.adapters.channels.ledger import Ledger


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "st'ate ü" / "channels"


@pytest.fixture
def work(tmp_path: Path) -> Path:
    made = tmp_path / "work"
    made.mkdir()
    return made


@pytest.fixture
def ledger(folder: Path) -> Iterator[Ledger]:
    made = Ledger(folder, busy_seconds=10)
    yield made
    made.close()

"""Durable memory: what was committed is on the disk, whole, and comes back after any crash."""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

from sm.adapters.store.errors import (
    StoreDamagedError,
    StoreError,
    StoreTooNewError,
    StoreWriteError,
)

if TYPE_CHECKING:
    from sm.adapters.store.sql import SqlStore

__all__ = [
    "StoreDamagedError",
    "StoreError",
    "StoreTooNewError",
    "StoreWriteError",
    "open_store",
]


async def open_store(place: str | Path) -> "SqlStore":
    """Open the store at a path or a ``sqlite:///path``; make or migrate it as needed."""
    return await asyncio.to_thread(_open, str(place))


def _open(place: str) -> "SqlStore":
    # SQLAlchemy takes 0.13 s to import: whoever only needs the error types does not pay for it.
    from sm.adapters.store.sqlite import open_sqlite

    path = place.removeprefix("sqlite:///")
    if "://" in path:
        scheme = path.partition("://")[0]
        raise StoreError(f"sm has no store for {scheme}://. Give the path of a file.")
    return open_sqlite(Path(path))

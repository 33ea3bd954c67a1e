"""What the machine itself allows: the figures ours are set beside."""

import sqlite3
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

BARE_PYTHON = (sys.executable, "-c", "pass")
TRUE = ("/bin/true",)
_ROW = b"x" * 300


def commit_times(folder: Path, commits: int, *, rows: int = 1) -> list[float]:
    """Seconds per plain SQLite commit of a row or more, under the store's own settings."""
    with closing(sqlite3.connect(folder / "floor.db", isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=FULL")
        connection.execute("CREATE TABLE IF NOT EXISTS event (seq INTEGER PRIMARY KEY, body BLOB)")
        return [_commit(connection, rows) for _ in range(commits)]


def _commit(connection: sqlite3.Connection, rows: int) -> float:
    began = time.perf_counter()
    connection.execute("BEGIN IMMEDIATE")
    connection.executemany("INSERT INTO event (body) VALUES (?)", [(_ROW,)] * rows)
    connection.execute("COMMIT")
    return time.perf_counter() - began


def run_seconds(command: Sequence[str], environment: dict[str, str]) -> float:
    """From starting a program to its end."""
    began = time.perf_counter()
    subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - began

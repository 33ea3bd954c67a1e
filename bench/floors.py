"""What the machine itself allows: the figures ours are set beside."""

import socketserver
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
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


class _AtOnce(socketserver.StreamRequestHandler):
    """Reads a request and says OK; keeps the connection, and waits for nothing to be sent."""

    disable_nagle_algorithm = True

    def handle(self) -> None:
        while self.rfile.readline():
            length = 0
            while (line := self.rfile.readline()).strip():
                name, _, value = line.partition(b":")
                length = int(value) if name.lower() == b"content-length" else length
            self.rfile.read(length)
            self.wfile.write(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}")


@contextmanager
def answering_at_once() -> Iterator[str]:
    """The address of a server that answers every request in less than 0.1 ms."""
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), _AtOnce) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/hook"
        server.shutdown()

"""One SQLite file for several processes at once: private, every commit on the disk when it returns.

Opens, locks and checks; knows nothing of what the rows mean. All of this blocks.
"""

import contextlib
import fcntl
import os
import sqlite3
import stat
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from sm.adapters.channels.errors import LedgerDamagedError, LedgerError, LedgerTooNewError
from sm.adapters.channels.schema import TABLES, VERSION, BadRowError
from sm.adapters.files import sync_folder

FILE, LOCK = "channels.db", "channels.lock"
BUSY_SECONDS = 30.0
PAUSE = 0.005
"""Seconds between two tries for a lock that somebody holds."""
_PRAGMAS = ("synchronous=FULL", "foreign_keys=ON", "journal_size_limit=4194304")
_DAMAGED = {sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT}


class Database:
    """One connection, for one caller at a time; others wait."""

    def __init__(self, folder: Path, *, busy_seconds: float = BUSY_SECONDS) -> None:
        self.folder = folder
        self.path = folder / FILE
        self._busy = busy_seconds
        self._turn = threading.RLock()
        self._connection: sqlite3.Connection | None = None
        self._file: tuple[int, int] | None = None
        with self._turn, self._explaining():
            self._open()

    def close(self) -> None:
        with self._turn:
            if self._connection is not None:
                self._connection.close()
            self._connection = None

    @contextlib.contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """A transaction that has the right to write from its beginning."""
        with self._turn, self._explaining():
            connection = self._current()
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                # A full disk has undone it already.
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise

    @contextlib.contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """What is read inside belongs together."""
        with self._turn, self._explaining():
            connection = self._current()
            connection.execute("BEGIN")
            try:
                yield connection
            finally:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")

    @contextlib.contextmanager
    def alone(self, patience: float | None = None) -> Iterator[None]:
        """No other process is in here; one that dies is out, one that is stopped stays."""
        with self._turn:
            flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
            handle = os.open(self.folder / LOCK, flags, 0o600)
            try:
                self._lock(handle, self._busy if patience is None else patience)
                yield
            finally:
                os.close(handle)

    def _lock(self, handle: int, patience: float) -> None:
        deadline = time.monotonic() + patience
        while True:
            try:
                return fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise LedgerError(_held(self.folder / LOCK)) from None
            time.sleep(PAUSE)

    def _current(self) -> sqlite3.Connection:
        """The connection to the file that is there now: a person may have moved ours away."""
        if self._connection is not None and self._file == _identity(self.path):
            return self._connection
        self.close()
        return self._open()

    def _open(self) -> sqlite3.Connection:
        self._make_private()
        # Two that switch a new file to WAL at once would get in each other's way.
        with self.alone():
            connection = sqlite3.connect(
                self.path, timeout=self._busy, isolation_level=None, check_same_thread=False
            )
            try:
                connection.execute("PRAGMA journal_mode=WAL")
                for pragma in _PRAGMAS:
                    connection.execute(f"PRAGMA {pragma}")
                _bring_to_version(connection, self.path)
            except BaseException:
                connection.close()
                raise
        self._file = _identity(self.path)
        self._connection = connection
        return connection

    def _make_private(self) -> None:
        """SQLite gives its other files the mode of the first."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.folder.chmod(0o700)
        # Never opened if it is there: closing it would drop the locks of our other connections.
        with contextlib.suppress(FileExistsError):
            os.close(os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
            sync_folder(self.folder)
            sync_folder(self.folder.parent)
        if not stat.S_ISREG(self.path.lstat().st_mode):
            raise LedgerDamagedError(f"{self.path} is not a file. Move it away and try again.")
        self.path.chmod(0o600)

    @contextlib.contextmanager
    def _explaining(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise explained(self.path, error) from error
        except OSError as error:
            raise LedgerError(
                f"{self.path} cannot be used: {error.strerror}. "
                "Check who owns its folder, and whether it can be written to."
            ) from error


def explained(path: Path, error: sqlite3.Error) -> LedgerError:
    # Errors of the sqlite3 module itself carry no code.
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
    if code in _DAMAGED or isinstance(error, BadRowError) or "no such" in str(error):
        return LedgerDamagedError(
            f"{path} is not a readable ledger ({error}). Move it away, with its -wal and -shm files"
            f" if there are any, to begin with an empty one; the documents stay in"
            f" {path.parent / 'archive'}."
        )
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return LedgerError(_held(path))
    return LedgerError(
        f"{path} cannot be used: {error}. Check free space, and who owns its folder."
    )


def _held(path: Path) -> str:
    return f"{path} is held by another program. Try again in a moment."


def _bring_to_version(connection: sqlite3.Connection, path: Path) -> None:
    """Make the tables, find them, or refuse what is there."""
    if _version(connection) == VERSION:
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        version = _version(connection)
        if version > VERSION:
            raise LedgerTooNewError(
                f"{path} was written by a newer sm (version {version}, this sm knows up to "
                f"{VERSION}). Upgrade sm."
            )
        if version == 0:
            if connection.execute("SELECT 1 FROM sqlite_master").fetchone() is not None:
                raise LedgerDamagedError(
                    f"{path} is a database, but not a ledger of sm's. Move it away and try again."
                )
            for statement in TABLES:
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version={VERSION}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino

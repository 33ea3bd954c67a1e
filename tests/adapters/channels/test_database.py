"""The ledger's file: private, checked, shared."""

import contextlib
import os
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from sm.adapters.channels.database import Database
from sm.adapters.channels.errors import LedgerDamagedError, LedgerError, LedgerTooNewError
from sm.adapters.channels.ledger import Ledger
from tests.adapters.channels.samples import NOON, left
from tests.kit.untested import leave_untested


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_folder_and_files_are_closed_to_others(folder: Path, work: Path) -> None:
    """Whatever the umask, and also what was open before."""
    before = os.umask(0)
    try:
        folder.mkdir(parents=True)
        (folder / "channels.db").touch()
        ledger = Ledger(folder)
        ledger.create(left(work))
    finally:
        os.umask(before)

    assert _mode(folder) == 0o700
    assert {_mode(path) for path in folder.rglob("*") if path.is_file()} == {0o600}
    assert {_mode(path) for path in folder.rglob("*") if path.is_dir()} == {0o700}
    assert {"channels.db", "channels.db-wal", "channels.db-shm"} <= {
        path.name for path in folder.iterdir()
    }
    ledger.close()


def test_every_commit_is_synced(folder: Path) -> None:
    """WAL with synchronous=FULL, and patience with other processes."""
    database = Database(folder, busy_seconds=3)
    with database.reading() as connection:
        asked = {
            name: connection.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("journal_mode", "synchronous", "busy_timeout", "user_version")
        }

    assert asked == {"journal_mode": "wal", "synchronous": 2, "busy_timeout": 3000,
                     "user_version": 1}  # fmt: skip
    database.close()


def test_what_a_newer_sm_wrote_is_refused(folder: Path) -> None:
    Database(folder).close()
    path = folder / "channels.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version=2")

    with pytest.raises(LedgerTooNewError) as refused:
        Database(folder)

    assert str(refused.value) == (
        f"{path} was written by a newer sm (version 2, this sm knows up to 1). Upgrade sm."
    )


def test_a_database_of_somebody_else_is_refused(folder: Path) -> None:
    folder.mkdir(parents=True)
    with closing(sqlite3.connect(folder / "channels.db")) as connection:
        connection.execute("CREATE TABLE theirs (x)")

    with pytest.raises(LedgerDamagedError, match="is a database, but not a ledger of sm's"):
        Database(folder)


def test_a_file_that_is_no_database_is_named_with_the_remedy(folder: Path) -> None:
    """And moving it away, as told, helps."""
    folder.mkdir(parents=True)
    path = folder / "channels.db"
    path.write_bytes(b"no database at all, but long enough to look at" * 99)

    with pytest.raises(LedgerDamagedError) as refused:
        Database(folder)

    assert str(refused.value) == (
        f"{path} is not a readable ledger (file is not a database). Move it away, with its -wal and"
        " -shm files if there are any, to begin with an empty one; the documents stay in"
        f" {folder / 'archive'}."
    )
    path.rename(folder / "away")
    Database(folder).close()


def test_a_file_damaged_in_use_is_named_with_the_remedy(folder: Path, work: Path) -> None:
    """Pages overwritten by something else: one clear error, at whichever operation."""
    ledger = Ledger(folder)
    for number in range(40):
        ledger.create(left(work, NOON + number))
    ledger.close()
    path = folder / "channels.db"
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(os.urandom(size - 4096))

    with pytest.raises(LedgerDamagedError, match="Move it away, with its -wal and -shm files"):
        Ledger(folder).create(left(work, NOON + 99))


def test_a_row_nobody_wrote_is_damage(folder: Path, work: Path) -> None:
    """Bits that flipped inside a page, where SQLite notices nothing."""
    ledger = Ledger(folder)
    made = ledger.create(left(work))
    with closing(sqlite3.connect(folder / "channels.db")) as connection:
        connection.execute("UPDATE handoff SET kind = 'sElf'")
        connection.commit()

    with pytest.raises(LedgerDamagedError, match="'sElf' is not a valid Kind"):
        ledger.get(made.id)
    ledger.close()


def test_a_link_in_the_files_place_is_not_followed(folder: Path, tmp_path: Path) -> None:
    """Nothing is written outside the folder."""
    folder.mkdir(parents=True)
    (folder / "channels.db").symlink_to(tmp_path / "elsewhere")

    with pytest.raises(LedgerDamagedError, match=r"is not a file\. Move it away"):
        Database(folder)
    assert not (tmp_path / "elsewhere").exists()


def test_a_second_connection_takes_no_lock_away_from_the_first(folder: Path) -> None:
    """POSIX locks of a process are gone when it closes the file through any handle."""
    first = Database(folder)
    with first.writing():
        Database(folder).close()
        other = "import sqlite3, sys; c = sqlite3.connect(sys.argv[1], timeout=0.1)\n"
        other += "c.execute('BEGIN IMMEDIATE')"
        done = subprocess.run(
            [sys.executable, "-c", other, str(folder / "channels.db")], capture_output=True
        )

    assert b"database is locked" in done.stderr
    first.close()


def test_a_file_moved_away_while_it_is_open_is_not_written_to(folder: Path, work: Path) -> None:
    """A daemon that runs on begins with an empty ledger, as the person was told."""
    ledger = Ledger(folder)
    ledger.create(left(work))
    for path in list(folder.glob("channels.db*")):
        path.rename(folder.parent / path.name)

    assert ledger.history() == []
    made = ledger.create(left(work, NOON + 1))
    other = Ledger(folder)
    assert other.history() == [made]
    assert made.id in (folder / "api.manifest.json").read_text()
    assert made.id in (folder / "api-CURRENT.md").read_text()
    other.close()
    ledger.close()


def test_a_file_in_the_folders_place_is_refused(folder: Path) -> None:
    folder.parent.mkdir(parents=True)
    folder.write_text("")

    with pytest.raises(LedgerError) as refused:
        Database(folder)

    assert str(refused.value) == (
        f"{folder / 'channels.db'} cannot be used: File exists. "
        "Check who owns its folder, and whether it can be written to."
    )


def test_a_failed_transaction_leaves_nothing(folder: Path) -> None:
    database = Database(folder)

    def fail() -> None:
        with database.writing() as connection:
            connection.execute("INSERT INTO channel VALUES ('api', 1)")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    with database.reading() as connection:
        assert connection.execute("SELECT * FROM channel").fetchall() == []
    database.close()


# --- disks that fail ------------------------------------------------------------------------------


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A small disk of its own."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m,mode=700", "tmpfs", str(place)]
    try:
        done = subprocess.run(mount, capture_output=True, text=True)
    except FileNotFoundError:
        leave_untested("A SMALL DISK WAS NOT TESTED: there is no mount here")
    if done.returncode != 0:
        leave_untested(f"A SMALL DISK WAS NOT TESTED: it cannot be mounted: {done.stderr}")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def test_a_folder_that_cannot_be_written_to_is_said(disk: Path, work: Path) -> None:
    """What was stored can be read again once it can."""
    ledger = Ledger(disk / "channels")
    made = ledger.create(left(work))
    ledger.close()
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)

    with pytest.raises(LedgerError, match=r"cannot be used: .*ead-only"):
        Ledger(disk / "channels")

    subprocess.run(["mount", "-o", "remount,rw", str(disk)], check=True)
    again = Ledger(disk / "channels")
    assert again.history() == [made]
    again.close()


def _fill(disk: Path, leaving: int = 0) -> Path:
    filler = disk / "filler"
    with filler.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(b"x" * 512)
    os.truncate(filler, filler.stat().st_size - leaving)
    return filler


def test_a_disk_too_full_for_the_copies_still_stores_the_handoff(disk: Path, work: Path) -> None:
    """Nothing half is left beside it; with room again, the next change makes up for it."""
    folder = disk / "channels"
    ledger = Ledger(folder)
    ledger.create(left(work))
    filler = _fill(disk, leaving=100_000)
    new = left(work, NOON + 1)
    with Path(new.document).open("a") as file:
        file.write("many words\n" * 20_000)
    made = ledger.create(new)

    assert ledger.current("api") == made
    assert ledger.not_exported == (
        f"api: the copy of {made.id}: No space left on device",
        "api: the current document: No space left on device",
    )
    assert [path.name for path in folder.rglob(".*")] == []
    filler.unlink()
    ledger.create(left(work, NOON + 2, channel="web"))
    assert len(ledger.not_exported) == 0
    assert (folder / "api-CURRENT.md").read_bytes() == Path(made.document).read_bytes()
    ledger.close()


def test_a_full_disk_loses_nothing_that_was_stored(disk: Path, work: Path) -> None:
    """The caller is told; what was committed stays; with room again, all goes on."""
    ledger = Ledger(disk / "channels", busy_seconds=1)
    stored = [ledger.create(left(work))]
    filler = _fill(disk)
    refused = None
    for number in range(1, 400):
        try:
            stored.append(ledger.create(left(work, NOON + number)))
        except LedgerError as error:
            refused = str(error)
            break

    assert refused is not None
    assert refused.startswith(f"{disk / 'channels' / 'channels.db'} cannot be used: ")
    assert "Check free space" in refused
    filler.unlink()
    stored.append(ledger.create(left(work, NOON + 1000)))
    assert [h.id for h in ledger.history()] == [h.id for h in stored]
    assert ledger.not_exported == ()
    assert (disk / "channels" / "api-CURRENT.md").read_text().count(stored[-1].id) == 1
    ledger.close()

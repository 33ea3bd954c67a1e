"""Snapshots on the real disk: kept whole, once, privately, and not for ever."""

import os
import stat
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from sm.adapters.archive.snapshots import SnapshotFolders
from sm.core.ids import SessionId
from sm.core.snapshot import LARGEST, MOST, Snapshot, Why
from tests.kit.disk import largest_file

ADA, BOB = SessionId("ada00001"), SessionId("b0b00002")
NOON = datetime(2026, 2, 2, 12, tzinfo=UTC).timestamp()


class Shelf:
    """The snapshots of a home, each a second after the one before."""

    def __init__(self, base: Path) -> None:
        self.base = base
        self.kept = SnapshotFolders(lambda session: base / session / "snapshots")
        self.folder = base / ADA / "snapshots"
        self.at = NOON

    def keep(self, text: str, why: Why = Why.TURN_END, at: float | None = None) -> Snapshot:
        self.at += 1
        return self.kept.keep(ADA, text.encode(), at=self.at if at is None else at, why=why)

    def texts(self) -> list[str]:
        return [self.kept.read(ADA, snapshot.name) for snapshot in self.kept.all(ADA)]

    def files(self) -> list[str]:
        return sorted(path.name for path in self.folder.iterdir())


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    return Shelf(tmp_path / "ho me" / "sessions")


def test_a_snapshot_says_what_it_was_given(shelf: Shelf) -> None:
    """Its name tells when, why and how much, so that a list need not open it."""
    kept = shelf.keep("❯ one\ntwo\n", Why.HEARTBEAT, at=NOON + 0.1234)

    assert kept == Snapshot(
        session=ADA,
        name="20260202T120000.123Z-heartbeat-2-lines",
        path=str(shelf.folder / "20260202T120000.123Z-heartbeat-2-lines.txt"),
        at=NOON + 0.123,
        lines=2,
        size=12,
        why=Why.HEARTBEAT,
    )
    assert Path(kept.path).read_text() == shelf.kept.read(ADA, kept.name) == "❯ one\ntwo\n"
    assert shelf.kept.last(ADA) == kept
    assert shelf.kept.all(ADA) == [kept]


@pytest.mark.parametrize("why", Why)
def test_what_it_was_taken_for_is_remembered(shelf: Shelf, why: Why) -> None:
    shelf.keep("text", why)

    last = shelf.kept.last(ADA)
    assert last is not None
    assert (last.why, last.lines) == (why, 1)


def test_where_nothing_was_kept_there_is_nothing(shelf: Shelf) -> None:
    assert (shelf.kept.last(ADA), shelf.kept.all(ADA)) == (None, [])
    with pytest.raises(OSError, match="No such file"):
        shelf.kept.read(ADA, "20260202T120000.123Z-asked-2-lines")
    shelf.kept.forget(ADA)


def test_files_and_folders_are_closed_to_others(shelf: Shelf) -> None:
    """Whatever the umask: a terminal shows secrets. A folder that was open is closed."""
    shelf.folder.mkdir(parents=True)
    shelf.folder.chmod(0o755)
    before = os.umask(0)
    try:
        mine = Path(shelf.keep("secret").path)
        theirs = shelf.kept.keep(BOB, b"secret", at=NOON, why=Why.ASKED)
    finally:
        os.umask(before)

    modes = [stat.S_IMODE(path.stat().st_mode) for path in (mine, Path(theirs.path))]
    assert modes == [0o600, 0o600]
    for folder in (mine.parent, Path(theirs.path).parent, Path(theirs.path).parents[1]):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_the_same_text_again_is_not_written_again(shelf: Shelf) -> None:
    """Only beside the newest: what comes back later is news."""
    first = shelf.keep("one\n")
    again = shelf.keep("one\n", Why.HEARTBEAT)
    shelf.keep("two\n")
    shelf.keep("one\n")

    assert again == first
    assert shelf.texts() == ["one\n", "two\n", "one\n"]


def test_a_text_of_the_same_length_is_another_text(shelf: Shelf) -> None:
    shelf.keep("one\n")
    shelf.keep("two\n")

    assert shelf.texts() == ["two\n", "one\n"]


def test_a_clock_that_was_set_back_does_not_change_the_order(shelf: Shelf) -> None:
    """The last one written is the last one; and two in the same moment are two."""
    shelf.keep("one\n", at=NOON)
    shelf.keep("two\n", at=NOON - 3600)
    shelf.keep("three\n", at=NOON - 3600)

    assert shelf.texts() == ["three\n", "two\n", "one\n"]
    assert [snapshot.at for snapshot in shelf.kept.all(ADA)] == pytest.approx(
        [NOON + 0.002, NOON + 0.001, NOON], abs=1e-6
    )


def test_of_many_the_newest_are_kept(shelf: Shelf) -> None:
    for number in range(MOST + 5):
        shelf.keep(f"{number}\n")

    assert shelf.texts() == [f"{number}\n" for number in range(MOST + 4, 4, -1)]


def test_of_large_ones_fewer_are_kept_and_always_the_newest(shelf: Shelf) -> None:
    for letter in "abcd":
        shelf.keep(letter * (LARGEST // 2 - 10))
    assert [text[0] for text in shelf.texts()] == ["d", "c"]

    shelf.keep("e" * (LARGEST + 1))
    assert [text[0] for text in shelf.texts()] == ["e"]


def test_what_is_not_ours_is_passed_over_and_left_alone(shelf: Shelf, tmp_path: Path) -> None:
    """A note, a folder, a link, names that are nearly right."""
    shelf.keep("mine\n")
    foreign = (
        "notes.md",
        "20260202T130000.000Z-asked-1-lines",
        "20260202T130000.000Z-guessed-1-lines.txt",
        "20261302T130000.000Z-asked-1-lines.txt",
        "20260202T130000.000Z-asked-1-lines.txt.bak",
        "2026०202T130000.000Z-asked-1-lines.txt",
    )
    for name in foreign:
        (shelf.folder / name).write_text("not mine")
    (shelf.folder / "20260202T140000.000Z-asked-1-lines.txt").mkdir()
    (tmp_path / "elsewhere").write_text("not mine")
    (shelf.folder / "20260202T150000.000Z-asked-1-lines.txt").symlink_to(tmp_path / "elsewhere")

    assert shelf.texts() == ["mine\n"]
    shelf.keep("mine too\n")
    assert shelf.texts() == ["mine too\n", "mine\n"]
    assert set(foreign) < set(shelf.files())


def test_a_file_a_full_disk_left_empty_is_no_snapshot(shelf: Shelf) -> None:
    shelf.keep("mine\n")
    (shelf.folder / "20260203T120000.000Z-asked-9-lines.txt").touch()

    assert shelf.texts() == ["mine\n"]


def test_bytes_that_are_no_text_are_shown_as_such(shelf: Shelf) -> None:
    """Torn by hand or by a disk: what can be read is read."""
    kept = shelf.keep("mine\n")
    Path(kept.path).write_bytes(b"mi\xff\xfe\x00ne\n")

    assert shelf.kept.read(ADA, kept.name) == "mi��\0ne\n"
    assert shelf.keep("mine\n").name != kept.name


def test_what_a_killed_writer_left_goes_with_the_next(shelf: Shelf) -> None:
    """Not what we write ourselves at this moment, and nothing of others."""
    shelf.keep("one\n")
    name = "20260202T120000.123Z-asked-2-lines.txt"
    torn = [f".{name}.1", f".{name}.{os.getpid()}", f".{name}.swp", ".hidden"]
    for left in torn:
        (shelf.folder / left).write_text("half")
    shelf.keep("two\n")

    assert [name for name in shelf.files() if name.startswith(".")] == sorted(torn[1:])


@pytest.mark.parametrize(
    "name",
    ["../../secret", "/etc/passwd", "", "newest", "20260202T120000.123Z-asked-2-lines\n",
     "../snapshots/20260202T120000.123Z-asked-2-lines"],
)  # fmt: skip
def test_only_a_name_can_be_read(shelf: Shelf, name: str) -> None:
    """No path leads out of the folder."""
    shelf.keep("mine\n")

    with pytest.raises(FileNotFoundError, match="no snapshot is called"):
        shelf.kept.read(ADA, name)
    with pytest.raises(ValueError, match="not a plain word"):
        shelf.kept.last(SessionId("../ada"))


def test_a_disk_that_takes_nothing_leaves_nothing_behind(shelf: Shelf) -> None:
    """What was kept before stays, and the next one is kept again."""
    shelf.keep("one\n")
    with largest_file(100), pytest.raises(OSError, match="too large"):
        shelf.keep("x" * 1000)

    assert shelf.texts() == ["one\n"]
    assert len(shelf.files()) == 1
    shelf.keep("two\n")
    assert shelf.texts() == ["two\n", "one\n"]


def test_a_writer_that_is_killed_leaves_no_half_snapshot(shelf: Shelf) -> None:
    """At any moment: there is the old one, or the whole new one."""
    program = (
        "import sys; from pathlib import Path; from sm.adapters.archive.snapshots import *\n"
        "folder = Path(sys.argv[1])\n"
        "for n in range(10**6):\n"
        f"    SnapshotFolders(lambda s: folder).keep('{ADA}', b'%d\\n' % n * 50_000,"
        f" at={NOON} + n, why=Why.ASKED)\n"
        "    print(n, flush=True)\n"
    )
    for _ in range(5):
        with subprocess.Popen(
            [sys.executable, "-c", program, shelf.folder], stdout=subprocess.PIPE
        ) as writer:
            assert writer.stdout is not None
            for _ in range(3):
                writer.stdout.readline()
            writer.kill()
        for text in shelf.texts():
            assert text.count("\n") == 50_000
            assert len(set(text.splitlines())) == 1
    shelf.keep("mine\n")
    assert [name for name in shelf.files() if name.startswith(".")] == []


def test_a_session_that_is_forgotten_leaves_no_snapshots(shelf: Shelf) -> None:
    """Another's stay, and so does what somebody else put there."""
    shelf.kept.keep(BOB, b"bob's\n", at=NOON, why=Why.ASKED)
    shelf.keep("one\n")
    shelf.kept.forget(ADA)
    assert not shelf.folder.exists()

    shelf.keep("two\n")
    (shelf.folder / "notes.md").write_text("a person's")
    shelf.kept.forget(ADA)
    assert shelf.files() == ["notes.md"]
    assert shelf.kept.last(BOB) is not None

"""The list of notices on the real disk."""

import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from sm.adapters.notify.book import KEPT, NoticeBook
from sm.core.ids import NoticeId, SessionId
from sm.core.notices import PersonNotice


def notice(number: int) -> PersonNotice:
    return PersonNotice(
        id=NoticeId(f"n{number}"), session=SessionId("ada"), words=f"word {number}", at=number
    )


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "notices.json"


def test_a_notice_outlives_the_daemon(path: Path) -> None:
    """It is listed once, in a file only its owner can read."""
    assert NoticeBook(path).note(notice(1))
    book = NoticeBook(path)
    book.note(notice(1))

    assert book.all() == [notice(1)]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(path.parent.iterdir()) == [path]


def test_a_notice_nobody_was_told_of_is_told_again(path: Path) -> None:
    """The daemon was killed between the list and the terminals."""
    assert NoticeBook(path).note(notice(1))
    book = NoticeBook(path)
    assert book.note(notice(1))

    book.told(notice(1).id)
    book.told(NoticeId("unknown"))

    assert not NoticeBook(path).note(notice(1))


def test_what_was_seen_stays_until_it_is_cleared(path: Path) -> None:
    """And what was cleared is not listed again."""
    book = NoticeBook(path)
    for number in (1, 2):
        book.note(notice(number))
    book.see({"n1", "unknown"})
    assert [n.seen for n in NoticeBook(path).all()] == [True, False]

    assert (book.clear(), book.clear()) == (2, 0)
    book.note(notice(1))
    assert NoticeBook(path).all() == []


def test_what_was_told_elsewhere_is_listed_and_told_to_nobody_again(path: Path) -> None:
    """A run that was killed told it; what was seen or cleared here stays so."""
    book = NoticeBook(path)
    book.note(notice(1))
    book.see({"n1"})
    book.take([notice(1), notice(2)])

    assert [(n.id, n.seen) for n in NoticeBook(path).all()] == [("n1", True), ("n2", False)]
    assert not book.note(notice(2))
    book.clear()
    book.take([notice(2)])
    assert book.all() == []


def test_only_the_newest_are_kept(path: Path) -> None:
    """A year of crashes must not fill the disk."""
    book = NoticeBook(path)
    for number in range(KEPT + 5):
        book.note(notice(number))

    assert [n.words for n in NoticeBook(path).all()][:: KEPT - 1] == ["word 5", "word 204"]


@pytest.mark.parametrize("content", [b"", b"{", b"[1]", b'[{"notice": {}}]', b"\xff"])
def test_a_list_that_cannot_be_read_is_begun_anew(path: Path, content: bytes) -> None:
    """Nobody edits it; a damaged one must keep no daemon from telling."""
    path.write_bytes(content)
    book = NoticeBook(path)

    assert book.all() == []
    assert book.note(notice(1))
    assert NoticeBook(path).all() == [notice(1)]


def test_threads_take_turns(path: Path) -> None:
    """Fifty sessions crash together, and each is listed."""
    book = NoticeBook(path)
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(book.note, map(notice, range(50))))

    assert {n.id for n in NoticeBook(path).all()} == {f"n{number}" for number in range(50)}


def test_where_it_cannot_be_written_it_is_known_until_we_end(tmp_path: Path) -> None:
    """Said, and not told a second time."""
    (tmp_path / "file").touch()
    book = NoticeBook(tmp_path / "file" / "notices.json")
    with pytest.raises(OSError, match="File exists"):
        book.note(notice(1))

    assert book.all() == [notice(1)]

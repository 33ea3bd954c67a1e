"""A transcript's lines from its end, whatever their size."""

from pathlib import Path

import pytest

from sm.adapters.agents.claude import records
from sm.adapters.agents.claude.records import end_of_lines, lines_backwards, wanted_lines


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "transcript.jsonl"


@pytest.mark.parametrize("block", [1, 2, 3, 5, 8, 1000])
def test_lines_come_whole_and_last_first_wherever_blocks_are_cut(
    path: Path, monkeypatch: pytest.MonkeyPatch, block: int
) -> None:
    monkeypatch.setattr(records, "BLOCK", block)
    path.write_bytes(b"one\n\nthree is longer\nfour\n")

    assert list(lines_backwards(path)) == [b"", b"four", b"three is longer", b"", b"one"]


def test_a_torn_last_line_comes_first(path: Path) -> None:
    path.write_bytes(b"whole\nto")

    assert list(lines_backwards(path)) == [b"to", b"whole"]


def test_a_file_that_is_not_there_has_no_lines(tmp_path: Path) -> None:
    """None is written before the first prompt; a folder is no transcript."""
    assert list(lines_backwards(tmp_path / "none.jsonl")) == []
    assert list(lines_backwards(tmp_path)) == []


def test_only_the_end_of_a_large_file_is_read(path: Path) -> None:
    """A transcript of any size costs the same until its lines are asked for."""
    with path.open("wb") as file:
        file.truncate(400_000_000)
        file.seek(0, 2)
        file.write(b"\nlast line")

    assert next(lines_backwards(path)) == b"last line"


def test_a_line_of_many_blocks_is_put_together(path: Path) -> None:
    path.write_bytes(b"before\n" + b"x" * (3 * records.BLOCK) + b"\nafter")

    after, long, before = lines_backwards(path)

    assert (after, len(long), before) == (b"after", 3 * records.BLOCK, b"before")


def wanted(path: Path, start: int = 0, end: int | None = None, word: bytes = b"") -> list[bytes]:
    with path.open("rb", buffering=0) as file:
        size = path.stat().st_size if end is None else end
        return list(wanted_lines(file, start, size, lambda head: word in head))


@pytest.mark.parametrize("block", [1, 2, 3, 5, 8, 1000])
@pytest.mark.parametrize("head", [1, 4, 1000])
def test_lines_of_a_part_come_whole_and_last_first(
    path: Path, monkeypatch: pytest.MonkeyPatch, block: int, head: int
) -> None:
    monkeypatch.setattr(records, "BLOCK", block)
    monkeypatch.setattr(records, "HEAD", head)
    path.write_bytes(b"one\n\nthree is longer\nfour\nto")

    assert [line for line in wanted(path) if line] == [b"to", b"four", b"three is longer", b"one"]
    assert [line for line in wanted(path, 5, 26) if line] == [b"four", b"three is longer"]
    assert wanted(path, 4, 5) == [b""]


def test_of_a_line_that_is_not_wanted_only_the_head_is_read(path: Path) -> None:
    long = b"no" + b"x" * 3 * records.BLOCK
    path.write_bytes(b"yes 1\n" + long + b"yes\nyes 2" + long + b"\n")

    assert wanted(path, word=b"yes") == [b"yes 2" + long, b"yes 1"]


@pytest.mark.parametrize("block", [1, 2, 1000])
def test_a_line_ends_where_its_newline_is(
    path: Path, monkeypatch: pytest.MonkeyPatch, block: int
) -> None:
    monkeypatch.setattr(records, "BLOCK", block)
    path.write_bytes(b"one\ntwo\nto")

    with path.open("rb", buffering=0) as file:
        assert end_of_lines(file, 0, 10) == end_of_lines(file, 0, 8) == 8
        assert end_of_lines(file, 4, 7) == 4
        assert end_of_lines(file, 0, 7) == 4
        assert end_of_lines(file, 0, 0) == 0


def test_a_file_that_became_shorter_meanwhile_is_read_as_far_as_it_is_there(path: Path) -> None:
    path.write_bytes(b"one\ntwo")

    assert wanted(path, 0, 1_000_000) == [b"two", b"one"]

"""A transcript's lines from its end, whatever their size."""

from pathlib import Path

import pytest

from sm.adapters.agents.claude import records
from sm.adapters.agents.claude.records import lines_backwards


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

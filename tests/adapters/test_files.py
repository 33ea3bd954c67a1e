"""Files written whole, for their owner alone."""

import os
import stat
from pathlib import Path

import pytest

from sm.adapters.files import keep_written, write_private


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_private_file_is_closed_to_others_and_whole(tmp_path: Path) -> None:
    """Whatever the umask; its folder too."""
    before = os.umask(0)
    try:
        write_private(tmp_path / "new" / "file", b"secret")
    finally:
        os.umask(before)

    assert (tmp_path / "new" / "file").read_bytes() == b"secret"
    assert _mode(tmp_path / "new" / "file") == 0o600
    assert _mode(tmp_path / "new") == 0o700
    assert [p.name for p in (tmp_path / "new").iterdir()] == ["file"]


def test_an_open_file_is_closed_when_it_is_replaced(tmp_path: Path) -> None:
    """A file somebody made readable by hand becomes private again."""
    (tmp_path / "file").write_text("old")
    (tmp_path / "file").chmod(0o644)

    write_private(tmp_path / "file", b"new")

    assert ((tmp_path / "file").read_bytes(), _mode(tmp_path / "file")) == (b"new", 0o600)


def test_a_file_that_cannot_be_written_leaves_nothing_beside_it(tmp_path: Path) -> None:
    """A disk that is full again and again must not fill with halves."""
    (tmp_path / "file").mkdir()

    with pytest.raises(OSError, match="Is a directory"):
        write_private(tmp_path / "file", b"new")

    assert [p.name for p in tmp_path.iterdir()] == ["file"]


def test_what_says_so_already_is_not_written_again(tmp_path: Path) -> None:
    """A full disk must not keep a daemon from starting that has nothing new to write."""
    file = tmp_path / "file"
    keep_written(file, b"old")
    first = file.stat().st_ino

    keep_written(file, b"old")
    assert file.stat().st_ino == first

    keep_written(file, b"new")
    assert file.read_bytes() == b"new"

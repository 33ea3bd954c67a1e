"""What the demo agent keeps, on the real disk."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from sm.adapters.agents.demo.private import make_folder, write


@pytest.fixture(autouse=True)
def _open_to_all() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


def test_folders_are_closed_to_others_with_all_above_them(tmp_path: Path) -> None:
    """Only those that had to be made."""
    tmp_path.chmod(0o755)
    make_folder(tmp_path / "a" / "b" / "c")
    make_folder(tmp_path / "a" / "b" / "c")

    made = [tmp_path / "a", tmp_path / "a" / "b", tmp_path / "a" / "b" / "c"]
    assert {folder.stat().st_mode & 0o777 for folder in made} == {0o700}
    assert tmp_path.stat().st_mode & 0o777 == 0o755


def test_files_are_closed_to_others(tmp_path: Path) -> None:
    """What cannot be written in UTF-8 is replaced."""
    write(tmp_path / "x", "one")
    write(tmp_path / "x", "\udc80")

    assert (tmp_path / "x").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "x").read_text() == "?"

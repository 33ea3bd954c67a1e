"""Somebody's settings file on the real disk."""

import os
import stat
from pathlib import Path

import pytest

from sm.install.files import InstallError, check_writable, read, shown, write


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "settings.json"
    file.write_bytes(b"old")
    return file


def test_a_file_is_replaced_with_its_mode(path: Path) -> None:
    """And nothing is left beside it."""
    path.chmod(0o640)
    write(read(path), b"new")

    assert (path.read_bytes(), stat.S_IMODE(path.stat().st_mode)) == (b"new", 0o640)
    assert list(path.parent.iterdir()) == [path]


def test_links_are_followed_and_stay(path: Path, tmp_path: Path) -> None:
    """Dotfile managers keep the file elsewhere; a chain of links, a relative one too."""
    (tmp_path / "home").mkdir()
    (tmp_path / "second").symlink_to(path)
    link = tmp_path / "home" / "settings.json"
    link.symlink_to("../second")
    write(read(link), b"new")

    assert link.is_symlink()
    assert (tmp_path / "second").is_symlink()
    assert path.read_bytes() == b"new"


def test_a_new_file_is_private_and_gets_its_folder(tmp_path: Path) -> None:
    """The agent was never started before."""
    path = tmp_path / "new" / "settings.json"
    write(read(path), b"new")

    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_a_link_to_nothing_makes_its_target(tmp_path: Path) -> None:
    """The link was made before the file."""
    link = tmp_path / "settings.json"
    link.symlink_to(tmp_path / "kept.json")
    write(read(link), b"new")

    assert (link.is_symlink(), (tmp_path / "kept.json").read_bytes()) == (True, b"new")


@pytest.mark.parametrize("content", [b"new", None])
def test_a_change_in_between_is_refused(path: Path, content: bytes | None) -> None:
    """Somebody else's edit is never overwritten."""
    snapshot = read(path)
    path.write_bytes(b"somebody else's")

    with pytest.raises(InstallError, match=r"changed by another program just now.*try again"):
        write(snapshot, content)
    assert path.read_bytes() == b"somebody else's"
    assert list(path.parent.iterdir()) == [path]


def test_a_file_made_in_between_is_refused(tmp_path: Path) -> None:
    """There was none when we looked."""
    snapshot = read(tmp_path / "settings.json")
    (tmp_path / "settings.json").write_bytes(b"")

    with pytest.raises(InstallError, match="try again"):
        write(snapshot, b"new")


def test_a_file_is_deleted(path: Path) -> None:
    """Also if it is gone already."""
    write(read(path), None)
    write(read(path), None)

    assert not path.exists()


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    """A folder; a pipe, which would be waited for without end; links in a circle."""
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "circle").symlink_to("circle")

    for name, words in {
        "folder": "is not a file",
        "pipe": "is not a file",
        "circle": "Too many levels",
    }.items():
        with pytest.raises(InstallError, match=words):
            read(tmp_path / name)


def test_a_read_only_file_is_refused(path: Path) -> None:
    """Renaming would have got past it."""
    path.chmod(0o444)

    with pytest.raises(InstallError, match=r"is read-only.*chmod u\+w"):
        check_writable(read(path))
    check_writable(read(path.parent / "none"))


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    """Nothing was changed, and what to do."""
    (tmp_path / "file").write_bytes(b"")
    snapshot = read(tmp_path / "settings.json")
    (tmp_path / "settings.json").symlink_to(tmp_path / "file" / "settings.json")

    with pytest.raises(InstallError, match=r"Cannot (read|write) .*: Not a directory"):
        write(read(tmp_path / "settings.json"), b"new")
    with pytest.raises(InstallError, match="Not a directory"):
        write(snapshot, b"new")


def test_a_path_is_shown_on_one_line() -> None:
    """Refusals are one line, whatever somebody called a folder."""
    assert (shown(Path("/ünï x")), shown("/a\nb")) == ("/ünï x", "'/a\\nb'")

"""Where a folder belongs, on the real disk with the real git."""

import subprocess
from pathlib import Path

import pytest

from sm.adapters.channels.errors import LedgerDamagedError
from sm.adapters.channels.finding import find_place, remembered_names
from sm.adapters.channels.ledger import Ledger
from sm.core.channel import Place, Why

ODD = ["plain", "with blank", "qu'o\"te", "co:lon", "new\nline", "ünï 漢"]


def _git(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", "-C", str(folder), *arguments], check=True, capture_output=True)


@pytest.fixture(params=ODD)
def repository(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    made = tmp_path / str(request.param)
    (made / "deep" / "er").mkdir(parents=True)
    _git(made, "init")
    return made


def test_a_folder_in_a_clone_belongs_to_its_root(repository: Path) -> None:
    """Whatever the path holds; a folder called .git that is none does not count."""
    (repository / "deep" / ".git").mkdir()

    for folder in (repository, repository / "deep", repository / "deep" / "er"):
        assert find_place(folder, {}) == Place(root=str(repository), why=Why.GIT)


def test_a_linked_work_tree_is_a_root_of_its_own(tmp_path: Path) -> None:
    """Its .git is a file."""
    clone, other = tmp_path / "clone", tmp_path / "other"
    clone.mkdir()
    _git(clone, "init")
    _git(clone, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "--allow-empty", "-m", "x")
    _git(clone, "worktree", "add", str(other))

    assert find_place(other, {}) == Place(root=str(other), why=Why.GIT)


def test_a_folder_without_git_stands_for_itself(tmp_path: Path) -> None:
    """Also one that is not there any more."""
    (tmp_path / ".git").write_text("not git's")
    for folder in (tmp_path, tmp_path / "gone" / "x"):
        assert find_place(folder, {}) == Place(root=str(folder), why=Why.FOLDER)


def test_a_registered_folder_comes_before_git(repository: Path) -> None:
    """The deepest one; another folder whose name begins alike is not meant."""
    deep = str(repository / "deep")
    registry = {str(repository.parent): "all", deep: "deep", f"{repository}/d": "d"}

    found = find_place(repository / "deep" / "er", registry)
    above = find_place(repository, registry)

    assert found == Place(root=deep, why=Why.REGISTERED, registered="deep")
    assert (above.root, above.registered) == (str(repository.parent), "all")


def test_links_are_seen_through(tmp_path: Path) -> None:
    """On both sides: the folder asked for and the folder registered."""
    real = tmp_path / "real" / "api"
    real.mkdir(parents=True)
    link = tmp_path / "link"
    link.symlink_to(real)

    for asked in (real, link):
        for registered in (real, link):
            found = find_place(asked, {str(registered): "api"})
            assert found == Place(root=str(real), why=Why.REGISTERED, registered="api")


def test_names_are_read_without_making_a_ledger(folder: Path) -> None:
    """Looking leaves no trace; what is remembered is seen, also while others have it open."""
    assert remembered_names(folder) == {}
    assert not folder.exists()

    ledger = Ledger(folder)
    ledger.channel(Place(root="/a/api", why=Why.GIT))
    assert remembered_names(folder) == {"api": "/a/api"}
    ledger.close()
    assert remembered_names(folder) == {"api": "/a/api"}


def test_a_damaged_ledger_is_said(folder: Path) -> None:
    folder.mkdir(parents=True)
    (folder / "channels.db").write_bytes(b"x" * 5000)

    with pytest.raises(LedgerDamagedError, match="is not a readable ledger"):
        remembered_names(folder)

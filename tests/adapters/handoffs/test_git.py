"""The real git, on small repositories."""

import os
import subprocess
import time
from pathlib import Path

import pytest

from sm.adapters.handoffs.git import GitError, WorkTree, look


def git(folder: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=ada", "-c", "user.email=ada@example.org")
    line = ["git", "-C", str(folder), *identity, *arguments]
    return subprocess.run(line, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "repository"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    return folder


def committed(repository: Path) -> str:
    (repository / "a.txt").write_text("one\n")
    git(repository, "add", "a.txt")
    git(repository, "commit", "-q", "-m", "Begin")
    return git(repository, "rev-parse", "HEAD")


def test_branch_commit_changes_and_diffstat(repository: Path) -> None:
    commit = committed(repository)
    (repository / "a.txt").write_text("one\ntwo\n")
    (repository / "né w.txt").write_text("new\n")

    tree = look(str(repository))

    assert tree == WorkTree(
        branch="main",
        commit=f"{commit} Begin",
        changes=(" M a.txt", '?? "né w.txt"'),
        diffstat=" a.txt | 1 +\n 1 file changed, 1 insertion(+)",
    )
    assert tree.text == (
        f"branch: main\ncommit: {commit} Begin\n\n"
        '## git status --short\n M a.txt\n?? "né w.txt"\n\n'
        "## git diff --stat HEAD\n a.txt | 1 +\n 1 file changed, 1 insertion(+)\n"
    )


def test_no_program_of_the_repository_is_run(repository: Path) -> None:
    """Its configuration may name one that checks signatures."""
    program = repository.parent / "program"
    program.write_text(f"#!/bin/sh\ntouch {repository.parent}/ran\nexit 1\n")
    program.chmod(0o700)
    empty = git(repository, "write-tree")
    signed = (
        f"tree {empty}\nauthor ada <a@b> 1 +0000\ncommitter ada <a@b> 1 +0000\n"
        "gpgsig -----BEGIN PGP SIGNATURE-----\n x\n -----END PGP SIGNATURE-----\n\nBegin\n"
    )
    (repository.parent / "commit").write_text(signed)
    commit = git(repository, "hash-object", "-t", "commit", "-w", str(repository.parent / "commit"))
    git(repository, "update-ref", "HEAD", commit)
    git(repository, "config", "gpg.program", str(program))
    git(repository, "config", "log.showSignature", "true")

    tree = look(str(repository))

    assert tree is not None
    assert tree.commit == f"{commit} Begin"
    assert not (repository.parent / "ran").exists()


def test_a_clean_repository_says_so(repository: Path) -> None:
    commit = committed(repository)

    tree = look(str(repository))

    assert tree is not None
    assert tree.text == (
        f"branch: main\ncommit: {commit} Begin\n\n## git status --short\nnothing changed\n"
    )


def test_a_repository_without_a_commit_is_looked_at_too(repository: Path) -> None:
    (repository / "a.txt").touch()

    assert look(str(repository)) == WorkTree(
        branch="No commits yet on main", commit=None, changes=("?? a.txt",), diffstat=""
    )


def test_a_detached_head_is_told(repository: Path) -> None:
    committed(repository)
    git(repository, "checkout", "-q", "--detach")

    tree = look(str(repository))

    assert tree is not None
    assert tree.branch == "HEAD (no branch)"


def test_no_repository_and_no_git_are_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert look(str(tmp_path)) is None

    monkeypatch.setenv("PATH", str(tmp_path))
    assert look(str(tmp_path)) is None


def test_a_folder_that_is_gone_cannot_be_told_of(tmp_path: Path) -> None:
    with pytest.raises(GitError, match="cannot change to"):
        look(str(tmp_path / "gone"))


def test_another_repository_in_the_environment_is_not_meant(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The daemon may have been started from a git hook."""
    monkeypatch.setenv("GIT_DIR", "/none")
    monkeypatch.setenv("GIT_WORK_TREE", "/none")

    assert look(str(repository)) is not None


def test_no_lock_is_taken_and_one_in_the_way_does_not_matter(repository: Path) -> None:
    """The agent's own git must never meet ours."""
    committed(repository)
    os.utime(repository / "a.txt", (1, 1))
    index, lock = repository / ".git" / "index", repository / ".git" / "index.lock"
    before = index.read_bytes()

    assert look(str(repository)) is not None
    assert index.read_bytes() == before

    lock.touch()
    assert look(str(repository)) is not None
    assert lock.exists()


def test_a_git_that_hangs_is_given_up_with_what_it_started(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bin_, pid = tmp_path / "bin", tmp_path / "pid"
    bin_.mkdir()
    slow = bin_ / "git"
    slow.write_text(f"#!/bin/sh\nsleep 60 &\necho $! > {pid}\nwait\n")
    slow.chmod(0o755)
    monkeypatch.setenv("PATH", f"{bin_}:{os.environ['PATH']}")

    began = time.monotonic()
    with pytest.raises(GitError, match="took too long"):
        look(str(repository), patience=0.5)

    assert time.monotonic() - began < 5
    assert not _runs(int(pid.read_text()))


def _runs(pid: int) -> bool:
    status = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True)
    return status.stdout.strip()[:1] not in {"", "Z"}

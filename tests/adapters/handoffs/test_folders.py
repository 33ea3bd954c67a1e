"""A handoff's folder on the real disk: private, whole, and never in the way of the handoff."""

import hashlib
import json
import os
import shutil
import stat
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sm.adapters.handoffs.folders import HandoffFolders
from sm.core.ids import ContextId, HandoffId, SessionId
from sm.core.passage import DocumentError, Facts, Kept

ADA, FIRST = SessionId("0a1b2c3d"), HandoffId("f00d0001")
LIMIT = 1_000_000


@pytest.fixture
def handoffs(tmp_path: Path) -> HandoffFolders:
    return HandoffFolders(lambda session: tmp_path / "sessions" / session)


def read(handoffs: HandoffFolders) -> Any:
    return json.loads((handoffs.folder(ADA, FIRST) / "artifacts.json").read_bytes())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "sessions" / ADA / "handoffs" / FIRST


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "handoff.md"
    path.write_text("# Goal\n")
    return path


@pytest.fixture
def facts(tmp_path: Path) -> Facts:
    cwd = tmp_path / "work"
    cwd.mkdir()
    (tmp_path / "raw.log").write_bytes(b"12345")
    return Facts(
        session=ADA,
        name="ada",
        agent="claude",
        cwd=str(cwd),
        at=7.5,
        context=3,
        context_id=ContextId("c3"),
        transcript=str(tmp_path / "none.jsonl"),
        raw_log=str(tmp_path / "raw.log"),
        dump="❯ hello\n".encode(),
        background=("npm run dev",),
    )


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def entry(content: bytes) -> dict[str, object]:
    return {"size": len(content), "sha256": hashlib.sha256(content).hexdigest()}


# --- the document ------------------------------------------------------------------------------


def test_a_document_is_kept_whole_and_private(
    handoffs: HandoffFolders, folder: Path, source: Path
) -> None:
    """Whatever the umask; its folders too, from the session's own down."""
    before = os.umask(0)
    try:
        kept = handoffs.keep(ADA, FIRST, source, LIMIT)
    finally:
        os.umask(before)

    copy = folder / "document.md"
    digest = hashlib.sha256(b"# Goal\n").hexdigest()
    assert kept == Kept(path=str(copy), size=7, sha256=digest)
    assert copy.read_bytes() == b"# Goal\n"
    assert _mode(copy) == 0o600
    assert {_mode(path) for path in (folder, folder.parent, folder.parent.parent)} == {0o700}
    assert [path.name for path in folder.iterdir()] == ["document.md"]


@pytest.mark.parametrize(
    ("name", "copy"),
    [
        ("notes.txt", "document.txt"),
        ("NOTES.ORG", "document.org"),
        ("plain", "document.md"),
        ("odd.json", "document.md"),
        (".md", "document.md"),
        ("a.tar.gz", "document.md"),
    ],
)
def test_a_plain_suffix_is_kept(
    handoffs: HandoffFolders, folder: Path, source: Path, name: str, copy: str
) -> None:
    named = source.rename(source.with_name(name))

    assert handoffs.keep(ADA, FIRST, named, LIMIT).path == str(folder / copy)


def test_the_last_of_several_documents_is_the_only_one(
    handoffs: HandoffFolders, folder: Path, source: Path
) -> None:
    handoffs.keep(ADA, FIRST, source, LIMIT)
    source.with_suffix(".txt").write_text("other")

    handoffs.keep(ADA, FIRST, source.with_suffix(".txt"), LIMIT)

    assert [path.name for path in folder.iterdir()] == ["document.txt"]


def test_a_document_that_is_none_is_refused_and_leaves_nothing(
    handoffs: HandoffFolders, folder: Path, source: Path
) -> None:
    source.write_text("")

    with pytest.raises(DocumentError, match="is empty"):
        handoffs.keep(ADA, FIRST, source, LIMIT)
    assert not folder.exists()


def test_what_was_written_since_is_taken_at_the_turns_end(
    handoffs: HandoffFolders, source: Path
) -> None:
    handoffs.keep(ADA, FIRST, source, LIMIT)
    source.write_text("# Goal, better\n")

    kept = handoffs.refresh(ADA, FIRST, source, LIMIT)

    assert kept is not None
    assert Path(kept.path).read_text() == "# Goal, better\n"
    assert handoffs.refresh(ADA, FIRST, source, LIMIT) == kept, "asked again after a crash"


@pytest.mark.parametrize("spoil", [Path.unlink, lambda path: path.write_text(" ")])
def test_the_last_good_copy_stays(
    handoffs: HandoffFolders, source: Path, spoil: Callable[[Path], object]
) -> None:
    kept = handoffs.keep(ADA, FIRST, source, LIMIT)
    spoil(source)

    assert handoffs.refresh(ADA, FIRST, source, LIMIT) == replace(kept, current=False)
    assert Path(kept.path).read_text() == "# Goal\n"


def test_secrets_are_taken_out_of_every_copy(tmp_path: Path, source: Path) -> None:
    """Of a file, of one that was written anew, and of a text; how many is told."""
    handoffs = HandoffFolders(
        lambda session: tmp_path / session,
        redact=lambda text: text.replace("hunter2", "[redacted:password]"),
    )
    source.write_text("hunter2, [redacted:password] and hunter2")
    clean = "[redacted:password], [redacted:password] and [redacted:password]"

    kept = handoffs.keep(ADA, FIRST, source, LIMIT)
    assert (Path(kept.path).read_text(), kept.redacted) == (clean, 2)
    again = handoffs.refresh(ADA, FIRST, source, LIMIT)
    assert again == kept
    told = handoffs.keep_text(ADA, FIRST, "hunter2", LIMIT)
    assert (Path(told.path).read_text(), told.redacted) == ("[redacted:password]", 1)


def test_a_document_need_not_be_a_file(handoffs: HandoffFolders) -> None:
    kept = handoffs.keep_text(ADA, FIRST, "# Goal\n", LIMIT)

    assert Path(kept.path).read_text() == "# Goal\n"
    assert handoffs.last(ADA, FIRST) == replace(kept, current=False)
    assert handoffs.last(ADA, HandoffId("f00d0002")) is None
    for text, words in (("", "is empty"), ("x" * 11, "larger than 10 bytes"), ("a\0b", "no")):
        with pytest.raises(DocumentError, match=words if words != "no" else "not a text"):
            handoffs.keep_text(ADA, FIRST, text, 10)


def test_a_folder_that_cannot_be_made_is_told_in_words(
    handoffs: HandoffFolders, folder: Path, source: Path
) -> None:
    folder.parents[1].parent.mkdir(parents=True)
    folder.parents[1].touch()

    with pytest.raises(DocumentError, match=r"cannot be kept: .+\. Make room in sm's folder"):
        handoffs.keep(ADA, FIRST, source, LIMIT)


@pytest.mark.parametrize("word", ["..", "a/b", "", "a b"])
def test_only_a_plain_word_names_a_folder(
    handoffs: HandoffFolders, source: Path, word: str
) -> None:
    """A handoff's id may come from a caller's address line."""
    with pytest.raises(ValueError, match="not a plain word"):
        handoffs.keep(ADA, HandoffId(word), source, LIMIT)


# --- everything else ---------------------------------------------------------------------------


def test_everything_is_written_down(
    handoffs: HandoffFolders, folder: Path, source: Path, facts: Facts
) -> None:
    kept = handoffs.keep(ADA, FIRST, source, LIMIT)

    captured = handoffs.capture(ADA, FIRST, replace(facts, document=kept))

    assert (captured.dump, captured.artifacts, captured.failed) == (
        str(folder / "dump.txt"), str(folder / "artifacts.json"), {},
    )  # fmt: skip
    assert (folder / "dump.txt").read_text() == "❯ hello\n"
    assert {_mode(path) for path in folder.iterdir()} == {0o600}
    assert read(handoffs) == {
        "version": 1,
        "handoff": FIRST,
        "created_at": 7.5,
        "session": {"id": ADA, "name": "ada"},
        "agent": "claude",
        "cwd": facts.cwd,
        "context": {"number": 3, "id": "c3"},
        "document": kept.path,
        "raw_log": {"path": facts.raw_log, "size": 5},
        "transcript": {"path": facts.transcript, "size": None},
        "background_tasks": ["npm run dev"],
        "git": None,
        "files": {"document.md": entry(b"# Goal\n"), "dump.txt": entry("❯ hello\n".encode())},
        "failed": {},
    }


def test_the_state_of_a_repository_is_part_of_it(
    handoffs: HandoffFolders, folder: Path, facts: Facts
) -> None:
    subprocess.run(["git", "init", "-q", "-b", "trunk", facts.cwd], check=True)
    Path(facts.cwd, "new.txt").touch()

    handoffs.capture(ADA, FIRST, facts)

    record = read(handoffs)
    assert record is not None
    assert record["git"] == {"branch": "No commits yet on trunk", "commit": None, "changes": 1}
    assert "?? new.txt" in (folder / "git.txt").read_text()
    assert record["files"]["git.txt"] == entry((folder / "git.txt").read_bytes())


def test_a_failed_part_is_told_and_the_rest_is_there(
    handoffs: HandoffFolders, facts: Facts
) -> None:
    """A handoff never fails for want of a dump or of a git."""
    shutil.rmtree(facts.cwd)
    poor = replace(facts, dump=None, failed={"dump": "tmux cannot be reached"})

    captured = handoffs.capture(ADA, FIRST, poor)

    record = read(handoffs)
    assert captured.dump is None
    assert captured.failed["dump"] == "tmux cannot be reached"
    assert "cannot change to" in captured.failed["git"]
    assert record is not None
    assert record["failed"] == captured.failed


def test_a_repeat_without_a_dump_keeps_the_first_one(
    handoffs: HandoffFolders, facts: Facts
) -> None:
    """After a crash the pane may show the next context already, or be gone."""
    first = handoffs.capture(ADA, FIRST, facts)

    again = handoffs.capture(ADA, FIRST, replace(facts, dump=None))

    assert again == first


def test_a_copy_that_is_gone_or_changed_is_told(
    handoffs: HandoffFolders, source: Path, facts: Facts
) -> None:
    told = replace(facts, document=(kept := handoffs.keep(ADA, FIRST, source, LIMIT)))
    Path(kept.path).write_text("changed")
    assert handoffs.capture(ADA, FIRST, told).failed == {
        "document": "its copy is not what was kept"
    }

    Path(kept.path).unlink()
    assert handoffs.capture(ADA, FIRST, told).failed == {"document": "its copy is gone"}


def test_a_folder_that_cannot_be_written_fails_nothing_but_itself(
    handoffs: HandoffFolders, folder: Path, facts: Facts
) -> None:
    folder.parent.mkdir(parents=True)
    folder.touch()

    captured = handoffs.capture(ADA, FIRST, facts)

    assert (captured.dump, captured.artifacts) == (None, None)
    assert set(captured.failed) == {"dump", "files", "artifacts.json"}


def test_names_that_are_not_text_fail_nothing(handoffs: HandoffFolders, facts: Facts) -> None:
    odd = replace(facts, raw_log="/none/\udcff", name="\ud83d", transcript="a\0b")

    assert handoffs.capture(ADA, FIRST, odd).failed == {}
    assert read(handoffs) is not None


def test_the_record_is_for_people_too(handoffs: HandoffFolders, folder: Path, facts: Facts) -> None:
    handoffs.capture(ADA, FIRST, replace(facts, name="ädä"))

    text = (folder / "artifacts.json").read_text("utf-8")
    assert '"name": "ädä"' in text
    assert text == json.dumps(json.loads(text), indent=2, ensure_ascii=False) + "\n"


def test_git_is_asked_by_itself_too(handoffs: HandoffFolders, facts: Facts) -> None:
    """Nothing where there is no repository; where git cannot tell, the reason."""
    assert handoffs.git(facts.cwd) == ""
    assert handoffs.git(f"{facts.cwd}/none").startswith("git could not tell: ")

    subprocess.run(["git", "init", "-q", "-b", "trunk", facts.cwd], check=True)

    assert handoffs.git(facts.cwd).startswith("branch: No commits yet on trunk\n")

"""The bell as an agent runs it: a process with a FileChanged payload on stdin."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import sm

BELL = Path(sm.__file__).parent / "adapters" / "agents" / "bell.py"
TEXT = "[sm message 0123456789ab from you]\nhello ❯\n[end of message 0123456789ab]"


@pytest.fixture
def note(tmp_path: Path) -> Path:
    path = tmp_path / "inbox" / "0123456789ab.1.note"
    path.parent.mkdir()
    path.write_text(TEXT, "utf-8")
    return path


def start() -> "subprocess.Popen[bytes]":
    line = [sys.executable, "-I", "-S", str(BELL)]
    pipe = subprocess.PIPE
    return subprocess.Popen(line, stdin=pipe, stdout=pipe, stderr=pipe, env={})


def told(path: Path, event: str = "add") -> bytes:
    """What the client was seen to send, shortened."""
    payload = {"hook_event_name": "FileChanged", "file_path": str(path), "event": event}
    return json.dumps(payload).encode()


def ring(payload: bytes) -> tuple[int, str]:
    """Exit code and what wakes the agent; stdout would be read as an answer, so it is empty."""
    process = start()
    out, err = process.communicate(payload, timeout=20)
    assert out == b""
    return process.returncode, err.decode()


@pytest.mark.parametrize("event", ["add", "change"])
def test_a_note_is_taken_and_wakes_the_agent(note: Path, event: str) -> None:
    """Exit code 2 with the text on stderr is what the client takes for a prompt."""
    assert ring(told(note, event)) == (2, TEXT)

    assert not note.exists()
    assert (note.parents[1] / "taken" / note.name).read_text("utf-8") == TEXT


def test_a_note_is_given_once(note: Path) -> None:
    """The client may report one change twice."""
    ring(told(note))

    assert ring(told(note, "change")) == (0, "")


def test_two_bells_at_once_give_it_once(note: Path) -> None:
    bells = [start() for _ in range(4)]
    ends = [bell.communicate(told(note), timeout=20)[1].decode() for bell in bells]

    assert sorted(bell.returncode for bell in bells) == [0, 0, 0, 2]
    assert sorted(ends) == ["", "", "", TEXT]


def test_a_note_that_was_taken_back_is_not_given(note: Path) -> None:
    """sm was faster."""
    away = note.parents[1] / "withdrawn"
    away.mkdir()
    note.rename(away / note.name)

    assert ring(told(note, "unlink")) == (0, "")
    assert ring(told(note, "add")) == (0, "")


def test_a_note_whose_taking_fails_is_not_given(note: Path) -> None:
    """Told only after it was taken: sm would give it a second time."""
    (note.parents[1] / "taken").write_text("in the way")

    assert ring(told(note)) == (0, "")
    assert note.exists()


def test_other_files_are_no_business_of_ours(note: Path) -> None:
    """A user's own hooks may watch more."""
    other = note.with_name("notes.txt")
    elsewhere = note.parents[1] / "0123456789ab.1.note"
    for path in (other, elsewhere):
        path.write_text("private")
        assert ring(told(path)) == (0, "")
        assert path.exists()


@pytest.mark.parametrize("payload", [b"", b"{", b"[]", b"{}", b'{"file_path": 3}', b"\xff"])
def test_a_payload_it_does_not_know_harms_nobody(payload: bytes) -> None:
    assert ring(payload) == (0, "")

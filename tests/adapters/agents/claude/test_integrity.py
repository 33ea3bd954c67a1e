"""Whether a transcript can be resumed, in the cases in which the real client was tried.

tests/acceptance/test_claude_resume.py shows what the client makes of each.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from sm.adapters.agents.claude.integrity import BROKEN, EMPTY, TORN, examine
from sm.core.exchange import Integrity


def record(kind: str, number: int, parent: int | None, **keys: Any) -> dict[str, Any]:
    follows = None if parent is None else f"{parent:08}-0000-4000-8000-000000000000"
    name = f"{number:08}-0000-4000-8000-000000000000"
    return {"parentUuid": follows, "type": kind, **keys, "uuid": name, "cwd": "/shop"}


MODE = {"type": "mode", "mode": "normal"}
FIRST = record("user", 1, None, message={"content": "hello"})
SECOND = record("assistant", 2, 1, message={"content": 'a "uuid":"x" of its own'})
THIRD = record("user", 3, 2, message={"content": "go on"})
CALL = record("assistant", 4, 3, message={"content": [{"type": "tool_use", "id": "A"}]})
WHOLE = (MODE, FIRST, SECOND, THIRD, CALL)


def examined(path: Path, *parts: dict[str, Any] | bytes) -> Integrity:
    lines = [part if isinstance(part, bytes) else _line(part) for part in parts]
    (path / "t.jsonl").write_bytes(b"".join(lines))
    return examine(path / "t.jsonl")


def _line(record: dict[str, Any]) -> bytes:
    return json.dumps(record, separators=(",", ":")).encode() + b"\n"


def test_a_transcript_that_ends_in_a_call_is_whole(tmp_path: Path) -> None:
    """Killed in a tool: the client drops the call and goes on."""
    assert examined(tmp_path, *WHOLE) == Integrity()


def test_a_last_line_without_an_end_is_whole_if_its_record_is(tmp_path: Path) -> None:
    whole = _line(CALL)

    assert examined(tmp_path, *WHOLE[:-1], whole.rstrip(b"\n")) == Integrity()
    for cut in (5, len(whole) // 2, len(whole) - 2):
        found = examined(tmp_path, *WHOLE[:-1], whole[:cut])
        assert found == Integrity(torn=1, flaw=TORN), cut


@pytest.mark.parametrize("garbage", [b"\x00\xff\xfe garbage \x80\n", b"\0" * 4096, b"half a word"])
def test_garbage_behind_the_last_record_may_have_been_one(tmp_path: Path, garbage: bytes) -> None:
    """After a power failure a file may have its length and not its content."""
    assert examined(tmp_path, *WHOLE, garbage) == Integrity(torn=1, flaw=TORN)


def test_garbage_between_records_does_no_harm_by_itself(tmp_path: Path) -> None:
    found = examined(tmp_path, *WHOLE[:3], b"\x00 garbage\n", *WHOLE[3:])

    assert found == Integrity(torn=1)


def test_a_record_that_is_missing_may_take_others_along(tmp_path: Path) -> None:
    """The client follows each record to the one before it."""
    torn = _line(SECOND)[:60] + b"\n"

    assert examined(tmp_path, MODE, FIRST, THIRD, CALL) == Integrity(flaw=BROKEN)
    assert examined(tmp_path, MODE, FIRST, torn, THIRD, CALL) == Integrity(torn=1, flaw=BROKEN)


def test_what_is_missing_before_a_compaction_is_not_missed(tmp_path: Path) -> None:
    boundary = record("system", 5, None, subtype="compact_boundary", logicalParentUuid="x")
    after = record("user", 6, 5, isCompactSummary=True)

    assert examined(tmp_path, FIRST, THIRD, CALL, boundary, after) == Integrity()
    late = record("assistant", 7, 99)
    assert examined(tmp_path, FIRST, boundary, after, late) == Integrity(flaw=BROKEN)


def test_a_record_may_stand_before_the_one_it_follows(tmp_path: Path) -> None:
    assert examined(tmp_path, MODE, SECOND, FIRST, THIRD) == Integrity()


@pytest.mark.parametrize("content", [b"", b"\n", _line(MODE), b"\x93NUMPY\x01" * 999])
def test_there_must_be_a_conversation_in_it(tmp_path: Path, content: bytes) -> None:
    assert examined(tmp_path, content).flaw == EMPTY


def test_a_transcript_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        examine(tmp_path / "gone")

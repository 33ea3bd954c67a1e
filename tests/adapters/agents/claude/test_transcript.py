"""Whether a transcript proves that a message was taken."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.kit.transcripts import attempt, holds

from sm.adapters.agents.claude import records
from sm.adapters.agents.claude.transcript import search
from sm.core import envelope
from sm.core.ids import MessageId
from sm.core.terminal import Record

MESSAGE = MessageId("0123456789ab")
PROMPT = envelope.wrap(MESSAGE, "ada", "hello\nthere")
FILLER = {"type": "assistant", "message": {"content": [{"type": "text", "text": "x" * 5000}]}}


def user(content: object, **fields: object) -> dict[str, Any]:
    return {"type": "user", "message": {"role": "user", "content": content}, **fields}


def written(path: Path, *records: dict[str, Any], torn: str = "") -> Path:
    lines = "".join(json.dumps(record) + "\n" for record in records)
    path.write_text(lines + torn, "utf-8")
    return path


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "transcript.jsonl"


@pytest.mark.parametrize(
    "record",
    [
        user(PROMPT),
        user(f"  \n{PROMPT}\n"),
        user([{"type": "text", "text": PROMPT}]),
        user([{"type": "image", "source": {}}, {"type": "text", "text": PROMPT}]),
        {"type": "attachment", "attachment": {"type": "queued_command", "prompt": PROMPT}},
    ],
)
def test_a_prompt_that_carries_the_message_proves_it(path: Path, record: dict[str, Any]) -> None:
    assert holds(written(path, FILLER, record, FILLER), MESSAGE)


@pytest.mark.parametrize(
    "record",
    [
        user([{"type": "tool_result", "content": PROMPT}]),
        user([{"type": "tool_result", "content": "x"}, {"type": "text", "text": PROMPT}]),
        user(PROMPT, isCompactSummary=True),
        user(f"please read: {PROMPT}"),
        user("only the id 0123456789ab"),
        {"type": "assistant", "message": {"content": [{"type": "text", "text": PROMPT}]}},
        {"type": "queue-operation", "operation": "enqueue", "content": PROMPT},
        {"type": "attachment", "attachment": {"type": "hook_success", "prompt": PROMPT}},
        {"type": "last-prompt", "lastPrompt": PROMPT},
        user({"odd": PROMPT}),
    ],
)
def test_a_message_that_is_only_quoted_proves_nothing(path: Path, record: dict[str, Any]) -> None:
    """An agent that lists its messages prints their ids."""
    assert not holds(written(path, FILLER, record, FILLER), MESSAGE)


def test_a_transcript_that_does_not_exist_proves_nothing(tmp_path: Path) -> None:
    assert not holds(tmp_path / "none.jsonl", MESSAGE)
    assert not holds(tmp_path, MESSAGE)


def test_a_torn_last_line_hides_nothing_and_proves_nothing(path: Path) -> None:
    """A kill can cut the record that is being written."""
    half = json.dumps(user(PROMPT))[:-5]

    assert holds(written(path, user(PROMPT), torn='{"type":"us'), MESSAGE)
    assert not holds(written(path, FILLER, torn=half), MESSAGE)


@pytest.mark.parametrize("before", [0, 1, 7, 200])
@pytest.mark.parametrize("after", [0, 1, 7, 200])
def test_it_is_found_wherever_blocks_are_cut(
    path: Path, monkeypatch: pytest.MonkeyPatch, before: int, after: int
) -> None:
    monkeypatch.setattr(records, "BLOCK", 97)
    small = user("y" * 40)

    assert holds(written(path, *[small] * before, user(PROMPT), *[small] * after), MESSAGE)


def test_a_record_of_megabytes_is_read_whole(path: Path) -> None:
    long = envelope.wrap(MESSAGE, "ada", "z" * 3_000_000)

    assert holds(written(path, FILLER, user(long), FILLER), MESSAGE)


def test_records_from_before_the_message_are_not_read(path: Path) -> None:
    """A transcript of any size costs the same."""
    old = user(PROMPT, timestamp="1970-01-01T00:16:40.000Z")
    later = {**FILLER, "timestamp": "1970-01-01T00:33:20.000Z"}
    written(path, old, later)

    assert search(path, attempt(MESSAGE, since=900.0)) is Record.HELD
    assert search(path, attempt(MESSAGE, since=2500.0)) is Record.OPEN

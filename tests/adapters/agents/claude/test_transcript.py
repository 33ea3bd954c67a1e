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
NOTIFICATION = "<task-notification>\n<task-id>x</task-id>\n</task-notification>\n"
FILLER = {"type": "assistant", "message": {"content": [{"type": "text", "text": "x" * 5000}]}}


def user(content: object, **fields: object) -> dict[str, Any]:
    return {"type": "user", "message": {"role": "user", "content": content}, **fields}


def attached(kind: str, **fields: object) -> dict[str, Any]:
    return {"type": "attachment", "attachment": {"type": kind, **fields}}


def called(reply: str, call: str = "", **fields: object) -> dict[str, Any]:
    """One record of a reply of the model: a tool it calls, or words."""
    block = {"type": "tool_use", "id": call} if call else {"type": "text", "text": "words"}
    return {"type": "assistant", "message": {"id": reply, "content": [block]}, **fields}


def result(call: str) -> dict[str, Any]:
    return user([{"type": "tool_result", "tool_use_id": call, "content": "x"}])


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
        user(f"Stop hook feedback:\n{PROMPT}", isMeta=True),
        user(f'Stop hook blocking error from command "/x/hook": {PROMPT}', isMeta=True),
        user(f"{NOTIFICATION}<system-reminder>\n{PROMPT}\n</system-reminder>"),
        attached("queued_command", prompt=f"{NOTIFICATION}<system-reminder>\n{PROMPT}"),
        attached("hook_additional_context", content=["another hook's words", PROMPT]),
        attached("hook_additional_context", content=PROMPT),
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
        attached("hook_additional_context", content=[f"quoted: {PROMPT}"]),
        attached("hook_additional_context"),
        user(PROMPT, isSidechain=True),
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


def test_a_time_that_a_tool_printed_does_not_end_the_search(path: Path) -> None:
    """Only the record's own time says when it was written."""
    now = {"timestamp": "1970-01-01T00:33:20.000Z"}
    printed = {**result("A"), **now, "toolUseResult": {"timestamp": "1970-01-01T00:00:01.000Z"}}
    written(path, user(PROMPT, **now), printed)

    assert search(path, attempt(MESSAGE, since=2000.0)) is Record.HELD


# --- beside a tool's result ----------------------------------------------------------------

RIDING = attempt(MESSAGE, tool_use="A")


def test_the_model_was_asked_again_without_the_message(path: Path) -> None:
    """The answer that should have brought it along was lost."""
    written(path, called("one", "A"), result("A"), called("two"))

    assert search(path, RIDING) is Record.PASSED


def test_nothing_is_passed_while_the_model_has_not_answered_the_result(path: Path) -> None:
    assert search(written(path, called("one", "A"), result("A")), RIDING) is Record.OPEN


def test_tools_called_side_by_side_are_one_reply(path: Path) -> None:
    """The others may run for long; only then is the model asked again."""
    together = [called("one"), called("one", "A"), called("one", "B"), result("A")]

    assert search(written(path, *together), RIDING) is Record.OPEN
    assert search(written(path, *together, result("B"), called("two")), RIDING) is Record.PASSED


@pytest.mark.parametrize(
    "record",
    [
        called("side", isSidechain=True),
        called("error", isApiErrorMessage=True),
        {**result("A"), "toolUseResult": {"type": "assistant"}},
        {"type": "system", "content": {"role": "assistant"}},
    ],
    ids=["sub-agent", "API error", "a tool that prints records", "another record"],
)
def test_what_is_no_reply_of_the_model_passes_nothing(path: Path, record: dict[str, Any]) -> None:
    assert search(written(path, called("one", "A"), result("A"), record), RIDING) is Record.OPEN


def test_a_tool_that_ran_for_long_is_still_found(path: Path) -> None:
    """It was called long before the message was given, by the last reply of that time."""
    then, now = ({"timestamp": f"1970-01-01T{hour}:00:00.000Z"} for hour in ("01", "02"))
    riding = attempt(MESSAGE, since=7190.0, tool_use="A")
    lines = [called("zero", **then), called("one", "A", **then), {**result("A"), **now}]

    assert search(written(path, *lines), riding) is Record.OPEN
    assert search(written(path, *lines, called("two", **now)), riding) is Record.PASSED


def test_a_call_that_is_not_in_this_record_does_not_cost_reading_all_of_it(path: Path) -> None:
    then = {"timestamp": "1970-01-01T00:00:00.000Z"}
    unread = called("one", "A", **then)
    lines = [unread, called("two", **then), called("three", **then), called("four")]

    assert search(written(path, *lines), attempt(MESSAGE, since=900.0, tool_use="A")) is Record.OPEN

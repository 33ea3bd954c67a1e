"""Which turn a transcript shows as running; the records are as the real client writes them."""

import json
from pathlib import Path
from typing import Any

import pytest

from sm.adapters.agents.claude.activity import read
from sm.core.ids import MessageId, PromptId
from sm.core.state import Activity, Blocked

PROMPT = {"type": "user", "promptId": "P1", "message": {"role": "user", "content": "go"}}
CALL = {
    "type": "assistant",
    "message": {"content": [{"type": "tool_use", "id": "A", "name": "Bash"}]},
}
RESULT = {
    "type": "user",
    "promptId": "P1",
    "message": {"content": [{"type": "tool_result", "tool_use_id": "A", "content": "x"}]},
}
WORDS = {"type": "assistant", "message": {"content": [{"type": "text", "text": "done"}]}}
OTHERS: list[dict[str, Any]] = [
    {"type": "system", "subtype": "turn_duration"},
    {"type": "attachment", "attachment": {"type": "x"}},
    {"type": "user", "promptId": "P9", "isSidechain": True, "message": {"content": "sub"}},
]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "transcript.jsonl"


@pytest.mark.parametrize(
    ("records", "tool"),
    [
        ([PROMPT], None),
        ([PROMPT, CALL], "Bash"),
        ([PROMPT, CALL, RESULT], None),
        ([PROMPT, CALL, RESULT, WORDS], None),
        ([PROMPT, WORDS, CALL, *OTHERS], "Bash"),
        ([{**PROMPT, "promptId": "P0"}, CALL, PROMPT], None),
    ],
    ids=["prompt", "call", "result", "words", "other records after it", "a newer prompt"],
)
def test_the_last_prompt_and_a_call_without_a_result(
    path: Path, records: list[dict[str, Any]], tool: str | None
) -> None:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))

    assert read(path) == Activity(prompt=PromptId("P1"), tool=tool)


def test_a_prompt_that_a_hook_refused_is_told_with_its_message(path: Path) -> None:
    """The client tells the person alone, in words of its own."""
    refused = {
        "type": "system",
        "subtype": "informational",
        "content": "UserPromptSubmit operation blocked by hook:\n[guard]: not now\n\n\n"
        "Original prompt: [sm message 68c287f485ac from you]\nhi\n[end of message 68c287f485ac]",
    }
    path.write_text("".join(json.dumps(record) + "\n" for record in (PROMPT, WORDS, refused)))
    blocked = Blocked(message=MessageId("68c287f485ac"), words="[guard]: not now")

    assert read(path) == Activity(prompt=PromptId("P1"), tool=None, blocked=(blocked,))


def test_a_torn_last_line_is_passed_over(path: Path) -> None:
    path.write_text(f"{json.dumps(PROMPT)}\n{json.dumps(CALL)}\n" + '{"type":"assis')

    assert read(path) == Activity(prompt=PromptId("P1"), tool="Bash")


def test_no_transcript_shows_nothing(path: Path) -> None:
    assert read(path) == Activity(prompt=None, tool=None)

"""Whether Claude Code's own record shows that the model was given a message.

Only what the model was given counts: a prompt, a note or an answer to a hook, or one of these
queued in a running turn. What a tool printed (an agent that lists its messages), what was merely
put into the client's queue, and a compaction's summary prove nothing. Reads from the end back to
the time the message was given, so that a transcript of any size costs the same.
"""

import re
from datetime import datetime
from pathlib import Path

import msgspec

from sm.adapters.agents.claude.records import lines_backwards
from sm.core import envelope
from sm.core.ids import MessageId
from sm.core.state import Attempt
from sm.core.terminal import Record

CLOCKS_AGREE_WITHIN = 30.0
"""Records that are this much older than the message end the search."""
_LEAD_IN = re.compile(
    r"(?:<task-notification>.*?</task-notification>\s*)?(?:<system-reminder>\s*)?"
    r"(?:Stop hook (?:feedback|blocking error from command \"[^\"]*\"):\s*)?",
    re.DOTALL,
)
"""What the client puts before the text of a hook."""


class _Block(msgspec.Struct):
    type: str = ""
    text: str = ""
    id: str = ""


class _Message(msgspec.Struct):
    id: str = ""
    content: str | list[_Block] = ""


class _Attachment(msgspec.Struct):
    type: str = ""
    prompt: str | list[_Block] = ""
    content: str | list[str] | msgspec.UnsetType = msgspec.UNSET


class _Entry(msgspec.Struct, rename="camel"):
    type: str = ""
    is_compact_summary: bool = False
    is_sidechain: bool = False
    is_api_error_message: bool = False
    message: _Message | None = None
    attachment: _Attachment | None = None


class _Time(msgspec.Struct):
    timestamp: str = ""


_entries = msgspec.json.Decoder(_Entry)
_times = msgspec.json.Decoder(_Time)


def message_in(prompt: str) -> MessageId | None:
    """The message a prompt carries, as the client words it around a text of ours."""
    lead_in = _LEAD_IN.match(prompt)
    return envelope.message_in(prompt[lead_in.end() :] if lead_in else prompt)


def search(path: Path, attempt: Attempt) -> Record:
    """Look for the message from the end of the record back to when it was given."""
    needle, call = attempt.message.encode(), attempt.tool_use
    replies: set[str] = set()
    older: set[str] = set()
    for line in lines_backwards(path):
        if needle in line and _carries(line, attempt.message):
            return Record.HELD
        is_before = _is_before(line, attempt.since - CLOCKS_AGREE_WITHIN)
        if call is None and is_before:
            break
        reply, calls = _reply(line) if call is not None and b'"assistant"' in line else ("", [])
        if call in calls:
            # The model has answered since it called that tool: it was asked again without it.
            return Record.PASSED if replies - {reply} else Record.OPEN
        (older if is_before else replies).update({reply} - {""})
        if len(older) > 1:
            # A tool that ran for long was called by the last reply before, or by none here.
            break
    return Record.OPEN


def _carries(line: bytes, message: MessageId) -> bool:
    entry = _entry(line)
    return entry is not None and any(message_in(text) == message for text in _given(entry))


def _entry(line: bytes) -> _Entry | None:
    try:
        return _entries.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        # Torn by a kill while it was written, or a record of another form.
        return None


def _given(entry: _Entry) -> list[str]:
    """Every text of a record that the model was given."""
    if entry.is_sidechain:
        return []
    if entry.type == "user" and entry.message and not entry.is_compact_summary:
        return _texts(entry.message.content)
    attached = entry.attachment
    if entry.type != "attachment" or attached is None:
        return []
    if attached.type == "queued_command":
        return _texts(attached.prompt)
    if attached.type == "hook_additional_context":
        told = attached.content
        return [told] if isinstance(told, str) else told or []
    return []


def _texts(content: str | list[_Block]) -> list[str]:
    if isinstance(content, str):
        return [content]
    if any(block.type == "tool_result" for block in content):
        return []
    return [block.text for block in content if block.type == "text"]


def _reply(line: bytes) -> tuple[str, list[str]]:
    """The id of one answer of the model, and of the tools it calls."""
    entry = _entry(line)
    message = entry.message if entry is not None else None
    if entry is None or entry.type != "assistant" or entry.is_api_error_message:
        return "", []
    if message is None or entry.is_sidechain or isinstance(message.content, str):
        return "", []
    return message.id, [block.id for block in message.content if block.type == "tool_use"]


def _is_before(line: bytes, moment: float) -> bool:
    try:
        # The record's own time, not one that stands in what a tool printed.
        return datetime.fromisoformat(_times.decode(line).timestamp).timestamp() < moment
    except (ValueError, RecursionError):
        return False

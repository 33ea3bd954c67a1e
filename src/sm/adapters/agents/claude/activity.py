"""Which turn Claude Code's transcript shows as running, the tool that has no result yet, and what
was refused since."""

from pathlib import Path
from typing import Any

import msgspec

from sm.adapters.agents.claude.records import lines_backwards
from sm.core.envelope import message_in
from sm.core.ids import PromptId
from sm.core.state import Activity, Blocked

_BLOCKED = "UserPromptSubmit operation blocked by hook:"
_PROMPT = "Original prompt: "


class _Block(msgspec.Struct):
    type: str = ""
    name: str = ""


class _Message(msgspec.Struct):
    content: str | list[_Block] = ""


class _Entry(msgspec.Struct, rename="camel"):
    type: str = ""
    is_sidechain: bool = False
    prompt_id: str | None = None
    message: _Message | None = None
    content: Any = None


_entries = msgspec.json.Decoder(_Entry)


def read(path: Path) -> Activity:
    """From the end back to the prompt the last records belong to."""
    tool: str | None = None
    blocked: list[Blocked] = []
    is_last = True
    for line in lines_backwards(path):
        entry = _decoded(line)
        if entry is not None and entry.type == "system":
            blocked += _blocked(entry.content)
        if entry is None or entry.is_sidechain or entry.type not in ("user", "assistant"):
            continue
        if is_last and entry.type == "assistant":
            tool = _called(entry)
        is_last = False
        if entry.type == "user" and entry.prompt_id:
            return Activity(prompt=PromptId(entry.prompt_id), tool=tool, blocked=tuple(blocked))
    return Activity(prompt=None, tool=None, blocked=tuple(blocked))


def _blocked(content: object) -> list[Blocked]:
    """The message in a prompt that a hook refused; the client tells it to the person alone."""
    if not isinstance(content, str) or not content.startswith(_BLOCKED):
        return []
    words, _, prompt = content.removeprefix(_BLOCKED).partition(_PROMPT)
    message = message_in(prompt)
    return [Blocked(message=message, words=" ".join(words.split()))] if message else []


def _decoded(line: bytes) -> _Entry | None:
    try:
        return _entries.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def _called(entry: _Entry) -> str | None:
    content = entry.message.content if entry.message else ""
    blocks = [] if isinstance(content, str) else content
    return next((block.name for block in blocks if block.type == "tool_use"), None)

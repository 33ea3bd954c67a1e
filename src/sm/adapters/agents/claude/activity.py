"""Which turn Claude Code's transcript shows as running, and the tool that has no result yet."""

from pathlib import Path

import msgspec

from sm.adapters.agents.claude.records import lines_backwards
from sm.core.ids import PromptId
from sm.core.state import Activity


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


_entries = msgspec.json.Decoder(_Entry)


def read(path: Path) -> Activity:
    """From the end back to the prompt the last records belong to."""
    tool: str | None = None
    is_last = True
    for line in lines_backwards(path):
        entry = _decoded(line)
        if entry is None or entry.is_sidechain or entry.type not in ("user", "assistant"):
            continue
        if is_last and entry.type == "assistant":
            tool = _called(entry)
        is_last = False
        if entry.type == "user" and entry.prompt_id:
            return Activity(prompt=PromptId(entry.prompt_id), tool=tool)
    return Activity(prompt=None, tool=None)


def _decoded(line: bytes) -> _Entry | None:
    try:
        return _entries.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def _called(entry: _Entry) -> str | None:
    content = entry.message.content if entry.message else ""
    blocks = [] if isinstance(content, str) else content
    return next((block.name for block in blocks if block.type == "tool_use"), None)

"""Records as the real client writes them, one by one, for what is told of them."""

import json
from pathlib import Path
from typing import Any

from sm.adapters.agents.claude import story
from sm.core.story import Story

AT = "2026-11-15T20:00:{:02}.000Z"


def entry(kind: str, second: int = 0, **keys: Any) -> dict[str, Any]:
    shared = {"cwd": "/shop", "sessionId": "c74cc080", "gitBranch": "main"}
    return {"type": kind, **keys, "timestamp": AT.format(second), **shared}


def asks(text: object, second: int = 0, **keys: Any) -> dict[str, Any]:
    typed = {"origin": {"kind": "human"}, "promptSource": "typed"}
    message = {"role": "user", "content": text}
    return entry("user", second, message=message, **{**typed, **keys})


def says(text: str, second: int = 1, **keys: Any) -> dict[str, Any]:
    return replies({"type": "text", "text": text}, second, **keys)


def replies(block: dict[str, Any], second: int = 1, **keys: Any) -> dict[str, Any]:
    message = {"role": "assistant", "model": "opus", "content": [block]}
    return entry("assistant", second, message=message, **keys)


def calls(name: str, call: str = "A", second: int = 1, **asked: Any) -> dict[str, Any]:
    return replies({"type": "tool_use", "id": call, "name": name, "input": asked}, second)


def gives(content: object, call: str = "A", second: int = 3, **keys: Any) -> dict[str, Any]:
    block = {"tool_use_id": call, "type": "tool_result", "content": content}
    return entry("user", second, message={"role": "user", "content": [block]}, **keys)


def fails(error: str, call: str = "A", second: int = 3) -> dict[str, Any]:
    block = {"type": "tool_result", "content": error, "is_error": True, "tool_use_id": call}
    return entry("user", second, message={"role": "user", "content": [block]})


def queues(prompt: str, second: int = 2, **keys: Any) -> dict[str, Any]:
    attached = {"type": "queued_command", "prompt": prompt, "commandMode": "prompt", **keys}
    return entry("attachment", second, attachment=attached)


def line(record: dict[str, Any]) -> bytes:
    return json.dumps(record, separators=(",", ":")).encode() + b"\n"


def write(path: Path, *records: dict[str, Any] | bytes) -> Path:
    path.write_bytes(b"".join(r if isinstance(r, bytes) else line(r) for r in records))
    return path


def told(path: Path, *records: dict[str, Any] | bytes) -> Story:
    found = story.read(write(path / "transcript.jsonl", *records))
    assert found is not None
    return found

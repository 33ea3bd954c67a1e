"""What the model remembers of a conversation that is resumed, by its record. Pure.

Everything it was given and did since the last compaction. A call without a result is left out, as
Claude Code leaves it out.
"""

from collections.abc import Iterator
from typing import Any

_Record = dict[str, Any]


def remembered(records: list[_Record]) -> list[str]:
    """The texts, oldest first."""
    since = _since_compaction(records)
    answered = {block["tool_use_id"] for block in _blocks(since, "tool_result")}
    return [text for record in since for text in _texts(record, answered)]


def _since_compaction(records: list[_Record]) -> list[_Record]:
    places = [n for n, r in enumerate(records) if r.get("subtype") == "compact_boundary"]
    return records[places[-1] :] if places else records


def _blocks(records: list[_Record], kind: str) -> Iterator[_Record]:
    for record in records:
        content = record.get("message", {}).get("content")
        for block in content if isinstance(content, list) else ():
            if block.get("type") == kind:
                yield block


def _texts(record: _Record, answered: set[str]) -> Iterator[str]:
    content = record.get("message", {}).get("content")
    if isinstance(content, str):
        yield content
    for block in _blocks([record], "text"):
        yield block["text"]
    for block in _blocks([record], "tool_use"):
        if block["id"] in answered:
            yield block["input"].get("command") or block["input"].get("prompt", "")
    yield from _attached(record.get("attachment", {}))


def _attached(attachment: _Record) -> Iterator[str]:
    if attachment.get("type") == "hook_additional_context":
        yield from attachment["content"]
    if attachment.get("type") == "queued_command":
        yield attachment["prompt"]

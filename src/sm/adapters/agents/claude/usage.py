"""How full Claude Code's context is, from its statusLine and from its transcript.

Tokens are what the last request of the main thread cost to read: input, cache written, cache read.
A message is one record per block with the same usage in each, so the last record is enough.
Errors (``<synthetic>``) and sub-agents say nothing about the session's own context.
"""

from datetime import datetime
from pathlib import Path

import msgspec

from sm.adapters.agents.claude.records import lines_backwards
from sm.core.state import Usage
from sm.core.usage import STATUSLINE, TRANSCRIPT


class _Tokens(msgspec.Struct):
    input_tokens: int = 0
    cache_creation_input_tokens: int = 0
    cache_read_input_tokens: int = 0

    @property
    def total(self) -> int:
        return self.input_tokens + self.cache_creation_input_tokens + self.cache_read_input_tokens


class _Window(msgspec.Struct):
    context_window_size: int | None = None
    current_usage: _Tokens | None = None


class _Model(msgspec.Struct):
    id: str = ""


class StatusLine(msgspec.Struct):
    """The part of a statusLine's input that tells of usage."""

    context_window: _Window | None = None
    model: _Model | None = None
    session_id: str = ""

    def usage(self, at: float) -> Usage:
        window = self.context_window or _Window()
        # Null before the first request: nothing was measured. Zeros after a compaction.
        tokens = window.current_usage.total if window.current_usage else None
        return Usage(
            tokens=tokens,
            window=window.context_window_size,
            model=self.model.id if self.model else "",
            source=STATUSLINE,
            at=at,
        )


class _Message(msgspec.Struct):
    model: str = ""
    usage: _Tokens | None = None


class _Compaction(msgspec.Struct, rename="camel"):
    post_tokens: int | None = None


class _Entry(msgspec.Struct, rename="camel"):
    type: str = ""
    subtype: str = ""
    is_sidechain: bool = False
    is_api_error_message: bool = False
    timestamp: str = ""
    message: _Message | None = None
    compact_metadata: _Compaction | None = None


_entries = msgspec.json.Decoder(_Entry)


def read(path: Path) -> Usage | None:
    """The last measurement in a transcript; None where nothing was measured yet."""
    compacted: _Entry | None = None
    for line in lines_backwards(path):
        is_reply = b'"assistant"' in line and b'"usage"' in line
        if not is_reply and b'"compact_boundary"' not in line:
            continue
        entry = _decoded(line)
        if entry is None or entry.is_sidechain:
            continue
        if entry.subtype == "compact_boundary":
            compacted = compacted or entry
        elif (reply := _measured(entry)) is not None:
            # A reply may stand before the compaction it came after: the times decide.
            is_newer = compacted is None or _time(entry) > _time(compacted)
            return reply if is_newer else _after(compacted)
    return _after(compacted) if compacted is not None else None


def _decoded(line: bytes) -> _Entry | None:
    try:
        return _entries.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def _measured(entry: _Entry) -> Usage | None:
    message = entry.message
    if entry.type != "assistant" or entry.is_api_error_message or message is None:
        return None
    if message.usage is None or message.model == "<synthetic>":
        return None
    return Usage(
        tokens=message.usage.total,
        window=None,
        model=message.model,
        source=TRANSCRIPT,
        at=_time(entry),
    )


def _after(compacted: _Entry | None) -> Usage | None:
    if compacted is None:
        return None
    told = compacted.compact_metadata
    return Usage(
        tokens=told.post_tokens if told else None,
        window=None,
        model="",
        source=TRANSCRIPT,
        at=_time(compacted),
    )


def _time(entry: _Entry) -> float:
    try:
        return datetime.fromisoformat(entry.timestamp).timestamp()
    except ValueError:
        return 0.0

"""How full Claude Code's context is, from its statusLine and from its transcript.

Tokens are what the last request of the main thread cost to read: input, cache written, cache read.
A message is one record per block with the same usage in each, so the last record is enough.
Errors (``<synthetic>``) and sub-agents say nothing about the session's own context.

A transcript is read from its end back to the last measurement; after that, only what was added.
"""

import io
import os
import re
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from threading import Lock

import msgspec

from sm.adapters.agents.claude.records import end_of_lines, read_at, wanted_lines
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


REMEMBERED = 1000
"""Transcripts of which it is known how far they were read."""
TRACE = 64
"""Bytes before that place which must still be there: else it is another file by the same name."""
# Claude Code writes the type of what people and tools say before the text itself, or a key of its
# own. A reply's comes after it: what shows neither among its first plain values is looked at whole.
_KIND = re.compile(
    rb'\s*\{\s*(?:"[^"\\]*"\s*:\s*(?:"(?:[^"\\]|\\.)*"|[\w.+-]+)\s*,\s*)*?'
    rb'(?:"type"\s*:\s*"(?P<type>[\w-]+)"|"attachment"\s*:\s*\{)'
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """What a part of a transcript tells."""

    reply: Usage | None = None
    """The last measurement."""
    compacted: Usage | None = None
    """The last compaction that stands after it."""

    def then(self, later: "_Found") -> "_Found":
        if later.reply is not None:
            return later
        return _Found(reply=self.reply, compacted=later.compacted or self.compacted)

    @property
    def usage(self) -> Usage | None:
        if self.reply is None or self.compacted is None:
            return self.reply or self.compacted
        # A reply may stand before the compaction it came after: the times decide.
        return self.reply if self.reply.at > self.compacted.at else self.compacted


@dataclass(frozen=True, slots=True, kw_only=True)
class _Known:
    """How far a transcript was read, and what it told up to there."""

    file: tuple[int, int]
    offset: int
    trace: bytes
    found: _Found


class UsageReader:
    """Reads transcripts that grow; may be called from several threads."""

    def __init__(self) -> None:
        self._known: dict[Path, _Known] = {}
        self._lock = Lock()

    def read(self, path: Path) -> Usage | None:
        """The last measurement in a transcript; None where nothing was measured yet."""
        try:
            file = path.open("rb", buffering=0)
        except OSError:
            # No transcript is written before the first prompt.
            return None
        with file:
            status = os.fstat(file.fileno())
            identity = status.st_dev, status.st_ino
            known = self._continued(path, file, identity, status.st_size)
            start, before = (known.offset, known.found) if known else (0, _Found())
            end = end_of_lines(file, start, status.st_size)
            found = before.then(_search(file, start, end))
            trace = read_at(file, max(0, end - TRACE), end)
            self._remember(path, _Known(file=identity, offset=end, trace=trace, found=found))
            # A last line that is still being written counts if it is whole but for its end.
            return found.then(_search(file, end, status.st_size)).usage

    def _continued(
        self, path: Path, file: io.FileIO, identity: tuple[int, int], size: int
    ) -> _Known | None:
        """What is known of it, if it is still the file that was read, and only longer."""
        known = self._known.get(path)
        if known is None or known.file != identity or size < known.offset:
            return None
        begin = known.offset - len(known.trace)
        return known if read_at(file, begin, known.offset) == known.trace else None

    def _remember(self, path: Path, known: _Known) -> None:
        with self._lock:
            self._known.pop(path, None)
            self._known[path] = known
            if len(self._known) > REMEMBERED:
                del self._known[next(iter(self._known))]


def _search(file: io.FileIO, start: int, end: int) -> _Found:
    """From the end of this part of the transcript back to the last measurement in it."""
    compacted: Usage | None = None
    for line in wanted_lines(file, start, end, _may_tell) if start < end else ():
        is_reply = b'"assistant"' in line and b'"usage"' in line
        if not is_reply and b'"compact_boundary"' not in line:
            continue
        entry = _decoded(line)
        if entry is None or entry.is_sidechain:
            continue
        if entry.subtype == "compact_boundary":
            compacted = compacted or _after(entry)
        elif (reply := _measured(entry)) is not None:
            return _Found(reply=reply, compacted=compacted)
    return _Found(compacted=compacted)


def _may_tell(head: bytes) -> bool:
    kind = _KIND.match(head)
    return kind is None or kind["type"] in (b"assistant", b"system")


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


def _after(compacted: _Entry) -> Usage:
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

"""Whether Claude Code's own record shows that a message was taken.

Only what the model was given counts: a prompt, or a prompt queued in a running turn and given
with a tool result. A tool result that quotes a message id (an agent that lists its messages) and
a compaction's summary prove nothing. Reads from the end, so that a transcript of any size costs
the same.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import msgspec

from sm.core import envelope
from sm.core.ids import MessageId

BLOCK = 256 * 1024
LIMIT = 16 * 1024 * 1024


class _Block(msgspec.Struct):
    type: str = ""
    text: str = ""


class _Message(msgspec.Struct):
    content: str | list[_Block] = ""


class _Attachment(msgspec.Struct):
    type: str = ""
    prompt: str | list[_Block] = ""


class _Record(msgspec.Struct, rename="camel"):
    type: str = ""
    is_compact_summary: bool = False
    message: _Message | None = None
    attachment: _Attachment | None = None


_records = msgspec.json.Decoder(_Record)


def holds(path: Path, message: MessageId) -> bool:
    """Whether the last 16 MB of the transcript show this message as a prompt."""
    needle = message.encode()
    try:
        with path.open("rb") as file:
            return any(
                needle in line and _carries(line, message) for line in _lines_backwards(file)
            )
    except OSError:
        # No transcript is written before the first prompt.
        return False


def _carries(line: bytes, message: MessageId) -> bool:
    try:
        record = _records.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        # Torn by a kill while it was written, or a record of another form.
        return False
    return any(envelope.message_in(text) == message for text in _prompts(record))


def _prompts(record: _Record) -> list[str]:
    if record.type == "user" and record.message and not record.is_compact_summary:
        return _texts(record.message.content)
    queued = record.attachment
    if record.type == "attachment" and queued and queued.type == "queued_command":
        return _texts(queued.prompt)
    return []


def _texts(content: str | list[_Block]) -> list[str]:
    if isinstance(content, str):
        return [content]
    if any(block.type == "tool_result" for block in content):
        return []
    return [block.text for block in content if block.type == "text"]


def _lines_backwards(file: BinaryIO) -> Iterator[bytes]:
    """Whole lines, last first, of at most the last 16 MB; a line cut by the limit is left out."""
    end = file.seek(0, os.SEEK_END)
    stop = max(0, end - LIMIT)
    # A line larger than a block is put together once, not block by block.
    tail: list[bytes] = []
    while end > stop:
        start = max(stop, end - BLOCK)
        file.seek(start)
        first, *whole = file.read(end - start).split(b"\n")
        if whole:
            yield b"".join([whole.pop(), *reversed(tail)])
            yield from reversed(whole)
            tail = []
        tail.append(first)
        end = start
    if stop == 0:
        yield b"".join(reversed(tail))

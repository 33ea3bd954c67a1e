"""Claude Code's transcript from its beginning, record by record, as far as a story needs it.

Most of a long transcript is what tools printed, twice over. Of a large result that is no error only
the call it answers is looked for, by bytes: inside a JSON string a quote is never bare, so a bare
``"key":"…"`` is the record's own. Everything else is decoded, once. Torn lines, records of another
form and kinds of tomorrow are passed over.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import msgspec

BLOCK = 1024 * 1024
LARGE = 3_000
"""Results from here on are not decoded where their bytes tell enough."""
HEAD = 700
"""The call a result answers is named this near to its beginning, or the record is decoded."""
_ANSWERS = re.compile(rb'"tool_use_id":"([^"\\]+)"')
_TIME = b'"timestamp":"'
TAIL = 600
"""Bytes before a record's time in which the end of what was printed is looked for; how much of
its last line is kept."""
_MATTERS = (b'"isSidechain":true', b'"content":"Command ', b'"text":"Async agent launched')
"""A sub-agent's own; work that goes on in the background, whose result names it."""
_HALF_PAIR = re.compile(
    rb"\\u[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F])"
    rb"|(?<!\\u[dD][89abAB][0-9a-fA-F]{2})\\u[dD][c-fC-F][0-9a-fA-F]{2}"
)
_JOINED = b'}{"type":"file-history-snapshot"'
"""What the client writes first when it goes on, also behind a line that has no end."""
_SKIPPED = (
    b'{"type":"file-history-snapshot"',
    b'{"type":"mode"',
    b'{"type":"permission-mode"',
    b'{"type":"last-prompt"',
)


class Block(msgspec.Struct):
    type: str = ""
    text: str = ""
    id: str = ""
    name: str = ""
    input: msgspec.Raw = msgspec.Raw(b"{}")
    tool_use_id: str = ""
    content: msgspec.Raw = msgspec.Raw(b'""')
    is_error: bool | None = None


class Message(msgspec.Struct):
    model: str = ""
    content: str | list[Block] = ""


class Origin(msgspec.Struct):
    kind: str = ""


class Attachment(msgspec.Struct, rename="camel"):
    type: str = ""
    is_meta: bool = False
    origin: Origin | None = None
    command_mode: str = ""
    prompt: str | list[Block] = ""
    content: msgspec.Raw = msgspec.Raw(b'""')


class Entry(msgspec.Struct, rename="camel"):
    """A record of the conversation."""

    type: str = ""
    subtype: str = ""
    operation: str = ""
    content: msgspec.Raw = msgspec.Raw(b'""')
    timestamp: str = ""
    session_id: str = ""
    cwd: str = ""
    git_branch: str = ""
    is_sidechain: bool = False
    is_meta: bool = False
    is_compact_summary: bool = False
    is_api_error_message: bool = False
    origin: Origin | None = None
    message: Message | None = None
    attachment: Attachment | None = None
    tool_use_result: msgspec.Raw = msgspec.Raw(b"")


class Answered(msgspec.Struct):
    """A large result of which only this was looked at."""

    tool_use_id: str
    timestamp: str
    last_line: str
    """Of what the tool printed, where the bytes show it."""


Record = Entry | Answered
_entries = msgspec.json.Decoder(Entry)
_strings = msgspec.json.Decoder(str)


def lines(path: Path) -> Iterator[bytes]:
    """Every line, the last one also if it is not ended; none of a file that cannot be a
    transcript. Raises OSError."""
    with path.open("rb", buffering=BLOCK) as file:
        head = file.read(BLOCK)
        file.seek(0)
        # Any other large file might be one single line.
        if head.startswith(b"{") or b"\n" in head:
            yield from file


def record(line: bytes) -> Record | None:
    """None for what tells nothing."""
    if line.startswith(_SKIPPED):
        return None
    if len(line) > LARGE and (answered := _answered(line)) is not None:
        return answered
    return decoded(line)


def decoded(line: bytes) -> Entry | None:
    try:
        return _entries.decode(line)
    except msgspec.ValidationError:
        return None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _mended(line)


def _mended(line: bytes) -> Entry | None:
    """A text that was cut within a character is still a text; a torn line is none."""
    if (joint := line.find(_JOINED)) >= 0:
        return decoded(line[: joint + 1])
    if not line.endswith(b"}\n") and not line.endswith(b"}"):
        return None
    text = _HALF_PAIR.sub(rb"\\ufffd", line).decode(errors="replace")
    try:
        return _entries.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return None


def _answered(line: bytes) -> Answered | None:
    found = _ANSWERS.search(line, 0, HEAD)
    # Behind the message and before what the client keeps beside it, which is as long again.
    place = line.find(_TIME, HEAD) if found is not None else -1
    if found is None or place < 0 or line.find(b'"is_error":true', 0, place) >= 0:
        return None
    if any(line.find(mark, 0, HEAD) >= 0 for mark in _MATTERS):
        return None
    time = line[place + len(_TIME) : line.find(b'"', place + len(_TIME))]
    return Answered(found[1].decode(), time.decode(errors="replace"), _last_line(line, place))


def _last_line(line: bytes, end: int) -> str:
    end = line.rfind(b"}]}", max(0, end - TAIL), end)
    printed = line[max(0, end - TAIL) : end].removesuffix(b',"is_error":false')
    begin = printed.rfind(b"\\n", 0, len(printed) - 3)
    if end < 0 or begin < 0 or not printed.endswith(b'"'):
        return ""
    try:
        text: str = _strings.decode(b'"' + printed[begin + 2 :])
    except (msgspec.DecodeError, UnicodeDecodeError):
        return ""
    return text.strip()

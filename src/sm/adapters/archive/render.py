"""A raw terminal log as the lines a person saw.

A real terminal emulator replays the bytes in the window sizes of the time. What scrolls off is
kept; what an erased screen showed is kept before it is erased.
"""

import codecs
import json
import os
import re
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from avt import Vt

CHUNK = 256 * 1024
DEFAULT_SIZE = (220, 50)
LAST_PART, SEARCHED = 8 * 1024 * 1024, 1024 * 1024
"""Bytes of a log that are enough for its last lines; how far into them a beginning is sought."""
_BEGUN = re.compile(rb"\x1bc|\x1b\[[23]J")
# The screen (2, or all below the home position: tmux's own "clear") or the scrollback (3) is
# erased: what stood there would be lost.
_ERASED = re.compile("(\x1b\\[[23]J|\x1b\\[H\x1b\\[0?J)")
_MAYBE_ERASED = re.compile("\x1b(\\[(H(\x1b(\\[0?)?)?|[023])?)?$")


def render(raw: Path, sizes: Path, since: int = 0) -> list[str]:
    """Every line the log shows from an offset on, oldest first. A missing log has none."""
    try:
        return list(_rendered(raw, sizes, since))
    except OSError:
        return []


def tail(raw: Path, sizes: Path, lines: int) -> list[str]:
    """The last lines the log shows, at most so many, of whatever size it is. Raises OSError.

    Only its last part is looked at, from where a screen was begun or at least a line.
    """
    newest = deque(_rendered(raw, sizes, _boundary(raw)), maxlen=lines)
    while newest and not newest[0]:
        newest.popleft()
    return list(newest)


def _boundary(raw: Path) -> int:
    """Where the last part begins that can be shown by itself."""
    with raw.open("rb") as file:
        start = max(0, file.seek(0, os.SEEK_END) - LAST_PART)
        if start == 0:
            return 0
        file.seek(start)
        head = file.read(SEARCHED)
    found = _BEGUN.search(head)
    place = found.start() if found is not None else head.find(b"\n") + 1
    return start + max(0, place)


def _rendered(raw: Path, sizes: Path, since: int) -> Iterator[str]:
    steps = list(_sizes(sizes))
    # The size it had there is the last one noted before.
    steps = [step for step in steps if step[0] <= since][-1:] + [s for s in steps if s[0] > since]
    cols, rows = (steps[0][1], steps[0][2]) if steps else DEFAULT_SIZE
    # Not before there is something to draw: 1.3 MB.
    from avt import Vt

    vt = Vt(cols, rows, 0)
    held = ""
    for offset, text in _pieces(raw, since, [offset for offset, _, _ in steps[1:]]):
        for at, width, height in steps[1:]:
            if at == offset:
                yield from (line.text.rstrip() for line in vt.resize(width, height)[1])
        # A sequence may be cut in two by the end of a piece.
        text, held = _whole(held + text)
        yield from _fed(vt, text)
    yield from _fed(vt, held)
    yield from _shown(vt)


def _whole(text: str) -> tuple[str, str]:
    cut = _MAYBE_ERASED.search(text)
    return (text[: cut.start()], text[cut.start() :]) if cut else (text, "")


def _fed(vt: "Vt", text: str) -> Iterator[str]:
    for part in _ERASED.split(text):
        if _ERASED.fullmatch(part):
            yield from _shown(vt)
        yield from (line.text.rstrip() for line in vt.feed_str(part)[1])


def _shown(vt: "Vt") -> list[str]:
    """The screen, without the empty rows below the last text."""
    shown = [line.text.rstrip() for line in vt.view()]
    while shown and not shown[-1]:
        shown.pop()
    return shown


def _sizes(path: Path) -> Iterator[tuple[int, int, int]]:
    """(offset, columns, rows) of each change; lines that cannot be read are passed over."""
    try:
        recorded = path.read_text(errors="replace").splitlines()
    except OSError:
        return
    for line in recorded:
        try:
            size = json.loads(line)
            step = int(size["offset"]), int(size["cols"]), int(size["rows"])
        except (ValueError, TypeError, KeyError):
            continue
        if 0 < step[1] <= 10_000 and 0 < step[2] <= 10_000:
            yield step


def _pieces(raw: Path, offset: int, cuts: list[int]) -> Iterator[tuple[int, str]]:
    """The text from there on in pieces, cut where the window changed; with each piece's offset."""
    decode = codecs.getincrementaldecoder("utf-8")("replace").decode
    ahead = sorted(cuts, reverse=True)
    with raw.open("rb") as file:
        file.seek(offset)
        while True:
            while ahead and ahead[-1] <= offset:
                ahead.pop()
            limit = ahead[-1] - offset if ahead else CHUNK
            chunk = file.read(min(limit, CHUNK))
            if not chunk:
                return
            yield offset, decode(chunk)
            offset += len(chunk)

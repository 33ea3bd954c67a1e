"""What a log of terminal output shows now, worked out only when somebody looks.

A real terminal emulator is fed with what came since the last look, in small pieces between which
others have their turn. It reads the log, so that output nobody looks at costs nothing.
"""

import asyncio
import codecs
import re
from pathlib import Path

from avt import Vt

PIECE = 32 * 1024
"""About 2 ms of the emulator's time."""
_TITLE = re.compile("\x1b\\][02];([^\x07\x1b]*)(?:\x07|\x1b\\\\)")
_TITLE_BEGUN = re.compile("\x1b(?:\\]?|\\][02](?:;[^\x07\x1b]{0,1000}\x1b?)?)\\Z")


class Screen:
    """The part of one log that begins at an offset, in the window sizes of the time."""

    def __init__(self, log: Path, began: int, cols: int, rows: int) -> None:
        self._log = log
        self._at = began
        self._vt = Vt(cols, rows, 0)
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        self._sizes: list[tuple[int, int, int]] = []
        """Changes yet to be made, each at its offset."""
        self._held = ""
        self._one_at_a_time = asyncio.Lock()
        self.title = ""

    def resize(self, at: int, cols: int, rows: int) -> None:
        self._sizes.append((at, cols, rows))

    @property
    def lines(self) -> tuple[str, ...]:
        return tuple(line.text.rstrip() for line in self._vt.view())

    @property
    def cursor(self) -> tuple[int, int]:
        """Column and row, from 0."""
        return self._vt.cursor.col, self._vt.cursor.row

    @property
    def size(self) -> tuple[int, int]:
        return self._vt.size

    async def catch_up(self, end: int) -> None:
        """Show everything before this offset; what is written meanwhile is for the next look."""
        async with self._one_at_a_time:
            with self._log.open("rb") as log:
                log.seek(self._at)
                while self._at < end or self._is_resized():
                    self._resize()
                    limit = self._sizes[0][0] if self._sizes else end
                    piece = log.read(min(PIECE, limit - self._at, end - self._at))
                    if not piece:
                        return
                    self._feed(piece)
                    await asyncio.sleep(0)

    def _is_resized(self) -> bool:
        return bool(self._sizes) and self._sizes[0][0] <= self._at

    def _resize(self) -> None:
        while self._is_resized():
            _, cols, rows = self._sizes.pop(0)
            self._vt.resize(cols, rows)

    def _feed(self, piece: bytes) -> None:
        self._at += len(piece)
        text = self._decode(piece)
        self._vt.feed_str(text)
        if self._held or "\x1b" in text:
            self._read_title(self._held + text)

    def _read_title(self, text: str) -> None:
        titles = _TITLE.findall(text)
        if titles:
            self.title = titles[-1]
        cut = _TITLE_BEGUN.search(text, max(0, len(text) - 1100))
        self._held = cut.group() if cut else ""

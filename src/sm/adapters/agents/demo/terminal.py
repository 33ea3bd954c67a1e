"""The terminal itself: raw mode, size, title, and the part of the screen that is redrawn.

Output scrolls in the normal screen, so that tmux keeps it; only the lines at the bottom (the
box or a dialog) are drawn again. A frame is one write: a reader sees it whole or not at all.
"""

import os
import termios
import tty

from sm.adapters.agents.demo import cells
from sm.adapters.agents.demo.view import Bottom

_BRACKETED_PASTE_ON = "\x1b[?2004h"
_BRACKETED_PASTE_OFF = "\x1b[?2004l"


class Terminal:
    def __init__(self, read_fd: int, write_fd: int) -> None:
        self.fd = read_fd
        self._write_fd = write_fd
        self._saved = termios.tcgetattr(read_fd)
        self._drawn: list[str] = []
        self._row = 0
        self._column = 0
        self._title = ""

    def enter(self) -> None:
        """Raw mode. Keys pressed before are lost, as they are at Claude Code's start."""
        tty.setraw(self.fd, termios.TCSAFLUSH)
        self._write(_BRACKETED_PASTE_ON)

    def leave(self) -> None:
        """Give the terminal back: the bottom lines gone, line mode as before."""
        self._write(f"{self._to_top()}\x1b[J{_BRACKETED_PASTE_OFF}")
        self._drawn = []
        termios.tcsetattr(self.fd, termios.TCSADRAIN, self._saved)

    def size(self) -> tuple[int, int]:
        columns, rows = os.get_terminal_size(self._write_fd)
        return max(columns, 10), max(rows, 4)

    def set_title(self, title: str) -> None:
        self._write(self._retitled(title))

    def _retitled(self, title: str) -> str:
        if title == self._title:
            return ""
        self._title = title
        return f"\x1b]2;{cells.plain(title)}\x07"

    def clear(self) -> None:
        """An empty screen. What scrolled away stays in the scrollback."""
        self._write("\x1b[H\x1b[2J")
        self._drawn, self._row, self._column = [], 0, 0

    def frame(self, output: str, bottom: Bottom, *, title: str) -> None:
        """Print above, draw the bottom lines below it and leave the cursor in one of them."""
        printed = output.replace("\n", "\r\n") + "\r\n" if output else ""
        up = len(bottom.lines) - 1 - bottom.row
        place = _moved(up, "A") + "\r" + _moved(bottom.column, "C")
        drawn = "\r\n".join(bottom.lines)
        # The title last: "idle" must not be said while the old screen is still there.
        retitled = self._retitled(title)
        self._write(f"{self._to_top()}\x1b[J{printed}{drawn}{place}{retitled}")
        self._drawn, self._row, self._column = bottom

    def _to_top(self) -> str:
        """To the first of the bottom lines. After a resize the old ones may take more rows."""
        columns, _ = self.size()
        above = self._drawn[: self._row]
        up = sum(max(1, -(-cells.width(line) // columns)) for line in above)
        up += self._column // columns
        return "\r" + _moved(up, "A")

    def _write(self, text: str) -> None:
        rest = text.encode("utf-8", "replace")
        while rest:
            rest = rest[os.write(self._write_fd, rest) :]


def _moved(count: int, direction: str) -> str:
    return f"\x1b[{count}{direction}" if count else ""

"""The terminal somebody sits at, or the files that stand in for it.

Knows its settings and puts them back, its size, and how to read and write it. Knows no agent.
"""

import asyncio
import os
import stat
import termios
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Protocol

from sm.adapters.pty.channel import Borrowed, Inlet, Outlet

DEFAULT_SIZE = (220, 50)


class Listener(Protocol):
    """Whom a console tells what happens."""

    def typed(self, text: bytes) -> None: ...

    def typing_ended(self) -> None: ...

    def emptied(self) -> None:
        """All output was taken; more may be written."""

    def hung_up(self) -> None:
        """Nobody will ever read what is written."""


class Console:
    def __init__(
        self, stdin: int, stdout: int, listener: Listener, environment: Mapping[str, str]
    ) -> None:
        self._environment = environment
        self.types = os.isatty(stdin)
        """Somebody sits at a keyboard."""
        self.is_nobodys = not self.types and stat.S_ISCHR(os.fstat(stdin).st_mode)
        """As /dev/null: there is nobody who could come to an end."""
        self.shows = os.isatty(stdout)
        self._tty = stdin if self.types else stdout if self.shows else None
        self.settings = None if self._tty is None else termios.tcgetattr(self._tty)
        """As the person has them: read anew whenever we take the terminal."""
        self._is_raw = False
        self._stdin, self._stdout = Borrowed(stdin, os.O_RDONLY), Borrowed(stdout, os.O_WRONLY)
        self.input = Inlet(
            self._stdin.fd, take=listener.typed, ended=listener.typing_ended, batch=1
        )
        self._output = Outlet(self._stdout.fd, emptied=self._empty, lost=self._lose)
        self._listener = listener
        self._emptied = asyncio.Event()
        self._emptied.set()

    @property
    def size(self) -> tuple[int, int]:
        """Columns and rows."""
        if self.shows:
            with suppress(OSError):
                size = os.get_terminal_size(self._stdout.fd)
                if size.columns > 0 and size.lines > 0:
                    return size.columns, size.lines
        return self._told("COLUMNS", DEFAULT_SIZE[0]), self._told("LINES", DEFAULT_SIZE[1])

    def _told(self, name: str, otherwise: int) -> int:
        told = self._environment.get(name, "")
        return int(told) if told.isdecimal() and 0 < int(told) <= 10_000 else otherwise

    @property
    def is_ours(self) -> bool:
        """Whether we are in the foreground of the terminal, where there is such a thing."""
        try:
            return self._tty is None or os.tcgetpgrp(self._tty) == os.getpgrp()
        except OSError:
            # Not the terminal we are controlled by: nobody's foreground.
            return True

    def take(self, *, has_signals: bool = False) -> None:
        """Every key is a byte and every byte is shown as it is. ``has_signals``: but the keys that
        interrupt, as Ctrl-C, are signals to us."""
        if self._tty is None or self.settings is None:
            return
        with suppress(termios.error):  # it was hung up
            if not self._is_raw:
                self.settings = termios.tcgetattr(self._tty)
            self._is_raw = True
            raw = _raw(self.settings, has_keyboard=self.types)
            if has_signals:
                raw[3] |= termios.ISIG
            termios.tcsetattr(self._tty, termios.TCSANOW, raw)

    def give_back(self) -> None:
        """As it was when we took it. Somebody else's terminal is left as it is."""
        if self._tty is None or self.settings is None or not self._is_raw:
            return
        self._is_raw = False
        if self.is_ours:
            with suppress(termios.error):
                termios.tcsetattr(self._tty, termios.TCSANOW, self.settings)

    @property
    def is_full(self) -> bool:
        return self._output.is_full

    def write(self, output: bytes) -> None:
        self._output.write(output)
        if self._output.is_full:
            self._emptied.clear()

    def _empty(self) -> None:
        self._emptied.set()
        self._listener.emptied()

    def _lose(self) -> None:
        self._emptied.set()
        self._listener.hung_up()

    async def flush(self, within: float) -> None:
        """Wait until all was taken, but not for ever."""
        with suppress(TimeoutError):
            async with asyncio.timeout(within):
                await self._emptied.wait()

    def close(self) -> None:
        self.give_back()
        self.input.close()
        self._output.close()
        self._stdin.close()
        self._stdout.close()


def _raw(settings: list[Any], *, has_keyboard: bool) -> list[Any]:
    iflag, oflag, cflag, lflag, ispeed, ospeed, keys = settings
    oflag &= ~termios.OPOST
    if has_keyboard:
        iflag &= ~(termios.BRKINT | termios.ICRNL | termios.IGNBRK | termios.IGNCR | termios.INLCR
                   | termios.INPCK | termios.ISTRIP | termios.IXON | termios.PARMRK)  # fmt: skip
        lflag &= ~(termios.ECHO | termios.ECHONL | termios.ICANON | termios.IEXTEN | termios.ISIG)
        cflag = cflag & ~(termios.CSIZE | termios.PARENB) | termios.CS8
        keys = [*keys]
        keys[termios.VMIN], keys[termios.VTIME] = 1, 0
    return [iflag, oflag, cflag, lflag, ispeed, ospeed, keys]

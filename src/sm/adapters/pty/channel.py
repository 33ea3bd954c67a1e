"""The files of two terminals, read and written without ever waiting for them."""

import asyncio
import os
import stat
from collections.abc import Callable

BATCH = 64 * 1024
"""Read in one go before others have their turn."""
_PIECE = 64 * 1024


class Borrowed:
    """Somebody's open file, as a non-blocking one of our own."""

    def __init__(self, fd: int, flags: int) -> None:
        self._is_shared = False
        mode = os.fstat(fd).st_mode
        # A file or /dev/null never makes anybody wait, and opened anew would begin at its start.
        waits = os.isatty(fd) or stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)
        self.fd = self._open(fd, flags) if waits else os.dup(fd)

    def _open(self, fd: int, flags: int) -> int:
        """Opened anew: O_NONBLOCK set on theirs would be the shell's as well, and outlive us."""
        try:
            path = os.ttyname(fd) if os.isatty(fd) else f"/proc/self/fd/{fd}"
            return os.open(path, flags | os.O_NONBLOCK | os.O_NOCTTY)
        except OSError:
            copy = os.dup(fd)
            self._is_shared = os.get_blocking(copy)
            os.set_blocking(copy, False)
            return copy

    def close(self) -> None:
        if self._is_shared:
            os.set_blocking(self.fd, True)
        os.close(self.fd)


class Inlet:
    """Reads while it is open; pausing it is what makes the writer wait."""

    def __init__(
        self, fd: int, *, take: Callable[[bytes], None], ended: Callable[[], None], batch: int
    ) -> None:
        self._fd = fd
        self._take = take
        self._ended = ended
        self._batch = batch
        self._loop = asyncio.get_running_loop()
        self._is_open = False
        self._is_over = False
        self._is_polled = False

    def open(self) -> None:
        if self._is_open or self._is_over:
            return
        self._is_open = True
        try:
            self._loop.add_reader(self._fd, self._read)
            self._is_polled = True
        except PermissionError:
            # A file: always ready, so the selector will not have it.
            self._loop.call_soon(self._read_on)

    def pause(self) -> None:
        if self._is_open and self._is_polled:
            self._loop.remove_reader(self._fd)
        self._is_open = False

    def close(self) -> None:
        self.pause()
        self._is_over = True

    def drain(self) -> None:
        """Take all that is there now, even while it is paused."""
        while not self._is_over and self._read():
            pass

    def _read_on(self) -> None:
        if self._is_open:
            self._read()
            self._loop.call_soon(self._read_on)

    def _read(self) -> bool:
        """Whether something was there."""
        pieces, size, over = [], 0, False
        while size < self._batch:
            try:
                piece = os.read(self._fd, _PIECE)
            except BlockingIOError:
                break
            except OSError:
                # A terminal whose other side is gone says so in this way.
                piece = b""
            if not piece:
                over = True
                break
            pieces.append(piece)
            size += len(piece)
        if pieces:
            self._take(b"".join(pieces))
        if over and not self._is_over:
            self.close()
            self._ended()
        return bool(pieces)


class Outlet:
    """Writes what it can and holds the rest; whoever feeds it stops while it is full."""

    def __init__(self, fd: int, *, emptied: Callable[[], None], lost: Callable[[], None]) -> None:
        self._fd = fd
        self._emptied = emptied
        self._lost = lost
        self._loop = asyncio.get_running_loop()
        self._held = bytearray()
        self._is_over = False

    @property
    def is_full(self) -> bool:
        return bool(self._held)

    def write(self, output: bytes) -> None:
        if self._is_over:
            return
        if self._held:
            self._held += output
            return
        rest = self._write(output)
        if rest:
            self._held += rest
            self._loop.add_writer(self._fd, self._write_on)

    def close(self) -> None:
        if self._held:
            self._loop.remove_writer(self._fd)
        self._held.clear()
        self._is_over = True

    def _write_on(self) -> None:
        rest = self._write(self._held)
        if self._is_over:
            return
        self._held = bytearray(rest)
        if not rest:
            self._loop.remove_writer(self._fd)
            self._emptied()

    def _write(self, output: bytes | bytearray) -> bytes:
        """What could not be written now."""
        done = 0
        try:
            while done < len(output):
                done += os.write(self._fd, output[done : done + _PIECE] if done else output)
        except BlockingIOError:
            return bytes(output[done:])
        except OSError:
            self.close()
            self._loop.call_soon(self._lost)
        return b""

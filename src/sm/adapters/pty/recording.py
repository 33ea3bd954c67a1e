"""All one launch of an agent shows: kept in the log, and known well enough to tidy up behind it."""

import time
from collections.abc import Callable

from sm.adapters.pty.log import RawLog
from sm.adapters.pty.modes import Modes
from sm.adapters.pty.screen import Screen


class Recording:
    def __init__(
        self,
        raw: str,
        sizes: str,
        size: tuple[int, int],
        *,
        now: Callable[[], float] = time.time,
    ) -> None:
        self.log = RawLog(raw, sizes, now=now)
        self.began = self.log.end
        """The offset of its first byte."""
        self._modes = Modes()
        self._size = size
        self._screen = Screen(self.log.raw, self.began, *size)
        self.log.note_size(*size)

    def append(self, output: bytes) -> None:
        self.log.append(output)
        self._modes.feed(output)

    def resize(self, size: tuple[int, int]) -> bool:
        """Whether it is another size than before."""
        if size == self._size:
            return False
        self._size = size
        self._screen.resize(self.log.end, *size)
        self.log.note_size(*size)
        return True

    def tidy(self) -> bytes:
        """What undoes the modes that were left on; the log has it too."""
        undo = self._modes.undo()
        self.log.append(undo)
        return undo

    async def screen(self) -> Screen:
        """As of now."""
        await self._screen.catch_up(self.log.end)
        return self._screen

    def close(self) -> None:
        self.log.close()

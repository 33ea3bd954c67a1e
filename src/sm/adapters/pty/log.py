"""What an agent's terminal received, byte by byte, and the sizes it had meanwhile.

The same two files a tmux pane leaves. A disk that is full costs the log, never the agent.
"""

import os
import time
from collections.abc import Callable
from pathlib import Path

from sm.core.launch import LaunchFailedError

_CREATE = os.O_WRONLY | os.O_CREAT | os.O_APPEND


class RawLog:
    def __init__(self, raw: str, sizes: str, *, now: Callable[[], float] = time.time) -> None:
        self.raw, self.sizes = Path(raw), Path(sizes)
        self._now = now
        try:
            self._raw = os.open(raw, _CREATE, 0o600)
            self._sizes = os.open(sizes, _CREATE, 0o600)
            self.began = self.end = os.fstat(self._raw).st_size
        except OSError as error:
            raise LaunchFailedError(f"the terminal's log cannot be written: {error}") from error

    def append(self, output: bytes) -> None:
        rest = memoryview(output)
        try:
            while rest:
                written = os.write(self._raw, rest)
                self.end += written
                rest = rest[written:]
        except OSError:
            # The disk is full. The person sees the output; what comes later may be kept again.
            return

    def note_size(self, cols: int, rows: int) -> None:
        line = f'{{"at":{int(self._now())},"cols":{cols},"rows":{rows},"offset":{self.end}}}\n'
        try:
            os.write(self._sizes, line.encode())
        except OSError:
            return

    def close(self) -> None:
        os.close(self._raw)
        os.close(self._sizes)

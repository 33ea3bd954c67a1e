"""The language of a control-mode connection: bytes in, finished answers out. No I/O."""

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """tmux's answer to one command of ours."""

    lines: tuple[str, ...]
    failed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """A line tmux sent unasked, such as ``%sessions-changed``."""

    line: str


class BlockReader:
    """Cuts the byte stream into blocks and notices.

    A block ends at the guard that repeats its own time, number and flags, so a screen that shows
    ``%end`` does not end it.
    """

    def __init__(self) -> None:
        self._rest = b""
        self._guard: str | None = None
        self._lines: list[str] = []

    def feed(self, data: bytes) -> Iterator[Block | Notice]:
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            found = self._take(line.decode(errors="replace"))
            if found is not None:
                yield found

    def _take(self, line: str) -> Block | Notice | None:
        word, _, guard = line.partition(" ")
        if self._guard is not None:
            return self._inside(line, word, guard)
        if word == "%begin":
            self._guard, self._lines = guard, []
            return None
        return Notice(line=line)

    def _inside(self, line: str, word: str, guard: str) -> Block | None:
        if guard != self._guard or word not in {"%end", "%error"}:
            self._lines.append(line)
            return None
        self._guard = None
        # Flag 0: the answer to a command that was not sent over this connection (the attach).
        if guard.endswith(" 0"):
            return None
        return Block(lines=tuple(self._lines), failed=word == "%error")

"""Claude Code's transcript as lines from its end, whatever their size."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

BLOCK = 256 * 1024


def lines_backwards(path: Path) -> Iterator[bytes]:
    """Whole lines, last first; nothing for a file that is not there (yet)."""
    try:
        file = path.open("rb")
    except OSError:
        # No transcript is written before the first prompt.
        return
    with file:
        yield from _lines(file)


def _lines(file: BinaryIO) -> Iterator[bytes]:
    end = file.seek(0, os.SEEK_END)
    # A line larger than a block is put together once, not block by block.
    tail: list[bytes] = []
    while end > 0:
        start = max(0, end - BLOCK)
        file.seek(start)
        first, *whole = file.read(end - start).split(b"\n")
        if whole:
            yield b"".join([whole.pop(), *reversed(tail)])
            yield from reversed(whole)
            tail = []
        tail.append(first)
        end = start
    yield b"".join(reversed(tail))

"""Claude Code's transcript as lines from its end, whatever their size."""

import io
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

BLOCK = 256 * 1024
HEAD = 1024
"""Enough of a long line to see whether it is wanted."""


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


def end_of_lines(file: io.FileIO, start: int, end: int) -> int:
    """Where the last whole line of this part of the file ends; ``start`` if there is none."""
    return next((place + 1 for place in _line_ends(file, start, end)), start)


def wanted_lines(
    file: io.FileIO, start: int, end: int, is_wanted: Callable[[bytes], bool]
) -> Iterator[bytes]:
    """Lines of this part of the file, last first; a long one is read only if its head is wanted."""
    for place in _line_ends(file, start, end):
        if place + 1 < end:
            yield from _wanted(file, place + 1, end, is_wanted)
        end = place
    yield from _wanted(file, start, end, is_wanted)


def read_at(file: io.FileIO, start: int, end: int) -> bytes:
    """This part of the file, as far as it is there."""
    file.seek(start)
    return file.read(end - start)


def _wanted(
    file: io.FileIO, start: int, end: int, is_wanted: Callable[[bytes], bool]
) -> Iterator[bytes]:
    head = read_at(file, start, min(end, start + HEAD))
    if is_wanted(head):
        yield head if end <= start + HEAD else read_at(file, start, end)


def _line_ends(file: io.FileIO, start: int, end: int) -> Iterator[int]:
    """The places of the newlines, last first."""
    # One buffer for all blocks: memory that is new costs more than reading the file.
    buffer = bytearray(min(BLOCK, end - start))
    while end > start:
        begin = max(start, end - BLOCK)
        file.seek(begin)
        place = file.readinto(memoryview(buffer)[: end - begin]) or 0
        while (place := buffer.rfind(b"\n", 0, place)) >= 0:
            yield begin + place
        end = begin

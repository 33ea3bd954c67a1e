"""Sequences that tell a terminal a colour, raw or as programs and JSON write them down.

They stand between a name and its value, and in the middle of a token of which a search has marked a
part. So rules are given a text with blanks in their place, and such places once more without.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

# Each way begins with a letter of its own, which Python's matcher finds four times as fast.
SEQUENCE = r"(?:\x1b|\\\\*(?:u001[bB]|x1[bB]|033|e)|\^\[)(?:\[[0-9;:?]{0,24}[A-Za-z]|\([AB0])"
LITERALS = (b"\x1b", b"1b[", b"33[", b"\\e[", b"^[[", b"1b(", b"33(", b"\\e(")
_sequence = re.compile(SEQUENCE.encode())
BEFORE, BEHIND = 256, 1024
"""How much around a sequence belongs to the same piece."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A part of a text, without its colours."""

    text: bytes
    begin: int
    """Where it stands in the whole text."""
    gaps: tuple[tuple[int, int], ...]
    """From which place on, how many bytes are missing before it."""

    def place(self, at: int) -> int:
        """Where a byte of the piece stands in the whole text."""
        before = bisect_right(self.gaps, at, key=lambda gap: gap[0])
        return self.begin + at + (self.gaps[before - 1][1] if before else 0)


def blanked(text: bytes) -> bytes:
    """As long as before."""
    return _sequence.sub(lambda found: b" " * len(found[0]), text)


def pieces(text: bytes) -> Iterator[Piece]:
    """The parts of a text that have colours, without them."""
    run: list[tuple[int, int]] = []
    for found in _sequence.finditer(text):
        if run and found.start() - run[-1][1] > BEHIND:
            yield _around(text, run)
            run = []
        run.append(found.span())
    if run:
        yield _around(text, run)


def _around(text: bytes, run: list[tuple[int, int]]) -> Piece:
    return bare(text, run, begin=max(0, run[0][0] - BEFORE), end=run[-1][1] + BEHIND)


def bare(text: bytes, run: Iterable[tuple[int, int]], *, begin: int, end: int) -> Piece:
    """A part of a text without some places in it."""
    last, missing = begin, 0
    parts, gaps = [], []
    for first, behind in run:
        parts.append(text[last:first])
        missing += behind - first
        gaps.append((behind - begin - missing, missing))
        last = behind
    parts.append(text[last:end])
    return Piece(text=b"".join(parts), begin=begin, gaps=tuple(gaps))

"""Ends of lines that a program put into a text to make it fit its window.

What a terminal shows has them in the middle of tokens, and nothing tells them from the text's own.
So rules are given what a terminal showed once more, with every end of a line taken out that may be
such a one; of what they find there, only what reaches across a line is new.
"""

import re
from collections.abc import Iterator

from sm.redaction.colours import Piece, bare

NARROWEST = 40
"""Bytes. A window in which tokens are cut is at least as wide."""
_END = re.compile(rb"(?<=[\w+/=.&%?:@~-])\n[ \t]*(?=[\w+/=.&%?:@~-])")


def joined(text: bytes) -> Piece | None:
    """The text without them, if there are any."""
    run = list(_ends(text))
    return bare(text, run, begin=0, end=len(text)) if run else None


def crosses(piece: Piece, begin: int, end: int) -> bool:
    """Whether a find in it reaches across a line of the text."""
    return piece.place(end - 1) - piece.place(begin) != end - 1 - begin


def _ends(text: bytes) -> Iterator[tuple[int, int]]:
    for found in _END.finditer(text):
        line = found.start() - text.rfind(b"\n", 0, found.start()) - 1
        if line >= NARROWEST:
            yield found.span()

"""Whether Claude Code finds its whole conversation in a transcript when it is asked to resume it.

Found by running the client: it passes over torn lines, ends where no conversation is found, drops a
call without a result, and writes on behind a last line that has no end. It follows each record to
the one before it. Where one is missing, the conversation lacks it; and where the client had noted
an end of the conversation before, all that came after that note is lost without a word.
"""

from collections.abc import Iterator
from pathlib import Path

from sm.adapters.agents.claude import entries
from sm.core.exchange import Integrity

_ID, _PARENT = b'"uuid":"', b'"parentUuid":"'
_COMPACTED = b'"subtype":"compact_boundary"'
_SAID = (b'"type":"user"', b'"type":"assistant"')
HEAD, SHORT = 400, 4_000
"""A record names the one before it this near to its beginning; that of a compaction is short."""

EMPTY = "no conversation is in it"
TORN = "its last record is torn"
BROKEN = "a record is missing from its middle"


def examine(path: Path) -> Integrity:
    """Raises OSError."""
    chain = _Chain()
    torn, is_torn_now, is_begun = 0, False, False
    for line in entries.lines(path):
        if not line.strip():
            continue
        is_torn_now = not _is_whole(line)
        torn += is_torn_now
        if not is_torn_now:
            is_begun = is_begun or any(kind in line for kind in _SAID)
            chain.add(line)
    if not is_begun:
        return Integrity(torn=torn, flaw=EMPTY)
    if is_torn_now:
        return Integrity(torn=torn, flaw=TORN)
    return Integrity(torn=torn, flaw=BROKEN if chain.is_broken else None)


class _Chain:
    """Every record's own name and the one it follows, as numbers: a long transcript has many."""

    def __init__(self) -> None:
        self._known: set[int] = set()
        self._followed: set[int] = set()

    def add(self, line: bytes) -> None:
        if len(line) < SHORT and _COMPACTED in line:
            # The client begins there: what was before is not asked for any more.
            self._followed.clear()
        self._known.update(_named(line, _ID, len(line)))
        self._followed.update(n for n in _named(line, _PARENT, HEAD) if n not in self._known)

    @property
    def is_broken(self) -> bool:
        return not self._followed <= self._known


def _named(line: bytes, key: bytes, end: int) -> Iterator[int]:
    """Inside a JSON string a quote is never bare: what is found is a key of some record."""
    place = line.find(key, 0, end)
    while place >= 0:
        begin = place + len(key)
        yield hash(line[begin : line.find(b'"', begin)])
        place = line.find(key, begin, end)


def _is_whole(line: bytes) -> bool:
    """By its ends alone, where it has an end; the last one may have none and be whole."""
    if not line.startswith(b"{") or not line.rstrip().endswith(b"}"):
        return False
    return line.endswith(b"\n") or entries.decoded(line) is not None

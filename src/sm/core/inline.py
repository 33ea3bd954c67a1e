"""A handoff put straight into a new context: as much of its document as an agent takes at once.

The whole document if it fits. Else its essence, and where the rest is, chapter by chapter. Lengths
are in UTF-16 units, as agents count them.
"""

import re
from dataclasses import dataclass
from itertools import pairwise

LIMIT = 9_400
"""For what a context's start is told; agents take 10,000, and are taught something too."""
ESSENCE = 7_600
"""Bytes for the essence of a document that does not fit."""
_CHAPTER = re.compile(r"^#{1,2} +(.+)$", re.MULTILINE)
_ESSENTIAL = re.compile(r"goal|request|asked|task|next|todo|to do|open", re.IGNORECASE)
OUTLINE = 1_200
"""For the names of the chapters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """What a context is told at its start, and where that comes from."""

    id: str
    channel: str
    context: str
    """The agent's own name for the context that was left."""
    kind: str
    document: str
    """Its path."""


def load(about: Loaded, text: str, essence: str | None = None) -> str:
    """The document between its marks; the essence is a shorter form of it, where there is one."""
    head = (
        f"=== HANDOFF LOADED (ID: {about.id}) ===\n"
        f"Channel: {about.channel}\n"
        f"Previous Session: {about.context}\n"
        f"Type: {about.kind}\n"
    )
    end = "=== END HANDOFF ==="
    room = LIMIT - _length(head) - _length(end) - 2
    if _length(text) <= room:
        return f"{head}{text.rstrip()}\n{end}"
    rest = _rest(about.document, text)
    room -= _length(rest) + 1
    shown = essence if essence is not None and _length(essence) <= room else _essence(text, room)
    return f"{head}{shown.rstrip()}\n{rest}\n{end}"


def _rest(path: str, text: str) -> str:
    names = ", ".join(found.group(1) for found in _CHAPTER.finditer(text))
    return (
        f"\nThis is the essential part. The whole document ({len(text.encode()):,} bytes) is"
        f" {path}\nIts chapters: {_cut(names, OUTLINE)}"
    )


def _essence(text: str, room: int) -> str:
    """The chapters a successor needs first, shortened if need be; then those that fit whole."""
    chapters = _chapters(text)
    first = [n for n, chapter in enumerate(chapters) if _is_essential(chapter)] or [0]
    others = [n for n in range(len(chapters)) if n not in first]
    kept: dict[int, str] = {}
    for n in (*first, *others):
        chapter = chapters[n]
        if _length(chapter) > room and n in first:
            chapter = f"{_cut(chapter, room * 2 // 3)}\n"
        if _length(chapter) <= room:
            kept[n] = chapter
            room -= _length(chapter)
    return "".join(kept[n] for n in sorted(kept))


def _is_essential(chapter: str) -> bool:
    title = _CHAPTER.match(chapter)
    return title is not None and _ESSENTIAL.search(title.group(1)) is not None


def _chapters(text: str) -> list[str]:
    starts = [found.start() for found in _CHAPTER.finditer(text)]
    bounds = [0, *(start for start in starts if start), len(text)]
    return [text[a:b] for a, b in pairwise(bounds) if a < b]


def _length(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def _cut(text: str, units: int) -> str:
    if _length(text) <= units:
        return text
    kept = text.encode("utf-16-le", "surrogatepass")[: max(units - 2, 0) * 2]
    return f"{kept.decode('utf-16-le', 'ignore')} …"

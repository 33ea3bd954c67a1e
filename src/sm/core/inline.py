"""A handoff put straight into a new context: as much of its document as an agent takes at once.

The whole document if it fits. Else its essence, and where the rest is, chapter by chapter.
"""

import re
from dataclasses import dataclass
from itertools import pairwise

LIMIT = 9_400
"""Characters a context's start may be told; agents take 10,000, and are taught something too."""
ESSENCE = 7_600
"""Bytes for the essence of a document that does not fit."""
_CHAPTER = re.compile(r"^#{1,2} +(.+)$", re.MULTILINE)
_ESSENTIAL = re.compile(r"goal|request|asked|task|next|todo|to do|open", re.IGNORECASE)
OUTLINE = 1_200
"""Characters for the names of the chapters."""


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
    room = LIMIT - len(head) - len(end) - 2
    if len(text) <= room:
        return f"{head}{text.rstrip()}\n{end}"
    rest = _rest(about.document, text)
    room -= len(rest) + 1
    shown = essence if essence is not None and len(essence) <= room else _essence(text, room)
    return f"{head}{shown.rstrip()}\n{rest}\n{end}"


def _rest(path: str, text: str) -> str:
    names = ", ".join(found.group(1) for found in _CHAPTER.finditer(text))
    outline = names if len(names) <= OUTLINE else f"{names[:OUTLINE]} …"
    return (
        f"\nThis is the essential part. The whole document ({len(text.encode()):,} bytes) is"
        f" {path}\nIts chapters: {outline}"
    )


def _essence(text: str, room: int) -> str:
    """The chapters a successor needs first, whole if they fit; then the others, in their order."""
    chapters = _chapters(text)
    ranked = sorted(chapters, key=lambda c: not _ESSENTIAL.search(c.partition("\n")[0]))
    kept: list[str] = []
    for chapter in ranked:
        if len(chapter) <= room:
            kept.append(chapter)
            room -= len(chapter)
        elif not kept:
            kept.append(f"{chapter[: room - 2]}…\n")
            break
    return "".join(chapter for chapter in chapters if chapter in kept) or "".join(kept)


def _chapters(text: str) -> list[str]:
    starts = [found.start() for found in _CHAPTER.finditer(text)]
    bounds = [0, *(start for start in starts if start), len(text)]
    return [text[a:b] for a, b in pairwise(bounds) if a < b]

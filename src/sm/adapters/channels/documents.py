"""Reads a handoff's document, if it says it is this handoff's."""

from pathlib import Path

from sm.adapters.handoffs.document import read_document
from sm.core.channel import named_in
from sm.core.ids import HandoffId
from sm.core.passage import DocumentError

LARGEST = 64_000_000
"""Bytes; what an agent may write is limited elsewhere."""


def read_named(path: str, handoff: HandoffId) -> bytes:
    """The document; raises DocumentError where it is missing, spoilt or another one's."""
    content = read_document(Path(path), LARGEST)
    said = named_in(content.partition(b"\n")[0].decode(errors="replace"))
    if said != handoff:
        what = f"says it is {said}" if said else "does not say which handoff it is"
        raise DocumentError(
            f"{path!r} {what}. Its first line must be <!-- HANDOFF-ID: {handoff} -->"
        )
    return content

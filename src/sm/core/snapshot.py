"""A snapshot as a value: what a session's terminal held at one time, and which of them are kept."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from sm.core.ids import SessionId

MOST = 20
LARGEST = 20_000_000
"""How many snapshots a session has at most, and how many bytes all together."""


class Why(StrEnum):
    """What a snapshot was taken for."""

    TURN_END = "turn end"
    """A turn was over: the agent's last words stand there."""
    CRASH = "crash"
    """The agent ended unasked, and its pane still showed how."""
    HEARTBEAT = "heartbeat"
    """Time had passed, and something was new."""
    ASKED = "asked"
    """Somebody wanted one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    session: SessionId
    name: str
    """Unique in its session; later ones sort behind it."""
    path: str
    at: float
    lines: int
    size: int
    """In bytes."""
    why: Why


def surplus(sizes: Iterable[tuple[str, int]]) -> Iterator[str]:
    """Of names with their sizes, newest first, those that are too many; never the newest."""
    total = 0
    for number, (name, size) in enumerate(sizes):
        total += size
        if number and (number >= MOST or total > LARGEST):
            yield name

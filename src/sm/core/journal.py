"""What is committed for one event: the unit the store keeps whole or not at all."""

from dataclasses import dataclass

from sm.core.effects import Effect
from sm.core.events import Event
from sm.core.ids import HookId, SessionId
from sm.core.message import Message
from sm.core.passage import Handoff
from sm.core.state import Session


class NotStoredError(Exception):
    """A commit did not happen; nothing of it was kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingEffect:
    id: int
    session: SessionId
    effect: Effect


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One event and everything it led to."""

    session: Session
    """The state after the event, open messages included."""
    event: Event
    at: float
    hook: HookId | None
    messages: tuple[Message, ...]
    """Those the event changed, closed ones included."""
    handoffs: tuple[Handoff, ...] = ()
    """Likewise."""
    asked: tuple[PendingEffect, ...]
    finished: int | None
    """The effect whose outcome this event is."""
    changed: bool = True
    """Whether the session's own row must be written. False when only the age of its evidence moved
    on, as with most tool calls: the event tells that, and a restart begins with older evidence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """An event as read back from the log."""

    seq: int
    session: SessionId
    at: float
    event: Event

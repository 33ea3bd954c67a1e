"""When the next snapshot of a session is to be taken, by what happened to it since the last one.

Knows no clock and takes none: moments are given, as the event loop counts them.
"""

from dataclasses import dataclass

from sm.core.snapshot import Why
from sm.core.state import Session, State

DRAWN = 1.0
"""Agents report the end of a turn before they have drawn it to its end."""
PAUSE = 5.0
"""From one snapshot of a session to the next one that nobody asked for."""
RETRY = 30.0
"""After one that failed."""


@dataclass(slots=True, kw_only=True)
class Due:
    """One session, as far as its snapshots are concerned. Times are the event loop's."""

    seen: Session | None = None
    """As it was at the last look."""
    due: float | None = None
    """When to keep a turn's end, or a crash, where there is one that is not kept."""
    drawn: float = 0.0
    """When the last of them is drawn."""
    why: Why = Why.TURN_END
    beats: bool = False
    """A heartbeat found something new."""
    rests: float = 0.0
    """Until when nothing is taken that nobody asked for."""
    size: int | None = None
    """That of the raw log, as far as it is kept."""
    failure: str = ""
    """What was told last."""

    def note(self, session: Session, now: float) -> None:
        """Look whether a turn has ended, or its agent, since the last look."""
        before, self.seen = self.seen, session
        if before is session:
            return
        if _has_crashed(session) != _has_crashed(before):
            # At once: it may be brought back, in another pane. If it was, there is nothing left.
            self.why, self.drawn, self.rests = Why.CRASH, now, 0.0
            self.due = now if _has_crashed(session) else None
        elif _has_ended_a_turn(before, session):
            self.why, self.drawn = Why.TURN_END, now + DRAWN
            self.due = self.drawn if self.due is None else self.due

    def cover(self, size: int | None, began: float) -> None:
        """What was drawn when a snapshot was begun is kept; what ended later is still to be."""
        self.size, self.beats, self.failure = size, False, ""
        self.rests = began + PAUSE
        if self.due is not None:
            self.due = self.drawn if self.drawn > began else None

    def fail(self, now: float, *, again: bool) -> None:
        self.beats, self.rests = False, now + RETRY
        if not again:
            self.due = None

    @property
    def can_be_seen(self) -> bool:
        """A crashed agent's pane may still stand there."""
        session = self.seen
        if session is None or session.pane is None or session.lost:
            return False
        return session.alive or _has_crashed(session)

    @property
    def when(self) -> float | None:
        """When the next one is to be taken."""
        wanted = 0.0 if self.beats else self.due
        return None if wanted is None else max(wanted, self.rests)


def _has_crashed(session: Session | None) -> bool:
    return session is not None and session.state is State.CRASHED


def _has_ended_a_turn(before: Session | None, after: Session) -> bool:
    """Some ends come without a report, some without a turn that was known."""
    reported, counted = 0.0, 0
    if before is not None:
        reported = before.turn_ended_at
        # Each context counts its own.
        counted = before.context.turns if before.context.number == after.context.number else 0
    return after.turn_ended_at > reported or after.context.turns > counted

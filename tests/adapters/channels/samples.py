"""Handoffs to leave and claimants to give them to."""

from pathlib import Path

from sm.core.channel import Claimant, Kind, NewHandoff, handoff_name
from sm.core.ids import ContextId, SessionId

NOON = 1_770_000_000.0
HOUR = 3600.0
ADA, BOB = SessionId("0a1b2c3d"), SessionId("b0b00000")


def left(
    folder: Path, at: float = NOON, *, channel: str = "api", session: SessionId = ADA
) -> NewHandoff:
    """A handoff with its document, as its author would leave it."""
    name = handoff_name(at, session)
    document = folder / f"{name}.md"
    document.write_text(f"<!-- HANDOFF-ID: {name} -->\n\n# Work of {session}\n")
    return NewHandoff(
        id=name,
        channel=channel,
        root="/src/api",
        kind=Kind.SELF,
        session=session,
        context=None,
        created_at=at,
        created_by_pid=4242,
        working_dir="/src/api/x",
        document=str(document),
    )


def claimant(
    session: SessionId = ADA, *, pid: int = 7, started: int = 70, transcript: str | None = None
) -> Claimant:
    return Claimant(
        session=session,
        context=ContextId(f"{session}-2"),
        pid=pid,
        started=started,
        transcript=transcript,
    )

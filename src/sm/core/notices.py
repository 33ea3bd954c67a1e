"""What sm itself tells sessions of one another, and why it is told once."""

import hashlib

from sm.core.effects import QueueNotice
from sm.core.ids import MessageId, SessionId
from sm.core.message import Message
from sm.core.state import Session


def notice(session: Session, to: SessionId, about: str, words: str, now: float) -> QueueNotice:
    """A message from sm itself to another session, telling of this one."""
    key = f"{session.id}:{to}:{about}:{words}"
    return QueueNotice(
        to=to,
        message=Message(
            id=derived_id(key), to=to, sender_name="sm", text=f"[sm] {words}", queued_at=now,
            notify=False,
        ),
    )  # fmt: skip


def derived_id(key: str) -> MessageId:
    """An id that the same cause always gives again."""
    return MessageId(hashlib.sha256(key.encode()).hexdigest()[:12])


def brief(text: str, limit: int = 200) -> str:
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 1] + "…"

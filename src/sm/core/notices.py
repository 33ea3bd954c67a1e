"""What sm itself tells sessions of one another and the person, and why it is told once."""

import hashlib
from dataclasses import dataclass

from sm.core.effects import QueueNotice
from sm.core.ids import MessageId, NoticeId, SessionId
from sm.core.message import Message
from sm.core.state import Session


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonNotice:
    """What the person is to know of a session."""

    id: NoticeId
    session: SessionId
    words: str
    at: float
    seen: bool = False
    """A command has shown it on a terminal."""
    while_crashed: bool = False
    """It means nothing any more once the session is back, or ended."""


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


def person_notice_id(session: SessionId, about: str) -> NoticeId:
    return NoticeId(derived_id(f"{session}:person:{about}"))


def derived_id(key: str) -> MessageId:
    """An id that the same cause always gives again."""
    return MessageId(hashlib.sha256(key.encode()).hexdigest()[:12])

"""Reminders: text that a session is sent later, once or again and again."""

from dataclasses import replace

from sm.core import delivery
from sm.core.effects import Effect
from sm.core.events import MessageQueued, ReminderCancelled, ReminderSet
from sm.core.ids import MessageId, SessionId
from sm.core.message import Message
from sm.core.notices import derived_id
from sm.core.state import Reminder, Session

Result = tuple[Session, tuple[Effect, ...]]


def set_(session: Session, event: ReminderSet) -> Session:
    reminder = Reminder(
        id=event.id,
        text=event.text,
        due=event.due,
        every=event.every,
        sender_name=event.sender_name,
    )
    others = tuple(r for r in session.reminders if r.id != event.id)
    session = replace(session, reminders=(*others, reminder))
    return session.with_timer(f"reminder:{event.id}", event.due)


def cancelled(session: Session, event: ReminderCancelled) -> Session:
    kept = tuple(r for r in session.reminders if r.id != event.id)
    return replace(session, reminders=kept).with_timer(f"reminder:{event.id}", None)


def dropped(session: Session) -> Session:
    """The session without its reminders: it has ended, nobody is left to be reminded."""
    for reminder in session.reminders:
        session = session.with_timer(f"reminder:{reminder.id}", None)
    return replace(session, reminders=())


def message_id(session: SessionId, reminder: str, fired: int) -> MessageId:
    """A reminder's nth message always has the same id: it cannot be sent twice."""
    return derived_id(f"{session}:{reminder}:{fired}")


def first_message_id(session: SessionId, reminder: str) -> MessageId:
    return message_id(session, reminder, 0)


def fired(session: Session, reminder_id: str, now: float) -> Result:
    """Queue the reminder as a message; a repeating one is set again, missed rounds skipped."""
    reminder = next((r for r in session.reminders if r.id == reminder_id), None)
    if reminder is None:
        return session, ()
    last = session.message(message_id(session.id, reminder.id, reminder.fired - 1))
    # While the last round still waits, one reminder is enough.
    is_told = last is None or not last.is_open
    session = _set_again(session, reminder, now, reminder.fired + is_told)
    if not is_told:
        return session, ()
    message = Message(
        id=message_id(session.id, reminder.id, reminder.fired),
        to=session.id,
        sender_name=reminder.sender_name,
        text=f"[sm reminder] {reminder.text}",
        queued_at=now,
        notify=False,
    )
    return delivery.queued(session, MessageQueued(message=message), now)


def _set_again(session: Session, reminder: Reminder, now: float, fired: int) -> Session:
    others = tuple(r for r in session.reminders if r.id != reminder.id)
    if reminder.every is None:
        return replace(session, reminders=others)
    rounds = int((now - reminder.due) // reminder.every) + 1
    again = replace(reminder, due=reminder.due + rounds * reminder.every, fired=fired)
    session = replace(session, reminders=(*others, again))
    return session.with_timer(f"reminder:{reminder.id}", again.due)

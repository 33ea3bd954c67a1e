"""Messages and reminders to sessions, as calls: each returns when it is on the disk."""

import secrets
from collections.abc import Callable
from dataclasses import dataclass

from sm.core.envelope import sanitise
from sm.core.events import MessageCancelled, MessageQueued, ReminderCancelled, ReminderSet
from sm.core.ids import MessageId, ReminderId, SessionId
from sm.core.message import Message, MessageState, Mode
from sm.core.reminder import first_message_id
from sm.core.state import Reminder, Session, State
from sm.engine import naming
from sm.engine.loop import Loop
from sm.engine.naming import RefusedError
from sm.engine.ports import Clock, Store

MAX_TEXT = 1_000_000
UNKNOWN = "unknown"
"""Who sent a message, if it was no person and is no session's id either."""
ENVELOPE = 200
"""Characters around a message's text, at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewMessage:
    id: MessageId
    to: str
    sender: str | None
    text: str
    mode: Mode
    notify: bool
    expires_in: float | None


class Mail:
    def __init__(
        self, loop: Loop, store: Store, clock: Clock, run_name: Callable[[str], str | None]
    ) -> None:
        self._loop = loop
        self._store = store
        self._clock = clock
        self._run_name = run_name

    async def message(self, message_id: MessageId) -> Message:
        for session in self._loop.sessions:
            held = session.message(message_id)
            if held is not None:
                return held
        stored = await self._store.message(message_id)
        if stored is None:
            raise naming.NotFoundError(f"There is no message {message_id!r}. See: sm messages")
        return stored

    async def send(self, request: NewMessage) -> Message:
        """Queue a message. The same id again is the same message, sent again."""
        known = await self._stored_message(self._find(request.to).id, request.id)
        target = self._find(request.to)
        if known is not None:
            if (known.to, known.text) != (target.id, request.text):
                raise RefusedError(f"Message id {request.id} was used for another message.")
            return known
        if target.state is State.ENDED:
            raise RefusedError(f"{target.name} has ended. Start a new session with: sm new")
        _refuse_unbearable(target, request.text)
        sender, sender_name = self._sender(request.sender)
        now = self._clock.now()
        message = Message(
            id=request.id,
            to=target.id,
            sender=sender,
            sender_name=sender_name,
            mode=request.mode,
            text=checked(request.text),
            queued_at=now,
            notify=request.notify,
            expires_at=now + request.expires_in if request.expires_in is not None else None,
        )
        session = await self._loop.post(target.id, MessageQueued(message=message))
        return session.message(message.id) or message

    def _find(self, reference: str) -> Session:
        return naming.find(reference, self._loop.sessions)

    async def _stored_message(self, to: SessionId, message_id: MessageId) -> Message | None:
        held = await self._loop.stored(lambda: self._loop.session(to).message(message_id))
        return held or await self._store.message(message_id)

    def _sender(self, reference: str | None) -> tuple[SessionId | None, str]:
        """Its id if it is one of ours, and its name. Only without any is it a person: an agent
        must not take another's words for theirs."""
        if reference is None:
            return None, "you"
        try:
            session = self._find(reference)
        except naming.NotFoundError:
            is_id = naming.looks_like_id(reference)
            return None, self._run_name(reference) or (reference if is_id else UNKNOWN)
        return session.id, session.name

    async def cancel(self, message_id: MessageId) -> Message:
        message = await self.message(message_id)
        if message.state is MessageState.QUEUED:
            session = await self._loop.post(message.to, MessageCancelled(message=message_id))
            message = session.message(message_id) or message
        if message.state is not MessageState.CANCELLED:
            raise RefusedError(
                f"Message {message_id} is {message.state.value}: it can no longer be withdrawn."
            )
        return message

    async def remind(
        self,
        reference: str,
        text: str,
        *,
        due_in: float,
        every: float | None,
        sender: str | None,
        reminder_id: ReminderId | None = None,
    ) -> Reminder:
        """Set a reminder. The same id again is the same reminder, sent again."""
        found = self._find(reference).id
        known = await self._loop.stored(lambda: _reminder(self._loop.session(found), reminder_id))
        if known is not None:
            return known
        session = self._loop.session(found)
        if session.state is State.ENDED:
            raise RefusedError(f"{session.name} has ended and cannot be reminded.")
        _, sender_name = self._sender(sender)
        event = ReminderSet(
            id=reminder_id or ReminderId(secrets.token_hex(4)),
            text=checked(text),
            due=self._clock.now() + due_in,
            every=every,
            sender_name=sender_name,
        )
        # A repeat of a request whose reminder has fired meanwhile must not remind again.
        if await self._store.message(first_message_id(session.id, event.id)) is None:
            await self._loop.post(session.id, event)
        return Reminder(
            id=event.id,
            text=event.text,
            due=event.due,
            every=event.every,
            sender_name=event.sender_name,
        )

    async def cancel_reminder(self, reminder_id: ReminderId) -> None:
        for session in self._loop.sessions:
            if any(r.id == reminder_id for r in session.reminders):
                await self._loop.post(session.id, ReminderCancelled(id=reminder_id))
                return
        raise naming.NotFoundError(f"There is no reminder {reminder_id!r}. See: sm remind --list")


def _reminder(session: Session, reminder_id: ReminderId | None) -> Reminder | None:
    return next((r for r in session.reminders if r.id == reminder_id), None)


def _refuse_unbearable(session: Session, text: str) -> None:
    """What no route of a run can carry would wait for ever, and everything behind it too."""
    largest = max((way.limit or 0 for way in session.ways), default=0)
    if session.wrapped and len(text.encode("utf-16-le", "surrogatepass")) // 2 + ENVELOPE > largest:
        raise RefusedError(
            f"{session.name} runs in a terminal of its own, and takes {largest:,} characters"
            " at most. Write it to a file, and send its name."
        )


def checked(text: str) -> str:
    """The text, unless nothing could be given of it."""
    if not sanitise(text).strip():
        raise RefusedError("The text is empty. Give some words, or '-' to read standard input.")
    if len(text) > MAX_TEXT:
        raise RefusedError(f"The text has {len(text)} characters; the limit is {MAX_TEXT}.")
    return text

"""Messages and reminders: queue, follow, withdraw."""

import math
from contextlib import suppress

from sm.api.types import MessageView, NewMessageBody, NewReminderBody, ReminderView
from sm.core.channel import LedgerFailedError
from sm.core.ids import MessageId, ReminderId, SessionId
from sm.core.message import Message, MessageState, Mode
from sm.engine.loop import UnknownSessionError
from sm.engine.mail import NewMessage
from sm.web.endpoint import BadRequestError, Call, Endpoint, Query, Seconds, Whole, chosen_id
from sm.web.views import message_view, reminder_view

_SETTLED = frozenset(MessageState) - {MessageState.QUEUED, MessageState.OFFERED}
LONGEST_WAIT = 7 * 86_400.0
LONGEST = 10 * 365 * 86_400.0
_BELOW = f" and below {LONGEST:.0f} (ten years)"


async def send(call: Call) -> MessageView:
    body: NewMessageBody = call.body
    expires_in = body.get("expires_in")
    if expires_in is not None and not 0 < expires_in < LONGEST:
        raise BadRequestError(f"expires_in must be a positive number of seconds{_BELOW}.")
    message = await call.engine.mail.send(
        NewMessage(
            id=MessageId(chosen_id(body.get("id"), "message", 12)),
            to=call.path("session"),
            sender=body.get("sender"),
            text=body["text"],
            mode=Mode(body.get("mode", "sequential")),
            notify=body.get("notify", True),
            expires_in=expires_in,
        )
    )
    return message_view(call.engine, message)


async def list_(call: Call) -> list[MessageView]:
    to, state = call.query["session"], call.query["state"]
    target = call.engine.find(to).id if to else None
    wanted = _state(state) if state else None
    limit = min(max(call.query["limit"], 1), 10_000)
    found = await call.engine.store.messages(to=target, state=wanted, limit=limit)
    return [message_view(call.engine, _newest(call, m)) for m in found]


def _newest(call: Call, message: Message) -> Message:
    """The store may lag a commit behind what the engine already knows."""
    try:
        return call.engine.session(SessionId(message.to)).message(message.id) or message
    except UnknownSessionError:
        # Its session is being let go: the engine forgets first.
        return message


def _state(given: str) -> MessageState:
    try:
        return MessageState(given)
    except ValueError:
        known = ", ".join(s.value for s in MessageState)
        raise BadRequestError(f"{given!r} is no message state. There are: {known}.") from None


async def show(call: Call) -> MessageView:
    """One message; with ``wait``, as soon as its fate is known."""
    message_id = MessageId(call.path("message"))
    message = await call.engine.mail.message(message_id)
    within = call.query["wait"]
    if within > 0 and message.is_open:
        session_id = message.to

        def is_settled() -> bool:
            held = call.engine.session(session_id).message(message_id)
            return held is None or held.state in _SETTLED or held.unproved

        await call.engine.loop.wait_until(is_settled, min(within, LONGEST_WAIT))
        message = await call.engine.mail.message(message_id)
    return message_view(call.engine, message)


async def cancel(call: Call) -> MessageView:
    message = await call.engine.mail.cancel(MessageId(call.path("message")))
    with suppress(LedgerFailedError, OSError):
        # A handoff that is not given back now is when somebody loads it again.
        await call.engine.filing.withdrawn(message)
    return message_view(call.engine, message)


async def remind(call: Call) -> ReminderView:
    body: NewReminderBody = call.body
    _refuse_times(body)
    reminder = await call.engine.mail.remind(
        call.path("session"),
        body["text"],
        due_in=body["due_in"],
        every=body.get("every"),
        sender=body.get("sender"),
        reminder_id=ReminderId(chosen_id(body.get("id"), "reminder", 8)),
    )
    return reminder_view(call.engine.find(call.path("session")), reminder)


def _refuse_times(body: NewReminderBody) -> None:
    due_in, every = body["due_in"], body.get("every")
    if not (math.isfinite(due_in) and 0 <= due_in < LONGEST):
        raise BadRequestError(f"due_in must be a number of seconds, 0 or more{_BELOW}.")
    if every is not None and not 1 <= every < LONGEST:
        raise BadRequestError(f"every must be at least 1 second{_BELOW}.")


async def reminders(call: Call) -> list[ReminderView]:
    return [reminder_view(s, r) for s in call.engine.loop.sessions for r in s.reminders]


async def cancel_reminder(call: Call) -> None:
    await call.engine.mail.cancel_reminder(ReminderId(call.path("reminder")))


ENDPOINTS = (
    Endpoint(
        method="POST", path="/sessions/{session}/messages", about="Queue a message durably",
        handler=send, body=NewMessageBody, gives=MessageView, status=201, refusals=(404, 409),
    ),
    Endpoint(
        method="GET", path="/messages", about="List messages, oldest first", handler=list_,
        gives=list[MessageView], refusals=(404,),
        query=(
            Query(name="session", type=str, default="", about="Only to this session"),
            Query(name="state", type=str, default="", about="Only in this state"),
            Query(name="limit", type=Whole, default=200, about="The newest N"),
        ),
    ),
    Endpoint(
        method="GET", path="/messages/{message}", about="One message with its receipts",
        handler=show, gives=MessageView, refusals=(404,),
        query=(
            Query(name="wait", type=Seconds, default=0.0,
                  about="Seconds to wait until it was accepted, or will never be"),
        ),
    ),
    Endpoint(
        method="DELETE", path="/messages/{message}", about="Withdraw a queued message",
        handler=cancel, gives=MessageView, refusals=(404, 409),
    ),
    Endpoint(
        method="POST", path="/sessions/{session}/reminders", about="Send a text later",
        handler=remind, body=NewReminderBody, gives=ReminderView, status=201, refusals=(404, 409),
    ),
    Endpoint(
        method="GET", path="/reminders", about="All reminders", handler=reminders,
        gives=list[ReminderView],
    ),
    Endpoint(
        method="DELETE", path="/reminders/{reminder}", about="Cancel a reminder",
        handler=cancel_reminder, status=204, refusals=(404,),
    ),
)  # fmt: skip

"""Sessions, messages and entries, as short as a test can say them."""

from sm.core.effects import CheckPane, Effect
from sm.core.events import Event, Renamed
from sm.core.ids import HandoffId, HookId, MessageId, SessionId
from sm.core.journal import Entry, PendingEffect
from sm.core.message import Message, MessageState
from sm.core.passage import Handoff, HandoffState
from sm.core.reports import Hook, HookNoticed
from sm.core.state import Session, Sighting, Source, State

NOON = 1_700_000_000.0


def session(name: str = "ada", *, state: State = State.IDLE) -> Session:
    return Session(
        id=SessionId(name),
        name=name,
        agent="claude",
        arguments=("--model", "opus"),
        cwd="/shop",
        parent=None,
        created_at=NOON,
        proves=True,
        state=state,
        state_since=NOON,
        verdict=Sighting(source=Source.HOOK, says="Stop", at=NOON),
    )


def message(
    number: int,
    *,
    to: str = "ada",
    state: MessageState = MessageState.QUEUED,
    queued_at: float | None = None,
) -> Message:
    return Message(
        id=MessageId(f"{to}-{number}"),
        to=SessionId(to),
        sender_name="you",
        text=f"text {number}",
        queued_at=NOON + number if queued_at is None else queued_at,
        number=number,
        state=state,
    )


def handoff(
    number: int,
    *,
    of: str = "ada",
    state: HandoffState = HandoffState.REQUESTED,
    requested_at: float | None = None,
) -> Handoff:
    return Handoff(
        id=HandoffId(f"{of}-{number}"),
        session=SessionId(of),
        requested_at=NOON + number if requested_at is None else requested_at,
        source="/shop/handoff.md",
        document=f"/kept/{of}-{number}/handoff.md",
        log="/logs/raw.log",
        state=state,
    )


def asked(number: int, effect: Effect | None = None, *, by: str = "ada") -> PendingEffect:
    return PendingEffect(id=number, session=SessionId(by), effect=effect or CheckPane())


def entry(
    session: Session,
    *,
    event: Event | None = None,
    at: float = NOON,
    hook: str | None = None,
    messages: tuple[Message, ...] = (),
    handoffs: tuple[Handoff, ...] = (),
    asked: tuple[PendingEffect, ...] = (),
    finished: int | None = None,
) -> Entry:
    if event is None:
        event = Renamed(name=session.name) if hook is None else noticed(hook)
    return Entry(
        session=session,
        event=event,
        at=at,
        hook=None if hook is None else HookId(hook),
        messages=messages,
        handoffs=handoffs,
        asked=asked,
        finished=finished,
    )


def noticed(hook: str) -> HookNoticed:
    return HookNoticed(hook=Hook(id=HookId(hook), name="Notification", at=NOON, context=None))

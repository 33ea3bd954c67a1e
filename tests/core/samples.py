"""A session called ada, what is said to it and what it reports, as short as a test can say it."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from sm.core.crash import Cause, Manner
from sm.core.effects import Effect, FileHandoff
from sm.core.events import (
    AgentExited,
    AgentRecovered,
    ArtifactsCaptured,
    ClearTyped,
    EnterPressed,
    Event,
    HandoffRequested,
    MessageQueued,
    RecoveryRequested,
    ScreenSeen,
    TextPasted,
    TimerFired,
)
from sm.core.ids import (
    ContextId,
    HandoffId,
    HookId,
    MessageId,
    PaneId,
    PromptId,
    RecoveryId,
    SessionId,
)
from sm.core.message import Message
from sm.core.passage import Handoff, HandoffState
from sm.core.reports import (
    ContextStarted,
    DialogOpened,
    Hook,
    HookEvent,
    PromptAccepted,
    ToolStarted,
    TurnEnded,
)
from sm.core.session import advance
from sm.core.state import Context, Session, Sighting, Source, State
from sm.core.terminal import Pane, Screen, Sign

NOON = 1_700_000_000.0
ADA, BOB, EVE = SessionId("ada"), SessionId("bob"), SessionId("eve")
CONTEXT = ContextId("context-1")
PANE = Pane(socket="/tmp/tmux", session="ada", id=PaneId("%1"), pid=100, started=7)

IDLE = Session(
    id=ADA,
    name="ada",
    agent="claude",
    arguments=(),
    cwd="/shop",
    parent=None,
    created_at=NOON,
    proves=True,
    state=State.IDLE,
    state_since=NOON,
    verdict=Sighting(source=Source.HOOK, says="SessionStart", at=NOON),
    pane=PANE,
    context=Context(id=CONTEXT, transcript="/transcripts/ada"),
    ready=True,
)
GENERIC = replace(IDLE, agent="cat", proves=False, ready=False, state=State.UNKNOWN)


def message(nth: int = 1, /, **changes: Any) -> Message:
    plain = Message(
        id=MessageId(f"{nth:012x}"),
        to=ADA,
        sender_name="you",
        text=f"text {nth}",
        queued_at=NOON,
    )
    return replace(plain, **changes)


HELLO = message()
MARK = f"{HELLO.id}.1"


def through(session: Session, *events: Event, at: float = NOON) -> tuple[Session, list[Effect]]:
    """The session after several events at one time, and all they asked for.

    But not what a handoff's channel is told of it: that is ``filed_by``.
    """
    session, asked = _through(session, events, at)
    return session, [effect for effect in asked if not isinstance(effect, FileHandoff)]


def filed_by(session: Session, *events: Event, at: float = NOON) -> list[str]:
    """What the channel of its handoff is told by these events."""
    asked = _through(session, events, at)[1]
    return [effect.status.value for effect in asked if isinstance(effect, FileHandoff)]


def _through(session: Session, events: Iterable[Event], at: float) -> tuple[Session, list[Effect]]:
    asked: list[Effect] = []
    for event in events:
        session, effects = advance(session, event, at)
        asked += effects
    return session, asked


def after(session: Session, *events: Event, at: float = NOON) -> Session:
    return through(session, *events, at=at)[0]


def brought_back(session: Session, *, at: float) -> Session:
    """It died unasked and was started again with its own record, told nothing."""
    assert session.pane is not None
    recovery = RecoveryId("r1")
    back = AgentRecovered(
        recovery=recovery, pane=session.pane, manner=Manner.RESUME, context=session.context.id,
        told="", evidence="process 100",
    )  # fmt: skip
    died = AgentExited(status=None, signal=9, evidence="pane %1 is dead", cause=Cause.SIGNAL)
    return after(session, died, RecoveryRequested(id=recovery, by="you"), back, at=at)


def queued(nth: int = 1, /, **changes: Any) -> MessageQueued:
    return MessageQueued(message=message(nth, **changes))


def hook(name: str, prompt: int | None, at: float, context: ContextId | None = CONTEXT) -> Hook:
    return Hook(
        id=HookId(f"{name} {prompt} {at}"),
        name=name,
        at=at,
        context=context,
        prompt=None if prompt is None else PromptId(f"P{prompt}"),
    )


def prompted(
    prompt: int | None = 1, *, of: Message | None = None, at: float = NOON
) -> PromptAccepted:
    return PromptAccepted(
        hook=hook("UserPromptSubmit", prompt, at), message=of.id if of else None, opening=""
    )


def stopped(prompt: int | None = 1, *, at: float = NOON + 5, words: str = "") -> TurnEnded:
    return TurnEnded(hook=hook("Stop", prompt, at), last_words=words)


def tool(prompt: int | None = 1, *, at: float = NOON + 1) -> ToolStarted:
    return ToolStarted(hook=hook("PreToolUse", prompt, at), tool="Bash")


def asked(prompt: int | None = 1, *, at: float = NOON + 2) -> DialogOpened:
    return DialogOpened(hook=hook("PermissionRequest", prompt, at), question="Bash: rm x")


def started(source: str = "startup", *, at: float = NOON, context: str = CONTEXT) -> ContextStarted:
    return ContextStarted(
        hook=hook("SessionStart", None, at, ContextId(context)),
        source=source,
        transcript=f"/transcripts/{context}",
    )


def screen(sign: Sign) -> ScreenSeen:
    return ScreenSeen(screen=Screen(sign=sign, has_box=True))


def fired(key: str) -> TimerFired:
    return TimerFired(key=key)


def due(session: Session, key: str) -> float | None:
    """When a wait is over, or None if nothing waits."""
    timer = session.timer(key)
    return timer.due if timer is not None else None


WORKING = after(IDLE, prompted(0))
PASTING = after(IDLE, queued())
"""ada has HELLO in hand and it is being pasted."""
ENTERING = after(PASTING, TextPasted(mark=MARK))
ENTERED = after(ENTERING, EnterPressed(mark=MARK, evidence="Enter 1"))
"""Enter was pressed for HELLO; ada has not reported it."""


def held(session: Session, number: int = 1) -> Message:
    """A message of the session that must be there."""
    found = session.message(MessageId(f"{number:012x}"))
    assert found is not None
    return found


# --- a handoff -----------------------------------------------------------------------------

HANDOFF = HandoffId("a" * 12)
CLEAR_MARK = f"{HANDOFF}.1"
NEXT = ContextId("context-2")


def handoff(handoff_id: str = HANDOFF, /, **changes: Any) -> Handoff:
    """As ada's request brings it, with the copy of her document."""
    plain = Handoff(
        id=HandoffId(handoff_id),
        session=ADA,
        requested_at=NOON,
        source="/shop/handoff.md",
        document=f"/kept/{handoff_id}/handoff.md",
        log="/logs/ada/raw.log",
    )
    return replace(plain, **changes)


def requested(handoff_id: str = HANDOFF, /) -> HandoffRequested:
    return HandoffRequested(handoff=handoff(handoff_id))


def captured(handoff_id: str = HANDOFF, /) -> ArtifactsCaptured:
    return ArtifactsCaptured(
        handoff=HandoffId(handoff_id),
        document=f"/kept/{handoff_id}/handoff.md",
        dump=f"/kept/{handoff_id}/dump.txt",
        artifacts=f"/kept/{handoff_id}/artifacts.json",
        evidence="the document as it is now",
    )


CLEARED = started("clear", context=NEXT, at=NOON + 6)
"""ada's own report of her next context."""
REQUESTED = after(WORKING, requested())
"""ada asked for a handoff in the turn that runs."""
CAPTURING = after(REQUESTED, stopped(0), at=NOON + 5)
CLEARING = after(CAPTURING, captured(), at=NOON + 5)
TYPED = after(CLEARING, ClearTyped(mark=CLEAR_MARK, evidence="/clear, Enter 1"), at=NOON + 5)
PROMPTING = after(TYPED, CLEARED, at=NOON + 6)


def passing(session: Session) -> Handoff:
    """The handoff of a session, open or just closed; it must be there."""
    (found,) = session.handoffs
    return found


def wake(session: Session) -> Message:
    """The first prompt of the next context; it must be there."""
    (found,) = [m for m in session.messages if m.handoff is not None]
    return found


def woken(session: Session, *, at: float = NOON + 7, prompt: int = 9) -> Session:
    """The next context reports its first prompt."""
    report = prompted(prompt, of=wake(session), at=at)
    return after(session, in_next(report), at=at)


def in_next(event: HookEvent) -> HookEvent:
    """The same report, from the next context."""
    return replace(event, hook=replace(event.hook, context=NEXT))


def closed(session: Session) -> tuple[HandoffState, str]:
    """How a session's handoff ended, and why."""
    over = passing(session)
    assert not over.is_open
    return over.state, over.steps[-1].evidence

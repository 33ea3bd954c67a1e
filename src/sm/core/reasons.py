"""Why a message has not arrived yet, in words for a person."""

from sm.core.delivery import can_ring, rides_along
from sm.core.message import Message, MessageState, Mode, Route, queue_order
from sm.core.state import Session, State
from sm.core.terminal import Obstacle
from sm.core.waiting import is_waiting


def why_waiting(session: Session, message: Message) -> str | None:
    """Why a message has not arrived yet, in words for a person."""
    if message.state not in (MessageState.QUEUED, MessageState.OFFERED):
        return None
    if message.held is not None and session.exit is None:
        return message.held
    recovery = session.recovery
    if recovery is not None and message.recovery is None:
        return "the agent died and is being brought back; it comes after what it is told of that"
    handoff = session.handoff
    if handoff is not None and message.handoff is None:
        return f"handoff {handoff.id} is under way; it comes after the new context's first prompt"
    ahead = [m for m in session.messages if is_waiting(session, m)]
    first = min(ahead, key=queue_order, default=message)
    if message.state is MessageState.QUEUED and first.id != message.id and ahead:
        reason = why_waiting(session, first)
        return f"behind message {first.id}" + (f": {reason}" if reason else "")
    if message.mode is Mode.URGENT and session.state is State.WORKING:
        if rides_along(session, message):
            return "the agent works; it comes with the next tool result, or at the turn's end"
        return "the agent works and has shown nothing yet: interrupting now could undo its prompt"
    if session.state is State.IDLE and not (
        session.allows(Route.PASTE) or can_ring(session, message)
    ):
        return "no route that is switched on can carry it (delivery.routes)"
    if session.adopted and session.state is State.CRASHED:
        return _NEVER
    return _STATE_REASONS.get(session.state)


def what_keeps(session: Session) -> str | None:
    """Which message an idle session has still to take, and why it waits."""
    waiting = [m for m in session.messages if m.is_open]
    if session.state is not State.IDLE or not waiting:
        return None
    first = min(waiting, key=queue_order)
    why = why_waiting(session, first)
    return f"message {first.id} is still {first.state.value}" + (f": {why}" if why else "")


_NEVER = (
    "the agent died, and sm cannot start an adopted one again: it can never arrive here. "
    "Adopt the agent anew (sm adopt) and send it there"
)


_STATE_REASONS = {
    State.STARTING: "the agent is starting",
    State.WORKING: "the agent is working; it comes at the turn's end",
    State.WAITING: Obstacle.DIALOG.words,
    State.CRASHED: "the agent died; bring it back with sm recover",
    State.RECOVERING: "the agent is being started again",
    State.ENDED: "the session has ended",
    State.UNKNOWN: "nothing is known about the agent's state",
}

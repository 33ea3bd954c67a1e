"""A message: text for a session, and the trail of receipts that proves its way."""

from dataclasses import dataclass, replace
from enum import StrEnum

from sm.core.ids import HandoffId, MessageId, PromptId, RecoveryId, SessionId


class Mode(StrEnum):
    SEQUENTIAL = "sequential"
    """At the turn's end, in the order sent."""
    IMPORTANT = "important"
    """As sequential, ahead of all sequential ones."""
    URGENT = "urgent"
    """Now: a working agent is interrupted if no gentler route exists."""


class MessageState(StrEnum):
    QUEUED = "queued"
    """Stored; not yet given to the agent."""
    OFFERED = "offered"
    """Given by a route; the agent has not shown that it took it."""
    ACCEPTED = "accepted"
    """The agent's own report holds the message id."""
    DONE = "done"
    """The turn that took it has ended."""
    EXPIRED = "expired"
    """Its deadline passed before an agent could take it."""
    REFUSED = "refused"
    """The session ended before it could be given, or another hook kept it from the model."""
    CANCELLED = "cancelled"
    """Withdrawn by a person before it was offered."""


class Route(StrEnum):
    """One way of getting text into an agent, gentlest first."""

    STOP_REPLY = "stop_reply"
    """In answer to the agent's report that its turn ends: it goes on with the text."""
    TOOL_RESULT = "tool_result"
    """Beside the result of the tool that just ended, in the middle of a turn."""
    DOORBELL = "doorbell"
    """A note in the inbox the agent watches; what stands in its prompt box is not touched."""
    PASTE = "paste"
    """Bracketed paste into an idle agent's empty prompt box."""
    INTERRUPT = "interrupt"
    """Escape first, then as paste."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """A route an agent offers, and how much fits through it."""

    route: Route
    limit: int | None = None
    """The longest envelope it carries whole, in UTF-16 units as clients count them."""


TYPING = (Way(route=Route.PASTE), Way(route=Route.INTERRUPT))
"""What any agent with a prompt box can do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    step: str
    at: float
    evidence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    id: MessageId
    to: SessionId
    sender: SessionId | None = None
    """The session that sent it; None for a person or sm itself."""
    sender_name: str
    mode: Mode = Mode.SEQUENTIAL
    text: str
    queued_at: float
    number: int = 0
    """Place in the session's queue: the order in which messages were committed."""
    state: MessageState = MessageState.QUEUED
    route: Route | None = None
    notify: bool = True
    """Tell the sender once when the turn that took it ends."""
    expires_at: float | None = None
    held: str | None = None
    """Why it waits, in words for a person."""
    attempts: int = 0
    unproved: bool = False
    """Offered to an agent that reports nothing: its trail ends there."""
    prompt: PromptId | None = None
    context: str | None = None
    """The stretch of a context it tells of; with another one it has lost its sense."""
    handoff: HandoffId | None = None
    """It is the first prompt after this handoff."""
    recovery: RecoveryId | None = None
    """It is what its agent is told first by this recovery."""
    receipts: tuple[Receipt, ...] = ()

    @property
    def is_open(self) -> bool:
        """Whether sm still has to do something about it."""
        return self.state in _OPEN and not self.unproved

    def moved(self, state: MessageState, at: float, evidence: str) -> "Message":
        """The message in its next state, with the receipt that says why."""
        receipt = Receipt(step=state.value, at=at, evidence=evidence)
        return replace(self, state=state, held=None, receipts=(*self.receipts, receipt))

    def noted(self, step: str, at: float, evidence: str) -> "Message":
        """The same state, one more line in the trail."""
        return replace(
            self, receipts=(*self.receipts, Receipt(step=step, at=at, evidence=evidence))
        )


_OPEN = frozenset({MessageState.QUEUED, MessageState.OFFERED, MessageState.ACCEPTED})
_URGENCY = {Mode.URGENT: 0, Mode.IMPORTANT: 1, Mode.SEQUENTIAL: 2}


def queue_order(message: Message) -> tuple[int, int]:
    """Sort key: urgent, then important, then sequential; each in the order sent."""
    return _URGENCY[message.mode], message.number

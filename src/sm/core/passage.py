"""A handoff as a value: a session's passage from one context to the next, and what proves it."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from sm.core.ids import ContextId, HandoffId, HookId, MessageId, SessionId
from sm.core.message import Receipt


class HandoffState(StrEnum):
    REQUESTED = "requested"
    """Stored, with a copy of the document; waits for the turn's end."""
    CAPTURING = "capturing"
    """The turn is over: what the agent showed is being kept."""
    CLEARING = "clearing"
    """The agent is being told to begin anew."""
    PROMPTING = "prompting"
    """The agent reported its new context; the first prompt is on its way there."""
    DONE = "done"
    """The agent itself reported the prompt, in the new context."""
    FAILED = "failed"
    CANCELLED = "cancelled"
    SUPERSEDED = "superseded"
    """The agent asked again before anything was done."""


OPEN = (
    HandoffState.REQUESTED,
    HandoffState.CAPTURING,
    HandoffState.CLEARING,
    HandoffState.PROMPTING,
)
MOVING = OPEN[1:]
"""The session is on its way: neither idle nor at work."""


SELF, AUTO = "self", "auto"
"""Who wrote the document: the agent, or sm for it."""
STANDARD_INPUT = "-"
"""The source of a document that was never a file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Handoff:
    id: HandoffId
    session: SessionId
    kind: str = SELF
    requested_at: float
    source: str
    """Where the agent wrote its document."""
    document: str
    """The copy that was kept when it was asked for, and refreshed at the turn's end."""
    log: str
    """Everything the session ever showed, as raw bytes."""
    state: HandoffState = HandoffState.REQUESTED
    context: int = 0
    """The number of the context that is left."""
    context_id: ContextId | None = None
    transcript: str | None = None
    dump: str | None = None
    """What the terminal held at the turn's end, readable."""
    artifacts: str | None = None
    tasks: tuple[str, ...] = ()
    """What still ran in the background when the context was left."""
    tries: int = 0
    """How often the clear was begun; each has a mark of its own."""
    enters: int = 0
    draft: str = ""
    """Somebody's text that was in the way."""
    redacted: int = 0
    """How many secrets were taken out of the document."""
    waited: bool = False
    """What runs in the background had its time."""
    overdue: bool = False
    """It does not wait for the turn's end: the turn is ended at its next tool result."""
    cut: HookId | None = None
    """The report that was answered with the turn's end."""
    message: MessageId | None = None
    """The prompt for the new context."""
    steps: tuple[Receipt, ...] = ()

    @property
    def is_open(self) -> bool:
        return self.state in OPEN

    @property
    def is_moving(self) -> bool:
        return self.state in MOVING

    @property
    def clears(self) -> bool:
        """Whether the command to clear may have been sent off: a new context is our doing."""
        # Also where a turn or a dialog was seen after that: the agent takes it when it can.
        return self.tries > 0 and self.is_open and self.state is not HandoffState.PROMPTING

    @property
    def mark(self) -> str:
        """What tmux keeps beside the pane so that a repeat is recognised."""
        return f"{self.id}.{self.tries}"

    def moved(self, state: HandoffState, at: float, step: str, evidence: str) -> "Handoff":
        """The handoff in its next state, with the receipt that says why."""
        return replace(self.noted(step, at, evidence), state=state)

    def noted(self, step: str, at: float, evidence: str) -> "Handoff":
        """The same state, one more line in the trail."""
        return replace(self, steps=(*self.steps, Receipt(step=step, at=at, evidence=evidence)))


# --- what a handoff leaves behind ------------------------------------------------------------


class Filed(StrEnum):
    """What a handoff's channel is told of it."""

    CLAIMED = "claimed"
    """It is there, and its own successor has it."""
    CONSUMED = "consumed"
    """The new context reported it."""
    CLEARED = "cleared"
    """Nothing came of it: its context goes on."""


class DocumentError(Exception):
    """A document that cannot be taken; the message says why and what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """Our own copy of the document an agent wrote."""

    path: str
    size: int
    sha256: str
    current: bool = True
    """As its author has it now. False: the last good copy, the original is gone or spoilt."""
    redacted: int = 0
    """How many secrets were taken out of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What the engine knows of a session at the moment it hands off."""

    session: SessionId
    name: str
    agent: str
    cwd: str
    at: float
    context: int
    """The number of the context that ends."""
    context_id: ContextId | None = None
    transcript: str | None = None
    raw_log: str | None = None
    document: Kept | None = None
    dump: bytes | None = None
    """All that stands in its pane, as text; None where it could not be had."""
    background: tuple[str, ...] = ()
    """Tasks that were still running."""
    failed: Mapping[str, str] = field(default_factory=dict)
    """What could not be had before anything was captured, and why: ``{"dump": "…"}``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Captured:
    """What lies in the handoff's folder now."""

    dump: str | None
    """Path of the readable transcript of the terminal."""
    artifacts: str | None
    """Path of ``artifacts.json``: there is one only if everything it names was written."""
    failed: Mapping[str, str]
    """The parts that are missing, and why."""

"""How an agent ended unasked and how it was brought back, as values: cause, manner, steps, outcome.

When it is brought back, and by which steps, is not known here.
"""

from dataclasses import dataclass, replace
from enum import StrEnum

from sm.core.ids import ContextId, HandoffId, MessageId, RecoveryId
from sm.core.message import Receipt


class Cause(StrEnum):
    """Why an agent is gone. Without evidence it is unknown, never guessed."""

    EXIT = "exit"
    """It ended by itself, with an exit code that says so."""
    SIGNAL = "signal"
    """Somebody sent it a signal."""
    MEMORY = "out_of_memory"
    """The kernel took it, for want of memory."""
    PANE = "pane_closed"
    """Its pane was closed while its tmux server lived on."""
    SHELL = "replaced"
    """Another program is where the agent was."""
    SERVER = "server_exit"
    """Its tmux server ended, with everything in it."""
    REBOOT = "reboot"
    """The host was started anew."""
    LIMIT = "api_limit"
    """It ended after its model's service refused it for a limit."""
    WRAPPER = "wrapper_killed"
    """It ended with the ``sm run`` it was started by."""
    START = "start"
    """It could not even be started."""
    UNKNOWN = "unknown"
    """It is gone, and nothing tells why."""

    @property
    def is_mass(self) -> bool:
        """Whether it took every agent there was: one incident, and no agent's own fault."""
        return self in (Cause.SERVER, Cause.REBOOT)


@dataclass(frozen=True, slots=True, kw_only=True)
class Crash:
    """One end nobody asked for, and what it cut."""

    at: float
    cause: Cause
    words: str
    """What happened, for people: ``the agent was ended by signal 9``."""
    busy: bool = False
    """A turn was running."""
    dialog: str | None = None
    """A question was open."""
    handoff: HandoffId | None = None
    """One was under way: its context was to be left."""
    taken: tuple[MessageId, ...] = ()
    """Messages the turn that was cut had taken."""


class Manner(StrEnum):
    """In which of two ways an agent is brought back."""

    RESUME = "resume"
    """Its own program goes on with its own record: the same context."""
    FRESH = "fresh"
    """A new context, told what was going on."""


class RecoveryState(StrEnum):
    ASKED = "asked"
    """Stored; what was going on is being found out, and the agent started."""
    STARTED = "started"
    """The agent runs; it has not yet shown that it is at work."""
    DONE = "done"
    """The agent itself has reported what it was told, or shown that it is ready."""
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstWord:
    """An agent's report that it began, which came before we knew that it was started."""

    context: ContextId | None
    transcript: str | None
    bell: bool
    at: float
    """By its own clock."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recovery:
    """One try at bringing a session back to work."""

    id: RecoveryId
    crash: Crash
    by: str
    asked_at: float
    wanted: Manner | None = None
    """What whoever asked insists on; None: whichever fits."""
    manner: Manner | None = None
    """What was done."""
    state: RecoveryState = RecoveryState.ASKED
    message: MessageId | None = None
    """What the agent is told first, if it is told anything."""
    heard: FirstWord | None = None
    ended_at: float | None = None
    steps: tuple[Receipt, ...] = ()

    @property
    def is_open(self) -> bool:
        return self.state in (RecoveryState.ASKED, RecoveryState.STARTED)

    def noted(self, step: str, at: float, evidence: str) -> "Recovery":
        """The same state, one more line in the trail."""
        return replace(self, steps=(*self.steps, Receipt(step=step, at=at, evidence=evidence)))

    def moved(self, state: RecoveryState, at: float, evidence: str) -> "Recovery":
        """The recovery in its next state, with the receipt that says why."""
        moved = replace(self.noted(state.value, at, evidence), state=state)
        return moved if moved.is_open else replace(moved, ended_at=at)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecoveryRules:
    """What the configuration says about bringing sessions back."""

    enabled: bool = True
    auto: bool = False
    """Without being asked."""
    crashes: int = 5
    """So many within that time, and an agent is not brought back by itself any more."""
    within: float = 900.0


BY_HAND = RecoveryRules()
"""Where nothing is configured."""

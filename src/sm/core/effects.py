"""Everything the core can ask the world to do. Imperative; a closed union.

An effect is stored with the event that asked for it and removed with the event that tells its
outcome. After a crash the stored ones run again, so each says whether it may simply be repeated
or must look first.
"""

from dataclasses import dataclass
from typing import ClassVar

from sm.core.ids import HandoffId, MessageId, PromptId, RecoveryId, SessionId
from sm.core.message import Message
from sm.core.passage import Filed, Handoff


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchAgent:
    """Look first: a pane tagged with this session may already be there."""

    repeatable: ClassVar[bool] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RelaunchAgent:
    """End the agent and start it again in a new context, with its first prompt. Never repeated:
    an agent that is started again so does not outlive whoever started it."""

    repeatable: ClassVar[bool] = False
    handoff: HandoffId


@dataclass(frozen=True, slots=True, kw_only=True)
class RecoverAgent:
    """Find out what was going on, and start the agent again. Look first: another process than the
    one that died is the one that was started before."""

    repeatable: ClassVar[bool] = False
    recovery: RecoveryId


@dataclass(frozen=True, slots=True, kw_only=True)
class TakePane:
    """Mark the pane of an adopted agent as ours and keep its log; nothing is started."""

    repeatable: ClassVar[bool] = True


@dataclass(frozen=True, slots=True, kw_only=True)
class LetGoPane:
    """Take every mark of ours from the pane of an adopted agent."""

    repeatable: ClassVar[bool] = True


@dataclass(frozen=True, slots=True, kw_only=True)
class KillAgent:
    repeatable: ClassVar[bool] = True


@dataclass(frozen=True, slots=True, kw_only=True)
class RenameTmux:
    repeatable: ClassVar[bool] = True
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckPane:
    """Ask tmux and the process table whether the agent is still there."""

    repeatable: ClassVar[bool] = True


@dataclass(frozen=True, slots=True, kw_only=True)
class PasteText:
    """Look first: tmux keeps the mark of the last paste, so a second one is recognised."""

    repeatable: ClassVar[bool] = False
    mark: str
    message: MessageId
    stash: str = ""
    """A draft that may be put aside first, if it still stands there unchanged: nobody is typing
    it. The agent brings it back by itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PressEnter:
    """Look first: only when the box still holds the text this Enter is for."""

    repeatable: ClassVar[bool] = False
    mark: str
    message: MessageId
    number: int
    """1, or higher for one more Enter after an earlier one was swallowed."""

    @property
    def press(self) -> str:
        """The mark tmux keeps for this very Enter."""
        return f"{self.mark}.{self.number}"


@dataclass(frozen=True, slots=True, kw_only=True)
class RingBell:
    """Look first: a note that was taken, or taken back, is not written again."""

    repeatable: ClassVar[bool] = False
    mark: str
    message: MessageId


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadUsage:
    """Ask the agent's own record how full its context is."""

    repeatable: ClassVar[bool] = True


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadActivity:
    """Ask the agent's own record which turn is running and what it does."""

    repeatable: ClassVar[bool] = True


@dataclass(frozen=True, slots=True, kw_only=True)
class SeekMessage:
    """Look for a message that was given in the agent's own record, its box and its inbox."""

    repeatable: ClassVar[bool] = True
    mark: str
    message: MessageId


@dataclass(frozen=True, slots=True, kw_only=True)
class InterruptTurn:
    """Look first: an Escape at an idle prompt does something else."""

    repeatable: ClassVar[bool] = False
    mark: str
    prompt: PromptId | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CaptureArtifacts:
    """Keep what the agent wrote and showed before its context goes. Overwrites its own files."""

    repeatable: ClassVar[bool] = True
    handoff: HandoffId


@dataclass(frozen=True, slots=True, kw_only=True)
class FileHandoff:
    """Note in its channel what became of a handoff. The ledger knows what it was told before."""

    repeatable: ClassVar[bool] = True
    handoff: HandoffId
    status: Filed
    was: Handoff | None = None
    """As it was then: a handoff that is over is no part of its session any more. None: put away."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClearContext:
    """Look first: tmux keeps the marks of the paste and of each Enter; the agent its context."""

    repeatable: ClassVar[bool] = False
    mark: str
    number: int
    """1, or higher for one more Enter after an earlier one was swallowed."""
    stash: str = ""
    """A draft that may be put aside first, as for a message."""

    @property
    def press(self) -> str:
        """The mark tmux keeps for this very Enter."""
        return f"{self.mark}.{self.number}"


@dataclass(frozen=True, slots=True, kw_only=True)
class EraseCommand:
    """Take the command to clear out of the prompt box, if it still stands there alone."""

    repeatable: ClassVar[bool] = True
    mark: str


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueNotice:
    """Committed together with the receiver's event: it can neither be lost nor doubled."""

    repeatable: ClassVar[bool] = True
    to: SessionId
    message: Message
    longest: int | None = None
    """Characters of its text, once secrets are taken out of it; None: all of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TellPerson:
    """The same twice is told once: it is known by its session and what it is about."""

    repeatable: ClassVar[bool] = True
    words: str
    about: str = ""
    """What is told once, where that is not simply these words: a crash of that time, for one."""
    for_all: bool = False
    """It concerns every session alike: told once, whichever tells it."""
    while_crashed: bool = False
    """It asks for something that is not to be done any more once the session is back, or ended."""


Effect = (
    LaunchAgent
    | RelaunchAgent
    | RecoverAgent
    | TakePane
    | LetGoPane
    | KillAgent
    | RenameTmux
    | CheckPane
    | PasteText
    | PressEnter
    | RingBell
    | ReadUsage
    | ReadActivity
    | SeekMessage
    | InterruptTurn
    | CaptureArtifacts
    | FileHandoff
    | ClearContext
    | EraseCommand
    | QueueNotice
    | TellPerson
)

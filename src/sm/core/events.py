"""Everything that can happen to a session. Past tense; a closed union.

Each event is committed together with the state it led to. The log of events is the audit trail,
the timeline and the answer to ``sm explain``.
"""

from dataclasses import dataclass

from sm.core.crash import BY_HAND, Cause, Manner, RecoveryRules
from sm.core.ids import (
    ContextId,
    HandoffId,
    MessageId,
    RecoveryId,
    ReminderId,
    SessionId,
)
from sm.core.message import TYPING, Message, Way
from sm.core.passage import Filed, Handoff
from sm.core.reports import HookEvent
from sm.core.state import (
    AS_IT_COMES,
    USUAL,
    Activity,
    Adoption,
    Compaction,
    Session,
    Thresholds,
    Usage,
    WalkAway,
)
from sm.core.terminal import AgentStatus, Obstacle, Pane, Place, Screen

# --- life of the session -------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRequested:
    id: SessionId
    name: str
    agent: str
    arguments: tuple[str, ...]
    cwd: str
    parent: SessionId | None
    proves: bool
    """Whether this kind of agent reports what it accepted."""
    context: ContextId | None
    """The context id given to the agent at launch, where it takes one."""
    ways: tuple[Way, ...] = TYPING
    compaction: Compaction = AS_IT_COMES
    thresholds: Thresholds = USUAL
    monitored: bool = True
    walkaway: WalkAway | None = None
    """Handed over by sm when its agent does not do so itself."""
    wrapped: bool = False
    """It lives in somebody's own terminal, and is started again for a new context."""
    rescue: RecoveryRules = BY_HAND


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionAdopted:
    """An agent that somebody else started is to be a session from now on."""

    id: SessionId
    name: str
    agent: str
    arguments: tuple[str, ...]
    cwd: str
    parent: SessionId | None
    proves: bool
    context: ContextId | None
    transcript: str | None
    adoption: Adoption
    ways: tuple[Way, ...] = TYPING
    thresholds: Thresholds = USUAL


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionInherited:
    """A run's wrapper was killed, and its agent with it: the session is ours from now on."""

    session: Session
    """As its wrapper last stored it, open messages included."""
    name: str
    """Its own, unless somebody else has it by now."""
    evidence: str
    ways: tuple[Way, ...]
    rescue: RecoveryRules = BY_HAND
    messages: tuple[Message, ...] = ()
    """Its closed ones."""
    handoffs: tuple[Handoff, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentStarted:
    pane: Pane


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentRelaunched:
    """The agent was ended and started again, in a new context."""

    pane: Pane
    context: ContextId | None
    survivors: tuple[str, ...] = ()
    """What it had started and what outlived it, in words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RelaunchRefused:
    """The agent could not be started again, and was left as it is."""

    handoff: HandoffId
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchFailed:
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentExited:
    """The agent's process is over; the pane may still show its last words."""

    status: int | None
    signal: int | None
    evidence: str
    cause: Cause = Cause.UNKNOWN
    left: bool = False
    """It was seen to have taken its leave, where nobody can tell its exit code."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PaneSeen:
    """tmux still has the pane and the process in it lives."""

    evidence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TerminalLost:
    """tmux does not answer. Not a death: the agent may be well."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class KillRequested:
    by: str
    spare: bool = False
    """An adopted agent is let go and lives on; only the session ends."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentKilled:
    evidence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PaneLetGo:
    """Nothing of ours is left in the pane of an adopted session."""

    evidence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Renamed:
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TmuxRenamed:
    pane: Pane


@dataclass(frozen=True, slots=True, kw_only=True)
class MonitorSwitched:
    """Somebody wants the session's agent to be warned of a full context, or not to be."""

    on: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class DaemonStarted:
    """A new daemon took over; what it knew may be old."""

    version: str
    ways: tuple[Way, ...] = TYPING
    """The configuration may allow other routes than before."""
    thresholds: Thresholds | None = None
    """And other thresholds."""
    walkaway: WalkAway | None = None
    """And other rules for sessions that nobody watches."""
    rescue: RecoveryRules | None = None
    """And for those whose agent died."""


# --- what the agent's own record says -----------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageSeen:
    """How full a context is. One that is over by now is not meant any more."""

    context: ContextId | None
    usage: Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class ActivitySeen:
    """What the agent's own record says of the running turn; its hooks may have found nobody."""

    context: ContextId | None
    activity: Activity


# --- what we see for ourselves -------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusSeen:
    """What the agent's own state file says it is doing."""

    status: AgentStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class ScreenSeen:
    screen: Screen


# --- messages ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageQueued:
    message: Message


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageCancelled:
    message: MessageId


@dataclass(frozen=True, slots=True, kw_only=True)
class TextPasted:
    mark: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EnterPressed:
    mark: str
    evidence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BellRung:
    """The note is in the agent's inbox."""

    mark: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TypingRefused:
    mark: str
    obstacle: Obstacle
    draft: str = ""
    """What stood in the prompt box, where that was in the way."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageSought:
    mark: str
    place: Place
    evidence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnInterrupted:
    """Escape was pressed for an urgent message; the screen will tell when it took effect."""

    mark: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NoticeQueued:
    """A stop notice was put into its receiver's queue in this same transaction."""

    message: MessageId


@dataclass(frozen=True, slots=True, kw_only=True)
class NoticeDropped:
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonTold:
    """Whoever answers for the agents was told, by every way there was."""

    words: str
    evidence: str


# --- handoffs ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class HandoffRequested:
    """By the agent itself; a copy of its document is already kept."""

    handoff: Handoff


@dataclass(frozen=True, slots=True, kw_only=True)
class HandoffCancelled:
    id: HandoffId
    by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ArtifactsCaptured:
    handoff: HandoffId
    document: str | None
    """The copy, where it was made anew."""
    dump: str | None
    artifacts: str | None
    evidence: str
    log: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class HandoffFiled:
    """A handoff's channel was told of it; or could not be, which changes nothing."""

    handoff: HandoffId
    status: Filed
    evidence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ClearTyped:
    """The agent's command for a fresh context was sent off; its own report comes next."""

    mark: str
    evidence: str
    status: AgentStatus | None = None
    """What the agent itself says, where it already tells of another context."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClearRefused:
    mark: str
    obstacle: Obstacle
    draft: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandErased:
    """The box was looked after; what was left of the command to clear is gone."""

    mark: str
    evidence: str


# --- recovery ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class RecoveryRequested:
    id: RecoveryId
    by: str
    manner: Manner | None = None
    """What whoever asks insists on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentRecovered:
    """The agent runs again; whether it is at work again is still to be shown."""

    recovery: RecoveryId
    pane: Pane
    manner: Manner
    context: ContextId | None
    told: str
    """What it is to be told first; nothing where it was idle and remembers all."""
    evidence: str
    """What was found out, and how it was started, in words."""
    survivors: tuple[str, ...] = ()
    """What the dead agent had started and what lives on, in words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecoveryFailed:
    """The agent could not be started again; the session is as it was."""

    recovery: RecoveryId
    reason: str


# --- reminders and time --------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class ReminderSet:
    id: ReminderId
    text: str
    due: float
    every: float | None
    sender_name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReminderCancelled:
    id: ReminderId


@dataclass(frozen=True, slots=True, kw_only=True)
class TimerFired:
    key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectFailed:
    """An effect ended in an error nobody foresaw; the session goes on, the log has more."""

    effect: str
    error: str


Event = (
    SessionRequested
    | SessionAdopted
    | SessionInherited
    | AgentStarted
    | AgentRelaunched
    | RelaunchRefused
    | LaunchFailed
    | AgentExited
    | PaneSeen
    | TerminalLost
    | KillRequested
    | AgentKilled
    | PaneLetGo
    | Renamed
    | TmuxRenamed
    | MonitorSwitched
    | DaemonStarted
    | HookEvent
    | UsageSeen
    | ActivitySeen
    | StatusSeen
    | ScreenSeen
    | MessageQueued
    | MessageCancelled
    | TextPasted
    | EnterPressed
    | BellRung
    | TypingRefused
    | MessageSought
    | TurnInterrupted
    | NoticeQueued
    | NoticeDropped
    | PersonTold
    | HandoffRequested
    | HandoffCancelled
    | ArtifactsCaptured
    | HandoffFiled
    | ClearTyped
    | ClearRefused
    | CommandErased
    | RecoveryRequested
    | AgentRecovered
    | RecoveryFailed
    | ReminderSet
    | ReminderCancelled
    | TimerFired
    | EffectFailed
)

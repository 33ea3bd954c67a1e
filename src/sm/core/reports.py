"""What an agent's own hooks report: the events among all that carry a hook."""

from dataclasses import dataclass

from sm.core.ids import ContextId, HookId, MessageId, PromptId


@dataclass(frozen=True, slots=True, kw_only=True)
class Hook:
    """Who reported it: the agent's own hook, stamped by the stub that carried it."""

    id: HookId
    name: str
    at: float
    """The producer's clock: hooks may arrive late and out of order."""
    context: ContextId | None
    prompt: PromptId | None = None
    answerable: bool = False
    """The agent waits for our answer; not so when the report was spooled."""
    transcript: str | None = None
    """At both ends of a turn: the report of the context's own beginning may have been lost."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextStarted:
    hook: Hook
    source: str
    """startup, resume, clear or compact."""
    transcript: str | None
    bell: bool = False
    """It is told in the answer to watch its inbox."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextEnded:
    hook: Hook
    reason: str
    leaving: bool = False
    """A person told the agent to exit: its end is no crash, whatever the exit code."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptAccepted:
    hook: Hook
    message: MessageId | None
    """The message the prompt carries, if it is one of ours."""
    opening: str
    """The prompt's first words, for people."""
    quoted: tuple[MessageId, ...] = ()
    """Messages that stand whole anywhere in the prompt: proof only for one that was just typed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolStarted:
    hook: Hook
    tool: str
    subagent: bool = False
    """A sub-agent's: the session works, but what it does is not the session's own step."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolEnded:
    hook: Hook
    tool: str
    failed: bool
    tool_use: str = ""
    """The agent's own id of this call."""
    subagent: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DialogOpened:
    hook: Hook
    question: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnEnded:
    hook: Hook
    last_words: str
    tasks: tuple[str, ...] = ()
    """What still runs beside the agent, by name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnFailed:
    hook: Hook
    error: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionBegun:
    """The agent is about to compact its context, and waits for an answer."""

    hook: Hook
    trigger: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextCompacted:
    hook: Hook
    trigger: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HookNoticed:
    """A hook that changes nothing we act on; kept for the timeline."""

    hook: Hook


HookEvent = (
    ContextStarted
    | ContextEnded
    | PromptAccepted
    | ToolStarted
    | ToolEnded
    | DialogOpened
    | TurnEnded
    | TurnFailed
    | CompactionBegun
    | ContextCompacted
    | HookNoticed
)

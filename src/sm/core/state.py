"""A session as a value: the facts we hold, and the state we claim from them."""

from dataclasses import dataclass, fields, replace
from enum import IntEnum, StrEnum
from operator import attrgetter

from sm.core.crash import BY_HAND, Cause, Crash, Recovery, RecoveryRules
from sm.core.ids import ContextId, HandoffId, HookId, MessageId, PromptId, ReminderId, SessionId
from sm.core.message import TYPING, Message, Route, Way
from sm.core.passage import Handoff
from sm.core.terminal import Pane


class State(StrEnum):
    STARTING = "starting"
    """Launched; the agent has not yet reported or shown its prompt."""
    IDLE = "idle"
    """Ready for a prompt."""
    WORKING = "working"
    """A turn is running."""
    WAITING = "waiting"
    """A person must answer a dialog."""
    ROTATING = "rotating"
    """Passing from one context to the next."""
    CRASHED = "crashed"
    """The agent's process ended unasked."""
    RECOVERING = "recovering"
    """Being brought back."""
    ENDED = "ended"
    """Over, on purpose."""
    UNKNOWN = "unknown"
    """No evidence allows a claim. Never taken for idle."""


REMEMBERED_RECOVERIES = 10
_TYPED = frozenset({Route.PASTE, Route.INTERRUPT})


class Source(StrEnum):
    """Where evidence comes from, best first."""

    HOOK = "hook"
    STATUS = "status file"
    SCREEN = "screen"
    PROCESS = "process"
    TMUX = "tmux"
    PERSON = "person"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sighting:
    """One piece of evidence, with its age."""

    source: Source
    says: str
    at: float


class Level(IntEnum):
    """How full a context is, as far as somebody should know."""

    EARLY = 1
    """Shown; nothing is sent."""
    WARNING = 2
    """The agent is told at its turn's end."""
    CRITICAL = 3
    """The agent is told at once."""

    @property
    def shown(self) -> str:
        """The word people read."""
        return {1: "EARLY_WARN", 2: "WARN", 3: "CRITICAL"}[self.value]


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """Where a level begins: in percent of the real window, or in tokens."""

    percent: float | None = None
    tokens: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Thresholds:
    """When an agent is warned that its context fills."""

    enabled: bool = True
    early: Limit
    warning: Limit
    critical: Limit
    tool_count: int = 500
    """Warn after this many tool calls where no usage can be read."""
    every: int = 1
    """After how many tool calls an agent's record is read, where it does not tell by itself."""

    def of(self, level: Level) -> Limit:
        return {
            Level.EARLY: self.early,
            Level.WARNING: self.warning,
            Level.CRITICAL: self.critical,
        }[level]


USUAL = Thresholds(
    early=Limit(percent=40.0), warning=Limit(percent=50.0), critical=Limit(percent=65.0)
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """How full a context is, as the agent itself reports it."""

    tokens: int | None
    """None: nothing was asked of the model since the context began or was compacted."""
    window: int | None
    model: str
    source: str
    """statusline or transcript."""
    at: float
    outdated: int | None = None
    """The number from before a compaction, until there is a new one: told again, it is old."""
    compacts_at: int | None = None
    """The tokens at which the agent would compact by itself, where that is known."""

    @property
    def percent(self) -> float | None:
        if self.tokens is None or not self.window:
            return None
        return round(100 * self.tokens / self.window, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Compaction:
    """What an agent was told at its start about compacting by itself."""

    enabled: bool = True
    window: int | None = None
    percent: int | None = None


AS_IT_COMES = Compaction()


@dataclass(frozen=True, slots=True, kw_only=True)
class Compacted:
    """A compaction that happened."""

    at: float
    trigger: str
    """auto or manual."""
    tokens: int | None
    """How full the context was before, where that was known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """How full the context was at one time."""

    at: float
    tokens: int
    tools: int
    """The tool calls until then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """An agent that was asked to hand over, because nobody else would."""

    at: float
    turns: int = 0
    """Those that ended since."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WalkAway:
    """How a session is handed over when nobody is there, and how often it was."""

    deadline: float = 600.0
    """Seconds the agent has for its own handoff."""
    cooldown: float = 120.0
    """Seconds from one automatic handoff to the next."""
    limit: int | None = None
    """How often at most; None: as often as it takes."""
    rotations: int = 0
    rotated_at: float = 0.0
    fruitless: int = 0
    """Contexts in a row in which nothing was done."""
    over: str = ""
    """Why it is not handed over any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """One model context window in the session's life."""

    number: int = 1
    id: ContextId | None = None
    transcript: str | None = None
    compactions: int = 0
    usage: Usage | None = None
    alerted: tuple[Level, ...] = ()
    """The levels this context has reached since it began or was compacted."""
    begun_at: float | None = None
    """When it began or was compacted, where somebody saw it."""
    samples: tuple[Sample, ...] = ()
    """Some of the numbers seen since then, oldest first; the last is the newest."""
    compacted: Compacted | None = None
    """The last time."""
    turns: int = 0
    """Those that ended in it."""
    asked: Asked | None = None
    """To hand over, in walk-away mode."""
    held: HookId | None = None
    """The report of a compaction that was answered with a refusal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PastContext:
    """A context the session has left."""

    number: int
    id: ContextId | None
    transcript: str | None
    tokens: int | None
    """How full it was when last told."""
    ended_at: float
    how: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """From an accepted prompt to its end."""

    prompt: PromptId | None
    started_at: float
    acted: bool = False
    """It has called a tool. Which one is evidence: kept there, not stored with each call."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Blocked:
    """A message whose prompt somebody else's hook refused: the model never had it."""

    message: MessageId
    words: str
    """The hook's own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Activity:
    """What an agent's own record tells of its running turn."""

    prompt: PromptId | None
    tool: str | None
    """The tool that was called and has given no result yet."""
    blocked: tuple[Blocked, ...] = ()
    """Since its prompt."""


class Step(StrEnum):
    """How far giving one message has come."""

    PASTING = "pasting"
    ENTERING = "entering"
    ENTERED = "entered"
    INTERRUPTING = "interrupting"
    REPLIED = "replied"
    """A hook was answered with it."""
    RINGING = "ringing"
    RUNG = "rung"
    """A note with it lies in the inbox, or was taken from there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One try at giving one message to the agent. A session has at most one."""

    message: MessageId
    number: int
    route: Route
    step: Step
    since: float
    enters: int = 0
    misses: int = 0
    looks: int = 0
    """Searches that could neither find nor rule out the message."""
    hook: HookId | None = None
    """The report it answers."""
    prompt: PromptId | None = None
    """The turn it rides on."""
    tool_use: str | None = None
    """The tool call whose result it rides on."""
    transcripts: tuple[str, ...] = ()
    """The agent's records since it was begun: a context may end before it shows there."""

    @property
    def mark(self) -> str:
        """What tmux keeps beside the pane so that a repeat is recognised."""
        return f"{self.message}.{self.number}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Timer:
    key: str
    due: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Reminder:
    id: ReminderId
    text: str
    due: float
    every: float | None
    sender_name: str
    fired: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Exit:
    status: int | None
    signal: int | None
    intended: bool
    cause: Cause = Cause.UNKNOWN
    """What took the agent; of an end that was intended it says nothing."""
    evidence: str = ""
    """What speaks for that cause, in words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Adoption:
    """How a session came to an agent that sm did not start."""

    pane: Pane
    """Where it was found. The process is the agent's own, perhaps in a person's shell."""
    logged: bool
    """Its output is kept from then on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    id: SessionId
    name: str
    agent: str
    arguments: tuple[str, ...]
    cwd: str
    parent: SessionId | None
    created_at: float
    proves: bool

    state: State
    state_since: float
    verdict: Sighting
    """The evidence the state rests on."""
    sightings: tuple[Sighting, ...] = ()
    """The newest from each source."""

    compaction: Compaction = AS_IT_COMES
    thresholds: Thresholds = USUAL
    monitored: bool = True
    """Nobody has asked that its agent be left alone about its context."""
    wrapped: bool = False
    """Its agent runs in somebody's own terminal: never typed into, but started again."""
    walkaway: WalkAway | None = None
    """It is handed over by sm when its agent does not do so itself."""
    ways: tuple[Way, ...] = TYPING
    """The routes its agent offers and the configuration allows."""
    bell: bool = False
    """The agent was told to watch its inbox, and has not been found not to."""
    stop_replies: int = 0
    """Turn ends in a row that were answered with a message: agents allow only so many."""
    pane: Pane | None = None
    launched_at: float = 0.0
    """When its present agent was started or taken over."""
    context: Context = Context()
    tools: int = 0
    """Tool calls in this context. Stored when something else is: a rough count is enough."""
    turn: Turn | None = None
    turn_ended_at: float = 0.0
    """The producer's clock at the last turn's end."""
    hears_since: float = 0.0
    """The same clock when its agent was last brought back."""
    ended_prompts: tuple[PromptId, ...] = ()
    stopped: PromptId | None = None
    """The turn the agent last reported the end of; somebody's hook may have kept it going."""
    dialog: str | None = None
    ready: bool = False
    """The agent has shown that it can take a prompt."""
    lost: bool = False
    """tmux did not answer when last asked."""
    kill_requested: bool = False
    spared: bool = False
    """Asked to end without its agent: it is let go."""
    adoption: Adoption | None = None
    leaving: bool = False
    """The agent reported that a person told it to exit."""
    exit: Exit | None = None
    last_words: str = ""
    failure: str = ""
    """The error the last turn ended with, until the next prompt is accepted."""

    rescue: RecoveryRules = BY_HAND
    """How it is brought back when its agent dies."""
    crash: Crash | None = None
    """The last one."""
    crashes: tuple[float, ...] = ()
    """When its agent died by itself, as far as that still counts."""
    hopeless: str = ""
    """Why it is not brought back by itself any more."""
    recoveries: tuple[Recovery, ...] = ()
    """The last ones, oldest first; the last may be under way."""

    messages: tuple[Message, ...] = ()
    """The open ones by number, and those the last event closed."""
    handoffs: tuple[Handoff, ...] = ()
    """The open one, and those the last event closed."""
    last_handoff: HandoffId | None = None
    given_up: Handoff | None = None
    """Failed after its command to clear may have been sent off."""
    lineage: tuple[PastContext, ...] = ()
    """The contexts before this one; the last ones, if there were many."""
    tasks: tuple[str, ...] = ()
    """What ran in the background when the last turn ended."""
    next_number: int = 1
    attempt: Attempt | None = None
    refusals: int = 0
    """How often in a row typing was refused: the pause before the next try grows with it."""
    draft: str = ""
    """Somebody's text that was in the way at the last try."""
    timers: tuple[Timer, ...] = ()
    reminders: tuple[Reminder, ...] = ()

    @property
    def alive(self) -> bool:
        return self.exit is None and self.pane is not None

    @property
    def adopted(self) -> bool:
        """Its agent was started by somebody else, without our settings."""
        return self.adoption is not None

    @property
    def heard(self) -> bool:
        """Whether its agent's hooks reach us."""
        return any(s.source is Source.HOOK for s in self.sightings)

    def allows(self, route: Route, length: int = 0) -> bool:
        """Whether a text of this length can be given by this route."""
        # An adopted agent was never told of an inbox, and need not have our hooks.
        if self.adopted and route not in _TYPED and (route is Route.DOORBELL or not self.heard):
            return False
        way = next((w for w in self.ways if w.route is route), None)
        return way is not None and (way.limit is None or length <= way.limit)

    @property
    def news_since(self) -> float:
        """Older hooks are late: of a turn that is over, or of an agent that is dead."""
        return max(self.turn_ended_at, self.hears_since)

    def message(self, message_id: MessageId) -> Message | None:
        return next((m for m in self.messages if m.id == message_id), None)

    def with_message(self, message: Message) -> "Session":
        """The session with one message added or replaced."""
        others = tuple(m for m in self.messages if m.id != message.id)
        together = sorted((*others, message), key=lambda m: m.number)
        return replace(self, messages=tuple(together))

    @property
    def handoff(self) -> Handoff | None:
        """The one that is under way."""
        return next((h for h in self.handoffs if h.is_open), None)

    def with_handoff(self, handoff: Handoff) -> "Session":
        """The session with one handoff added or replaced."""
        others = tuple(h for h in self.handoffs if h.id != handoff.id)
        return replace(self, handoffs=(*others, handoff))

    def pruned(self) -> "Session":
        """The session without the messages and handoffs that were closed by its last event."""
        if all(m.is_open for m in self.messages) and all(h.is_open for h in self.handoffs):
            return self
        return replace(
            self,
            messages=tuple(m for m in self.messages if m.is_open),
            handoffs=tuple(h for h in self.handoffs if h.is_open),
        )

    @property
    def recovery(self) -> Recovery | None:
        """The one that is under way."""
        last = self.recoveries[-1] if self.recoveries else None
        return last if last is not None and last.is_open else None

    def with_recovery(self, recovery: Recovery) -> "Session":
        """The session with one recovery added, or the last one replaced."""
        others = tuple(r for r in self.recoveries if r.id != recovery.id)
        return replace(self, recoveries=(*others, recovery)[-REMEMBERED_RECOVERIES:])

    def timer(self, key: str) -> Timer | None:
        return next((t for t in self.timers if t.key == key), None)

    def with_timer(self, key: str, due: float | None) -> "Session":
        """The session with a timer set, moved or (due None) taken away."""
        others = tuple(t for t in self.timers if t.key != key)
        if due is None:
            return self if len(others) == len(self.timers) else replace(self, timers=others)
        return replace(self, timers=(*others, Timer(key=key, due=due)))

    def differs(self, before: "Session") -> bool:
        """Whether more than the age of the evidence and a count is new since then."""
        return _all_but_evidence(self) != _all_but_evidence(before)

    def sightings_with(self, sighting: Sighting) -> tuple[Sighting, ...]:
        """One more piece of evidence; the newest of each source is kept."""
        return (*(s for s in self.sightings if s.source is not sighting.source), sighting)


_UNTOLD = ("sightings", "verdict", "tools")
_all_but_evidence = attrgetter(*(f.name for f in fields(Session) if f.name not in _UNTOLD))

"""The JSON contract: every value the daemon takes and gives, by its stable keys.

Plain ``TypedDict``: a command that prints one value should not pay for a schema library. Times are
seconds since 1970 (UTC).
"""

from typing import Literal, NotRequired, TypedDict

MESSAGE_STATES = ("queued", "offered", "accepted", "done", "expired", "refused", "cancelled")
"""Where a message can be."""


class ContextView(TypedDict):
    """One model context window."""

    number: int
    id: str | None
    transcript: str | None
    tokens: int | None
    window: int | None
    percent: float | None


class ThresholdView(TypedDict):
    """Where one level of a context begins."""

    level: str
    """EARLY_WARN, WARN or CRITICAL."""
    tokens: int
    wanted: int | None
    """What the configuration says, in tokens; null where that cannot be told."""
    moved: str | None
    """Why it does not begin there, in words."""
    reached: bool
    """It was reached since the context began or was compacted."""


class CompactionView(TypedDict):
    """A compaction that happened."""

    at: float
    trigger: str
    tokens: int | None
    """How full the context was before."""


class SampleView(TypedDict):
    at: float
    tokens: int


class ForecastView(TypedDict):
    """When the next level is reached if it goes on like this."""

    level: str
    seconds: float


class ContextUsage(ContextView):
    """How full a session's context is, as `sm context --json` prints it."""

    session: str
    name: str
    model: str | None
    source: str | None
    """statusline or transcript."""
    at: float | None
    compactions: int
    compacts_at: int | None
    """The tokens at which the agent compacts by itself, where that is known."""
    last_compaction: CompactionView | None
    monitored: bool
    """Whether the agent is warned."""
    opted_out: bool
    """Not warned because somebody asked for that, rather than by the configuration."""
    level: str | None
    """OK, EARLY_WARN, WARN or CRITICAL."""
    thresholds: list[ThresholdView]
    history: list[SampleView]
    forecast: ForecastView | None
    tools: int
    """Tool calls since it began or was compacted, roughly."""
    alarm: str | None
    """Why it is not being watched though it works."""


class TmuxView(TypedDict):
    """Where to find the session in tmux."""

    socket: str
    session: str
    pane: str


class SessionView(TypedDict):
    """A session, as `sm ls --json` lists it."""

    id: str
    name: str
    agent: str
    state: str
    state_since: float
    cwd: str
    channel: str | None
    parent: str | None
    host: str
    auto_handoff: bool
    created_at: float
    context: ContextView
    tmux: TmuxView | None
    queued: int
    last_handoff: str | None
    hopeless: str | None
    """Why it is not brought back by itself any more."""


class ExitView(TypedDict):
    """How the agent's process ended."""

    status: int | None
    signal: int | None
    intended: bool
    cause: str | None
    """What took the agent, of an end nobody asked for."""
    evidence: str
    """What speaks for that."""


class ReminderView(TypedDict):
    id: str
    session: str
    text: str
    due: float
    every: float | None


class PastContextView(TypedDict):
    """A context a session has left."""

    number: int
    id: str | None
    transcript: str | None
    tokens: int | None
    ended_at: float
    how: str


class ReceiptView(TypedDict):
    step: str
    at: float
    evidence: str


class CrashView(TypedDict):
    """An end of its agent that nobody asked for."""

    at: float
    cause: str
    reason: str
    busy: bool
    """A turn was running."""


class RecoveryView(TypedDict):
    """One try at bringing a session back."""

    id: str
    state: str
    """asked, started, done or failed."""
    way: str | None
    """resume or fresh."""
    by: str
    cause: str
    reason: str
    asked_at: float
    ended_at: float | None
    seconds: float | None
    """How long it took, once it is over."""
    steps: list[ReceiptView]


class SessionDetail(SessionView):
    """Everything about one session, as `sm show --json` prints it."""

    arguments: list[str]
    children: list[str]
    pid: int | None
    level: str | None
    """How full its context is: OK, EARLY_WARN, WARN or CRITICAL."""
    compactions: int
    last_compaction: CompactionView | None
    last_words: str
    exit: ExitView | None
    crash: CrashView | None
    """The last one."""
    recoveries: list[RecoveryView]
    """The last ones, oldest first."""
    next_recovery: float | None
    """When it is brought back by itself."""
    reminders: list[ReminderView]
    lineage: list[PastContextView]
    """The contexts before the present one, oldest first."""
    handoff: str | None
    """The handoff that is under way."""
    raw_log: str
    proves: bool
    degraded: list[str]
    """What does not work with its agent, and what is done instead."""
    adopted: bool
    limits: list[str]


class SightingView(TypedDict):
    """One piece of evidence."""

    source: str
    says: str
    at: float
    age: float


class StoredEvent(TypedDict):
    """One line of a session's history."""

    seq: int
    session: str
    at: float
    kind: str
    body: dict[str, object]


class Explanation(TypedDict):
    """Why we believe a session's state, as `sm explain --json` prints it."""

    id: str
    name: str
    state: str
    state_since: float
    because: SightingView
    evidence: list[SightingView]
    facts: list[str]
    waits: list[str]
    recent: list[StoredEvent]


# Written as a call: "from" is a keyword.
MessageView = TypedDict(
    "MessageView",
    {
        "id": str,
        "to": str,
        "to_name": str,
        "from": str,
        "mode": str,
        "text": str,
        "state": str,
        "route": str | None,
        "unproved": bool,
        "waiting": str | None,
        "receipts": list[ReceiptView],
    },
)


class HandoffView(TypedDict):
    """A session's passage to a fresh context, as `sm handoffs --json` lists it."""

    id: str
    kind: str
    state: str
    """The step it has come to."""
    status: str | None
    """Its state in its channel, if it has one."""
    session: str
    session_name: str
    channel: str | None
    requested_at: float
    document: str
    """The copy that was kept."""
    source: str
    """Where the agent wrote it."""
    redacted: int
    """How many secrets were taken out of the copy."""
    artifacts: str | None
    dump: str | None
    raw_log: str
    transcript: str | None
    context: int
    """The number of the context that was left."""
    waiting: str | None
    """Why it has not come further yet."""
    steps: list[ReceiptView]
    consumed_by: str | None
    consumed_at: float | None


class LoadBody(TypedDict):
    session: str
    """Who asks for it."""
    channel: NotRequired[str | None]
    """That of the session's directory, if not given."""
    send: NotRequired[bool]
    """Send it to the session, in place of giving it to the caller."""


class LoadedView(TypedDict):
    """A channel's handoff, as `sm handoffs load --json` prints it."""

    id: str
    channel: str
    kind: str
    document: str
    """Where the whole of it is."""
    text: str
    message: str | None
    """The message it was sent as."""


class ClearedView(TypedDict):
    channel: str
    cleared: list[str]


class RecoverableView(TypedDict):
    """A session that can be brought back, as `sm recover --json` lists it."""

    id: str
    name: str
    agent: str
    state: str
    cwd: str
    crashed_at: float
    cause: str
    reason: str
    busy: bool
    lines: int
    """What its terminal has shown, roughly."""
    percent: float | None
    """How full its context is."""
    hopeless: str | None
    next_recovery: float | None


class RecoveryPlanView(TypedDict):
    """How a session would be brought back, as `sm recover --dry-run --json` prints it."""

    session: str
    name: str
    way: str
    why: str
    command: list[str]
    prompt: str
    """What its agent would be told; empty where it is told nothing."""
    tokens: int
    """What that would take of its context, estimated."""
    lines: int
    requests: int
    replies: int
    last_activity: str
    sources: list[str]
    skipped: list[str]


class RecoverBody(TypedDict):
    id: NotRequired[str]
    way: NotRequired[Literal["resume", "fresh"] | None]
    """Whichever fits, if not given."""
    environment: NotRequired[dict[str, str] | None]
    """For an agent whose own is not kept."""


class NewHandoffBody(TypedDict):
    requester_session_id: str
    file_path: NotRequired[str]
    text: NotRequired[str]
    """The document itself, in place of a file."""
    id: NotRequired[str]


class NewSessionBody(TypedDict):
    agent: str
    cwd: str
    id: NotRequired[str]
    name: NotRequired[str | None]
    arguments: NotRequired[list[str]]
    parent: NotRequired[str | None]
    environment: NotRequired[dict[str, str]]
    prompt: NotRequired[str | None]
    monitored: NotRequired[bool]
    auto_handoff: NotRequired[bool]
    """Hand it over when its context is full and its agent does not do so itself."""


class AdoptBody(TypedDict):
    pane: str
    id: NotRequired[str]
    socket: NotRequired[str | None]
    name: NotRequired[str | None]
    agent: NotRequired[str | None]


class RenameBody(TypedDict):
    name: str


class AsideView(TypedDict):
    """A request too long for the document, whole."""

    name: str
    text: str


class DraftView(TypedDict):
    """The document sm would write by itself."""

    document: str
    size: int
    budget: int
    asides: list[AsideView]


class MonitorBody(TypedDict):
    monitored: bool


class NewMessageBody(TypedDict):
    text: str
    id: NotRequired[str]
    mode: NotRequired[Literal["sequential", "important", "urgent"]]
    sender: NotRequired[str | None]
    notify: NotRequired[bool]
    expires_in: NotRequired[float | None]


class NewReminderBody(TypedDict):
    text: str
    due_in: float
    id: NotRequired[str]
    every: NotRequired[float | None]
    sender: NotRequired[str | None]


class NoticeView(TypedDict):
    """What the person was told of a session."""

    id: str
    session: str
    name: str
    words: str
    at: float
    seen: bool
    """A command has shown it on a terminal."""


class SeenBody(TypedDict):
    notices: list[str]


class NoticesCleared(TypedDict):
    cleared: int


class ScreenView(TypedDict):
    lines: list[str]
    width: int
    height: int
    title: str


class LogView(TypedDict):
    lines: list[str]
    path: str
    bytes: int


class SnapshotView(TypedDict):
    """What a session's terminal held at one time, as `sm snapshot --json` lists it."""

    name: str
    session: str
    path: str
    at: float
    lines: int
    size: int
    """In bytes."""
    why: str
    """turn end, crash, heartbeat or asked."""


class SnapshotText(SnapshotView):
    """One of them, as `sm snapshot --show --json` prints it."""

    text: str
    """Without secrets."""


class SpoolView(TypedDict):
    waiting: int
    bad: list[str]


class Health(TypedDict):
    """Whether the daemon is well, and what it is."""

    version: str
    schema: str
    pid: int
    worker: int
    started_at: float
    sessions: int
    tmux: str
    tmux_connected: bool
    port: int | None
    spool: SpoolView
    restarts: int


class Problem(TypedDict):
    """What every refused call gets."""

    error: str

"""The JSON contract: every value the daemon takes and gives, by its stable keys.

Plain ``TypedDict``: a command that prints one value should not pay for a schema library. Times are
seconds since 1970 (UTC).
"""

from typing import Literal, NotRequired, TypedDict


class ContextView(TypedDict):
    """One model context window."""

    number: int
    id: str | None
    transcript: str | None
    tokens: int | None
    window: int | None
    percent: float | None


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


class ExitView(TypedDict):
    """How the agent's process ended."""

    status: int | None
    signal: int | None
    intended: bool


class ReminderView(TypedDict):
    id: str
    session: str
    text: str
    due: float
    every: float | None


class SessionDetail(SessionView):
    """Everything about one session, as `sm show --json` prints it."""

    arguments: list[str]
    children: list[str]
    pid: int | None
    last_words: str
    exit: ExitView | None
    reminders: list[ReminderView]
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


class ReceiptView(TypedDict):
    step: str
    at: float
    evidence: str


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


class NewSessionBody(TypedDict):
    agent: str
    cwd: str
    id: NotRequired[str]
    name: NotRequired[str | None]
    arguments: NotRequired[list[str]]
    parent: NotRequired[str | None]
    environment: NotRequired[dict[str, str]]
    prompt: NotRequired[str | None]


class AdoptBody(TypedDict):
    pane: str
    id: NotRequired[str]
    socket: NotRequired[str | None]
    name: NotRequired[str | None]
    agent: NotRequired[str | None]


class RenameBody(TypedDict):
    name: str


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


class ScreenView(TypedDict):
    lines: list[str]
    width: int
    height: int
    title: str


class LogView(TypedDict):
    lines: list[str]
    path: str
    bytes: int


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

"""What a terminal shows, as values: panes, views of them, and what a dialect reads there."""

from dataclasses import dataclass
from enum import StrEnum

from sm.core.ids import ContextId, PaneId, SessionId


@dataclass(frozen=True, slots=True, kw_only=True)
class Pane:
    """Where an agent runs: pinned once by tmux's own id, never looked up by name again."""

    socket: str
    """Absolute path of the tmux server's socket."""
    session: str
    """The tmux session's name, for people."""
    id: PaneId
    pid: int
    started: int
    """The process's start time in clock ticks: a reused pid is another process."""

    @property
    def number(self) -> str:
        """tmux's own ``%N``, without the server."""
        return self.id.partition("@")[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """Which server answered. Pane ids begin again at %0 on another one."""

    pid: int
    started: int
    """When, by the clock on the wall."""
    socket_path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PaneStatus:
    """One pane as tmux lists it."""

    id: PaneId
    sm_session: SessionId
    tmux_session: str
    pid: int
    dead: bool
    exit_status: int | None
    exit_signal: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """One look at one pane."""

    lines: tuple[str, ...]
    cursor_x: int
    cursor_y: int
    title: str
    in_mode: bool
    """Copy mode or another tmux mode covers the agent."""
    width: int
    height: int
    dead: bool
    exit_status: int | None
    exit_signal: int | None
    pasted: str
    """The mark of the last paste into this pane, kept by tmux itself."""
    entered: str
    """The mark of the last Enter pressed for a paste."""
    interrupted: str = ""
    """The mark of the last Escape pressed for an urgent message."""
    session: SessionId | None = None
    """Whose pane it is, by the tag kept by tmux itself: ids begin again on a new server."""
    pid: int | None = None
    """The process the pane was made for, or has been given since."""


class Sign(StrEnum):
    """What a screen is, as far as a dialect can tell."""

    PROMPT = "prompt"
    """The agent's prompt box, ready for text."""
    BUSY = "busy"
    """A turn is running."""
    DIALOG = "dialog"
    """A question only a person should answer."""
    UNKNOWN = "unknown"
    """No rule matched. Never taken for idle."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Screen:
    """A view as its dialect reads it."""

    sign: Sign
    draft: str = ""
    """What stands in the prompt box."""
    detail: str = ""
    """The words on the screen the verdict rests on."""
    has_box: bool = False
    """A prompt box is drawn (a busy agent may show one too)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentStatus:
    """What an agent says of itself in a file it keeps for that."""

    sign: Sign
    at: float
    """Since when."""
    detail: str = ""
    context: ContextId | None = None
    """Which context window it has now, where the file says so."""
    transcript: str | None = None


class Obstacle(StrEnum):
    """Why nothing was typed. The values are stored; the words are for people and may change."""

    DIALOG = "dialog"
    DRAFT = "draft"
    COPY_MODE = "copy_mode"
    NOT_FOREGROUND = "not_foreground"
    AGENT_GONE = "agent_gone"
    PANE_GONE = "pane_gone"
    UNREACHABLE = "unreachable"
    STOPPED = "stopped"
    BUSY = "busy"
    NO_BOX = "no_box"
    NOT_SHOWN = "not_shown"
    TURN_OVER = "turn_over"
    TOO_LATE = "too_late"

    @property
    def words(self) -> str:
        return _WORDS[self]


_WORDS = {
    Obstacle.DIALOG: "a dialog is open: a person must answer it first",
    Obstacle.DRAFT: "somebody's unfinished text is in the prompt box",
    Obstacle.COPY_MODE: "the pane is in copy mode and did not leave it",
    Obstacle.NOT_FOREGROUND: "another program has the terminal",
    Obstacle.AGENT_GONE: "the agent's process has ended",
    Obstacle.PANE_GONE: "the pane is gone",
    Obstacle.UNREACHABLE: "tmux cannot be reached",
    Obstacle.STOPPED: "the agent's process is stopped",
    Obstacle.BUSY: "the agent is working",
    Obstacle.NO_BOX: "no prompt box is to be seen",
    Obstacle.NOT_SHOWN: "the pasted text did not appear in the prompt box",
    Obstacle.TURN_OVER: "the turn was already over",
    Obstacle.TOO_LATE: "its deadline has passed",
}


class Record(StrEnum):
    """What an agent's own record says of a message it was given."""

    HELD = "held"
    """It is there as something the model was given."""
    PASSED = "passed"
    """It is not there, and the model has been asked again since."""
    OPEN = "open"
    """It is not there, or not yet."""


class NoteState(StrEnum):
    """Where a note in an agent's inbox is."""

    WAITING = "waiting"
    TAKEN = "taken"
    WITHDRAWN = "withdrawn"
    NEVER = "never"


class Place(StrEnum):
    """Where a message that was typed is found when looked for."""

    TRANSCRIPT = "transcript"
    BOX = "box"
    NOWHERE = "nowhere"
    WITHDRAWN = "withdrawn"
    """Its note lay untouched in the inbox and was taken back: certainly not given."""
    CANNOT_LOOK = "cannot look"

"""What the engine needs from the world, as protocols. Adapters fit them by shape."""

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from sm.core.adoption import Found, Process, Spot
from sm.core.channel import Channel, ChannelHandoff, Claimant, NewHandoff, Refusal
from sm.core.events import UsageSeen
from sm.core.exchange import Exchange, Integrity
from sm.core.ids import HandoffId, HookId, MessageId, PaneId, SessionId
from sm.core.journal import Entry, PendingEffect, Recorded
from sm.core.launch import AgentLine, LaunchRequest, PaneLaunch
from sm.core.message import Message, MessageState, Way
from sm.core.notices import PersonNotice
from sm.core.passage import Captured, Facts, Handoff, Kept
from sm.core.reports import HookEvent
from sm.core.snapshot import Snapshot, Why
from sm.core.state import Activity, Attempt, Compaction, Session, Usage
from sm.core.story import Story
from sm.core.terminal import (
    AgentStatus,
    NoteState,
    Pane,
    PaneStatus,
    Record,
    Screen,
    Server,
    View,
)


class Store(Protocol):
    """Durable memory. A commit that returned is on the disk; one that raised left nothing."""

    async def commit(self, entries: Sequence[Entry]) -> None:
        """Keep all of these entries, or none of them."""

    async def sessions(self) -> list[Session]:
        """Every session, with its open messages."""

    async def pending(self) -> list[PendingEffect]:
        """Effects whose outcome is not known, oldest first."""

    async def message(self, message_id: MessageId) -> Message | None: ...

    async def messages(
        self,
        *,
        to: SessionId | None = None,
        state: MessageState | None = None,
        limit: int = 1000,
    ) -> list[Message]:
        """The newest, oldest of them first."""

    async def handoff(self, handoff_id: HandoffId) -> Handoff | None: ...

    async def handoffs(
        self, *, session: SessionId | None = None, limit: int = 1000
    ) -> list[Handoff]:
        """The newest, oldest of them first."""

    async def events(
        self, *, session: SessionId | None = None, after: int = 0, limit: int = 1000
    ) -> list[Recorded]:
        """In the order they were committed."""

    async def last_events(self, session: SessionId, limit: int) -> list[Recorded]:
        """The newest of one session, oldest of them first."""

    async def last_seq(self) -> int:
        """The seq of the newest event, or 0."""

    async def has_hook(self, hook: HookId) -> bool: ...

    async def recent_hooks(self, limit: int) -> list[HookId]: ...

    async def last_effect(self) -> int:
        """The highest effect id ever given out, or 0."""

    async def prune(self, before: float) -> int:
        """Drop events, closed messages and closed handoffs older than this; say how many."""

    async def forget(self, sessions: Sequence[SessionId]) -> None:
        """Drop these sessions and everything that belongs to them."""

    async def close(self) -> None: ...


class Terminal(Protocol):
    """tmux. "Unreachable" (raised), "gone" (None) and "empty" are three different answers."""

    async def launch(self, launch: PaneLaunch) -> Pane: ...

    def check_startable(self, launch: PaneLaunch) -> None:
        """Raises LaunchFailedError where it is plain beforehand that it cannot be started."""

    async def relaunch(self, launch: PaneLaunch) -> Pane:
        """Start an agent in the place of one that died."""

    async def find(self, session: SessionId) -> Pane | None:
        """The pane tagged with this session, if this server has it."""

    async def panes(self) -> list[PaneStatus]:
        """Every pane tagged with our home."""

    async def look(self, pane: PaneId) -> View | None: ...

    async def server_of(self, pane: PaneId) -> Server:
        """The server that answers where this pane was; raises ServerGoneError if none listens."""

    async def dump(
        self, pane: PaneId, *, of: SessionId | None = None, lines: int | None = None
    ) -> bytes | None:
        """What stands in the pane and its scrollback, as text; None if it is gone.

        ``of``: only if the pane is this session's. ``lines``: the last ones alone.
        """

    async def paste(self, pane: PaneId, mark: str, text: str) -> None:
        """Paste once: a pane that already carries this mark is left as it is."""

    async def press(self, pane: PaneId, key: str, *, option: str, mark: str) -> None:
        """Press a key once: a pane that already carries this mark is left as it is."""

    async def leave_mode(self, pane: PaneId) -> None: ...

    async def rename(self, pane: PaneId, name: str) -> str:
        """Rename the pane's tmux session; the name it really got."""

    async def tell(self, words: str) -> int:
        """Show a line to everybody who looks at a session of ours; to how many. Never raises."""

    async def kill(self, session: SessionId) -> None:
        """End the tmux session tagged with this session, if it is there."""

    async def examine(self, target: str, socket: str | None) -> Spot | None:
        """Look at a pane of any server (None: ours) without touching it."""

    async def take(self, pane: PaneId, session: SessionId, raw_log: str, sizes_log: str) -> bool:
        """Tag a living pane that is nobody's and keep its output; whether it is tagged now."""

    async def release(self, pane: PaneId, session: SessionId) -> None:
        """Take our tags and our pipe from the pane, if it still has this session's."""


class Dialect(Protocol):
    """All we know of one agent program."""

    name: str
    proves: bool
    """Whether it reports what it accepted."""
    resumes: bool
    """Whether it can be started again with its own record of a context."""

    def plan(self, request: LaunchRequest) -> AgentLine:
        """Raises LaunchFailedError when the program is not there."""

    stash_key: str | None
    """Puts what stands in its prompt box aside until the next prompt was submitted."""
    clear_command: str | None
    """Typed at its prompt, it begins a fresh context; None where it cannot."""
    erase_key: str
    """Empties its prompt box."""
    ways: tuple[Way, ...]
    """The routes it offers, and how much fits through each."""

    def decode_hook(
        self, payload: bytes, *, hook: HookId, at: float, answerable: bool
    ) -> HookEvent | UsageSeen: ...

    def greeting(self, inbox: str | None, lesson: str) -> bytes:
        """The answer to a context's start: the agent is told to watch its inbox, and taught."""

    def answer(self, event: HookEvent, text: str) -> bytes:
        """The answer to a hook that gives the model this text."""

    def halt(self, reason: str) -> bytes:
        """The answer to a tool's result that ends the turn."""

    def refuse(self, reason: str) -> bytes:
        """The answer that keeps the agent from compacting now."""

    def read_screen(self, view: View) -> Screen: ...

    def is_fresh(self, view: View) -> bool:
        """Whether it shows a context that has just begun, drawn to its end."""

    def box_holds(self, screen: Screen, message: MessageId) -> bool:
        """Whether the prompt box holds this message's envelope, perhaps folded by the agent."""

    def box_holds_only(self, screen: Screen, message: MessageId, opening: str) -> bool:
        """Whether it holds this message, which begins so, and no word of anybody else."""

    def search(self, transcript_path: Path, attempt: Attempt) -> Record:
        """Whether the agent's own record shows that the model was given the message."""

    def read_usage(self, transcript_path: Path) -> Usage | None:
        """How full the context is, by the agent's own record."""

    def read_activity(self, transcript_path: Path) -> Activity:
        """Which turn is running and what it does, by the agent's own record."""

    def read_story(self, transcript_path: Path) -> Story | None:
        """What its own record tells of the work; None if the file is none. Raises OSError."""

    def read_exchanges(self, transcript_path: Path, room: int) -> tuple[Exchange, ...]:
        """The newest of the conversation, about so many characters of it, oldest first."""

    def read_shown(self, lines: Sequence[str]) -> tuple[Exchange, ...]:
        """What a terminal's lines show of the conversation; empty where they show none."""

    def examine(self, transcript_path: Path) -> Integrity:
        """Whether it would find all of the conversation there, to resume it. Raises OSError."""

    def compacts_at(self, told: Compaction, model: str) -> int | None:
        """The tokens at which it compacts its context by itself, where that is known."""

    def read_status(self, pid: int, started: int, transcript_path: Path) -> AgentStatus | None:
        """What the agent says of itself in its state file, if it keeps one."""

    def find(self, processes: Sequence[Process]) -> list[Found]:
        """Every agent of this kind among these processes, each after its parent."""


class Dialects(Protocol):
    recognisable: tuple[str, ...]
    """Agents that are known when they are found running."""

    def named(self, agent: str) -> Dialect:
        """The dialect for what a person wrote after --agent; any other command is generic."""

    def clean(self, environment: Mapping[str, str]) -> dict[str, str]:
        """The caller's environment without what belongs to the caller's own agent and session."""


class Inbox(Protocol):
    """A folder each agent watches. A note is taken by the agent's hook, or taken back by us."""

    def folder(self, session: SessionId) -> str: ...

    def leave(self, session: SessionId, mark: str, text: str) -> None:
        """Put a note there once: one that was ever there is not written again."""

    def look(self, session: SessionId, mark: str) -> NoteState: ...

    def withdraw(self, session: SessionId, mark: str) -> bool:
        """Take a note back; False when the agent was faster."""


class Handoffs(Protocol):
    """What each handoff leaves behind, a folder for each. Every call blocks: run it in a thread."""

    def keep(self, session: SessionId, handoff: HandoffId, source: Path, limit: int) -> Kept:
        """Copy the document; raises DocumentError, with words for the agent, if it is none."""

    def keep_text(self, session: SessionId, handoff: HandoffId, text: str, limit: int) -> Kept:
        """The same for one that was never a file."""

    def keep_beside(self, session: SessionId, handoff: HandoffId, files: Mapping[str, str]) -> None:
        """Write texts beside the document, by name; raises DocumentError."""

    def beside(self, session: SessionId, handoff: HandoffId, name: str) -> str | None:
        """Such a text, if it is there."""

    def place(self, session: SessionId, handoff: HandoffId) -> str:
        """Its folder."""

    def refresh(
        self, session: SessionId, handoff: HandoffId, source: Path, limit: int
    ) -> Kept | None:
        """Copy it again if it is still good; else the last good copy, if there is one."""

    def last(self, session: SessionId, handoff: HandoffId) -> Kept | None:
        """The copy there is."""

    def capture(self, session: SessionId, handoff: HandoffId, facts: Facts) -> Captured:
        """Write down everything else; never raises. Repeated, it replaces what was there."""

    def git(self, cwd: str) -> str:
        """What git says of a directory, or why it could not; empty where there is none."""


class Snapshots(Protocol):
    """What terminals held, in files that outlive them. Every call blocks: run it in a thread."""

    def keep(self, session: SessionId, text: bytes, *, at: float, why: Why) -> Snapshot:
        """Write a text down, unless the newest one says the same: then that. Those that are too
        many go. Raises OSError."""

    def last(self, session: SessionId) -> Snapshot | None:
        """The newest."""

    def all(self, session: SessionId) -> list[Snapshot]:
        """Newest first."""

    def read(self, session: SessionId, name: str) -> str:
        """What one of them says, with its secrets. Raises OSError."""

    def forget(self, session: SessionId) -> None:
        """Remove all of them."""


class Channels(Protocol):
    """Which project a folder belongs to, and the handoffs left there.

    Every call blocks, and raises LedgerFailedError where nothing can be known.
    """

    def of(self, cwd: str) -> Channel: ...

    def create(self, new: NewHandoff) -> ChannelHandoff: ...

    def claim(
        self, handoff: HandoffId, claimant: Claimant, *, now: float, expiry: float
    ) -> ChannelHandoff | Refusal: ...

    def claim_from(
        self,
        channel: str,
        claimant: Claimant,
        *,
        now: float,
        expiry: float,
        explicitly: bool = False,
    ) -> ChannelHandoff | Refusal: ...

    def consume(self, handoff: HandoffId, by: SessionId, at: float) -> ChannelHandoff | Refusal: ...

    def clear(
        self, *, channel: str | None = None, handoff: HandoffId | None = None, at: float
    ) -> list[ChannelHandoff]: ...

    def release(self, handoff: HandoffId, by: SessionId, at: float) -> list[ChannelHandoff]: ...

    def expire(self, now: float, expiry: float) -> list[ChannelHandoff]: ...

    def release_stale(
        self,
        is_alive: Callable[[int, int], bool],
        transcript_has: Callable[[str, HandoffId], bool],
        *,
        now: float,
    ) -> list[ChannelHandoff]: ...

    def get(self, handoff: HandoffId) -> ChannelHandoff | None: ...

    def history(
        self, *, channel: str | None = None, session: SessionId | None = None, limit: int = 1000
    ) -> list[ChannelHandoff]: ...


class Notices(Protocol):
    """What the person is told, and what of it they have seen."""

    async def tell(self, notice: PersonNotice) -> str:
        """Tell it once, on every way there is; in words, what was done. Never raises."""

    async def all(self) -> list[PersonNotice]:
        """What was told and not cleared, oldest first."""

    async def take(self, notices: Collection[PersonNotice]) -> None:
        """List what another engine told, which is gone; it is told to nobody again."""

    async def see(self, notices: Collection[str]) -> None:
        """These were shown to the person."""

    async def clear(self) -> int:
        """Put all of them away; how many there were."""


class Processes(Protocol):
    """The process table."""

    def started(self, pid: int) -> int | None:
        """Start time of a living process; None if there is none (a zombie is none)."""

    def is_foreground(self, pid: int) -> bool:
        """Whether the process's group owns its terminal."""

    def is_stopped(self, pid: int) -> bool: ...

    def tree(self, pid: int) -> list[Process]:
        """A process and all its descendants, each after its parent."""

    async def end(self, pid: int, started: int) -> bool:
        """End this very process, gently first; whether it is gone."""

    def booted_at(self) -> float | None:
        """When the host was started, where that can be told."""

    def memory_killed(self, pid: int, started: int, *, by_kill: bool) -> str | None:
        """What the kernel says about killing it for want of memory; None: nothing.

        ``by_kill``: SIGKILL certainly ended it. Then a counter that rose is evidence too.
        """

    def marked(self, session: SessionId) -> list[Process]:
        """Every living process that was started as this session's agent, or below it."""


class Clock(Protocol):
    def now(self) -> float: ...

"""A small world for the engine: one tmux, its panes, and a scripted kind of agent.

The agent is as awkward as real ones: it swallows an Enter, opens a dialog, ends a turn without a
word. What it must never see (text onto a draft, an Enter into a dialog) is kept in ``wrongs``.
One that ``waits`` stands still for the answers to its hooks, watches an inbox, keeps a status file
and writes what its model was given into its transcript a moment later.
"""

import asyncio
import errno
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from sm.core import envelope
from sm.core.adoption import Found, Process, Spot
from sm.core.exchange import Exchange, Integrity
from sm.core.ids import ContextId, HookId, MessageId, PaneId, PromptId, SessionId
from sm.core.launch import (
    AgentLine,
    LaunchFailedError,
    LaunchRequest,
    MalformedHookError,
    PaneLaunch,
    ServerGoneError,
    TerminalUnreachableError,
)
from sm.core.message import TYPING, Way
from sm.core.reports import (
    ContextEnded,
    ContextStarted,
    DialogOpened,
    Hook,
    HookEvent,
    PromptAccepted,
    ToolEnded,
    ToolStarted,
    TurnEnded,
    TurnFailed,
)
from sm.core.state import Activity, Attempt, Compaction, Usage
from sm.core.story import Story
from sm.core.terminal import (
    AgentStatus,
    NoteState,
    Pane,
    PaneStatus,
    Record,
    Screen,
    Server,
    Sign,
    View,
)
from sm.engine.ports import Dialect
from tests.engine.timelapse import TimelapseLoop

PASTED = "@sm_pasted"
STARTED = 7
"""Every process of this world started at this tick."""
REPLACING = 400
"""Pids of programs that were put where agents were begin here."""
SERVER = Server(pid=50, started=0, socket_path="/tmp/tmux")
RECORDED_AFTER = 0.2
"""What the model is given or says stands in the transcript this much later."""


@dataclass(frozen=True, slots=True)
class Line:
    """One record of a transcript: a text the model was given, or a call of one of its replies."""

    at: float
    given: str = ""
    reply: int = 0
    call: str = ""


@dataclass(slots=True)
class Agent:
    """One agent in its pane: a prompt box, a model, and hooks that tell of it."""

    session: SessionId
    number: int
    now: Callable[[], float]
    waits: bool = False
    showing: Sign = Sign.PROMPT
    since: float = 0.0
    """When it began to show that."""
    drawn: Sign | None = None
    """What its screen shows, where that is not what it does."""
    beneath: Sign = Sign.PROMPT
    """What an open dialog covers."""
    box: str = ""
    stash: str = ""
    """A draft put aside; it comes back after the next prompt."""
    marks: dict[str, str] = field(default_factory=dict)
    """What tmux keeps beside the pane."""
    swallows: int = 0
    """How many Enters will come to nothing."""
    dead: bool = False
    gone: bool = False
    exit_status: int | None = None
    exit_signal: int | None = None
    lines: tuple[str, ...] = ()
    """What its pane shows in place of its prompt box."""
    stopped: bool = False
    unkillable: bool = False
    """It waits for a disk that does not answer: no signal is heard."""
    foreground: bool = True
    stuck: asyncio.Event | None = None
    """A look at it takes until this is set."""
    slow: float = 0.0
    """Seconds that a dump of it takes."""
    in_mode: bool = False
    leaves_mode: bool = True
    tmux_name: str = ""
    turns: int = 0
    shown: bool = False
    """The running turn has shown its first output."""
    got: list[str] = field(default_factory=list)
    """Every prompt the model was given."""
    hooks: list[HookEvent] = field(default_factory=list)
    """What the agent reported, not yet taken in by anybody."""
    wrongs: list[str] = field(default_factory=list)
    contexts: int = 1
    transcripts: dict[str, list[Line]] = field(default_factory=dict)
    replies: int = 0
    calls: int = 0
    running: list[str] = field(default_factory=list)
    """Tool calls that have not ended."""
    awaiting: list[HookEvent] = field(default_factory=list)
    """The reports it stands still for."""
    beside: list[str] = field(default_factory=list)
    """What goes to the model with the results of its tools."""
    watches: bool = False
    """It was told to watch its inbox."""
    notes: list[str] = field(default_factory=list)
    """Taken from the inbox, not yet given to the model."""
    tasks: tuple[str, ...] = ()
    """What runs beside it in the background."""
    kept_going: int = 0
    """How many turn ends somebody else's hook will prevent."""

    revivals: int = 0
    """How often it was started in the place of a dead one."""

    replaced_by: str = ""
    """The program its pane was given to; its process is then another."""
    in_shell: bool = False
    """Its pane is a shell's, which does not end with it."""
    memory: str | None = None
    """What the kernel says about killing it."""
    owner: SessionId | None = None
    """Whose tag is on its pane, where sm did not start it."""
    piped: bool = False
    """Somebody else has its output."""
    status: AgentStatus | None = None
    """What it says in its state file, where that is not simply what it does."""

    @property
    def sign(self) -> Sign:
        return self.showing

    @sign.setter
    def sign(self, sign: Sign) -> None:
        self.showing, self.since = sign, self.now()

    @property
    def pane(self) -> Pane:
        return Pane(
            socket="/tmp/tmux",
            session=self.tmux_name,
            id=PaneId(f"%{self.number}"),
            pid=self.pid,
            started=STARTED,
        )

    @property
    def pid(self) -> int:
        return 100 + self.number + 1000 * self.revivals

    @property
    def pane_pid(self) -> int:
        is_others = self.in_shell or self.replaced_by
        return REPLACING + self.number if is_others else self.pane.pid

    @property
    def transcript(self) -> str:
        return f"/transcripts/{self.session}" + (f".{self.contexts}" if self.contexts > 1 else "")

    @property
    def context(self) -> ContextId:
        return ContextId(f"context of {Path(self.transcript).name}")

    @property
    def received(self) -> list[MessageId]:
        """The messages the model was given, in that order."""
        found = [envelope.message_in(prompt) for prompt in self.got]
        return [message for message in found if message is not None]

    # --- what tmux does to it ------------------------------------------------------------

    def paste(self, mark: str, text: str) -> None:
        if self.dead or self.gone or self.marks.get(PASTED) == mark:
            return
        self.marks[PASTED] = mark
        if self.sign is not Sign.PROMPT or self.box:
            self.wrongs.append(f"pasted {mark} onto {self.sign.value}, box {self.box!r}")
        self.box += text

    def press(self, key: str, option: str, mark: str) -> None:
        if self.dead or self.gone or self.marks.get(option) == mark:
            return
        self.marks[option] = mark
        wanted = Sign.BUSY if key == "Escape" else Sign.PROMPT
        if self.sign is not wanted:
            self.wrongs.append(f"{key} {mark} into {self.sign.value}")
        elif key == "Escape":
            self.interrupt()
        elif key == "C-s":
            self.box, self.stash = self.stash, self.box
        elif key == "C-u":
            self.box = ""
        elif envelope.message_in(self.box) and not self.box.endswith("]"):
            self.wrongs.append(f"sent with a person's words: {self.box!r}")
        elif self.swallows:
            self.swallows -= 1
        else:
            self.submit()

    # --- what it does itself -------------------------------------------------------------

    def submit(self) -> None:
        """Give what stands in the box to the model."""
        prompt, self.box, self.stash = self.box, self.stash, ""
        if prompt == "/clear":
            self.hooks.append(self.clear())
        else:
            self.begin(prompt)

    def begin(self, prompt: str) -> None:
        self.turns += 1
        self.give(prompt)
        self.sign, self.shown = Sign.BUSY, False
        hook = self.hook("UserPromptSubmit")
        message, quoted = envelope.message_in(prompt), envelope.quoted_in(prompt)
        self.hooks.append(PromptAccepted(hook=hook, message=message, opening="", quoted=quoted))

    def give(self, text: str) -> None:
        """The model gets a text, and will answer it."""
        self.got.append(text)
        self.replies += 1
        self.write(Line(self.now(), given=text))

    def write(self, line: Line) -> None:
        self.transcripts.setdefault(self.transcript, []).append(line)

    def interrupt(self) -> None:
        """Before its first output the prompt is undone and put back into the box."""
        self.rest()
        if not self.shown:
            self.box = self.got.pop() + self.box
            self.transcripts[self.transcript].pop()
            if envelope.message_in(self.box) is not None:
                self.wrongs.append(f"undone: {self.box!r}")

    def revive(self, *, fresh: bool) -> None:
        """Started in its own pane again: what it had in its box and its hands is gone, what it
        wrote down is not. tmux keeps its marks."""
        self.revivals += 1
        self.replaced_by, self.in_shell = "", False
        self.dead = self.gone = self.stopped = self.in_mode = self.watches = False
        self.exit_status, self.sign, self.drawn = None, Sign.PROMPT, None
        self.box = self.stash = ""
        self.running, self.awaiting, self.beside, self.notes = [], [], [], []
        self.contexts += 1 if fresh else 0
        self.hooks.append(self.context_started("startup" if fresh else "resume"))

    def start(self) -> None:
        self.hooks.append(self.context_started("startup"))

    def context_started(self, source: str) -> ContextStarted:
        hook = replace(self.hook("SessionStart"), answerable=self.waits)
        return ContextStarted(hook=hook, source=source, transcript=self.transcript)

    def clear(self) -> ContextStarted:
        """``/clear``: notes it has taken go to the context that ends. What is told last."""
        for note in self.notes:
            self.give(note)
        self.notes = []
        self.hooks.append(ContextEnded(hook=self.hook("SessionEnd"), reason="clear"))
        self.contexts += 1
        return self.context_started("clear")

    def use_tool(self) -> None:
        self.shown = True
        self.calls += 1
        call = f"call {self.calls}"
        self.write(Line(self.now(), reply=self.replies, call=call))
        self.hooks.append(ToolStarted(hook=self.hook("PreToolUse"), tool="Bash"))
        if self.waits:
            self.running.append(call)

    def end_tool(self) -> None:
        hook = replace(self.hook("PostToolUse"), answerable=True)
        ended = ToolEnded(hook=hook, tool="Bash", failed=False, tool_use=self.running.pop(0))
        self.hooks.append(ended)
        self.awaiting.append(ended)

    def answered(self, event: HookEvent, text: str = "") -> None:
        """A report got its answer, or was given up; nobody may wait for it any more."""
        if event not in self.awaiting:
            return
        self.awaiting.remove(event)
        if isinstance(event, TurnEnded):
            self.stop(text)
            return
        self.beside += [text] if text else []
        if not self.running and not self.awaiting:
            self.ask_model_again()

    def stop(self, answer: str) -> None:
        if answer:
            self.shown = False
            self.give(answer)
        elif self.kept_going:
            self.kept_going -= 1
            self.give("somebody else's words")
        else:
            self.rest()

    def ask_model_again(self) -> None:
        """The results of the tools go to the model, with what came meanwhile."""
        self.replies += 1
        for text in (*self.beside, *self.notes):
            self.give(text)
        self.beside, self.notes = [], []

    def lose_patience(self) -> None:
        for event in list(self.awaiting):
            self.answered(event)

    def take_note(self, text: str) -> None:
        self.notes.append(text)

    def read_note(self) -> None:
        """An idle agent wakes up: a note is a prompt, whatever stands in the box."""
        self.begin(self.notes.pop(0))

    def rest(self) -> None:
        """The turn is over; what its tools were to bring along is forgotten."""
        self.sign = Sign.PROMPT
        self.running, self.awaiting, self.beside = [], [], []

    def search(self, transcript: str, attempt: Attempt) -> Record:
        written = self.transcripts.get(transcript, [])
        lines = [line for line in written if line.at + RECORDED_AFTER <= self.now()]
        if any(envelope.message_in(line.given) == attempt.message for line in lines):
            return Record.HELD
        own = [line.reply for line in lines if line.call and line.call == attempt.tool_use]
        is_passed = any(line.reply > own[0] for line in lines) if own else False
        return Record.PASSED if is_passed else Record.OPEN

    def ask(self) -> None:
        """Open a dialog; only one about a tool is told of."""
        self.beneath, self.sign = self.sign, Sign.DIALOG
        if self.beneath is Sign.BUSY:
            self.hooks.append(DialogOpened(hook=self.hook("PermissionRequest"), question="rm x?"))

    def answer(self) -> None:
        self.sign = self.beneath

    def finish(self, words: str = "done") -> None:
        self.write(Line(self.now(), reply=self.replies))
        hook = replace(self.hook("Stop"), answerable=self.waits)
        ended = TurnEnded(hook=hook, last_words=words, tasks=self.tasks)
        self.hooks.append(ended)
        if self.waits:
            self.awaiting.append(ended)
        else:
            self.rest()

    def fail(self) -> None:
        self.rest()
        self.hooks.append(TurnFailed(hook=self.hook("StopFailure"), error="overloaded"))

    def die(self, status: int = 1) -> None:
        """What it was given is on record by then."""
        self.dead, self.exit_status = True, status
        self.transcripts = {
            path: [replace(line, at=min(line.at, self.now() - RECORDED_AFTER)) for line in lines]
            for path, lines in self.transcripts.items()
        }

    def hook(self, name: str) -> Hook:
        return Hook(
            id=HookId(f"{self.session}-{name}-{self.turns}-{self.now()}"),
            name=name,
            at=self.now(),
            context=self.context,
            prompt=PromptId(f"{self.session}-{self.turns}") if self.turns else None,
        )

    def view(self) -> View:
        return View(
            lines=self.lines or tuple(self.box.split("\n")),
            cursor_x=0,
            cursor_y=0,
            title=(self.drawn or self.sign).value,
            in_mode=self.in_mode,
            width=80,
            height=24,
            dead=self.dead and not self.in_shell,
            exit_status=None if self.in_shell else self.exit_status,
            exit_signal=None if self.in_shell else self.exit_signal,
            pasted=self.marks.get(PASTED, ""),
            entered=self.marks.get("@sm_entered", ""),
            interrupted=self.marks.get("@sm_interrupted", ""),
            session=self.owner or self.session,
            pid=self.pane_pid,
        )


@dataclass(slots=True)
class World:
    """Every agent there is, and whether tmux answers. Fits the engine's ``Terminal``."""

    now: Callable[[], float]
    agents: dict[SessionId, Agent] = field(default_factory=dict)
    calls: list[str] = field(default_factory=list)
    """What was asked of tmux, looks left out."""
    dumps: int = 0
    """How often what a pane holds was asked for."""
    silent: bool = False
    babbles: bool = False
    """The list of panes is none that anybody could read."""
    """tmux does not answer, and does nothing either."""
    hang: str | None = None
    """The next call raises, ``before`` or ``after`` it was carried out."""
    breaks: Exception | None = None
    """The next paste ends in this error, which nobody foresaw."""
    refuses_launch: bool = False
    hang_at: str = ""
    """The next call of this name is carried out and not answered."""
    forgets: bool = False
    """Agents that are started again begin a new context."""
    server: Server | None = SERVER
    """None: nobody listens on the socket."""
    server_tick: int | None = STARTED - 1
    """When the process of that server was started."""
    restored: dict[str, str] = field(default_factory=dict)
    """tmux sessions that were made since, and the program in each."""
    restored_for: SessionId | None = None
    """Whose tag they have."""

    def agent(self, session: str = "ada") -> Agent:
        return self.agents[SessionId(session)]

    def add(self, session: SessionId) -> Agent:
        agent = Agent(session, len(self.agents) + 1, self.now, tmux_name=session)
        self.agents[session] = agent
        return agent

    def _in(self, pane: PaneId) -> Agent | None:
        return next((a for a in self.agents.values() if a.pane.id == pane and not a.gone), None)

    def _answers(self) -> None:
        if self.silent or self.hang == "before":
            self.hang = None
            raise TerminalUnreachableError("no answer")

    def _answered(self) -> None:
        if self.hang == "after":
            self.hang = None
            raise TerminalUnreachableError("no answer; the command may have run")

    async def launch(self, launch: PaneLaunch) -> Pane:
        self._answers()
        self.calls.append(f"launch {launch.session}")
        if self.refuses_launch:
            raise LaunchFailedError(f"{launch.cwd} is not a folder")
        agent = self.add(launch.session)
        agent.start()
        self._answered()
        return agent.pane

    def check_startable(self, launch: PaneLaunch) -> None:
        if self.refuses_launch:
            raise LaunchFailedError(f"{launch.cwd} is not a folder")

    async def relaunch(self, launch: PaneLaunch) -> Pane:
        """In place: what the agent wrote stays, what it had in its box and its hands does not."""
        self._answers()
        self.calls.append(f"relaunch {launch.session}")
        if self.hang_at == "relaunch":
            self.hang, self.hang_at = "after", ""
        if self.refuses_launch:
            raise LaunchFailedError(f"{launch.cwd} is not a folder")
        dead = self.agents.get(launch.session)
        if dead is None:
            self.add(launch.session).start()
        else:
            dead.revive(fresh=self.forgets)
        self._answered()
        return self.agents[launch.session].pane

    async def find(self, session: SessionId) -> Pane | None:
        self._answers()
        agent = self.agents.get(session)
        return agent.pane if agent is not None and not agent.gone else None

    async def panes(self) -> list[PaneStatus]:
        self._answers()
        if self.babbles:
            raise ValueError("not enough values to unpack")
        return [
            PaneStatus(
                id=agent.pane.id, sm_session=agent.session, tmux_session=agent.tmux_name,
                pid=agent.pane_pid, dead=agent.dead, exit_status=agent.exit_status,
                exit_signal=agent.exit_signal,
            )
            for agent in self.agents.values()
            if not agent.gone
        ]  # fmt: skip

    async def look(self, pane: PaneId) -> View | None:
        self._answers()
        agent = self._in(pane)
        if agent is not None and agent.stuck is not None:
            await agent.stuck.wait()
        return agent.view() if agent is not None else None

    async def server_of(self, pane: PaneId) -> Server:
        self._answers()
        if self.server is None:
            raise ServerGoneError("no server running")
        return self.server

    async def dump(
        self, pane: PaneId, *, of: SessionId | None = None, lines: int | None = None
    ) -> bytes | None:
        self.dumps += 1
        view, agent = await self.look(pane), self._in(pane)
        if agent is not None and agent.slow:
            await asyncio.sleep(agent.slow)
        if view is None or of not in (None, view.session):
            return None
        return "".join(f"{line}\n" for line in view.lines[-(lines or 0) :]).encode()

    async def paste(self, pane: PaneId, mark: str, text: str) -> None:
        self._answers()
        self.calls.append(f"paste {mark}")
        if self.breaks is not None:
            error, self.breaks = self.breaks, None
            raise error
        agent = self._in(pane)
        if agent is not None:
            agent.paste(mark, text)
        self._answered()

    async def press(self, pane: PaneId, key: str, *, option: str, mark: str) -> None:
        self._answers()
        self.calls.append(f"{key} {mark}")
        agent = self._in(pane)
        if agent is not None:
            agent.press(key, option, mark)
        self._answered()

    async def leave_mode(self, pane: PaneId) -> None:
        self._answers()
        agent = self._in(pane)
        if agent is not None and agent.leaves_mode:
            agent.in_mode = False

    async def rename(self, pane: PaneId, name: str) -> str:
        self._answers()
        self.calls.append(f"rename {name}")
        agent = self._in(pane)
        if agent is not None:
            agent.tmux_name = name
        return name

    async def tell(self, words: str) -> int:
        self.calls.append(f"tell {words}")
        return 0 if self.silent else 1

    async def kill(self, session: SessionId) -> None:
        self._answers()
        self.calls.append(f"kill {session}")
        if session in self.agents:
            self.agents[session].dead = self.agents[session].gone = True

    # --- agents that somebody else started -------------------------------------------------

    async def examine(self, target: str, socket: str | None) -> Spot | None:
        self._answers()
        if target.strip("=:") in self.restored:
            return self._restored(target.strip("=:"))
        agent = next((a for a in self.agents.values() if a.pane.id == target and not a.gone), None)
        if agent is None or socket is not None:
            return None
        return Spot(
            pane=agent.pane.id,
            socket=agent.pane.socket,
            tmux_session=agent.tmux_name,
            pid=agent.pane_pid,
            dead=agent.dead,
            command=agent.replaced_by or "scripted",
            owner=agent.owner,
            is_ours=agent.owner is not None,
            piped=agent.piped,
        )

    def _restored(self, name: str) -> Spot:
        return Spot(
            pane=PaneId("%90"), socket="/tmp/tmux", tmux_session=name, pid=90, dead=False,
            command=self.restored[name], owner=self.restored_for, is_ours=False, piped=False,
        )  # fmt: skip

    async def take(self, pane: PaneId, session: SessionId, raw_log: str, sizes_log: str) -> bool:
        self._answers()
        self.calls.append(f"take {session}")
        agent = self._in(pane)
        if agent is None or agent.dead or agent.owner not in (None, session):
            return False
        agent.owner = session
        self._answered()
        return True

    async def release(self, pane: PaneId, session: SessionId) -> None:
        self._answers()
        self.calls.append(f"release {session}")
        agent = self._in(pane)
        if agent is not None and agent.owner == session:
            agent.owner = None


def _in_a_thread() -> None:
    """What may take long must not keep the event loop."""
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        return  # of an ordinary loop: a real one
    assert isinstance(loop, TimelapseLoop)
    assert loop.in_thread, "everything else waits for it"


@dataclass(slots=True)
class ProcessTable:
    """Fits the engine's ``Processes`` and the watch's ``ProcessWatch``."""

    world: World
    booted: float | None = None
    watched: dict[int, Callable[[], None]] = field(default_factory=dict)
    trouble: dict[int, OSError] = field(default_factory=dict)
    """What comes of asking for a process, by its pid."""

    def _at(self, pid: int) -> Agent:
        return next(a for a in self.world.agents.values() if a.pane.pid == pid)

    def started(self, pid: int) -> int | None:
        if pid in self.trouble:
            raise self.trouble[pid]
        if pid == os.getpid():
            return STARTED
        server = self.world.server
        if server is not None and pid == server.pid:
            return self.world.server_tick
        found = [a for a in self.world.agents.values() if a.pid == pid and not a.dead]
        return STARTED if found else None

    def is_foreground(self, pid: int) -> bool:
        return self._at(pid).foreground

    def is_stopped(self, pid: int) -> bool:
        return self._at(pid).stopped

    def tree(self, pid: int) -> list[Process]:
        _in_a_thread()
        return [
            Process(
                pid=agent.pane.pid,
                parent=1,
                started=STARTED,
                name=agent.session,
                command=("scripted", "--fast"),
                environment={},
                foreground=agent.foreground,
            )
            for agent in self.world.agents.values()
            if agent.pane.pid == pid and not agent.dead
        ]

    def booted_at(self) -> float | None:
        _in_a_thread()
        return self.booted

    def memory_killed(self, pid: int, started: int, *, by_kill: bool) -> str | None:
        return self._at(pid).memory

    def marked(self, session: SessionId) -> list[Process]:
        _in_a_thread()
        agent = self.world.agents.get(session)
        return self.tree(agent.pane.pid) if agent is not None and agent.owner is None else []

    async def end(self, pid: int, started: int) -> bool:
        agent = self._at(pid)
        if not agent.unkillable:
            agent.die()
        return agent.dead

    def watch(self, pid: int, started: int, ended: Callable[[], None]) -> None:
        if pid in self.trouble:
            raise self.trouble[pid]
        self.watched[pid] = ended

    def unwatch(self, pid: int, started: int) -> None:
        del self.watched[pid]


@dataclass(slots=True)
class ScriptedDialect:
    """How to read the agents of this world. ``cat`` is an agent that reports nothing."""

    world: World
    name: str
    proves: bool
    ways: tuple[Way, ...] = TYPING
    stash_key: str | None = "C-s"
    resumes: bool = True

    def plan(self, request: LaunchRequest) -> AgentLine:
        if request.agent == "missing":
            raise LaunchFailedError("missing is not a program on your PATH.")
        return AgentLine(
            argv=(request.agent,) if request.prompt is None else (request.agent, request.prompt),
            environment={},
            files={},
            context=request.resume or self._next_context(request),
        )

    def _next_context(self, request: LaunchRequest) -> ContextId:
        known = self.world.agents.get(request.session)
        number = known.contexts + 1 if known is not None and request.afresh else 1
        return ContextId(f"context of {request.session}" + (f".{number}" if number > 1 else ""))

    def decode_hook(
        self, payload: bytes, *, hook: HookId, at: float, answerable: bool
    ) -> HookEvent:
        """``ada 0``: the first of the reports that ada has not yet delivered."""
        session, _, number = payload.decode().partition(" ")
        if not number.isdecimal():
            raise MalformedHookError("not a hook")
        event = self.world.agent(session).hooks[int(number)]
        return replace(event, hook=replace(event.hook, answerable=answerable))

    def read_screen(self, view: View) -> Screen:
        if not self.proves:
            return Screen(sign=Sign.UNKNOWN)
        return Screen(sign=Sign(view.title), draft="\n".join(view.lines), has_box=True)

    def box_holds(self, screen: Screen, message: MessageId) -> bool:
        return envelope.message_in(screen.draft) == message

    def box_holds_only(self, screen: Screen, message: MessageId, opening: str) -> bool:
        """Nothing but the message: with a person's words beside it, it is their draft."""
        begins = envelope.message_in(screen.draft) == message
        return begins and screen.draft.endswith(envelope.tail(message))

    def search(self, transcript_path: Path, attempt: Attempt) -> Record:
        session = transcript_path.name.partition(".")[0]
        return self.world.agent(session).search(str(transcript_path), attempt)

    clear_command: str | None = "/clear"
    erase_key: str = "C-u"

    def is_fresh(self, view: View) -> bool:
        return True

    def greeting(self, inbox: str | None, lesson: str) -> bytes:
        return f"{inbox or ''}{lesson}".encode()

    def answer(self, event: HookEvent, text: str) -> bytes:
        return text.encode()

    def halt(self, reason: str) -> bytes:
        return f"halt: {reason}".encode()

    def refuse(self, reason: str) -> bytes:
        return f"refuse: {reason}".encode()

    def read_usage(self, transcript_path: Path) -> Usage | None:
        return None

    def read_activity(self, transcript_path: Path) -> Activity:
        return Activity(prompt=None, tool=None)

    def read_story(self, transcript_path: Path) -> Story | None:
        return None

    def read_exchanges(self, transcript_path: Path, room: int) -> tuple[Exchange, ...]:
        return ()

    def read_shown(self, lines: Sequence[str]) -> tuple[Exchange, ...]:
        return ()

    def examine(self, transcript_path: Path) -> Integrity:
        return Integrity()

    def compacts_at(self, told: Compaction, model: str) -> int | None:
        return None

    def find(self, processes: Sequence[Process]) -> list[Found]:
        """Agents named ``stranger…`` were started by somebody else."""
        return [
            Found(
                pid=process.pid,
                started=process.started,
                context=ContextId(f"context of {process.name}"),
                transcript=f"/transcripts/{process.name}",
                cwd="/shop",
                arguments=process.command[1:],
                status=None,
            )
            for process in processes
            if process.name.startswith("stranger")
        ]

    def read_status(self, pid: int, started: int, transcript_path: Path) -> AgentStatus | None:
        told = next((a.status for a in self.world.agents.values() if a.pane.pid == pid), None)
        if told is not None:
            return told
        agent = self.world.agent(transcript_path.name.partition(".")[0])
        if not agent.waits:
            return None
        return AgentStatus(
            sign=agent.sign, at=agent.since, context=agent.context, transcript=agent.transcript
        )


@dataclass(slots=True)
class Inboxes:
    """Notes in memory, with the rules of the real inbox."""

    notes: dict[tuple[SessionId, str], str] = field(default_factory=dict)
    states: dict[tuple[SessionId, str], NoteState] = field(default_factory=dict)

    def folder(self, session: SessionId) -> str:
        return f"/inbox/{session}"

    def leave(self, session: SessionId, mark: str, text: str) -> None:
        if self.look(session, mark) is NoteState.NEVER:
            self.notes[session, mark] = text
            self.states[session, mark] = NoteState.WAITING

    def look(self, session: SessionId, mark: str) -> NoteState:
        return self.states.get((session, mark), NoteState.NEVER)

    def waiting(self) -> list[tuple[SessionId, str]]:
        return [note for note, state in self.states.items() if state is NoteState.WAITING]

    def take(self, session: SessionId, mark: str) -> str:
        """What the agent's hook does."""
        self.states[session, mark] = NoteState.TAKEN
        return self.notes[session, mark]

    def withdraw(self, session: SessionId, mark: str) -> bool:
        if self.look(session, mark) is NoteState.WAITING:
            self.states[session, mark] = NoteState.WITHDRAWN
        return self.look(session, mark) is NoteState.WITHDRAWN


@dataclass(slots=True)
class ScriptedDialects:
    world: World
    ways: tuple[Way, ...] = TYPING
    recognisable: tuple[str, ...] = ("scripted",)

    def named(self, agent: str) -> Dialect:
        return ScriptedDialect(self.world, agent, proves=agent != "cat", ways=self.ways)

    def clean(self, environment: Mapping[str, str]) -> dict[str, str]:
        return {key: value for key, value in environment.items() if key != "CLAUDECODE"}


@dataclass(slots=True)
class NoFolders:
    """Folders that are only asked for their names."""

    prepared: dict[SessionId, Mapping[str, str]] = field(default_factory=dict)
    lines: dict[SessionId, AgentLine] = field(default_factory=dict)
    recovered: dict[SessionId, Mapping[str, str]] = field(default_factory=dict)
    forgotten: list[SessionId] = field(default_factory=list)
    adopted: set[SessionId] = field(default_factory=set)

    keeps: bool = True
    """Environments, until their sessions end."""
    trouble: OSError | None = None
    """What comes of reading one."""
    full: bool = False
    """Nothing can be written."""

    hook_command: Path = Path("/home/bin/hook")

    def folder(self, session: SessionId) -> Path:
        return Path("/home/sessions") / session

    def prepare(
        self,
        session: SessionId,
        line: AgentLine,
        environment: Mapping[str, str],
        cwd: str,
        *,
        recovery: Mapping[str, str] | None = None,
    ) -> None:
        _in_a_thread()
        self.prepared[session] = environment
        self.lines[session] = line
        self.recovered[session] = dict(recovery or {})

    def recovery(self, session: SessionId) -> dict[str, str]:
        return dict(self.recovered.get(session, {}))

    def environment(self, session: SessionId) -> dict[str, str]:
        if self.trouble is not None:
            raise self.trouble
        if session not in self.prepared:
            raise FileNotFoundError(session)
        return dict(self.prepared[session])

    def lend(self, session: SessionId, environment: Mapping[str, str]) -> None:
        if self.full:
            raise OSError(errno.ENOSPC, "No space left on device")
        self.prepared[session] = environment

    def discard(self, session: SessionId) -> None:
        del self.prepared[session]

    def tidy(self, known: Iterable[SessionId]) -> None:
        self.prepared = {s: e for s, e in self.prepared.items() if s in set(known)}

    def launch_argv(self, session: SessionId) -> tuple[str, ...]:
        return ("/home/bin/launch", session)

    def raw_log(self, session: SessionId) -> str:
        return f"/home/sessions/{session}/raw.log"

    def sizes_log(self, session: SessionId) -> str:
        return f"/home/sessions/{session}/sizes.jsonl"

    def forget_environment(self, session: SessionId) -> None:
        self.forgotten.append(session)

    def forget_unkept(self, session: SessionId) -> None:
        if not self.keeps:
            self.prepared.pop(session, None)

    def make(self, session: SessionId) -> None:
        self.prepared[session] = {}

    def with_sm(self, environment: Mapping[str, str]) -> dict[str, str]:
        return dict(environment)

    def note_adopted(self, session: SessionId) -> None:
        self.adopted.add(session)

    def forget_adopted(self, session: SessionId) -> None:
        self.adopted.discard(session)

"""A scripted kind of agent.

It is as awkward as real ones: it swallows an Enter, opens a dialog, ends a turn without a word.
What it must never see (text onto a draft, an Enter into a dialog) is kept in ``wrongs``. One that
``waits`` stands still for the answers to its hooks, watches an inbox, keeps a status file and
writes what its model was given into its transcript a moment later.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from sm.core import envelope
from sm.core.ids import ContextId, HookId, MessageId, PaneId, PromptId, SessionId
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
from sm.core.state import Attempt
from sm.core.terminal import AgentStatus, Pane, Record, Sign, View

PASTED = "@sm_pasted"
STARTED = 7
"""Every process of this world started at this tick."""
REPLACING = 400
"""Pids of programs that were put where agents were begin here."""
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

"""The real Claude Code, killed with -9 wherever it may be, and brought back to work.

What counts is what its model is given next, and that nothing was approved, doubled or lost on the
way there. Each death gives the claims that do not hold: none, if all is well.
"""

import contextlib
import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from sm.adapters.system import ProcessTable
from sm.core.envelope import message_in
from sm.core.ids import SessionId
from tests.kit.anthropic_api import DONE, Reply, Request, ToolUse, Usage
from tests.kit.sm import Sm, sm_home
from tests.kit.tmux import wait_until
from tests.prove.ladder import Desk, desk, given
from tests.prove.ledger import CLOSED, Verdict
from tests.prove.walkaway import configure

AUTO = "[recovery]\nauto_recover = true\n"
QUIET = "[context_monitor]\nenabled = false\n"
FIRST, REPLY = "Remember «4711», ada; it's my number.", "I remember 4711."
TOOL, STREAM, DIALOG, IDLE = "tool", "stream", "dialog", "idle"
ASKED = {
    TOOL: "Then run for long; it's «urgent».",
    STREAM: "Then speak for long; it's «urgent».",
    DIALOG: "Then ask me for leave; it's «urgent».",
}
FULL = Usage(input=10, cache_read=850_000)
"""Of a million."""
KNOWN_WITHIN = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Death:
    """What it does when it is killed, what is wrong with its context, how it is brought back."""

    doing: str
    auto: bool = False
    fresh: bool = False
    """Asked for."""
    full: bool = False
    """Its context is."""
    torn: bool = False
    """The last line of its transcript is."""
    twice: bool = False
    """It dies again before it was told anything."""

    @property
    def way(self) -> str:
        return "fresh" if self.fresh or self.full or self.torn else "resume"

    @property
    def words(self) -> str:
        flaws = [word for word in ("fresh", "full", "torn", "twice") if getattr(self, word)]
        return ", ".join([self.doing, "auto" if self.auto else "by hand", *flaws])


@dataclass(slots=True)
class Model:
    """Says and does what it is asked to, and goes on when it is told of a crash."""

    death: Death
    folder: Path

    @property
    def approved(self) -> Path:
        """There if somebody answered the dialog."""
        return self.folder / "approved"

    def reply(self, request: Request) -> Reply:
        prompt = request.prompt
        usage = FULL if self.death.full else Usage()
        if not request.is_main or "crashed" in prompt:
            return DONE
        if FIRST in prompt:
            return Reply(text=REPLY, usage=usage)
        if ASKED[STREAM] in prompt:
            return Reply(text="Well, this", pause=60.0, usage=usage)
        command = {ASKED[TOOL]: "sleep 6187", ASKED[DIALOG]: f"touch {self.approved}"}.get(prompt)
        if command is None:
            return DONE
        tool = ToolUse(name="Bash", input={"command": command})
        return Reply(text="I do it.", tools=(tool,), usage=usage)


@dataclass(slots=True)
class Rescue:
    """One client that dies, and what is said of it afterwards."""

    ada: Desk
    death: Death
    model: Model
    killed_at: float = 0.0
    client: int = 0
    tool: int | None = None
    late: float = 0.0
    """How long it took to know of its death."""
    seconds: float = 0.0
    """How long it took to bring it back."""
    wrong: list[str] = field(default_factory=list)

    @property
    def sm(self) -> Sm:
        return self.ada.sm

    def shown(self) -> dict[str, Any]:
        found: dict[str, Any] = self.sm.json("show", self.ada.name)
        return found

    def claim(self, words: str, *, holds: bool) -> None:
        if not holds:
            self.wrong.append(words)

    # --- its life and death

    def live(self) -> None:
        self.ada.prompt(FIRST)
        wait_until(lambda: len(self.ada.api.main_requests()) == 1, 20, seen=self.ada.report)
        self.ada.settle()
        self.sm.wait_recorded(self.ada.name, REPLY)
        if self.death.full:
            wait_until(lambda: (self.shown()["context"]["percent"] or 0) > 80, seen=self.ada.report)
        if self.death.doing is IDLE:
            return
        self.ada.prompt(ASKED[self.death.doing])
        wait_until(self._is_at_it, 20, seen=self.ada.report)
        self.ada.send("queued while it worked")

    def _is_at_it(self) -> bool:
        match self.death.doing:
            case "tool":
                self.tool = next(iter(self.tools()), None)
                return self.tool is not None
            case "dialog":
                return self.sm.state(self.ada.name) == "waiting"
            case _:
                return "Well, this" in self.sm.screen(self.ada.name)

    def tools(self) -> list[int]:
        session = SessionId(self.shown()["id"])
        found = ProcessTable().marked(session)
        return [one.pid for one in found if one.command == ("sleep", "6187")]

    def clients(self) -> list[int]:
        """Every process that is an agent of this session."""
        found = ProcessTable().marked(SessionId(self.shown()["id"]))
        clients = {
            one.pid: one for one in found if Path((one.command or ("",))[0]).name == "claude"
        }
        # What it starts has its words until it becomes itself.
        return [pid for pid, one in clients.items() if one.parent not in clients]

    def die(self) -> None:
        shown = self.shown()
        self.client = shown["pid"]
        if self.death.torn:
            with Path(shown["context"]["transcript"]).open("a") as transcript:
                transcript.write('{"type":"assistant","message":{"content":[{"type":"te')
        self.killed_at = time.time()
        os.kill(self.client, signal.SIGKILL)
        self.ada.send("queued while it was gone")
        if self.death.twice:
            wait_until(self._is_up_again, 20, seen=self.ada.report)
            os.kill(self.shown()["pid"], signal.SIGKILL)

    def _is_up_again(self) -> bool:
        shown = self.shown()
        return shown["exit"] is None and shown["pid"] != self.client

    def come_back(self) -> str:
        """What `sm recover` said, if it was a person who asked."""
        if self.death.auto:
            wait_until(self._is_back, 60, seen=self.ada.report)
            return ""
        wait_until(lambda: self.shown()["state"] == "crashed", 10, seen=self.ada.report)
        return self.sm.run("recover", "ada", *(["--fresh"] if self.death.fresh else []))

    def _is_back(self) -> bool:
        recoveries = self.shown()["recoveries"]
        return bool(recoveries) and recoveries[-1]["ended_at"] is not None

    # --- what is claimed

    def judge(self) -> None:
        wait_until(self._is_settled, 60, seen=self.ada.report)
        self._judge_state()
        self._judge_context()
        self._judge_messages()
        self.claim("nothing was approved", holds=not self.model.approved.exists())
        self.claim("one agent runs", holds=self.clients() == [self.shown()["pid"]])
        if self.tool is not None:
            self.claim("the command was begun once", holds=self.tools() == [self.tool])

    def _is_settled(self) -> bool:
        # What an agent that died again was to be told is told by the next recovery.
        is_over = all(message["state"] in CLOSED for message in self.ada.messages())
        return is_over and self.sm.state(self.ada.name) == "idle"

    def _judge_state(self) -> None:
        shown = self.shown()
        crash, recoveries = shown["crash"], shown["recoveries"]
        self.late = crash["at"] - self.killed_at
        holds = self.late < KNOWN_WITHIN or self.death.twice
        self.claim(f"known after {self.late:.1f} s", holds=holds)
        self.claim(f"its cause: {crash}", holds=crash["cause"] == "signal")
        self.claim(f"what ended it: {crash}", holds="signal 9" in crash["reason"])
        self.claim(f"busy: {crash}", holds=crash["busy"] is (self.death.doing is not IDLE))
        *failed, recovery = recoveries
        states = [one["state"] for one in failed]
        wanted = ["failed"] if self.death.twice else []
        self.claim(f"brought back once: {recoveries}", holds=states == wanted)
        self.claim(f"way: {recovery}", holds=recovery["way"] == self.death.way)
        self.seconds = recovery["seconds"] or 0.0
        self.claim(f"done: {recovery}", holds=recovery["state"] == "done")
        by = "sm" if self.death.auto else "a person"
        self.claim(f"by: {recovery}", holds=recovery["by"] == by)

    def after(self) -> list[Request]:
        return [one for one in self.ada.api.main_requests() if one.at > self.killed_at]

    def _judge_context(self) -> None:
        """What the model's next request holds."""
        first = self.after()[0]
        conversation = texts(first)
        is_same = first.session == self.ada.api.main_requests()[0].session
        self.claim("the same conversation", holds=is_same is (self.death.way == "resume"))
        self.claim("the first request, word for word", holds=FIRST in conversation)
        self.claim("the reply to it", holds=REPLY in conversation)
        if self.death.doing is IDLE:
            return
        asked = ASKED[self.death.doing]
        self.claim("the last request, word for word", holds=asked in conversation)
        self.claim(f"told of it: {first.prompt}", holds="crashed" in first.prompt)
        if self.death.doing is TOOL:
            named = f"process {self.tool}: sleep 6187"
            self.claim(f"{named}: {first.prompt}", holds=named in first.prompt)
        if self.death.doing is DIALOG:
            holds = "question" in first.prompt and "ask again" in first.prompt
            self.claim(f"the dialog: {first.prompt}", holds=holds)

    def _judge_messages(self) -> None:
        verdict = self.ada.judge()
        self.claim(f"messages: {verdict}", holds=verdict.holds)
        ids = [message for message, _ in given(self.after()[-1])]
        told = message_in(self.after()[0].prompt)
        order = [told, *(one["id"] for one in self.ada.sent if one["id"] != told)]
        self.claim(f"order: {ids}, not {order}", holds=ids[-len(order) :] == order)


def _is_client(command: tuple[str, ...]) -> bool:
    return bool(command) and Path(command[0]).name == "claude"


def texts(request: Request) -> str:
    """All that stands in a conversation, as the model reads it."""
    found: list[str] = []
    for message in request.body["messages"]:
        content = message["content"]
        blocks = [{"text": content}] if isinstance(content, str) else content
        found += [block["text"] for block in blocks if "text" in block]
    return "\n".join(found)


@contextmanager
def rescuing(sm: Sm, death: Death) -> Iterator[Rescue]:
    configure(sm, QUIET + (AUTO if death.auto else ""))
    model = Model(death, sm.folder)
    with desk(sm, model.reply) as ada:
        if death.doing is DIALOG:
            (ada.home.config / "settings.json").write_text("{}")
        ada.start()
        rescue = Rescue(ada, death, model)
        try:
            yield rescue
        finally:
            if rescue.tool is not None:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(rescue.tool, signal.SIGKILL)


def rescue(sm: Sm, death: Death) -> Rescue:
    with rescuing(sm, death) as one:
        one.live()
        one.die()
        one.come_back()
        one.judge()
        return one


DEATHS = (
    *(Death(doing=doing, auto=auto) for doing in (TOOL, STREAM, IDLE, DIALOG)
      for auto in (False, True)),
    *(Death(doing=doing, fresh=True) for doing in (TOOL, STREAM, IDLE, DIALOG)),
    *(Death(doing=doing, auto=auto, full=True) for doing in (TOOL, IDLE) for auto in (False, True)),
    *(Death(doing=doing, auto=auto, torn=True) for doing in (STREAM, DIALOG)
      for auto in (False, True)),
    *(Death(doing=doing, auto=True, twice=True) for doing in (TOOL, STREAM, DIALOG)),
)  # fmt: skip


def every_death(_: Sm) -> tuple[Verdict, str]:
    """Each with a home of its own."""
    verdict, late, seconds = Verdict(), list[float](), list[float]()
    for death in DEATHS:
        with sm_home() as sm:
            one = rescue(sm, death)
        verdict.sent += 1
        verdict.once += not one.wrong
        verdict.changed += len(one.wrong)
        late.append(one.late)
        seconds.append(one.seconds)
        for words in one.wrong:
            print(f"  {death.words}: {words}", flush=True)
    words = (
        f"{len(DEATHS)} deaths; a death known after {median(late):.2f} s, back at work"
        f" {median(seconds):.1f} s after that was asked for, at most {max(seconds):.1f} s"
    )
    return verdict, words

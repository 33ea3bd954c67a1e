"""How to read the scripted agents of a small world."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from sm.core import envelope
from sm.core.adoption import Found, Process
from sm.core.exchange import Exchange, Integrity
from sm.core.ids import ContextId, HookId, MessageId
from sm.core.launch import AgentLine, LaunchFailedError, LaunchRequest, MalformedHookError
from sm.core.message import TYPING, Way
from sm.core.reports import HookEvent
from sm.core.state import Activity, Attempt, Compaction, Usage
from sm.core.story import Story
from sm.core.terminal import AgentStatus, Record, Screen, Sign, View
from sm.engine.ports import Dialect
from tests.engine.world import World


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
class ScriptedDialects:
    world: World
    ways: tuple[Way, ...] = TYPING
    recognisable: tuple[str, ...] = ("scripted",)

    def named(self, agent: str) -> Dialect:
        return ScriptedDialect(self.world, agent, proves=agent != "cat", ways=self.ways)

    def clean(self, environment: Mapping[str, str]) -> dict[str, str]:
        return {key: value for key, value in environment.items() if key != "CLAUDECODE"}

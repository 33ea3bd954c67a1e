# ruff: noqa: ARG002 - the port's shape; there is nothing of a generic agent to look at
"""Any command line as an agent. It gives no evidence, so nothing is ever claimed for it."""

import shlex
from collections.abc import Sequence
from pathlib import Path

from sm.adapters.agents.program import find_program
from sm.core.adoption import Found, Process
from sm.core.events import UsageSeen
from sm.core.exchange import Exchange, Integrity
from sm.core.ids import HookId, MessageId
from sm.core.launch import AgentLine, LaunchFailedError, LaunchRequest, MalformedHookError
from sm.core.message import TYPING, Way
from sm.core.reports import HookEvent
from sm.core.state import Activity, Attempt, Compaction, Usage
from sm.core.story import Story
from sm.core.terminal import AgentStatus, Record, Screen, Sign, View


class GenericDialect:
    name = "generic"
    proves = False
    resumes = False
    stash_key: str | None = None
    clear_command: str | None = None
    erase_key = "C-u"
    ways: tuple[Way, ...] = TYPING

    def plan(self, request: LaunchRequest) -> AgentLine:
        name, *arguments = _words(request.agent)
        program = find_program(name, cwd=request.cwd, environment=request.environment)
        if program is None:
            raise LaunchFailedError(
                f"{name} is not a program on your PATH. Check the spelling, or give its full path"
                " with --agent."
            )
        return AgentLine(argv=(program, *arguments, *request.arguments), environment={}, files={})

    def decode_hook(
        self, payload: bytes, *, hook: HookId, at: float, answerable: bool
    ) -> HookEvent | UsageSeen:
        raise MalformedHookError("a generic agent sends no hooks")

    def greeting(self, inbox: str | None, lesson: str) -> bytes:
        return b""

    def answer(self, event: HookEvent, text: str) -> bytes:
        return b""

    def halt(self, reason: str) -> bytes:
        return b""

    def refuse(self, reason: str) -> bytes:
        return b""

    def read_screen(self, view: View) -> Screen:
        return Screen(sign=Sign.UNKNOWN, detail=view.title)

    def is_fresh(self, view: View) -> bool:
        return False

    def box_holds(self, screen: Screen, message: MessageId) -> bool:
        return False

    def box_holds_only(self, screen: Screen, message: MessageId, opening: str) -> bool:
        return False

    def search(self, transcript_path: Path, attempt: Attempt) -> Record:
        return Record.OPEN

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
        return Integrity(flaw="its agent keeps no record that sm knows")

    def compacts_at(self, told: Compaction, model: str) -> int | None:
        return None

    def read_status(self, pid: int, started: int, transcript_path: Path) -> AgentStatus | None:
        return None

    def find(self, processes: Sequence[Process]) -> list[Found]:
        return []


def _words(agent: str) -> list[str]:
    try:
        words = shlex.split(agent)
    except ValueError as error:
        raise LaunchFailedError(
            f"cannot read the command line {agent!r}: {error}. Check its quotes."
        ) from error
    if not words:
        raise LaunchFailedError("the agent's command line is empty. Name a program with --agent.")
    return words

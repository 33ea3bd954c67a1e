"""Claude Code as sm sees it: how to start it and how to read what it reports."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from sm.adapters.agents.claude import (
    activity,
    answers,
    command_line,
    compaction,
    exchanges,
    finding,
    integrity,
    shown,
    status,
    story,
    transcript,
)
from sm.adapters.agents.claude.hooks import decode
from sm.adapters.agents.claude.screen import CLEAR, box_holds, box_holds_only, is_fresh, read_screen
from sm.adapters.agents.claude.settings import launch_settings
from sm.adapters.agents.claude.usage import UsageReader
from sm.adapters.agents.program import find_program
from sm.core.adoption import Found, Process
from sm.core.events import UsageSeen
from sm.core.exchange import Exchange, Integrity
from sm.core.ids import HookId, MessageId
from sm.core.launch import AgentLine, LaunchFailedError, LaunchRequest
from sm.core.message import Route, Way
from sm.core.reports import HookEvent
from sm.core.state import Activity, Attempt, Compaction, Usage
from sm.core.story import Story
from sm.core.terminal import AgentStatus, Record, Screen, View

SETTINGS, OWN_SETTINGS = "claude-settings.json", "own-settings.json"


class ClaudeDialect:
    name = "claude"
    proves = True
    resumes = True
    stash_key: str | None = "C-s"
    clear_command: str | None = CLEAR
    erase_key = "C-u"
    ways: tuple[Way, ...] = (
        # More would reach the model as a file and a short preview of it.
        Way(route=Route.TOOL_RESULT, limit=9_500),
        Way(route=Route.STOP_REPLY, limit=9_500),
        # Seen to carry this much whole.
        Way(route=Route.DOORBELL, limit=50_000),
        Way(route=Route.PASTE),
        Way(route=Route.INTERRUPT),
    )

    def __init__(self) -> None:
        self._usage = UsageReader()

    def plan(self, request: LaunchRequest) -> AgentLine:
        program = find_program("claude", cwd=request.cwd, environment=request.environment)
        if program is None:
            raise LaunchFailedError(
                "claude is not on your PATH. Install Claude Code, or name another agent with"
                " --agent (--agent demo needs nothing)."
            )
        arguments = command_line.again(request)
        first = (request.prompt,) if request.prompt is not None else ()
        asked = command_line.read(arguments, request.cwd)
        settings, own = (str(Path(request.folder, name)) for name in (SETTINGS, OWN_SETTINGS))
        identity = ("--session-id", asked.context) if asked.is_own_id and asked.context else ()
        ours = launch_settings(
            request.hook_command, request.hook_url, asked.settings, folder=request.folder
        )
        return AgentLine(
            # The prompt before the rest: an option that takes a list would take it too.
            argv=(program, *first, *identity, "--settings", settings, *asked.arguments),
            environment={},
            files={settings: ours, own: msgspec.json.encode(asked.settings)},
            context=asked.context or request.resume,
            compaction=compaction.read(request.environment, request.cwd, asked.settings),
        )

    def decode_hook(
        self, payload: bytes, *, hook: HookId, at: float, answerable: bool
    ) -> HookEvent | UsageSeen:
        return decode(payload, hook=hook, at=at, answerable=answerable)

    def greeting(self, inbox: str | None, lesson: str) -> bytes:
        return answers.greeting(inbox, lesson)

    def answer(self, event: HookEvent, text: str) -> bytes:
        return answers.answer(event, text)

    def halt(self, reason: str) -> bytes:
        return answers.halt(reason)

    def refuse(self, reason: str) -> bytes:
        return answers.refuse(reason)

    def read_screen(self, view: View) -> Screen:
        return read_screen(view)

    def is_fresh(self, view: View) -> bool:
        return is_fresh(view)

    def box_holds(self, screen: Screen, message: MessageId) -> bool:
        return box_holds(screen, message)

    def box_holds_only(self, screen: Screen, message: MessageId, opening: str) -> bool:
        return box_holds_only(screen, message, opening)

    def search(self, transcript_path: Path, attempt: Attempt) -> Record:
        return transcript.search(transcript_path, attempt)

    def read_usage(self, transcript_path: Path) -> Usage | None:
        return self._usage.read(transcript_path)

    def read_activity(self, transcript_path: Path) -> Activity:
        return activity.read(transcript_path)

    def read_story(self, transcript_path: Path) -> Story | None:
        return story.read(transcript_path)

    def read_exchanges(self, transcript_path: Path, room: int) -> tuple[Exchange, ...]:
        return exchanges.read(transcript_path, room)

    def read_shown(self, lines: Sequence[str]) -> tuple[Exchange, ...]:
        return shown.read(lines)

    def examine(self, transcript_path: Path) -> Integrity:
        return integrity.examine(transcript_path)

    def compacts_at(self, told: Compaction, model: str) -> int | None:
        return compaction.point(told, model)

    def read_status(self, pid: int, started: int, transcript_path: Path) -> AgentStatus | None:
        return status.read(pid, started, transcript_path)

    def find(self, processes: Sequence[Process]) -> list[Found]:
        return finding.find(processes, self._config_of)

    def _config_of(self, environment: Mapping[str, str]) -> Path:
        return finding.config_of(environment)

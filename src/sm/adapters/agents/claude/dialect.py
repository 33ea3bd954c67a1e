"""Claude Code as sm sees it: how to start it and how to read what it reports."""

import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path

from sm.adapters.agents.claude import answers, finding, status, transcript, usage
from sm.adapters.agents.claude.hooks import decode
from sm.adapters.agents.claude.screen import box_holds, box_holds_only, read_screen
from sm.adapters.agents.claude.settings import launch_settings
from sm.adapters.agents.program import find_program
from sm.core.adoption import Found, Process
from sm.core.events import HookEvent, UsageSeen
from sm.core.ids import ContextId, HookId, MessageId
from sm.core.launch import AgentLine, LaunchFailedError, LaunchRequest
from sm.core.message import Route, Way
from sm.core.state import Attempt, Usage
from sm.core.terminal import AgentStatus, Record, Screen, View


class ClaudeDialect:
    name = "claude"
    proves = True
    ways: tuple[Way, ...] = (
        # More would reach the model as a file and a short preview of it.
        Way(route=Route.TOOL_RESULT, limit=9_500),
        Way(route=Route.STOP_REPLY, limit=9_500),
        # Seen to carry this much whole.
        Way(route=Route.DOORBELL, limit=50_000),
        Way(route=Route.PASTE),
        Way(route=Route.INTERRUPT),
    )

    def plan(self, request: LaunchRequest) -> AgentLine:
        program = find_program("claude", cwd=request.cwd, environment=request.environment)
        if program is None:
            raise LaunchFailedError(
                "claude is not on your PATH. Install Claude Code, or name another agent with"
                " --agent (--agent demo needs nothing)."
            )
        context = ContextId(str(uuid.uuid4()))
        settings = str(Path(request.folder, "claude-settings.json"))
        options = ("--session-id", context, "--settings", settings)
        return AgentLine(
            argv=(program, *options, *request.arguments),
            environment={},
            files={settings: launch_settings(request.hook_command, request.hook_url)},
            context=context,
        )

    def decode_hook(
        self, payload: bytes, *, hook: HookId, at: float, answerable: bool
    ) -> HookEvent | UsageSeen:
        return decode(payload, hook=hook, at=at, answerable=answerable)

    def greeting(self, inbox: str | None) -> bytes:
        return answers.greeting(inbox)

    def answer(self, event: HookEvent, text: str) -> bytes:
        return answers.answer(event, text)

    def read_screen(self, view: View) -> Screen:
        return read_screen(view)

    def box_holds(self, screen: Screen, message: MessageId) -> bool:
        return box_holds(screen, message)

    def box_holds_only(self, screen: Screen, message: MessageId) -> bool:
        return box_holds_only(screen, message)

    def search(self, transcript_path: Path, attempt: Attempt) -> Record:
        return transcript.search(transcript_path, attempt)

    def read_usage(self, transcript_path: Path) -> Usage | None:
        return usage.read(transcript_path)

    def read_status(self, pid: int, started: int, transcript_path: Path) -> AgentStatus | None:
        return status.read(pid, started, transcript_path)

    def find(self, processes: Sequence[Process]) -> list[Found]:
        return finding.find(processes, self._config_of)

    def _config_of(self, environment: Mapping[str, str]) -> Path:
        return finding.config_of(environment)

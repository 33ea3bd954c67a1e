"""Claude Code as sm sees it: how to start it and how to read what it reports."""

import uuid
from pathlib import Path

from sm.adapters.agents.claude.hooks import decode
from sm.adapters.agents.claude.screen import box_holds, box_holds_only, read_screen
from sm.adapters.agents.claude.settings import hook_settings
from sm.adapters.agents.claude.transcript import holds
from sm.adapters.agents.program import find_program
from sm.core.events import HookEvent
from sm.core.ids import ContextId, HookId, MessageId
from sm.core.launch import AgentLine, LaunchFailedError, LaunchRequest
from sm.core.terminal import Screen, View


class ClaudeDialect:
    name = "claude"
    proves = True

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
            files={settings: hook_settings(request.hook_command)},
            context=context,
        )

    def decode_hook(self, payload: bytes, *, hook: HookId, at: float) -> HookEvent:
        return decode(payload, hook=hook, at=at)

    def read_screen(self, view: View) -> Screen:
        return read_screen(view)

    def box_holds(self, screen: Screen, message: MessageId) -> bool:
        return box_holds(screen, message)

    def box_holds_only(self, screen: Screen, message: MessageId) -> bool:
        return box_holds_only(screen, message)

    def transcript_holds(self, transcript: Path, message: MessageId) -> bool:
        return holds(transcript, message)

"""The demo agent as sm sees it: Claude Code's dialect, with another program to start.

No code path exists for it alone: its hooks, screen and transcript are read as Claude Code's.
"""

import sys
import uuid
from collections.abc import Mapping
from pathlib import Path

from sm.adapters.agents.claude.command_line import again
from sm.adapters.agents.claude.dialect import ClaudeDialect
from sm.adapters.agents.claude.settings import launch_settings
from sm.adapters.agents.demo.context import compacts_at
from sm.adapters.agents.demo.options import window
from sm.core.ids import ContextId
from sm.core.launch import AgentLine, LaunchRequest
from sm.core.state import Compaction

CONFIG_VARIABLE = "SM_DEMO_CONFIG"
_MODULE = "sm.adapters.agents.demo"


class DemoDialect(ClaudeDialect):
    name = "demo"

    def plan(self, request: LaunchRequest) -> AgentLine:
        context = request.resume or ContextId(str(uuid.uuid4()))
        settings = str(Path(request.folder, "demo-settings.json"))
        ours = launch_settings(request.hook_command, request.hook_url, folder=request.folder)
        identity = () if request.resume is not None else ("--session-id", context)
        options = (*identity, "--settings", settings, "--name", request.session)
        first = (request.prompt,) if request.prompt is not None else ()
        arguments = (*again(request), *first)
        return AgentLine(
            argv=(sys.executable, "-I", "-m", _MODULE, *options, *arguments),
            environment=_config(request),
            files={settings: ours},
            context=context,
            compaction=Compaction(window=window(request.arguments)),
        )

    def compacts_at(self, told: Compaction, model: str) -> int | None:  # noqa: ARG002 - it has one model
        return compacts_at(told.window) if told.window is not None else None

    def _config_of(self, environment: Mapping[str, str]) -> Path:
        home = environment.get("HOME") or str(Path.home())
        return Path(environment.get(CONFIG_VARIABLE) or Path(home, ".config", "sm-demo"))


def _config(request: LaunchRequest) -> dict[str, str]:
    if CONFIG_VARIABLE in request.environment:
        return {}
    return {CONFIG_VARIABLE: str(Path(request.folder, "demo"))}

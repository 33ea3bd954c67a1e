"""The demo agent as sm sees it: Claude Code's dialect, with another program to start.

No code path exists for it alone: its hooks, screen and transcript are read as Claude Code's.
"""

import sys
import uuid
from collections.abc import Mapping
from pathlib import Path

from sm.adapters.agents.claude.dialect import ClaudeDialect
from sm.adapters.agents.claude.settings import launch_settings
from sm.core.ids import ContextId
from sm.core.launch import AgentLine, LaunchRequest

CONFIG_VARIABLE = "SM_DEMO_CONFIG"
_MODULE = "sm.adapters.agents.demo"


class DemoDialect(ClaudeDialect):
    name = "demo"

    def plan(self, request: LaunchRequest) -> AgentLine:
        context = ContextId(str(uuid.uuid4()))
        settings = str(Path(request.folder, "demo-settings.json"))
        options = ("--session-id", context, "--settings", settings, "--name", request.session)
        return AgentLine(
            argv=(sys.executable, "-I", "-m", _MODULE, *options, *request.arguments),
            environment=_config(request),
            files={settings: launch_settings(request.hook_command, request.hook_url)},
            context=context,
        )

    def _config_of(self, environment: Mapping[str, str]) -> Path:
        home = environment.get("HOME") or str(Path.home())
        return Path(environment.get(CONFIG_VARIABLE) or Path(home, ".config", "sm-demo"))


def _config(request: LaunchRequest) -> dict[str, str]:
    if CONFIG_VARIABLE in request.environment:
        return {}
    return {CONFIG_VARIABLE: str(Path(request.folder, "demo"))}

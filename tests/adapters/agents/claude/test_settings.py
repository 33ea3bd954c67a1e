"""The settings Claude Code is started with."""

import json
import shlex

from sm.adapters.agents.claude.settings import launch_settings


def test_every_turn_boundary_and_tool_event_calls_the_hook_command() -> None:
    hooks = json.loads(launch_settings("/home/x/bin/hook"))["hooks"]

    assert set(hooks) == {
        "SessionStart",
        "SessionEnd",
        "UserPromptSubmit",
        "PreToolUse",
        "PostToolUse",
        "PostToolUseFailure",
        "PermissionRequest",
        "Notification",
        "Stop",
        "StopFailure",
        "PreCompact",
        "PostCompact",
        "SubagentStart",
        "SubagentStop",
        "FileChanged",
    }
    call = {"type": "command", "command": "/home/x/bin/hook", "timeout": 10}
    assert hooks["Stop"] == [{"hooks": [call]}]
    assert hooks["PreToolUse"] == [{"matcher": "*", "hooks": [call]}]


def test_a_path_with_spaces_and_quotes_stays_one_word() -> None:
    path = "/home/o'neil/my sm/$(hook)"
    hooks = json.loads(launch_settings(path))["hooks"]

    assert shlex.split(hooks["Stop"][0]["hooks"][0]["command"]) == [path]

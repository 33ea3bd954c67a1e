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
    assert hooks["PostToolUse"] == [{"matcher": "*", "hooks": [call]}]


def test_tool_events_are_posted_by_the_client_itself() -> None:
    """They come often: no process is started for each. The token never stands in the file."""
    hooks = json.loads(launch_settings("/x/bin/hook", "http://127.0.0.1:7/hooks/ada"))["hooks"]

    (post,) = hooks["PostToolUse"][0]["hooks"]
    assert (post["type"], post["url"]) == ("http", "http://127.0.0.1:7/hooks/ada")
    assert post["headers"] == {"Authorization": "Bearer $SM_SESSION_TOKEN"}
    assert post["allowedEnvVars"] == ["SM_SESSION_TOKEN"]
    assert hooks["Stop"][0]["hooks"][0]["type"] == "command"


def test_a_note_in_the_inbox_rings_in_the_background_and_the_status_line_is_ours() -> None:
    settings = json.loads(launch_settings("/x y/bin/hook"))

    (bell,) = settings["hooks"]["FileChanged"][0]["hooks"]
    assert bell["asyncRewake"] is True
    assert shlex.split(bell["command"]) == ["/x y/bin/bell"]
    assert shlex.split(settings["statusLine"]["command"]) == ["/x y/bin/statusline"]


def test_a_path_with_spaces_and_quotes_stays_one_word() -> None:
    path = "/home/o'neil/my sm/$(hook)"
    hooks = json.loads(launch_settings(path))["hooks"]

    assert shlex.split(hooks["Stop"][0]["hooks"][0]["command"]) == [path]

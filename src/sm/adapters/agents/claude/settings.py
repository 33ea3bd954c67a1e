"""The settings file Claude Code is started with. The user's own settings stand beside it.

A turn's beginning and end are reported by a command, which keeps the report when nobody listens.
Tool events are posted by the client itself: they come often, nothing is lost that its transcript
does not tell again, and no process has to be started for each.
"""

import shlex
from pathlib import Path

import msgspec

HOOK_TIMEOUT = 10
_TOOL_EVENTS = ("PreToolUse", "PostToolUse", "PostToolUseFailure", "PermissionRequest")
_OTHER_EVENTS = (
    "SessionStart",
    "SessionEnd",
    "UserPromptSubmit",
    "Notification",
    "Stop",
    "StopFailure",
    "PreCompact",
    "PostCompact",
    "SubagentStart",
    "SubagentStop",
)
EVENTS = (*_TOOL_EVENTS, *_OTHER_EVENTS)


def launch_settings(hook_command: str, hook_url: str | None = None) -> bytes:
    """A settings file for ``--settings``; the user's own hooks run beside these."""
    report = _command(hook_command)
    tool = report if hook_url is None else _post(hook_url)
    # In the background; its output wakes the model, whatever stands in the prompt box.
    bell = {**_command(_beside(hook_command, "bell")), "asyncRewake": True}
    hooks = {event: [{"matcher": "*", "hooks": [tool]}] for event in _TOOL_EVENTS}
    hooks |= {event: [{"hooks": [report]}] for event in _OTHER_EVENTS}
    hooks["FileChanged"] = [{"hooks": [bell]}]
    line = shlex.quote(_beside(hook_command, "statusline"))
    settings = {"hooks": hooks, "statusLine": {"type": "command", "command": line}}
    return msgspec.json.format(msgspec.json.encode(settings))


def _beside(script: str, name: str) -> str:
    return str(Path(script).with_name(name))


def _command(script: str) -> dict[str, object]:
    # Without a timeout of its own, a SessionEnd hook is killed after 1.5 s.
    return {"type": "command", "command": shlex.quote(script), "timeout": HOOK_TIMEOUT}


def _post(url: str) -> dict[str, object]:
    return {
        "type": "http",
        "url": url,
        "headers": {"Authorization": "Bearer $SM_SESSION_TOKEN"},
        "allowedEnvVars": ["SM_SESSION_TOKEN"],
        "timeout": HOOK_TIMEOUT,
    }

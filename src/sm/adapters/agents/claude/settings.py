"""The settings file Claude Code is started with: every hook it has for us calls one command."""

import shlex

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


def hook_settings(hook_command: str) -> bytes:
    """A settings file for ``--settings``; the user's own hooks run beside these."""
    # Without a timeout of its own, a SessionEnd hook is killed after 1.5 s.
    call: dict[str, object] = {
        "type": "command",
        "command": shlex.quote(hook_command),
        "timeout": HOOK_TIMEOUT,
    }
    entry: dict[str, object] = {"hooks": [call]}
    hooks = {event: [{"matcher": "*", **entry}] for event in _TOOL_EVENTS}
    hooks |= {event: [entry] for event in _OTHER_EVENTS}
    return msgspec.json.format(msgspec.json.encode({"hooks": hooks}))

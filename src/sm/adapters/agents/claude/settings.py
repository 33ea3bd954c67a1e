"""The settings file Claude Code is started with. The user's own settings stand beside it.

A turn's beginning and end are reported by a command, which keeps the report when nobody listens.
Tool events are posted by the client itself: they come often, nothing is lost that its transcript
does not tell again, and no process has to be started for each. A tool's beginning is not reported
at all: the client would wait 8 to 10 ms for it at every call, twice as long as for its end.
"""

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from sm.settings.variables import SESSION_TOKEN

HOOK_TIMEOUT = 10
TOOL_EVENTS = ("PostToolUse", "PostToolUseFailure", "PermissionRequest")
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
EVENTS = (*TOOL_EVENTS, *_OTHER_EVENTS)
KEPT = ("handoffs/**", "raw.log")
"""What an agent may read in its session's folder."""


def launch_settings(
    hook_command: str,
    hook_url: str | None = None,
    own: Mapping[str, Any] | None = None,
    *,
    folder: str | None = None,
) -> bytes:
    """A settings file for ``--settings``; the user's own hooks run beside these.

    The client takes one such file: what the person gave as theirs is merged into it.
    """
    own = own or {}
    report = _command(hook_command)
    tool = report if hook_url is None else _post(hook_url)
    # In the background; its output wakes the model, whatever stands in the prompt box.
    bell = {**_command(_beside(hook_command, "bell")), "asyncRewake": True}
    hooks = {event: [{"matcher": "*", "hooks": [tool]}] for event in TOOL_EVENTS}
    hooks |= {event: [{"hooks": [report]}] for event in _OTHER_EVENTS}
    hooks["FileChanged"] = [{"hooks": [bell]}]
    line = shlex.quote(_beside(hook_command, "statusline"))
    status = _of(own, "statusLine")
    settings = {
        **own,
        "hooks": _merged(_of(own, "hooks"), hooks),
        "statusLine": {**status, "type": "command", "command": line},
    }
    if folder is not None:
        settings["permissions"] = _permissions(_of(own, "permissions"), Path(folder))
    return msgspec.json.format(msgspec.json.encode(settings))


def _permissions(own: dict[str, Any], folder: Path) -> dict[str, Any]:
    """What an agent must be able to do without a dialog to hand its work over, and no more: hand
    off, and read what was kept of its own session."""
    kept = [f"{place}/{part}" for place in dict.fromkeys((folder, folder.resolve()))
            for part in KEPT]  # fmt: skip
    # Two slashes: from the root, not from the settings file.
    ours = ["Bash(sm handoff:*)", *(f"Read(/{path})" for path in kept)]
    return {**own, "allow": [*_list(own.get("allow")), *ours]}


def _of(settings: Mapping[str, Any], key: str) -> dict[str, Any]:
    found = settings.get(key)
    return found if isinstance(found, dict) else {}


def _merged(own: dict[str, Any], ours: dict[str, Any]) -> dict[str, Any]:
    """Both run: first the person's own, then ours."""
    both = {event: [*_list(own.get(event)), *entries] for event, entries in ours.items()}
    return {**own, **both}


def _list(found: object) -> list[Any]:
    return found if isinstance(found, list) else []


def _beside(script: str, name: str) -> str:
    return str(Path(script).with_name(name))


def _command(script: str) -> dict[str, object]:
    # Without a timeout of its own, a SessionEnd hook is killed after 1.5 s.
    return {"type": "command", "command": shlex.quote(script), "timeout": HOOK_TIMEOUT}


def _post(url: str) -> dict[str, object]:
    return {
        "type": "http",
        "url": url,
        "headers": {"Authorization": f"Bearer ${SESSION_TOKEN}"},
        "allowedEnvVars": [SESSION_TOKEN],
        "timeout": HOOK_TIMEOUT,
    }

"""Hooks from a settings file in Claude Code's form: run, waited for, and their replies kept.

A hook that fails, hangs or is missing never stops the agent.
"""

import json
import re
from pathlib import Path
from typing import Any, NamedTuple

_DEFAULT_TIMEOUT = 600.0
_SESSION_END_TIMEOUT = 1.5
_PLAIN_CONTEXT = ("SessionStart", "UserPromptSubmit")


class Reply(NamedTuple):
    """What one hook command answered."""

    event: str
    command: str
    code: int
    stdout: str
    stderr: str

    @property
    def json(self) -> dict[str, Any]:
        try:
            said = json.loads(self.stdout)
        except ValueError:
            return {}
        return said if isinstance(said, dict) else {}

    @property
    def specific(self) -> dict[str, Any]:
        said = self.json.get("hookSpecificOutput")
        return said if isinstance(said, dict) else {}

    @property
    def block(self) -> str | None:
        """Why the agent must not go on as it was about to, if the hook said so."""
        if self.json.get("decision") == "block":
            return str(self.json.get("reason", ""))
        return f"[{self.command}]: {self.stderr.strip()}" if self.code == 2 else None

    @property
    def context(self) -> str | None:
        """What the hook wants the model to know."""
        told = self.specific.get("additionalContext")
        if isinstance(told, str) and told:
            return told
        plain = self.stdout.strip()
        is_context = self.event in _PLAIN_CONTEXT and self.code == 0 and not self.json
        return plain if is_context and plain else None


def first_block(replies: list[Reply]) -> str | None:
    return next((reply.block for reply in replies if reply.block is not None), None)


class Hooks:
    """The hooks of one settings file, read once."""

    def __init__(self, settings: str | None) -> None:
        self._by_event: dict[str, Any] = _read(settings) if settings else {}

    def run(self, event: str, payload: dict[str, Any], *, cwd: str) -> list[Reply]:
        """Run every command for this event, one after the other."""
        subject = str(payload.get("tool_name", ""))
        text = json.dumps(payload, ensure_ascii=False)
        calls = self._calls(event, subject)
        return [reply for call in calls if (reply := _call(call, event, text, cwd))]

    def _calls(self, event: str, subject: str) -> list[dict[str, Any]]:
        return [
            call
            for group in _objects(self._by_event.get(event))
            if _matches(str(group.get("matcher", "")), subject)
            for call in _objects(group.get("hooks"))
            if call.get("type") == "command"
        ]


def _read(settings: str) -> dict[str, Any]:
    try:
        hooks = json.loads(Path(settings).read_text("utf-8")).get("hooks", {})
    except (OSError, ValueError, AttributeError):
        return {}
    return hooks if isinstance(hooks, dict) else {}


def _objects(found: object) -> list[dict[str, Any]]:
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def _matches(matcher: str, subject: str) -> bool:
    try:
        return matcher in ("", "*") or re.fullmatch(matcher, subject) is not None
    except re.error:
        return False


def _call(call: dict[str, Any], event: str, payload: str, cwd: str) -> Reply | None:
    from sm.adapters.agents.demo import shell

    default = _SESSION_END_TIMEOUT if event == "SessionEnd" else _DEFAULT_TIMEOUT
    command = str(call.get("command", ""))
    try:
        ran = shell.run(
            command,
            cwd=cwd,
            stdin=payload,
            environment={"CLAUDE_PROJECT_DIR": cwd},
            timeout=float(call.get("timeout", default)),
        )
    except (OSError, ValueError, shell.StoppedError):
        return None
    return Reply(event, command, ran.code, ran.stdout, ran.stderr)

"""Hooks from a settings file in Claude Code's form: called, waited for, and their replies kept.

A hook that fails, hangs or is missing never stops the agent. One with ``asyncRewake`` runs in the
background and wakes the agent by exit code 2; one with ``async`` is heard with the next prompt.
"""

import json
import re
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

_DEFAULT_TIMEOUT = 600.0
_SESSION_END_TIMEOUT = 1.5
_PLAIN_CONTEXT = ("SessionStart", "UserPromptSubmit")
_SAID_BY = {"command": "command", "http": "url"}
"""Each type of hook and the field without which it is none."""
_NEVER_POSTED = ("SessionStart", "Setup")
_BLOCKS = 2
"""The exit code that holds the agent up, or wakes it."""


class Reply(NamedTuple):
    """What one hook answered."""

    event: str
    command: str
    """Its command line, or its address."""
    code: int
    stdout: str
    stderr: str
    error: str = ""
    """Why it gave no answer, as a person is told."""
    took_ms: int | None = None

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
        return f"[{self.command}]: {self.stderr.strip()}" if self.code == _BLOCKS else None

    @property
    def halt(self) -> str | None:
        """Why the turn ends here, if the hook said so."""
        return str(self.json.get("stopReason", "")) if self.json.get("continue") is False else None

    @property
    def context(self) -> str | None:
        """What the hook wants the model to know."""
        told = self.specific.get("additionalContext")
        if isinstance(told, str) and told:
            return told
        plain = self.stdout.strip()
        is_context = self.event in _PLAIN_CONTEXT and self.code == 0 and not self.json
        return plain if is_context and plain else None

    @property
    def watch_paths(self) -> list[str]:
        """Files and folders the agent shall watch."""
        paths = self.specific.get("watchPaths")
        return [path for path in paths if isinstance(path, str)] if isinstance(paths, list) else []


def first_block(replies: list[Reply]) -> str | None:
    return next((reply.block for reply in replies if reply.block is not None), None)


class Hooks:
    """The hooks and the status line of one settings file, read once."""

    def __init__(self, settings: str | None) -> None:
        read = _read(settings) if settings else {}
        hooks, line = read.get("hooks"), read.get("statusLine")
        self._by_event: dict[str, Any] = hooks if isinstance(hooks, dict) else {}
        command = line.get("command") if isinstance(line, dict) else None
        self.status_line = command if isinstance(command, str) else None
        self.on_wake: Callable[[str, str], None] = lambda _name, _text: None
        """Called from a thread of its own with the hook's name and what it said."""
        self._late: list[str] = []

    def run(
        self, event: str, payload: dict[str, Any], *, cwd: str, name: str | None = None
    ) -> list[Reply]:
        """Call every hook for this event, one after the other; those in the background too."""
        subject = str(payload.get("tool_name") or Path(str(payload.get("file_path", ""))).name)
        text = json.dumps(payload, ensure_ascii=False, separators=(",", ":"))
        replies = []
        for call in self._calls(event, subject):
            if call.get("async") is True or call.get("asyncRewake") is True:
                told = (call, event, text, cwd, name or event)
                threading.Thread(target=self._in_background, args=told, daemon=True).start()
            elif reply := _call(call, event, text, cwd):
                replies.append(reply)
        return replies

    def take_late(self) -> list[str]:
        """What hooks in the background had to say since the last prompt."""
        return [self._late.pop(0) for _ in range(len(self._late))]

    def _calls(self, event: str, subject: str) -> list[dict[str, Any]]:
        kinds = {"command": "command"} if event in _NEVER_POSTED else _SAID_BY
        return [
            call
            for group in _objects(self._by_event.get(event))
            if _matches(str(group.get("matcher", "")), subject)
            for call in _objects(group.get("hooks"))
            if (said_by := kinds.get(str(call.get("type")))) and said_by in call
        ]

    def _in_background(
        self, call: dict[str, Any], event: str, payload: str, cwd: str, name: str
    ) -> None:
        reply = _call(call, event, payload, cwd)
        if reply is None:
            return
        if call.get("asyncRewake") is True and reply.code == _BLOCKS:
            self.on_wake(name, reply.stderr)
        elif reply.context:
            self._late.append(reply.context)


def _read(settings: str) -> dict[str, Any]:
    try:
        read = json.loads(Path(settings).read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return read if isinstance(read, dict) else {}


def _objects(found: object) -> list[dict[str, Any]]:
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def _matches(matcher: str, subject: str) -> bool:
    try:
        return matcher in ("", "*") or re.fullmatch(matcher, subject) is not None
    except re.error:
        return False


def _call(call: dict[str, Any], event: str, payload: str, cwd: str) -> Reply | None:
    default = _SESSION_END_TIMEOUT if event == "SessionEnd" else _DEFAULT_TIMEOUT
    try:
        timeout = float(call.get("timeout", default))
    except (TypeError, ValueError):
        return None
    if call.get("type") == "http":
        return _post(call, event, payload, timeout)
    return _execute(str(call.get("command", "")), event, payload, cwd, timeout)


def _execute(command: str, event: str, payload: str, cwd: str, timeout: float) -> Reply | None:
    from sm.adapters.agents.demo import shell

    started = time.monotonic()
    try:
        ran = shell.run(
            command,
            cwd=cwd,
            stdin=payload,
            environment={"CLAUDE_PROJECT_DIR": cwd},
            timeout=timeout,
        )
    except (OSError, ValueError, shell.StoppedError):
        return None
    took = int((time.monotonic() - started) * 1000)
    is_failure = ran.code not in (0, _BLOCKS)
    why = ran.stderr.strip() or "No stderr output"
    error = f"Failed with non-blocking status code: {why}" if is_failure else ""
    return Reply(event, command, ran.code, ran.stdout, ran.stderr, error, took)


def _post(call: dict[str, Any], event: str, payload: str, timeout: float) -> Reply:
    from sm.adapters.agents.demo import posting

    url = str(call.get("url", ""))
    try:
        status, body = posting.post(call, payload, timeout=timeout)
    except posting.NotPostedError as refused:
        return Reply(event, url, 0, "", "", str(refused))
    return Reply(event, url, status, body, "")

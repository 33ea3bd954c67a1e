"""One conversation: its ids, its record, its context, and the hooks that report on it."""

import json
import os
import time
import uuid
from pathlib import Path
from typing import Any

from sm.adapters.agents.demo.context import Context
from sm.adapters.agents.demo.hooks import Hooks, Reply
from sm.adapters.agents.demo.options import Options
from sm.adapters.agents.demo.transcript import Transcript, path_for

_WITH_MODE = frozenset(
    {
        "UserPromptSubmit",
        "PreToolUse",
        "PermissionRequest",
        "PostToolUse",
        "PostToolUseFailure",
        "PostToolBatch",
        "Stop",
        "SubagentStop",
    }
)
_WITH_EFFORT = _WITH_MODE - {"UserPromptSubmit"} | {"StopFailure"}


class NoSuchConversationError(Exception):
    """What the person asked to begin or to go on with cannot be; the message says why."""


class Conversation:
    def __init__(self, options: Options, *, config: Path, cwd: str) -> None:
        self.cwd = cwd
        self.prompt_id: str | None = None
        self.session_id = options.resume or options.session_id or str(uuid.uuid4())
        self.source = "resume" if options.resume else "startup"
        self.context = Context(options.window)
        self._config = config
        self._received = options.received
        self._hooks = Hooks(options.settings)
        self.transcript = self._open_transcript()
        exists = self.transcript.path.exists()
        if options.resume:
            self._resume(exists)
        elif exists:
            raise NoSuchConversationError(f"Session ID {self.session_id} is already in use.")

    def _open_transcript(self) -> Transcript:
        path = path_for(self._config, self.cwd, self.session_id)
        return Transcript(path, session_id=self.session_id, cwd=self.cwd)

    def _resume(self, exists: bool) -> None:
        if not exists:
            raise NoSuchConversationError(
                f"No conversation found with session ID: {self.session_id}"
            )
        self.context.add(self.transcript.resume())

    def renew(self) -> None:
        """A new id, a new record, an empty context. The old record stays as it is."""
        self.session_id = str(uuid.uuid4())
        self.transcript = self._open_transcript()
        self.context.empty()

    def begin_prompt(self) -> None:
        self.prompt_id = str(uuid.uuid4())

    def fire(self, event: str, **fields: object) -> list[Reply]:
        """Run the hooks of one event and wait for them."""
        payload: dict[str, Any] = {
            "session_id": self.session_id,
            "transcript_path": str(self.transcript.path),
            "cwd": self.cwd,
        }
        if self.prompt_id:
            payload["prompt_id"] = self.prompt_id
        if event in _WITH_MODE:
            payload["permission_mode"] = "default"
        if event in _WITH_EFFORT:
            payload["effort"] = {"level": "high"}
        return self._hooks.run(event, {**payload, "hook_event_name": event, **fields}, cwd=self.cwd)

    def give(self, text: str, *, via: str) -> None:
        """The model gets this text: count it, and note it where tests look."""
        self.context.add(text)
        if self._received:
            note = {"at": time.time(), "prompt": text, "via": via}
            _append_durably(self._received, json.dumps(note, ensure_ascii=False))

    def tell(self, replies: list[Reply], *, hook: str, tool_use: str | None = None) -> list[str]:
        """Give the model what the hooks added, and record it; the texts given."""
        texts = [reply.context for reply in replies if reply.context]
        for text in texts:
            self.transcript.attachment(
                type="hook_additional_context",
                content=[text],
                hookName=hook,
                hookEvent=hook.partition(":")[0],
                toolUseID=tool_use or f"hook-{uuid.uuid4()}",
            )
            self.give(text, via=f"hook {hook}")
        return texts


def _append_durably(path: str, line: str) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        os.write(fd, line.encode("utf-8", "replace") + b"\n")
        os.fsync(fd)
    finally:
        os.close(fd)

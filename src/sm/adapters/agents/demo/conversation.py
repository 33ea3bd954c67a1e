"""One conversation: its ids, its record, its context, and the hooks that report on it."""

import copy
import json
import os
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sm.adapters.agents.demo import private, words
from sm.adapters.agents.demo.context import Context
from sm.adapters.agents.demo.hooks import Hooks, Reply
from sm.adapters.agents.demo.memory import remembered
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


_NAMED_BY = ("tool_name", "source")
"""A hook is called by its event and, where it has one, its tool or source."""


class NoSuchConversationError(Exception):
    """What the person asked to begin or to go on with cannot be; the message says why."""


class Conversation:
    def __init__(self, options: Options, *, config: Path, cwd: str) -> None:
        self.cwd = cwd
        self.prompt_id: str | None = None
        self.session_id = options.resume or options.session_id or str(uuid.uuid4())
        self.source = "resume" if options.resume else "startup"
        self.context = Context(options.window)
        self.hooks = Hooks(options.settings)
        self.agent_id: str | None = None
        """Only a sub-agent's own conversation has one."""
        self.background: dict[str, str] = {}
        """Commands that run beside it, by their task's id."""
        self.owed: list[tuple[str, str]] = []
        """Blocks of Stop hooks that Claude Code tells once more, with the next prompt."""
        self.known: list[str] = []
        """Everything the model was given and did in this context."""
        self.show: Callable[[str], None] = lambda _: None
        """Where a person sees that a hook failed."""
        self.on_reply: Callable[[], None] = lambda: None
        self._config = config
        self._delay = options.record_delay
        self._received = options.received
        self.transcript = self._open_transcript()
        exists = self.transcript.path.exists()
        if options.resume:
            self._resume(exists)
        elif exists:
            raise NoSuchConversationError(f"Session ID {self.session_id} is already in use.")

    def _open_transcript(self) -> Transcript:
        path = path_for(self._config, self.cwd, self.session_id)
        return Transcript(path, session_id=self.session_id, cwd=self.cwd, delay=self._delay)

    def _resume(self, exists: bool) -> None:
        records = self.transcript.resume() if exists else []
        said = "\n".join(json.dumps(r["message"]) for r in records if "message" in r)
        if not said:
            raise NoSuchConversationError(
                f"No conversation found with session ID: {self.session_id}"
            )
        self.context.add(said)
        self.known = remembered(records)

    def renew(self) -> None:
        """A new id, a new record, an empty context. The old record stays as it is."""
        self.transcript.flush()
        self.session_id = str(uuid.uuid4())
        self.transcript = self._open_transcript()
        self.context.empty()
        self.known.clear()
        self.owed.clear()

    def take_owed(self) -> list[tuple[str, str]]:
        owed, self.owed = self.owed, []
        return owed

    def begin_prompt(self) -> None:
        self.prompt_id = str(uuid.uuid4())

    def background_tasks(self) -> list[dict[str, str]]:
        """What still runs beside it, as Stop tells it."""
        return [
            {
                "id": task,
                "type": "shell",
                "status": "running",
                "description": "demo",
                "command": command,
            }
            for task, command in list(self.background.items())
        ]

    def sub_agent(self) -> "Conversation":
        """A conversation of its own in the same session: its record and its context apart."""
        agent = copy.copy(self)
        agent.agent_id = f"a{uuid.uuid4().hex[:16]}"
        agent.context = Context(self.context.window)
        agent.on_reply = lambda: None
        agent.transcript = Transcript(
            self.transcript.files / "subagents" / f"agent-{agent.agent_id}.jsonl",
            session_id=self.session_id,
            cwd=self.cwd,
            delay=self._delay,
            agent_id=agent.agent_id,
        )
        return agent

    def fire(self, event: str, /, **fields: object) -> list[Reply]:
        """Call the hooks of one event and wait for them."""
        known: dict[str, Any] = {
            "session_id": self.session_id,
            "transcript_path": str(self._main_record()),
            "cwd": self.cwd,
            "prompt_id": self.prompt_id,
            "permission_mode": "default" if event in _WITH_MODE else None,
            "agent_id": self.agent_id,
            "agent_type": "general-purpose" if self.agent_id else None,
            "effort": {"level": "high"} if event in _WITH_EFFORT else None,
        }
        payload = {name: value for name, value in known.items() if value is not None}
        name = _hook_name(event, fields)
        payload |= {"hook_event_name": event, **fields}
        replies = self.hooks.run(event, payload, cwd=self.cwd, name=name)
        for reply in replies:
            if reply.error:
                self._report_failure(reply, name, fields.get("tool_use_id"))
        return replies

    def _main_record(self) -> Path:
        return path_for(self._config, self.cwd, self.session_id)

    def _report_failure(self, reply: Reply, name: str, tool_use: object) -> None:
        self.show(words.error(name, reply.error))
        self.transcript.attachment(
            type="hook_non_blocking_error",
            hookName=name,
            toolUseID=tool_use or _use_id(reply.event),
            hookEvent=reply.event,
            stderr=reply.error,
            stdout=reply.stdout,
            exitCode=reply.code,
        )

    def reply(self, block: dict[str, Any], text: str, *, stop_reason: str) -> None:
        """The model says something: one more record, and what it cost."""
        self.known.append(text)
        self.transcript.assistant(block, self.context.usage(text), stop_reason=stop_reason)
        self.on_reply()

    def give(self, text: str, *, via: str, given: str | None = None) -> None:
        """The model gets this text: count it, and note it where tests look.

        ``given``: the same in the client's words, as the model reads it.
        """
        self.context.add(given or text)
        self.known.append(text)
        if self._received:
            note = {"at": time.time(), "prompt": text, "via": via, "given": given or text}
            _append_durably(self._received, json.dumps(note, ensure_ascii=False))

    def tell(self, replies: list[Reply], *, hook: str, tool_use: str | None = None) -> list[str]:
        """Give the model what the hooks added, and record it; the texts given."""
        texts = []
        for reply in replies:
            use = tool_use or _use_id(reply.event)
            if reply.stdout.strip() and not reply.error:
                self._record_success(reply, hook, use)
            if reply.context:
                texts.append(self._add(reply.context, hook, use))
        return texts

    def _record_success(self, reply: Reply, hook: str, use: str) -> None:
        took = {} if reply.took_ms is None else {"durationMs": reply.took_ms}
        self.transcript.attachment(
            type="hook_success",
            hookName=hook,
            toolUseID=use,
            hookEvent=reply.event,
            content="",
            stdout=reply.stdout,
            stderr=reply.stderr,
            exitCode=reply.code,
            command=reply.command,
            **took,
        )

    def _add(self, text: str, hook: str, use: str) -> str:
        if words.is_large(text):
            text = self._put_aside(text, use)
        self.transcript.attachment(
            type="hook_additional_context",
            content=[text],
            hookName=hook,
            toolUseID=use,
            hookEvent=hook.partition(":")[0],
        )
        via = f"subagent {hook}" if self.agent_id else f"hook {hook}"
        self.give(text, via=via, given=words.context(hook, text))
        return text

    def _put_aside(self, text: str, use: str) -> str:
        folder = self._main_record().with_suffix("") / "tool-results"
        private.make_folder(folder)
        path = folder / f"hook-{use}-1-additionalContext.txt"
        private.write(path, text)
        return words.preview(text, str(path))


def _hook_name(event: str, fields: dict[str, object]) -> str:
    subject = next((fields[field] for field in _NAMED_BY if field in fields), None)
    return event if subject is None else f"{event}:{subject}"


def _use_id(event: str) -> str:
    """What stands for a tool call where there is none."""
    return f"hook-{uuid.uuid4()}" if event == "PostToolBatch" else str(uuid.uuid4())


def _append_durably(path: str, line: str) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        os.write(fd, line.encode("utf-8", "replace") + b"\n")
        os.fsync(fd)
    finally:
        os.close(fd)

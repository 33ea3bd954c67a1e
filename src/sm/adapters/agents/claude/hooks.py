"""Claude Code's hook payloads as events.

Tolerant of fields it does not know and of fields that are missing; strict about what it reads.
It stands in the path of every tool call of every agent, so the payload is decoded once and what
tools read and wrote (up to megabytes) is skipped, not built.
"""

import json

import msgspec

from sm.adapters.agents.claude.transcript import message_in
from sm.adapters.agents.claude.usage import StatusLine
from sm.core import envelope
from sm.core.events import UsageSeen
from sm.core.ids import ContextId, HookId, PromptId
from sm.core.launch import MalformedHookError
from sm.core.reports import (
    CompactionBegun,
    ContextCompacted,
    ContextEnded,
    ContextStarted,
    DialogOpened,
    Hook,
    HookEvent,
    HookNoticed,
    PromptAccepted,
    ToolEnded,
    ToolStarted,
    TurnEnded,
    TurnFailed,
)

OPENING_LENGTH = 120
LAST_WORDS_LENGTH = 500
QUESTION_LENGTH = 200

_ENDS = frozenset({"UserPromptSubmit", "Stop"})
_LEAVING = frozenset({"prompt_input_exit", "logout"})
"""Ends that a person asked for: /exit, Ctrl-D, Ctrl-C twice."""


class _Payload(msgspec.Struct, gc=False):
    """The union of the fields read from any event."""

    hook_event_name: str = ""
    context_window: msgspec.Raw = msgspec.Raw(b"")
    """Only a statusLine has one, and no event name."""
    agent_id: str | None = None
    """Only what a sub-agent does has one."""
    tool_use_id: str | None = None
    session_id: str | None = None
    prompt_id: str | None = None
    transcript_path: str | None = None
    source: str | None = None
    reason: str | None = None
    prompt: str | None = None
    tool_name: str | None = None
    tool_input: msgspec.Raw = msgspec.Raw(b"")
    message: str | None = None
    notification_type: str | None = None
    last_assistant_message: str | None = None
    background_tasks: list[msgspec.Raw] | None = None
    error: str | None = None
    trigger: str | None = None


class _Choice(msgspec.Struct):
    question: str = ""


class _ToolInput(msgspec.Struct):
    """What a person must know to answer: the command, the file, or the question itself."""

    command: str = ""
    file_path: str = ""
    url: str = ""
    questions: list[_Choice] = []


class _Task(msgspec.Struct):
    type: str = ""
    description: str = ""
    command: str = ""


_tasks = msgspec.json.Decoder(_Task)
_payloads = msgspec.json.Decoder(_Payload)
_tool_inputs = msgspec.json.Decoder(_ToolInput)
_status_lines = msgspec.json.Decoder(StatusLine)
_UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


def decode(
    payload: bytes, *, hook: HookId, at: float, answerable: bool = False
) -> HookEvent | UsageSeen:
    """The event one hook call reports. Raises MalformedHookError, and nothing else."""
    try:
        told = _payloads.decode(payload)
    except _UNREADABLE as error:
        told = _decode_mended(payload, error)
    if not told.hook_event_name:
        return _usage(payload, at)
    return _event(told, _reporter(told, hook, at, answerable))


def _usage(payload: bytes, at: float) -> UsageSeen:
    try:
        told = _status_lines.decode(payload)
    except _UNREADABLE as error:
        raise MalformedHookError(f"not a Claude Code hook: {error}") from error
    if told.context_window is None and told.model is None:
        raise MalformedHookError("not a Claude Code hook: it has no hook_event_name")
    context = ContextId(told.session_id) if told.session_id else None
    return UsageSeen(context=context, usage=told.usage(at))


def _decode_mended(payload: bytes, error: Exception) -> _Payload:
    """A second try: JavaScript cuts a text inside an emoji and sends the half as ``\\ud83d``."""
    try:
        if b"\\u" not in payload:
            raise error
        whole = json.dumps(json.loads(payload), ensure_ascii=False)
        return _payloads.decode(whole.encode("utf-8", "replace"))
    except (*_UNREADABLE, ValueError):
        raise MalformedHookError(f"not a Claude Code hook: {error}") from error


def _reporter(told: _Payload, hook: HookId, at: float, answerable: bool) -> Hook:
    return Hook(
        id=hook,
        name=told.hook_event_name,
        at=at,
        context=ContextId(told.session_id) if told.session_id else None,
        prompt=PromptId(told.prompt_id) if told.prompt_id else None,
        answerable=answerable,
        transcript=told.transcript_path if told.hook_event_name in _ENDS else None,
    )


def _event(told: _Payload, hook: Hook) -> HookEvent:
    match told.hook_event_name:
        case "PreToolUse":
            is_sub = told.agent_id is not None
            return ToolStarted(hook=hook, tool=told.tool_name or "", subagent=is_sub)
        case "PostToolUse" | "PostToolUseFailure" as name:
            return _tool_ended(told, hook, failed=name == "PostToolUseFailure")
        case "UserPromptSubmit":
            return _prompt_accepted(told, hook)
        case "Stop":
            return _turn_ended(told, hook)
        case "StopFailure":
            return TurnFailed(hook=hook, error=told.error or "unknown")
        case "PermissionRequest":
            return DialogOpened(hook=hook, question=_question(told))
        case "Notification" if told.notification_type == "permission_prompt":
            return DialogOpened(hook=hook, question=told.message or "a permission")
        case "SessionStart":
            source = told.source or "startup"
            return ContextStarted(hook=hook, source=source, transcript=told.transcript_path)
        case "SessionEnd":
            reason = told.reason or "other"
            return ContextEnded(hook=hook, reason=reason, leaving=reason in _LEAVING)
        case "PreCompact":
            return CompactionBegun(hook=hook, trigger=told.trigger or "auto")
        case "PostCompact":
            return ContextCompacted(hook=hook, trigger=told.trigger or "auto")
        case _:
            return HookNoticed(hook=hook)


def _tool_ended(told: _Payload, hook: Hook, *, failed: bool) -> ToolEnded:
    return ToolEnded(
        hook=hook,
        tool=told.tool_name or "",
        failed=failed,
        tool_use=told.tool_use_id or "",
        subagent=told.agent_id is not None,
    )


def _prompt_accepted(told: _Payload, hook: Hook) -> PromptAccepted:
    prompt = told.prompt or ""
    return PromptAccepted(
        hook=hook,
        message=message_in(prompt),
        opening=prompt[:OPENING_LENGTH],
        quoted=envelope.quoted_in(prompt),
    )


def _turn_ended(told: _Payload, hook: Hook) -> TurnEnded:
    return TurnEnded(
        hook=hook,
        last_words=(told.last_assistant_message or "")[:LAST_WORDS_LENGTH],
        tasks=tuple(map(_task, told.background_tasks or ())),
    )


def _task(told: msgspec.Raw) -> str:
    """What runs in the background, in one line: ``sleep 600``."""
    try:
        task = _tasks.decode(told)
    except _UNREADABLE:
        # Another kind's own form: that something runs is still known.
        return "a task"
    words = task.command or task.description or task.type or "a task"
    return " ".join(words.split())[:QUESTION_LENGTH]


def _question(told: _Payload) -> str:
    """What the dialog asks, in one line: ``Bash: touch x``."""
    tool = told.tool_name or "a tool"
    subject = " ".join(_subject(told.tool_input).split())
    return f"{tool}: {subject}"[:QUESTION_LENGTH] if subject else tool


def _subject(tool_input: msgspec.Raw) -> str:
    try:
        asked = _tool_inputs.decode(tool_input)
    except _UNREADABLE:
        # Another tool's own form: its name alone is still a question.
        return ""
    choice = asked.questions[0].question if asked.questions else ""
    return asked.command or asked.file_path or asked.url or choice

"""Claude Code's hook payloads as events; the samples are from the real client."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sm.adapters.agents.claude.hooks import decode
from sm.core import envelope
from sm.core.events import UsageSeen
from sm.core.ids import ContextId, HookId, MessageId, PromptId
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
from sm.core.state import Usage

SAMPLES: dict[str, dict[str, Any]] = json.loads(
    Path(__file__).with_name("hooks.json").read_text("utf-8")
)
STATUS_LINES: dict[str, dict[str, Any]] = json.loads(
    Path(__file__).with_name("statusline.json").read_text("utf-8")
)
MESSAGE = MessageId("0123456789ab")


def decoded(payload: object) -> HookEvent:
    event = decode(json.dumps(payload).encode(), hook=HookId("h1"), at=12.5)
    assert not isinstance(event, UsageSeen)
    return event


def reporter(name: str, sample: dict[str, Any]) -> Hook:
    prompt = sample.get("prompt_id")
    return Hook(
        id=HookId("h1"),
        name=name,
        at=12.5,
        context=ContextId(sample["session_id"]),
        prompt=PromptId(prompt) if prompt else None,
        transcript=sample["transcript_path"] if name in ("UserPromptSubmit", "Stop") else None,
    )


@pytest.mark.parametrize(
    ("sample", "event"),
    [
        ("SessionStart startup", ContextStarted),
        ("SessionEnd clear", ContextEnded),
        ("UserPromptSubmit", PromptAccepted),
        ("PreToolUse Bash", ToolStarted),
        ("PostToolUse Agent", ToolEnded),
        ("PostToolUseFailure Bash", ToolEnded),
        ("PermissionRequest Bash", DialogOpened),
        ("Notification permission_prompt", DialogOpened),
        ("Stop stop_hook_active=False", TurnEnded),
        ("StopFailure", TurnFailed),
        ("PostCompact auto", ContextCompacted),
        ("Notification idle_prompt", HookNoticed),
        ("PreCompact manual", CompactionBegun),
        ("SubagentStart general-purpose", HookNoticed),
        ("SubagentStop general-purpose", HookNoticed),
        ("PostToolBatch", HookNoticed),
        ("CwdChanged", HookNoticed),
    ],
)
def test_every_hook_of_the_real_client_is_understood(sample: str, event: type[HookEvent]) -> None:
    told = SAMPLES[sample]

    found = decoded(told)

    assert type(found) is event
    assert found.hook == reporter(told["hook_event_name"], told)


def test_a_compaction_tells_who_wants_it() -> None:
    told = decoded(SAMPLES["PreCompact manual"])
    by_itself = decoded({"hook_event_name": "PreCompact", "session_id": "c"})

    assert isinstance(told, CompactionBegun)
    assert isinstance(by_itself, CompactionBegun)
    assert (told.trigger, by_itself.trigger) == ("manual", "auto")


def test_no_sample_of_the_real_client_is_malformed() -> None:
    assert len([decoded(sample) for sample in SAMPLES.values()]) == len(SAMPLES)


def test_a_new_context_names_its_source_and_transcript() -> None:
    told = SAMPLES["SessionStart clear"]

    assert decoded(told) == ContextStarted(
        hook=reporter("SessionStart", told),
        source="clear",
        transcript=told["transcript_path"],
    )


def test_a_prompt_shows_which_message_it_carries() -> None:
    """The id at the envelope's fixed place is the proof of delivery."""
    prompt = envelope.wrap(MESSAGE, "ada", "x" * 500)
    told = {**SAMPLES["UserPromptSubmit"], "prompt": prompt}

    assert decoded(told) == PromptAccepted(
        hook=reporter("UserPromptSubmit", told),
        message=MESSAGE,
        opening=prompt[:120],
        quoted=(MESSAGE,),
    )


def test_a_prompt_that_quotes_a_message_does_not_carry_it() -> None:
    quoted = f"look: {envelope.wrap(MESSAGE, 'ada', 'hello')}"

    found = decoded({"hook_event_name": "UserPromptSubmit", "prompt": quoted})

    assert isinstance(found, PromptAccepted)
    assert found.message is None


def test_a_failed_tool_is_told_apart() -> None:
    told = SAMPLES["PostToolUseFailure Bash"]

    assert decoded(told) == ToolEnded(
        hook=reporter("PostToolUseFailure", told),
        tool="Bash",
        failed=True,
        tool_use=told["tool_use_id"],
    )


def test_what_a_sub_agent_does_is_told_apart() -> None:
    """Its tools say nothing about what the session itself does, and carry no message to it."""
    own, theirs = SAMPLES["PostToolUse Bash"], {**SAMPLES["PostToolUse Bash"], "agent_id": "a1"}

    assert [told.subagent for told in (decoded(own), decoded(theirs))] == [False, True]  # type: ignore[union-attr]


def test_a_report_says_whether_its_agent_waits_for_an_answer() -> None:
    payload = json.dumps(SAMPLES["Stop stop_hook_active=False"]).encode()
    waiting = decode(payload, hook=HookId("h1"), at=1.0, answerable=True)

    assert isinstance(waiting, TurnEnded)
    assert waiting.hook.answerable
    assert not decoded(SAMPLES["Stop stop_hook_active=False"]).hook.answerable


def test_a_woken_agents_prompt_shows_which_message_it_carries() -> None:
    """The client words a note's text as a notification of its own."""
    note = envelope.wrap(MESSAGE, "ada", "hello")
    prompt = f"<task-notification>\n<id>1</id>\n</task-notification>\n<system-reminder>\n{note}"

    found = decoded({"hook_event_name": "UserPromptSubmit", "prompt": prompt})

    assert isinstance(found, PromptAccepted)
    assert found.message == MESSAGE


def test_a_status_line_tells_how_full_the_context_is() -> None:
    told = STATUS_LINES["after 260k of 1M"]

    seen = decode(json.dumps(told).encode(), hook=HookId("h1"), at=12.5)

    assert seen == UsageSeen(
        context=ContextId(told["session_id"]),
        usage=Usage(
            tokens=260_000,
            window=1_000_000,
            model="claude-opus-4-8[1m]",
            source="statusline",
            at=12.5,
        ),
    )


@pytest.mark.parametrize("window", ["missing", None, 3])
def test_what_is_neither_a_hook_nor_a_status_line_is_refused(window: object) -> None:
    told = {} if window == "missing" else {"context_window": window}

    with pytest.raises(MalformedHookError, match="not a Claude Code hook"):
        decode(json.dumps(told).encode(), hook=HookId("h1"), at=0.0)


@pytest.mark.parametrize(
    ("tool", "tool_input", "question"),
    [
        ("Bash", {"command": "touch x"}, "Bash: touch x"),
        ("Bash", {"command": "a\n  b"}, "Bash: a b"),
        ("Write", {"file_path": "f.txt", "content": "y" * 1000}, "Write: f.txt"),
        ("AskUserQuestion", {"questions": [{"question": "Which way?"}]}, None),
        ("Bash", {"command": "z" * 1000}, "Bash: " + "z" * 194),
        ("Odd", {"command": 5}, "Odd"),
        ("Odd", ["no object"], "Odd"),
        ("Odd", None, "Odd"),
    ],
)
def test_a_dialog_says_what_it_asks(tool: str, tool_input: object, question: str | None) -> None:
    found = decoded(
        {"hook_event_name": "PermissionRequest", "tool_name": tool, "tool_input": tool_input}
    )

    assert isinstance(found, DialogOpened)
    assert found.question == (question or "AskUserQuestion: Which way?")


def test_a_stop_tells_last_words_and_background_work() -> None:
    """The turn's end is not the work's end while a background task runs."""
    told = SAMPLES["Stop stop_hook_active=False background task"]
    long = {**told, "last_assistant_message": "w" * 900}

    assert decoded(long) == TurnEnded(
        hook=reporter("Stop", told), last_words="w" * 500, tasks=("sleep 6",)
    )


def test_missing_fields_are_no_error() -> None:
    for name in {sample["hook_event_name"] for sample in SAMPLES.values()}:
        assert decoded({"hook_event_name": name}).hook.context is None


def test_a_text_cut_inside_an_emoji_is_still_understood() -> None:
    """JavaScript sends half a surrogate pair as an escape; the turn's end must not be lost."""
    payload = b'{"hook_event_name":"Stop","last_assistant_message":"done \\ud83d"}'

    found = decode(payload, hook=HookId("h1"), at=0)

    assert isinstance(found, TurnEnded)
    assert found.last_words == "done ?"


@pytest.mark.parametrize(
    ("payload", "says"),
    [
        (b"", "truncated"),
        (b"[]", "Expected `object`"),
        (b'"Stop"', "Expected `object`"),
        (b"{}", "hook_event_name"),
        (b'{"hook_event_name": 7}', "hook_event_name"),
        (b'{"hook_event_name": "Stop", "background_tasks": 3}', "background_tasks"),
        (b'{"hook_event_name": "Stop"', "truncated"),
        (b'{"hook_event_name": "Stop", "deep": ' + b"[" * 100_000, "recursion"),
        (b"\xff\xfe", "malformed"),
    ],
)
def test_a_malformed_payload_is_refused_with_the_reason(payload: bytes, says: str) -> None:
    with pytest.raises(MalformedHookError, match=says):
        decode(payload, hook=HookId("h1"), at=0)


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)
_FIELDS = st.sampled_from(sorted({key for sample in SAMPLES.values() for key in sample}))
_NAMES = st.sampled_from(sorted({sample["hook_event_name"] for sample in SAMPLES.values()}))


@given(st.dictionaries(_FIELDS, _VALUES), _NAMES)
def test_any_object_is_an_event_or_malformed(fields: dict[str, Any], name: str) -> None:
    try:
        found = decoded({**fields, "hook_event_name": name})
    except MalformedHookError:
        return
    assert found.hook.name == name


@given(st.binary())
def test_any_bytes_are_an_event_or_malformed(payload: bytes) -> None:
    with pytest.raises(MalformedHookError):
        decode(payload, hook=HookId("h1"), at=0)

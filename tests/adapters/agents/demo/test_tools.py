"""One Bash call of the demo agent: asked for, run, shown, recorded and reported."""

import json
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sm.adapters.agents.demo.conversation import Conversation
from sm.adapters.agents.demo.stage import Ask, CloseDialog
from sm.adapters.agents.demo.tools import ToolCall, ToolInterruptedError

from .test_conversation import begin, events, lines_of, noted
from .test_stage import Audience, listening

NEVER = 3600.0


@pytest.fixture
def audience() -> Iterator[Audience]:
    with listening() as heard:
        yield heard


def answer(audience: Audience, allowed: bool, *, after: Path | None = None) -> None:
    """A person answers the dialog, if told so only when something was written to ``after``."""

    def wait_and_answer() -> None:
        ask = audience.until(Ask)
        if after is not None:
            after.read_text()
        ask.answer.put(allowed)

    threading.Thread(target=wait_and_answer, daemon=True).start()


def results(talk: Conversation) -> list[dict[str, Any]]:
    """The tool results in the record."""
    contents = [
        record.get("message", {}).get("content") for record in lines_of(talk.transcript.path)
    ]
    blocks = [block for content in contents if isinstance(content, list) for block in content]
    return [block for block in blocks if block["type"] == "tool_result"]


def test_a_command_that_works_is_shown_reported_and_recorded(
    tmp_path: Path, audience: Audience
) -> None:
    """The model gets the output, and every hook knows which call it belongs to."""
    talk = begin(tmp_path)
    call = ToolCall(talk, audience.stage, "pwd; echo careful >&2")

    assert call.run(notify_after=None) == []

    assert audience.shown() == [
        "● Bash(pwd; echo careful >&2)",
        f"  ⎿  {tmp_path}\n     careful\n",
    ]
    assert events(tmp_path) == ["PreToolUse", "PostToolUse", "PostToolBatch"]
    _, after, batch = noted(tmp_path)
    response = {"stdout": str(tmp_path), "stderr": "careful\n", "interrupted": False}
    assert (after["tool_use_id"], after["tool_response"]) == (call.id, response)
    assert batch["tool_calls"][0]["tool_response"] == str(tmp_path)
    asked = lines_of(talk.transcript.path)[1]["message"]["content"][0]
    assert (asked["type"], asked["id"], asked["name"]) == ("tool_use", call.id, "Bash")
    assert results(talk) == [
        {
            "type": "tool_result",
            "tool_use_id": call.id,
            "content": str(tmp_path),
            "is_error": False,
        }
    ]


def test_a_command_that_fails_is_an_error_with_its_code(tmp_path: Path, audience: Audience) -> None:
    """The model learns the exit code and both outputs, and can go on from there."""
    talk = begin(tmp_path)

    ToolCall(talk, audience.stage, "echo out; echo err >&2; exit 3").run(notify_after=None)

    assert events(tmp_path) == ["PreToolUse", "PostToolUseFailure", "PostToolBatch"]
    assert noted(tmp_path)[1]["error"] == "Exit code 3\nout\nerr"
    (result,) = results(talk)
    assert (result["content"], result["is_error"]) == ("Exit code 3\nout\nerr", True)


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        ("true", "  ⎿  (No output)\n"),
        ("seq 4", "  ⎿  1\n     2\n     3\n     4\n"),
        ("seq 6", "  ⎿  1\n     2\n     3\n     4\n     … +2 lines\n"),
    ],
)
def test_a_person_sees_the_beginning_of_the_output(
    tmp_path: Path, audience: Audience, command: str, shown: str
) -> None:
    """Four lines, and how many more there were."""
    ToolCall(begin(tmp_path), audience.stage, command).run(notify_after=None)

    assert audience.shown()[-1] == shown


def test_the_model_gets_no_endless_output(tmp_path: Path, audience: Audience) -> None:
    """A very long output is cut before it fills the context."""
    talk = begin(tmp_path)

    ToolCall(talk, audience.stage, "seq 20000").run(notify_after=None)

    assert len(results(talk)[0]["content"]) == 30_000
    assert talk.context.tokens == 8500


def test_what_hooks_add_to_a_call_follows_its_result(tmp_path: Path, audience: Audience) -> None:
    """Each hook around a tool can tell the model something, in the order of the hooks."""
    around = ["PreToolUse", "PostToolUse", "PostToolBatch"]
    replies = {
        event: f"echo '{json.dumps({'hookSpecificOutput': {'additionalContext': event}})}'"
        for event in around
    }
    talk = begin(tmp_path, replies=replies)

    assert ToolCall(talk, audience.stage, "true").run(notify_after=None) == around

    kinds = [record["type"] for record in lines_of(talk.transcript.path)]
    assert kinds == ["mode", "assistant", "user", *["attachment"] * 6]
    added = [r["attachment"] for r in lines_of(talk.transcript.path) if "attachment" in r]
    assert [a["type"] for a in added] == ["hook_success", "hook_additional_context"] * 3


def test_a_tool_waits_for_the_person_who_allows_it(tmp_path: Path, audience: Audience) -> None:
    """The dialog names the command and closes with the answer; then the tool runs."""
    answer(audience, True)

    ToolCall(begin(tmp_path), audience.stage, "touch made").run(notify_after=NEVER)

    kinds = [type(note) for note in audience.look()]
    assert kinds.index(CloseDialog) == kinds.index(Ask) + 1
    assert audience.until(Ask).command == "touch made"
    assert (tmp_path / "made").exists()
    assert events(tmp_path)[:2] == ["PreToolUse", "PermissionRequest"]


def test_a_declined_tool_never_runs(tmp_path: Path, audience: Audience) -> None:
    """The record says that a person stopped it; no hook reports a result."""
    talk = begin(tmp_path)
    answer(audience, False)

    with pytest.raises(ToolInterruptedError):
        ToolCall(talk, audience.stage, "touch made").run(notify_after=NEVER)

    assert not (tmp_path / "made").exists()
    assert audience.shown()[-1] == "  ⎿  Interrupted · What should Claude do instead?\n"
    assert events(tmp_path) == ["PreToolUse", "PermissionRequest"]
    assert results(talk)[0]["is_error"]
    (said,) = lines_of(talk.transcript.path)[-1]["message"]["content"]
    assert said["text"] == "[Request interrupted by user for tool use]"


@pytest.mark.parametrize("behaviour", ["allow", "deny"])
def test_a_hook_may_answer_in_the_persons_place(
    tmp_path: Path, audience: Audience, behaviour: str
) -> None:
    """Then no dialog is drawn at all."""
    reply = {"hookSpecificOutput": {"decision": {"behavior": behaviour}}}
    talk = begin(tmp_path, replies={"PermissionRequest": f"echo '{json.dumps(reply)}'"})
    call = ToolCall(talk, audience.stage, "touch made")

    if behaviour == "allow":
        call.run(notify_after=NEVER)
    else:
        with pytest.raises(ToolInterruptedError):
            call.run(notify_after=NEVER)

    assert (tmp_path / "made").exists() == (behaviour == "allow")
    assert not any(isinstance(note, Ask) for note in audience.look())


def test_a_person_who_does_not_answer_is_reminded_once(tmp_path: Path, audience: Audience) -> None:
    """After the reminder the dialog still waits, and an answer still counts."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    talk = begin(tmp_path, replies={"Notification": f"echo reminded > {pipe}"})
    answer(audience, True, after=pipe)

    ToolCall(talk, audience.stage, "true").run(notify_after=0.0)

    reminders = [hook for hook in noted(tmp_path) if hook["hook_event_name"] == "Notification"]
    assert [hook["notification_type"] for hook in reminders] == ["permission_prompt"]
    assert events(tmp_path)[-1] == "PostToolBatch"


def test_an_interrupted_tool_is_stopped(tmp_path: Path, audience: Audience) -> None:
    """Escape while a tool runs ends it at once, as if it had not been allowed."""
    audience.stage.interrupt.set()

    with pytest.raises(ToolInterruptedError):
        ToolCall(begin(tmp_path), audience.stage, "sleep 60").run(notify_after=None)

    assert audience.shown()[-1] == "  ⎿  Interrupted · What should Claude do instead?\n"
    assert events(tmp_path) == ["PreToolUse"]

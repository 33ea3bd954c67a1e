"""One conversation of the demo agent: its ids, its record, and what its hooks are told."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from sm.adapters.agents.claude.settings import EVENTS
from sm.adapters.agents.demo.conversation import Conversation, NoSuchConversationError
from sm.adapters.agents.demo.hooks import Reply
from sm.adapters.agents.demo.options import parse


def begin(folder: Path, *options: str, replies: Mapping[str, str] | None = None) -> Conversation:
    """A conversation whose hooks note each event and then run what ``replies`` has for it."""
    file = folder / "hooks.jsonl"
    note = f"cat >> {file}; echo >> {file}"
    hooks = {
        event: [{"hooks": [{"type": "command", "command": f"{note}; {script}"}]}]
        for event in (*EVENTS, "PreToolUse", "PostToolBatch")
        for script in [(replies or {}).get(event, ":")]
    }
    settings = folder / "settings.json"
    settings.write_text(json.dumps({"hooks": hooks}))
    fixed = ["--settings", str(settings), "--received", str(folder / "received.jsonl")]
    fixed += ["--record-delay", "0"]
    return Conversation(parse([*fixed, *options]), config=folder / "config", cwd=str(folder))


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def noted(folder: Path) -> list[dict[str, Any]]:
    """What the hooks were told."""
    return lines_of(folder / "hooks.jsonl")


def events(folder: Path) -> list[str]:
    return [hook["hook_event_name"] for hook in noted(folder)]


def given(folder: Path) -> list[tuple[str, str]]:
    """What the model got, and by which way."""
    return [(note["prompt"], note["via"]) for note in lines_of(folder / "received.jsonl")]


def test_a_new_conversation_has_the_id_it_was_given_or_one_of_its_own(tmp_path: Path) -> None:
    """Two agents started alike do not share a conversation."""
    assert begin(tmp_path, "--session-id", "s1").session_id == "s1"
    one, two = begin(tmp_path), begin(tmp_path)
    assert one.session_id != two.session_id
    assert one.source == "startup"


def test_an_id_is_used_once(tmp_path: Path) -> None:
    """A second conversation never writes into the record of the first."""
    begin(tmp_path, "--session-id", "s1").transcript.prompt("hello", None)

    with pytest.raises(NoSuchConversationError, match=r"^Session ID s1 is already in use\.$"):
        begin(tmp_path, "--session-id", "s1")


def test_only_what_was_begun_can_be_resumed(tmp_path: Path) -> None:
    """A mistyped id is refused in words instead of beginning something new."""
    says = "^No conversation found with session ID: s1$"
    with pytest.raises(NoSuchConversationError, match=says):
        begin(tmp_path, "--resume", "s1")

    begin(tmp_path, "--session-id", "s1").transcript.prompt("hello", None)
    (record,) = tmp_path.rglob("s1.jsonl")
    record.write_bytes(b"")
    with pytest.raises(NoSuchConversationError, match=says):
        begin(tmp_path, "--resume", "s1")


def test_a_resumed_conversation_knows_what_was_said(tmp_path: Path) -> None:
    """The earlier words fill the context again, under the same id."""
    begin(tmp_path, "--session-id", "s1").transcript.prompt("x" * 40_000, None)

    talk = begin(tmp_path, "--resume", "s1")

    assert (talk.session_id, talk.source) == ("s1", "resume")
    assert talk.context.tokens > 11_000


def test_a_renewed_conversation_starts_from_nothing(tmp_path: Path) -> None:
    """It has a new id and an empty context; the old record stays as it was."""
    talk = begin(tmp_path, "--session-id", "s1")
    fresh = talk.context.tokens
    talk.transcript.prompt("hello", None)
    talk.give("hello" * 100, via="prompt")
    old, before = talk.transcript.path, talk.transcript.path.read_bytes()

    talk.renew()
    talk.transcript.prompt("anew", None)

    assert talk.session_id != "s1"
    assert talk.transcript.path == old.with_stem(talk.session_id)
    assert talk.context.tokens == fresh
    assert old.read_bytes() == before


@pytest.mark.parametrize(
    ("event", "extra"),
    [
        ("SessionStart", {}),
        ("UserPromptSubmit", {"permission_mode": "default"}),
        ("Stop", {"permission_mode": "default", "effort": {"level": "high"}}),
        ("StopFailure", {"effort": {"level": "high"}}),
    ],
)
def test_a_hook_is_told_what_claude_code_tells_it(
    tmp_path: Path, event: str, extra: dict[str, Any]
) -> None:
    """Which conversation, where its record is, and what belongs to this event."""
    talk = begin(tmp_path, "--session-id", "s1")

    talk.fire(event, reason="why")

    common = {"session_id": "s1", "cwd": str(tmp_path), "hook_event_name": event, "reason": "why"}
    path = str(talk.transcript.path)
    assert noted(tmp_path) == [{**common, "transcript_path": path, **extra}]


def test_a_hook_is_told_the_prompt_it_belongs_to(tmp_path: Path) -> None:
    """Each prompt has an id of its own; before the first there is none."""
    talk = begin(tmp_path)
    talk.fire("Stop")
    talk.begin_prompt()
    talk.fire("Stop")
    first = talk.prompt_id
    talk.begin_prompt()
    talk.fire("Stop")

    assert [hook.get("prompt_id") for hook in noted(tmp_path)] == [None, first, talk.prompt_id]
    assert first != talk.prompt_id


def test_what_the_model_gets_is_counted_and_noted(tmp_path: Path) -> None:
    """A test can see every text the model was given, whole and in order."""
    talk = begin(tmp_path)
    talk.give("ä\n漢", via="prompt")
    talk.give("x" * 400, via="queue")

    assert given(tmp_path) == [("ä\n漢", "prompt"), ("x" * 400, "queue")]
    assert talk.context.tokens == 1100
    assert talk.context.messages == 2


def test_what_hooks_add_reaches_the_model_and_the_record(tmp_path: Path) -> None:
    """A hook's words are told and recorded with its name; one that added none is passed over."""
    talk = begin(tmp_path)
    words = json.dumps({"hookSpecificOutput": {"additionalContext": "mind the gap"}})
    replies = [Reply("PreToolUse", "cmd", 0, out, "") for out in ("", words, "plain")]

    talk.transcript.prompt("go", None)
    assert talk.tell(replies, hook="PreToolUse:Bash", tool_use="t1") == ["mind the gap"]

    assert given(tmp_path) == [("mind the gap", "hook PreToolUse:Bash")]
    *_, success, added, _ = (r["attachment"] for r in lines_of(talk.transcript.path)[2:])
    assert (success["type"], success["stdout"]) == ("hook_success", words)
    assert added == {
        "type": "hook_additional_context",
        "content": ["mind the gap"],
        "hookName": "PreToolUse:Bash",
        "hookEvent": "PreToolUse",
        "toolUseID": "t1",
    }


def test_a_resumed_conversation_remembers_its_texts(tmp_path: Path) -> None:
    """What is in its record is known to its model again."""
    begin(tmp_path, "--session-id", "s1").transcript.prompt("the word is heron", None)

    assert begin(tmp_path, "--resume", "s1").known == ["the word is heron"]

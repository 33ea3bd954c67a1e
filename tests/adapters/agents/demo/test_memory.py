"""What a resumed model still knows."""

from typing import Any

from sm.adapters.agents.demo.memory import remembered

ASKED: dict[str, Any] = {"type": "user", "message": {"content": "do it"}}
SAID = {"type": "assistant", "message": {"content": [{"type": "text", "text": "Step 1."}]}}


def called(use: str, command: str) -> dict[str, Any]:
    block = {"type": "tool_use", "id": use, "name": "Bash", "input": {"command": command}}
    return {"type": "assistant", "message": {"content": [block]}}


def answered(use: str) -> dict[str, Any]:
    block = {"type": "tool_result", "tool_use_id": use, "content": "fine", "is_error": False}
    return {"type": "user", "message": {"content": [block]}}


def test_it_knows_what_it_was_given_and_what_it_did() -> None:
    told = {"attachment": {"type": "hook_additional_context", "content": ["be quick"]}}
    waited = {"attachment": {"type": "queued_command", "prompt": "and that"}}
    agent = {"type": "tool_use", "id": "b", "name": "Agent", "input": {"prompt": "look"}}
    records = [{"type": "mode"}, ASKED, SAID, called("a", "ls"), answered("a"), told, waited]
    records += [{"message": {"content": [agent]}}, answered("b")]

    assert remembered(records) == ["do it", "Step 1.", "ls", "be quick", "and that", "look"]


def test_a_call_that_was_cut_is_not_remembered() -> None:
    """Nobody told it how the command ended: it would not know that it asked for it."""
    assert remembered([ASKED, called("a", "ls"), answered("a"), called("b", "rm x")]) == [
        "do it",
        "ls",
    ]


def test_nothing_from_before_a_compaction_is_remembered() -> None:
    boundary = {"type": "system", "subtype": "compact_boundary"}

    assert remembered([ASKED, boundary, SAID]) == ["Step 1."]

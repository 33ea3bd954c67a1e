"""The demo agent's status line: what its command is told, and where its output stands."""

import json
from pathlib import Path
from typing import Any

from sm.adapters.agents.demo.conversation import Conversation
from sm.adapters.agents.demo.footer import Footer
from sm.adapters.agents.demo.options import parse

from .rig import Demo

SAMPLE = {
    *("session_id", "transcript_path", "cwd", "prompt_id", "effort", "session_name", "model"),
    *("workspace", "version", "output_style", "cost", "context_window", "exceeds_200k_tokens"),
    *("fast_mode", "thinking"),
}


def told(talk: Conversation) -> dict[str, Any]:
    return Footer(talk, lambda _: None, name="ada").told()


def begin(folder: Path) -> Conversation:
    return Conversation(parse(["--record-delay", "0"]), config=folder / "config", cwd=str(folder))


def test_its_command_is_told_what_claude_code_tells(tmp_path: Path) -> None:
    """Every field of the real client's sample, and how full the context is."""
    talk = begin(tmp_path)
    talk.begin_prompt()
    talk.context.pin(167_095)
    talk.reply({"type": "text", "text": "hi"}, "hello there", stop_reason="end_turn")

    said = told(talk)

    assert said.keys() == SAMPLE
    assert said["context_window"] == {
        "total_input_tokens": 167_095,
        "total_output_tokens": 2,
        "context_window_size": 200_000,
        "current_usage": {
            "input_tokens": 100,
            "output_tokens": 2,
            "cache_creation_input_tokens": 1000,
            "cache_read_input_tokens": 165_995,
        },
        "used_percentage": 84,
        "remaining_percentage": 16,
    }


def test_nothing_is_known_before_the_first_reply_and_after_a_clear(tmp_path: Path) -> None:
    """After a compaction the numbers are zeros."""
    talk = begin(tmp_path)
    unknown = {"current_usage": None, "used_percentage": None, "remaining_percentage": None}
    assert told(talk)["context_window"].items() >= unknown.items()

    talk.reply({"type": "text", "text": "hi"}, "hi", stop_reason="end_turn")
    talk.context.empty(compacted=True)
    window = told(talk)["context_window"]
    assert set(window["current_usage"].values()) == {0}
    assert (window["used_percentage"], window["remaining_percentage"]) == (0, 100)

    talk.renew()
    assert told(talk)["context_window"].items() >= unknown.items()


def test_its_output_stands_below_the_box(demo: Demo) -> None:
    """Run after replies and /clear; what it printed takes the place of the hint."""
    inputs = demo.folder / "inputs"
    demo.status_line = f"cat >> {inputs}; echo >> {inputs}; echo MY LINE; echo two"
    demo.start()
    demo.until(lambda: "  MY LINE" in demo.view().lines)
    demo.submit("hello")
    demo.until_event("Stop")
    demo.until(lambda: _said(inputs)[-1]["context_window"]["current_usage"])
    demo.settled()
    demo.submit("/clear")
    demo.until_event("SessionStart", 2)

    demo.until(lambda: _said(inputs)[-1]["session_id"] == demo.status()["sessionId"])
    assert _said(inputs)[-1]["context_window"]["current_usage"] is None
    lines = [line for line in demo.view().lines if line]
    assert lines[-2:] == ["  MY LINE", "  two"]
    assert "? for shortcuts" not in "\n".join(lines)


def _said(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines() if line.endswith("}")]

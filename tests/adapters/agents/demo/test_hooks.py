"""Hooks of the demo agent: which run, and what their replies mean."""

import json
import os
import select
from pathlib import Path

import pytest

from sm.adapters.agents.demo.hooks import Hooks, Reply


def replied(stdout: str, *, event: str = "Stop", code: int = 0, stderr: str = "") -> Reply:
    return Reply(event, "cmd", code, stdout, stderr)


def settings(folder: Path, hooks: object) -> str:
    path = folder / "settings.json"
    path.write_text(json.dumps({"hooks": hooks}))
    return str(path)


def command(line: str, **fields: object) -> dict[str, object]:
    return {"type": "command", "command": line, **fields}


def test_a_hook_gets_the_payload_on_stdin(tmp_path: Path) -> None:
    hooks = Hooks(settings(tmp_path, {"Stop": [{"hooks": [command("cat; pwd; echo e >&2")]}]}))

    (reply,) = hooks.run("Stop", {"a": "ä"}, cwd=str(tmp_path))

    assert reply.stdout == f'{{"a":"ä"}}{tmp_path}\n'
    assert (reply.code, reply.stderr) == (0, "e\n")


def test_a_matcher_chooses_by_tool(tmp_path: Path) -> None:
    groups = [
        {"matcher": name, "hooks": [command(f"echo {number}")]}
        for number, name in enumerate(["*", "", "Bash", "Edit|Bash", "Read", "Bas"])
    ]
    hooks = Hooks(settings(tmp_path, {"PreToolUse": groups}))

    replies = hooks.run("PreToolUse", {"tool_name": "Bash"}, cwd="/")

    assert [reply.stdout.strip() for reply in replies] == ["0", "1", "2", "3"]


def test_odd_settings_are_passed_over(tmp_path: Path) -> None:
    odd = [
        5,
        {"matcher": "(", "hooks": []},
        {"hooks": 7},
        {"hooks": [command("echo ok", timeout="x")]},
    ]
    hooks = Hooks(settings(tmp_path, {"Stop": odd, "PreToolUse": 3}))

    assert hooks.run("Stop", {}, cwd="/") == []
    assert hooks.run("PreToolUse", {}, cwd="/") == []


def test_a_hook_that_hangs_is_ended_with_all_it_started(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    hangs = command(f"sleep 60 > {pipe} & wait", timeout=0.2)
    calls = [hangs, command("echo next"), {"type": "http"}]
    hooks = Hooks(settings(tmp_path, {"Stop": [{"hooks": calls}]}))

    assert [reply.stdout for reply in hooks.run("Stop", {}, cwd="/")] == ["next\n"]
    # The end of file comes when the last process that holds the pipe is gone.
    os.set_blocking(reader, True)
    readable, _, _ = select.select([reader], [], [], 10)
    assert readable
    assert os.read(reader, 1) == b""
    os.close(reader)


@pytest.mark.parametrize("text", ["", "no json", "[]", '{"hooks": 5}', "{}"])
def test_settings_that_cannot_be_read_mean_no_hooks(tmp_path: Path, text: str) -> None:
    path = tmp_path / "settings.json"
    path.write_text(text)

    assert Hooks(str(path)).run("Stop", {}, cwd="/") == []
    assert Hooks(str(tmp_path / "none")).run("Stop", {}, cwd="/") == []


@pytest.mark.parametrize(
    ("reply", "block"),
    [
        (replied('{"decision":"block","reason":"go on"}'), "go on"),
        (replied("", code=2, stderr="stay\n"), "[cmd]: stay"),
        (replied("", code=1, stderr="broken"), None),
        (replied('{"decision":"approve"}'), None),
        (replied('["block"]'), None),
        (replied("words"), None),
    ],
)
def test_a_reply_may_block(reply: Reply, block: str | None) -> None:
    assert reply.block == block


@pytest.mark.parametrize(
    ("stdout", "halt"),
    [
        ('{"continue":false,"stopReason":"over"}', "over"),
        ('{"continue":false}', ""),
        ('{"continue":true,"stopReason":"over"}', None),
        ("words", None),
    ],
)
def test_a_reply_may_end_the_turn(stdout: str, halt: str | None) -> None:
    assert replied(stdout).halt == halt


@pytest.mark.parametrize(
    ("reply", "context"),
    [
        (replied('{"hookSpecificOutput":{"additionalContext":"know"}}'), "know"),
        (replied('{"hookSpecificOutput":{"additionalContext":7}}'), None),
        (replied("plain"), None),
        (replied("plain\n", event="SessionStart"), "plain"),
        (replied("plain", event="UserPromptSubmit", code=1), None),
        (replied("", event="SessionStart"), None),
    ],
)
def test_a_reply_may_add_context(reply: Reply, context: str | None) -> None:
    assert reply.context == context

"""Turns of the demo agent: hooks in Claude Code's order, records in its forms."""

import os
import signal
from pathlib import Path

import pytest
from tests.kit.transcripts import holds

from sm.core import envelope
from sm.core.ids import MessageId
from sm.core.terminal import Sign

from .rig import Demo

MESSAGE = MessageId("0123456789ab")


def test_the_hooks_of_a_tool_turn_come_in_claude_codes_order(demo: Demo) -> None:
    demo.start()
    demo.prompt("%tool echo hi\n%tool false\n%say over")

    demo.until_event("Stop")
    assert demo.events() == [
        "SessionStart",
        "UserPromptSubmit",
        "PreToolUse",
        "PostToolUse",
        "PostToolBatch",
        "PreToolUse",
        "PostToolUseFailure",
        "PostToolBatch",
        "Stop",
    ]
    submit, stop = demo.hooks()[1], demo.hooks()[-1]
    assert submit["prompt_id"] == stop["prompt_id"]
    assert stop["last_assistant_message"] == "over"
    assert stop["transcript_path"] == str(demo.transcript())


def test_a_prompt_is_on_disk_before_the_model_works(demo: Demo) -> None:
    """kill -9 in a turn leaves the prompt in the transcript and the last status as it was."""
    demo.start("--session-id", "11111111-1111-4111-8111-111111111111")
    demo.prompt(envelope.wrap(MESSAGE, "ada", "%work 60"))
    demo.until(demo.received)
    demo.until(lambda: demo.status()["status"] == "busy")
    os.kill(demo.pid(), signal.SIGKILL)

    demo.until_dead()
    assert demo.transcript().stem == "11111111-1111-4111-8111-111111111111"
    assert holds(demo.transcript(), MESSAGE)
    assert demo.status()["status"] == "busy"
    assert "SessionEnd" not in demo.events()


def test_a_killed_conversation_goes_on_when_resumed(demo: Demo) -> None:
    demo.start("--session-id", "22222222-2222-4222-8222-222222222222")
    demo.submit("remember me")
    demo.until_event("Stop")
    os.kill(demo.pid(), signal.SIGKILL)
    demo.until_dead()

    demo.start("--resume", "22222222-2222-4222-8222-222222222222")
    demo.submit("again")

    demo.until_event("Stop", 2)
    assert demo.hooks()[-3]["source"] == "resume"
    prompts = [r["message"]["content"] for r in demo.records() if r["type"] == "user"]
    assert prompts == ["remember me", "again"]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--resume", "none"), "No conversation found with session ID: none"),
        (("--settings", "/nowhere", "--window", "x"), "invalid int value"),
    ],
)
def test_a_wrong_command_line_is_refused(demo: Demo, options: tuple[str, ...], says: str) -> None:
    demo.launch(*options)

    assert demo.until_dead() in (1, 2)
    assert says in demo.text()


@pytest.mark.parametrize(("name", "code"), [("SIGTERM", 143), ("SIGHUP", 129), ("SIGINT", 0)])
def test_a_signal_ends_it_with_a_report(demo: Demo, name: str, code: int) -> None:
    """Also in the middle of a turn."""
    demo.start()
    demo.submit("%work 60")
    demo.until(demo.received)
    os.kill(demo.pid(), signal.Signals[name])

    assert demo.until_dead() == code
    assert demo.hooks()[-1]["reason"] == "other"
    assert "Stop" not in demo.events()


def test_a_lost_terminal_ends_it_with_a_report(demo: Demo) -> None:
    """Killing the tmux session in the middle of a turn is not a crash."""
    demo.start(leader=True)
    demo.submit("%work 60")
    demo.until(demo.received)
    demo.hang_up()

    demo.until(lambda: "SessionEnd" in demo.events())
    demo.until(lambda: not demo.status())
    assert demo.hooks()[-1]["reason"] == "other"


def test_clear_begins_a_new_conversation(demo: Demo) -> None:
    """A new session id and transcript, an empty screen, and no Stop."""
    demo.start()
    demo.submit("before")
    demo.until_event("Stop")
    demo.settled()
    old = demo.transcript()
    demo.submit("/clear")
    demo.until_event("SessionStart", 2)
    demo.until(lambda: "before" not in "\n".join(demo.view().lines))
    demo.settled()
    demo.submit("after")
    demo.until_event("Stop", 2)

    *_, ended, begun, submitted, _ = demo.hooks()
    assert (ended["hook_event_name"], ended["reason"]) == ("SessionEnd", "clear")
    assert (begun["hook_event_name"], begun["source"]) == ("SessionStart", "clear")
    assert ended["session_id"] == old.stem
    assert begun["session_id"] == submitted["session_id"] == demo.transcript().stem != old.stem
    assert demo.status()["sessionId"] == begun["session_id"]


def test_a_clear_asked_for_in_a_turn_waits_for_its_end(demo: Demo) -> None:
    demo.start()
    demo.prompt("%clear\n%say last words")

    demo.until_event("SessionStart", 2)
    assert demo.events()[-3:] == ["Stop", "SessionEnd", "SessionStart"]


def test_a_full_context_is_compacted_with_loss(demo: Demo) -> None:
    """The hooks, the boundary and the summary are Claude Code's; the history is gone."""
    demo.start("--window", "3000")
    demo.prompt("x" * 8000)
    demo.until_event("Stop")

    middle = demo.events()[2:-1]
    assert middle == ["PreCompact", "SubagentStop", "SessionStart", "PostCompact"]
    assert [h["trigger"] for h in demo.hooks() if "trigger" in h] == ["auto", "auto"]
    boundary = next(r for r in demo.records() if r.get("subtype") == "compact_boundary")
    metadata = boundary["compactMetadata"]
    assert metadata["preTokens"] == 3000
    assert metadata["postTokens"] < 1200
    summary = next(r for r in demo.records() if r.get("isCompactSummary"))
    assert summary["message"]["content"].startswith("This session is being continued")


def test_a_script_can_fill_the_context(demo: Demo) -> None:
    """%usage sets the number reported from then on; /compact brings it down."""
    demo.start()
    demo.prompt("%usage 150000\n%say full")
    demo.until_event("Stop")
    demo.settled()
    demo.submit("/compact")
    demo.until_event("PostCompact")
    demo.settled()
    demo.submit("small again")
    demo.until_event("Stop", 2)

    usages = [r["message"]["usage"] for r in demo.records() if r["type"] == "assistant"]
    tokens = [u["input_tokens"] + u["cache_read_input_tokens"] for u in usages]
    assert tokens[0] == 149_000
    assert usages[0]["cache_creation_input_tokens"] == 1000
    assert tokens[1] < 2000


def test_an_api_error_ends_the_turn_with_stop_failure(demo: Demo) -> None:
    demo.start()
    demo.submit("%fail overloaded")

    demo.until_event("StopFailure")
    demo.settled()
    assert "Stop" not in demo.events()
    assert demo.hooks()[-1]["error"] == "overloaded"
    synthetic = next(r for r in demo.records() if r["type"] == "assistant")
    assert synthetic["isApiErrorMessage"] is True
    assert synthetic["message"]["model"] == "<synthetic>"


@pytest.mark.parametrize(
    ("how", "status"), [("exit 3", 3), ("SIGSEGV", 139), ("SEGV", 139), ("9", 137), ("", 137)]
)
def test_a_script_can_crash_the_agent(demo: Demo, how: str, status: int) -> None:
    demo.start()
    demo.submit(f"%crash {how}")

    assert demo.until_dead() == status
    assert "SessionEnd" not in demo.events()


def test_a_stop_hook_can_send_the_agent_on(demo: Demo) -> None:
    """The reply reaches the model as feedback, recorded as Claude Code does."""
    demo.reply("Stop", _once(demo.folder / "told", '{"decision":"block","reason":"%say more"}'))
    demo.start()
    demo.submit("go")

    demo.until_event("Stop", 2)
    demo.settled()
    assert "● more" in demo.text()
    assert demo.received() == ["go", "%say more"]
    assert demo.given()[-1] == "Stop hook feedback:\n%say more"
    assert [h["stop_hook_active"] for h in demo.hooks() if "stop_hook_active" in h] == [False, True]
    fed = next(r for r in demo.records() if r.get("isMeta"))
    assert fed["message"]["content"] == "Stop hook feedback:\n%say more"


def test_a_block_is_told_once_more_with_the_next_prompt(demo: Demo) -> None:
    """So does the real client; what must be told once is better added as context."""
    demo.reply("Stop", _once(demo.folder / "told", '{"decision":"block","reason":"more"}'))
    demo.start()
    demo.submit("go")
    demo.until_event("Stop", 2)
    demo.settled()
    demo.submit("next")
    demo.until_event("Stop", 3)
    demo.settled()
    demo.submit("last")

    demo.until_event("Stop", 4)
    assert demo.received() == ["go", "more", "more", "next", "last"]
    assert demo.given()[2].startswith('Stop hook blocking error from command: "')
    assert demo.given()[2].endswith('": more')


def test_a_stopped_turn_goes_on_under_the_same_prompt(demo: Demo) -> None:
    """Whatever form the hook's answer has; each leaves the records of the real client."""
    answers = [
        'echo \'{"decision":"block","reason":"one"}\'',
        "echo two >&2; exit 2",
        'echo \'{"hookSpecificOutput":{"additionalContext":"three"}}\'',
    ]
    count = demo.folder / "count"
    cases = "".join(f"{n}) {answer};; " for n, answer in enumerate(answers))
    demo.reply(
        "Stop", f"n=$(cat {count} || echo 0); echo $((n+1)) > {count}; case $n in {cases}esac"
    )
    demo.start()
    demo.submit("go")

    demo.until_event("Stop", 4)
    demo.settled()
    stops = [h for h in demo.hooks() if h["hook_event_name"] == "Stop"]
    assert [s["stop_hook_active"] for s in stops] == [False, True, True, True]
    assert len({s["prompt_id"] for s in stops}) == 1
    assert demo.given()[1] == "Stop hook feedback:\none"
    assert demo.given()[2].startswith("Stop hook feedback:\n[")
    assert demo.given()[2].endswith("]: two")
    reminder = "<system-reminder>\nStop hook additional context: three\n</system-reminder>"
    assert demo.given()[3] == reminder
    kinds = [r.get("attachment", {}).get("type") or r.get("subtype") for r in demo.records()]
    assert [kind for kind in kinds if kind] == [
        *["hook_blocking_error", "stop_hook_summary"] * 2,
        *("hook_success", "hook_additional_context", "stop_hook_summary"),
        *("stop_hook_summary", "turn_duration"),
    ]
    fed = [r for r in demo.records() if r.get("isMeta") and r["type"] == "user"]
    assert {r["promptId"] for r in fed} == {stops[0]["prompt_id"]}
    assert "⎿  Stop hook error: one" in demo.text()
    assert "⎿  Stop hook feedback: three" in demo.text()


def test_a_stop_hook_cannot_hold_the_agent_for_ever(demo: Demo) -> None:
    """After eight blocks in a row the turn ends."""
    demo.reply("Stop", 'echo \'{"decision":"block","reason":"on"}\'')
    demo.start("--delay", "0")
    demo.submit("go")

    demo.until_event("Stop", 9)
    demo.settled()
    assert demo.events().count("Stop") == 9


def test_a_tool_hook_can_tell_the_model_something(demo: Demo) -> None:
    """additionalContext arrives in the same turn and is recorded as an attachment."""
    said = '{"hookSpecificOutput":{"hookEventName":"PostToolUse","additionalContext":"80% used"}}'
    demo.reply("PostToolUse", f"echo '{said}'")
    demo.start()
    demo.submit("%tool true")

    demo.until_event("Stop")
    assert demo.received() == ["%tool true", "80% used"]
    reminder = "<system-reminder>\nPostToolUse:Bash hook additional context: 80% used"
    assert demo.given()[-1] == f"{reminder}\n</system-reminder>"
    success, added = [r["attachment"] for r in demo.records() if r["type"] == "attachment"]
    assert (success["type"], success["exitCode"]) == ("hook_success", 0)
    assert (added["type"], added["content"]) == ("hook_additional_context", ["80% used"])
    assert success["toolUseID"] == added["toolUseID"]


def test_a_hook_that_says_too_much_is_cut_to_a_preview(demo: Demo) -> None:
    """The whole of it is in a file; the model is told where."""
    said = '{"hookSpecificOutput":{"additionalContext":"\'$(seq -s . 3000)\'"}}'
    demo.reply("PostToolUse", f"echo '{said}'")
    demo.start()
    demo.submit("%tool true")

    demo.until_event("Stop")
    (file,) = demo.transcript().with_suffix("").glob("tool-results/hook-*-additionalContext.txt")
    assert file.read_text().endswith(".2999.3000")
    assert f"Full output saved to: {file}" in demo.received()[1]
    assert "3000" not in demo.received()[1]


def test_records_lag_behind_the_hooks(demo: Demo) -> None:
    """A Stop hook that looks at once does not find the last words; leaving loses none."""
    demo.start("--record-delay", "3600")
    demo.submit("%say last words")
    demo.until_event("Stop")
    demo.settled()
    assert list(demo.config.glob("projects/*/*.jsonl")) == []
    demo.submit("/exit")

    assert demo.until_dead() == 0
    assert "last words" in demo.transcript().read_text()


def test_a_refused_connection_is_shown_and_stops_nothing(demo: Demo) -> None:
    """A posted hook that nobody takes costs a line on the screen, and a record."""
    demo.posted["PostToolUse"] = "http://127.0.0.1:9/h"
    demo.start()
    demo.submit("%tool true")

    demo.until_event("Stop")
    demo.settled()
    assert "  ⎿  PostToolUse:Bash hook error\n  ⎿  connect ECONNREFUSED 127.0.0.1:9" in demo.text()
    failed = next(r["attachment"] for r in demo.records() if r["type"] == "attachment")
    assert failed["type"] == "hook_non_blocking_error"
    assert failed["stderr"] == "connect ECONNREFUSED 127.0.0.1:9"


def test_a_sub_agent_is_told_apart(demo: Demo) -> None:
    """Its hooks carry its id, its record is a file of its own, its tokens are not the session's."""
    demo.start()
    demo.submit("%agent echo sub")

    demo.until_event("Stop")
    inner = [h for h in demo.hooks() if "agent_id" in h]
    assert [h["hook_event_name"] for h in inner] == [
        *("SubagentStart", "PreToolUse", "PostToolUse", "PostToolBatch", "SubagentStop"),
    ]
    outer = [h for h in demo.hooks() if h.get("tool_name") == "Agent"]
    assert [h["hook_event_name"] for h in outer] == ["PreToolUse", "PostToolUse"]
    assert len({h["prompt_id"] for h in (*inner, *outer)}) == 1
    (file,) = demo.config.glob("projects/*/*/subagents/agent-*.jsonl")
    assert file == Path(inner[-1]["agent_transcript_path"])
    assert '"isSidechain":true' in file.read_text()
    main = Path(inner[0]["transcript_path"])
    assert '"isSidechain":true' not in main.read_text()
    assert "echo sub" not in [r["message"]["content"] for r in demo.records() if "message" in r]


def test_a_command_in_the_background_outlives_the_turn(demo: Demo) -> None:
    """Stop names it, and the agent says `shell` where it would say `idle`."""
    go = demo.folder / "go"
    demo.start()
    demo.submit(f"%background while ! [ -e {go} ]; do sleep 0.02; done")

    demo.until_event("Stop")
    (task,) = demo.hooks()[-1]["background_tasks"]
    assert (task["type"], task["status"]) == ("shell", "running")
    demo.until(lambda: demo.status()["status"] == "shell")
    assert demo.screen().sign is Sign.PROMPT
    go.touch()
    demo.settled()


def test_a_prompt_hook_can_keep_a_prompt_from_the_model(demo: Demo) -> None:
    demo.reply("UserPromptSubmit", "echo not today >&2; exit 2")
    demo.start()
    demo.submit("anything")

    demo.until_shown("not today")
    demo.settled()
    assert demo.received() == []


def test_a_session_start_hook_can_tell_the_model_something(demo: Demo) -> None:
    """Plain words are enough."""
    demo.reply("SessionStart", "echo welcome back")
    demo.start()
    demo.submit("hello")

    demo.until_event("Stop")
    assert demo.received() == ["welcome back", "hello"]
    assert demo.routes() == ["hook SessionStart:startup", "prompt"]


def test_a_permission_hook_can_answer_before_the_dialog_is_drawn(demo: Demo) -> None:
    said = '{"hookSpecificOutput":{"decision":{"behavior":"allow"}}}'
    demo.reply("PermissionRequest", f"echo '{said}'")
    demo.start()
    demo.submit("%ask touch made")

    demo.until_event("Stop")
    assert (demo.folder / "made").exists()
    assert "Do you want to proceed?" not in demo.text()


def test_a_person_is_reminded_of_an_open_dialog(demo: Demo) -> None:
    demo.start("--dialog-notice", "0.1")
    demo.submit("%ask true")

    demo.until_event("Notification")
    assert demo.hooks()[-1]["notification_type"] == "permission_prompt"
    assert demo.screen().sign is Sign.DIALOG
    demo.press("Enter")
    demo.until_event("Stop")


def test_an_idle_agent_says_that_it_waits(demo: Demo) -> None:
    demo.start("--idle-notice", "0.1")
    demo.submit("hello")

    demo.until_event("Notification")
    assert demo.hooks()[-1]["notification_type"] == "idle_prompt"
    assert demo.events()[-2] == "Stop"


def test_a_failing_hook_stops_nothing(demo: Demo) -> None:
    demo.reply("UserPromptSubmit", "exit 1")
    demo.reply("Stop", "kill -9 $$")
    demo.start()
    demo.submit("go")

    demo.until_shown('● Got it: "go"')
    demo.settled()


def test_keys_are_taken_while_a_hook_runs(demo: Demo) -> None:
    """A slow hook holds up the turn, never the keyboard."""
    demo.reply("UserPromptSubmit", f"while ! [ -f {demo.folder}/go ]; do sleep 0.02; done")
    demo.start()
    demo.submit("go")
    demo.until_event("UserPromptSubmit")
    demo.type("meanwhile")

    demo.until(lambda: demo.screen().draft == "meanwhile")
    assert demo.screen().sign is Sign.BUSY
    assert demo.received() == []
    (demo.folder / "go").touch()
    demo.until(lambda: demo.received() == ["go"])


def test_a_script_answers_prompts_in_order(demo: Demo) -> None:
    script = demo.folder / "script"
    script.write_text("%say one\n---\n%say two\n")
    demo.start("--script", str(script))
    for number, prompt in enumerate(("a", "b", "c"), start=1):
        demo.submit(prompt)
        demo.until_event("Stop", number)
        demo.settled()

    demo.until_shown('● Got it: "c"')
    assert demo.text().index("● one") < demo.text().index("● two")


def _once(flag: Path, said: str) -> str:
    return f"if ! [ -f {flag} ]; then touch {flag}; echo '{said}'; fi"


HALT = 'echo \'{"continue":false,"stopReason":"handed over"}\''


def test_a_hook_may_end_the_turn_at_a_tools_result(demo: Demo) -> None:
    """As Claude Code does: a record and a line of it, no Stop, and the model is not asked again."""
    demo.reply("PostToolUse", HALT)
    demo.start()
    demo.prompt("%tool echo hi\n%say never")

    demo.until(lambda: "stopped continuation" in demo.text())
    demo.until(lambda: demo.records()[-1].get("subtype") == "turn_duration")
    assert demo.events()[-1] == "PostToolUse"
    assert "⎿  PostToolUse:Bash hook stopped continuation: handed over" in demo.text()
    assert "never" not in [block.get("text") for block in said(demo)]
    (record,) = [r["attachment"] for r in demo.records() if r["type"] == "attachment"]
    assert record | {"toolUseID": ""} == {
        "type": "hook_stopped_continuation",
        "message": "handed over",
        "hookName": "PostToolUse:Bash",
        "toolUseID": "",
        "hookEvent": "PostToolUse",
    }
    demo.until(lambda: demo.status()["status"] == "idle")


def said(demo: Demo) -> list[dict[str, str]]:
    replies = [r["message"]["content"] for r in demo.records() if r["type"] == "assistant"]
    return [block for content in replies for block in content]


def test_a_failed_tools_hook_ends_no_turn(demo: Demo) -> None:
    demo.reply("PostToolUseFailure", HALT)
    demo.start()
    demo.prompt("%tool false\n%say on")

    demo.until_event("Stop")
    assert demo.hooks()[-1]["last_assistant_message"] == "on"


def test_a_task_is_done_step_by_step(demo: Demo) -> None:
    """And goes on where it was, in the same context and in the next one that knows of it."""
    demo.start()
    demo.prompt(f"%task 3 echo {{}} >> {demo.folder}/steps")
    demo.until_event("Stop")
    assert (demo.folder / "steps").read_text() == "1\n2\n3\n"

    demo.prompt("go on")
    demo.until_event("Stop", 2)
    assert demo.hooks()[-1]["last_assistant_message"] == "Done."
    assert (demo.folder / "steps").read_text() == "1\n2\n3\n"

"""The doorbell: a file in a watched folder wakes the agent, whatever stands in its box."""

import os
import signal

from sm.adapters.agents.demo import words
from sm.core.terminal import Sign

from .rig import Demo

TOLD = words.notification("FileChanged", "look here")


def begin(demo: Demo, *options: str) -> None:
    demo.watch()
    demo.start(*options)
    demo.until_event("SessionStart")


def kinds(demo: Demo) -> list[str]:
    return [r.get("operation") or r.get("attachment", r)["type"] for r in demo.records()]


def test_a_note_wakes_an_idle_agent_and_leaves_the_draft(demo: Demo) -> None:
    """It is a prompt of its own, reported and recorded; its Stop says that a hook sent it."""
    begin(demo)
    demo.type("half typed")
    demo.until(lambda: demo.screen().draft == "half typed")
    demo.ring("look here")

    demo.until_event("Stop")
    demo.settled()
    assert demo.screen().draft == "half typed"
    assert (demo.received(), demo.given(), demo.routes()) == (["look here"], [TOLD], ["wake"])
    assert "● Stop hook feedback" in demo.text()
    changed = next(h for h in demo.hooks() if h["hook_event_name"] == "FileChanged")
    assert (changed["event"], changed["file_path"]) == ("add", str(demo.inbox / "note"))
    submitted = next(h for h in demo.hooks() if h["hook_event_name"] == "UserPromptSubmit")
    stop = next(h for h in demo.hooks() if h["hook_event_name"] == "Stop")
    assert (submitted["prompt"], stop["stop_hook_active"]) == (TOLD, True)
    enqueued, dequeued, prompt = [r for r in demo.records() if r["type"] != "mode"][1:4]
    assert (enqueued["operation"], enqueued["content"]) == ("enqueue", TOLD)
    assert dequeued["operation"] == "dequeue"
    assert prompt["message"]["content"] == TOLD
    assert prompt["origin"] == {"kind": "task-notification"}


def test_a_note_in_a_turn_comes_with_the_next_tool_result(demo: Demo) -> None:
    """No hook reports it; its record does."""
    begin(demo)
    demo.submit(f"%tool while ! [ -e {demo.folder}/go ]; do sleep 0.02; done")
    demo.until_event("PreToolUse")
    demo.ring("look here")
    demo.until(lambda: "enqueue" in kinds(demo))
    (demo.folder / "go").touch()

    demo.until_event("Stop")
    assert demo.received()[1:] == ["look here"]
    assert demo.given()[1] == words.queued(TOLD, by_person=False)
    assert demo.events().count("UserPromptSubmit") == 1
    queued = next(r["attachment"] for r in demo.records() if "queued_command" in str(r))
    assert (queued["prompt"], queued["commandMode"]) == (TOLD, "task-notification")
    assert kinds(demo).index("remove") == kinds(demo).index("queued_command") - 1


def test_a_note_in_a_turn_without_tools_follows_it(demo: Demo) -> None:
    begin(demo)
    demo.submit("%work 60")
    demo.until(demo.received)
    demo.until_sign(Sign.BUSY)
    demo.ring("look here")
    demo.until(lambda: "enqueue" in kinds(demo))
    assert demo.received() == ["%work 60"]
    demo.press("Escape")

    demo.until_event("Stop")
    assert demo.received() == ["%work 60", "look here"]
    assert demo.events().count("UserPromptSubmit") == 2


def test_a_note_taken_by_a_killed_agent_is_lost(demo: Demo) -> None:
    """It was queued, and the queue dies with the process."""
    begin(demo, "--session-id", "33333333-3333-4333-8333-333333333333")
    demo.submit("%work 60")
    demo.until(demo.received)
    demo.ring("look here")
    demo.until(lambda: "enqueue" in kinds(demo))
    os.kill(demo.pid(), signal.SIGKILL)
    demo.until_dead()
    assert demo.status()["status"] == "busy"

    demo.start("--resume", "33333333-3333-4333-8333-333333333333")
    demo.submit("anything there?")
    demo.until_event("Stop")
    assert demo.received() == ["%work 60", "anything there?"]


def test_an_agent_at_a_dialog_is_not_woken(demo: Demo) -> None:
    """The dialog stays open; the note comes with the tool's result."""
    begin(demo)
    demo.submit("%ask touch made")
    demo.until_sign(Sign.DIALOG)
    demo.ring("look here")
    demo.until(lambda: "enqueue" in kinds(demo))
    assert demo.screen().sign is Sign.DIALOG
    assert demo.status()["waitingFor"] == "permission prompt"
    demo.press("Enter")

    demo.until_event("Stop")
    assert demo.received() == ["%ask touch made", "look here"]


def test_the_inbox_is_watched_after_a_clear(demo: Demo) -> None:
    begin(demo)
    demo.submit("/clear")
    demo.until_event("SessionStart", 2)
    demo.settled()
    demo.ring("look here")

    demo.until_event("Stop")
    assert demo.received() == ["look here"]
    assert demo.hooks()[-1]["session_id"] == demo.status()["sessionId"]

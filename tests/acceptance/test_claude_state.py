"""What the real Claude Code is doing: known within two seconds, with the evidence for it."""

import json
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from tests.kit.anthropic_api import Reply, ToolUse, by_prompt
from tests.kit.claude import submit
from tests.kit.sm import Sm
from tests.kit.tmux import Tmux, wait_until
from tests.prove.ladder import Desk, desk

pytestmark = pytest.mark.claude

WITHIN = 2.0
HOLD = threading.Event()
REPLIES = by_prompt(
    [
        ("speak for long", Reply(text="Well", hold=HOLD)),
        ("run for long", Reply(tools=(ToolUse(name="Bash", input={"command": "sleep 60"}),))),
        (
            "run for a moment",
            Reply(tools=(ToolUse(name="Bash", input={"command": "touch here; sleep 4"}),)),
        ),
        ("fail", Reply(status=400, error="invalid_request_error", text="a bad request")),
    ]
)


@pytest.fixture
def ada(sm: Sm) -> Iterator[Desk]:
    with desk(sm, REPLIES) as ada:
        yield ada


def seconds_until(ada: Desk, state: str, cause: Callable[[], None]) -> float:
    """How long sm takes to say so, from the moment of the cause."""
    cause()
    began = time.monotonic()
    wait_until(lambda: ada.sm.state("ada") == state, 15, seen=ada.report)
    return time.monotonic() - began


def because(ada: Desk) -> str:
    told = ada.sm.json("explain", "ada")["because"]
    return f"{told['source']}: {told['says']}"


def speak(ada: Desk) -> None:
    """Ask for an answer without an end; the model has begun it."""
    ada.prompt("please speak for long")
    wait_until(ada.api.main_requests, 10, seen=ada.report)


def run(ada: Desk) -> None:
    ada.prompt_for_tool("please run for long")


@pytest.mark.parametrize("begin", [speak, run])
def test_an_interrupted_turn_is_over(ada: Desk, begin: Callable[[Desk], None]) -> None:
    """Escape fires no hook: the client's own state file tells."""
    ada.start()
    begin(ada)
    wait_until(lambda: ada.sm.state("ada") == "working", seen=ada.report)

    assert seconds_until(ada, "idle", lambda: ada.press("Escape")) < WITHIN
    assert because(ada) == "status file: it says it is idle"


def test_an_api_error_ends_the_turn(ada: Desk) -> None:
    ada.start()
    ada.prompt("please fail")
    asked = time.monotonic()

    wait_until(lambda: ada.sm.state("ada") == "idle", 15, seen=ada.report)

    assert time.monotonic() - asked < WITHIN
    assert because(ada) == "hook: StopFailure"
    assert ada.sm.json("show", "ada")["last_words"].startswith("error: ")


def test_somebody_elses_hook_that_fails_changes_nothing(ada: Desk) -> None:
    """A hook of the user that is missing or fails is shown by the client; sm goes by its own."""
    broken = '{"type": "command", "command": "/nowhere/hook"}'
    hooks = ", ".join(f'"{e}": [{{"hooks": [{broken}]}}]' for e in ("Stop", "UserPromptSubmit"))
    (ada.home.config / "settings.json").write_text(f'{{"hooks": {{{hooks}}}}}')
    ada.start()
    ada.prompt("hello")

    wait_until(lambda: ada.api.prompts() and ada.sm.state("ada") == "idle", 10, seen=ada.report)

    assert because(ada) == "hook: Stop"


def with_hook(ada: Desk, event: str, command: str) -> None:
    """A hook of the user's own."""
    hook = {"type": "command", "command": command}
    settings = {"hooks": {event: [{"hooks": [hook]}]}}
    (ada.home.config / "settings.json").write_text(json.dumps(settings))


def test_a_prompt_that_somebody_elses_hook_refuses_has_not_arrived(ada: Desk) -> None:
    """Our own hook has seen it, but the model never does."""
    with_hook(ada, "UserPromptSubmit", "grep -q sesame && { echo not now >&2; exit 2; }; exit 0")
    ada.start()
    ada.sm.run("send", "ada", "open sesame")
    ada.sm.run("send", "ada", "hello")
    wait_until(lambda: ada.messages()[-1]["state"] == "done", 20, seen=ada.report)

    refused, arrived = ada.sm.messages("ada")
    assert (refused["state"], arrived["state"]) == ("refused", "done")
    assert refused["receipts"][-1]["evidence"].endswith("not now")
    assert not any("sesame" in prompt for prompt in ada.api.prompts())


def test_a_turn_that_somebody_elses_hook_keeps_going_is_seen(ada: Desk) -> None:
    """It said that it stops, and did not: its own state file tells."""
    once = ada.sm.folder / "once"
    goes_on = f"test -e {once} || {{ touch {once}; echo speak for long >&2; exit 2; }}"
    with_hook(ada, "Stop", goes_on)
    ada.start()
    ada.prompt("hello")
    wait_until(lambda: len(ada.api.main_requests()) == 2, seen=ada.report)
    began = time.monotonic()

    wait_until(lambda: ada.sm.state("ada") == "working", 15, seen=ada.report)
    assert time.monotonic() - began < 2 * WITHIN
    assert because(ada) == "status file: it says it is busy"
    ada.press("Escape")
    wait_until(lambda: ada.sm.state("ada") == "idle", 15, seen=ada.report)


@pytest.mark.parametrize("doing", ["speak for long", "run for long", None])
def test_a_killed_client_has_crashed(ada: Desk, doing: str | None) -> None:
    ada.start()
    if doing:
        ada.prompt(f"please {doing}")
        wait_until(lambda: ada.sm.state("ada") == "working", seen=ada.report)
    pid = ada.sm.json("show", "ada")["pid"]

    assert seconds_until(ada, "crashed", lambda: os.kill(pid, signal.SIGKILL)) < WITHIN
    assert "signal 9" in because(ada)


def test_a_permission_dialog_is_waiting_and_its_answer_is_seen(ada: Desk) -> None:
    (ada.home.config / "settings.json").write_text("{}")
    ada.start()
    ada.prompt("please run for a moment")
    wait_until(lambda: ada.sm.state("ada") == "waiting", 5, seen=ada.report)
    wait_until(lambda: "❯ 1. Yes" in ada.sm.screen("ada"), seen=ada.report)

    assert seconds_until(ada, "working", lambda: ada.press("Enter")) < WITHIN
    wait_until(lambda: ada.sm.state("ada") == "idle", 10, seen=ada.report)


def test_a_menu_is_not_typed_into(ada: Desk) -> None:
    """A person looks at a menu: no hook tells, the message waits until it is closed."""
    ada.start()
    ada.type("/model")
    wait_until(lambda: ada.box() == "/model", seen=ada.report)
    ada.press("Enter")
    wait_until(lambda: "Select model" in ada.sm.screen("ada"), 10, seen=ada.report)

    message = ada.send("while a menu is open")
    wait_until(lambda: "dialog" in (ada.messages()[0]["waiting"] or ""), 10, seen=ada.report)
    # Long enough for every retry that might type.
    time.sleep(1.5)
    (waiting,) = ada.messages()
    assert waiting["id"] == message
    assert waiting["state"] == "queued"
    assert "dialog" in waiting["waiting"]

    ada.press("Escape")
    ada.settle()
    assert ada.judge().holds, ada.judge()


def test_a_daemon_that_was_away_knows_again_what_is_being_done(ada: Desk) -> None:
    """The tool began while nobody listened: the transcript tells which, and in which turn."""
    ada.start()
    pane = ada.sm.pane("ada")
    ada.sm.run("daemon", "stop")
    submit(Tmux(ada.sm.home.tmux_socket("sm")), pane, "please run for long")
    wait_until(ada.tools_called, 10)

    wait_until(lambda: ada.sm.state("ada") == "working", 10, seen=ada.report)
    wait_until(lambda: "it has called a tool" in ada.sm.run("explain", "ada"), 10, seen=ada.report)

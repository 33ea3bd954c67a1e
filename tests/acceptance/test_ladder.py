"""Getting text into the real Claude Code: each route, and what happens when one breaks.

The assertions look at what the model received.
"""

import os
import signal
import threading
import time
from collections.abc import Iterator

import pytest

from tests.kit.anthropic_api import Reply, ToolUse, by_prompt
from tests.kit.sm import Sm
from tests.kit.tmux import wait_until
from tests.prove import ladder
from tests.prove.ladder import THINK, TOOL, Desk, desk

pytestmark = pytest.mark.claude


@pytest.fixture
def ada(sm: Sm) -> Iterator[Desk]:
    with desk(sm) as ada:
        ada.start()
        yield ada


def route(ada: Desk, message: str) -> str:
    return next(str(m["route"]) for m in ada.messages() if m["id"] == message)


def test_messages_of_all_kinds_in_all_states_arrive_once_and_unchanged(sm: Sm) -> None:
    """A short version of the hundred that ``make prove`` sends."""
    verdict, words = ladder.mixed(sm, messages=12, seed=7, installed=True)

    assert verdict.holds, (verdict, words)


def test_each_state_has_its_gentlest_route(ada: Desk) -> None:
    first = ada.send("while idle")
    ada.settle()
    ada.prompt(f"{TOOL} now")
    urgent, later = ada.send("in the middle", "urgent"), ada.send("at the end")
    ada.settle()
    ada.type("half a thought")
    wait_until(lambda: ada.box() == "half a thought", seen=ada.report)
    rung = ada.send("beside the draft")
    ada.settle()

    assert route(ada, first) == "paste"
    assert route(ada, urgent) == "tool_result"
    assert route(ada, later) in ("stop_reply", "paste")
    assert route(ada, rung) == "doorbell"
    assert ada.box() == "half a thought"
    assert ada.judge().holds, ada.judge()


def test_nothing_is_typed_into_the_search_for_an_earlier_prompt(ada: Desk) -> None:
    """A person pressed Ctrl-R and nothing else: the box looks empty, and gets no key."""
    ada.prompt("earlier")
    ada.settle()
    ada.press("C-r")
    wait_until(lambda: "search prompts:" in ada.sm.screen("ada"), seen=ada.report)

    rung = ada.send("deploy")
    wait_until(lambda: state(ada, rung) == "done", 20, seen=ada.report)

    assert route(ada, rung) == "doorbell"
    assert ada.judge().holds, ada.judge()


def test_a_route_that_is_switched_off_is_not_used(sm: Sm) -> None:
    sm.home.config.parent.mkdir(parents=True, exist_ok=True)
    sm.home.config.write_text('[delivery.routes]\nclaude = ["paste", "interrupt"]\n')
    with desk(sm) as ada:
        ada.start()
        ada.prompt_for_tool(f"{TOOL} now")
        ada.send("in the middle", "urgent")
        ada.send("at the end")
        ada.settle()

        assert set(ada.routes()) <= {"paste", "interrupt"}
        assert ada.judge().holds, ada.judge()


def test_a_note_taken_by_a_client_that_is_killed_is_not_lost(sm: Sm) -> None:
    """Rung while the model speaks, then kill -9: the model never got it, so it still waits."""
    hold = threading.Event()
    with desk(sm, by_prompt([(THINK, Reply(text="Well", hold=hold))])) as ada:
        ada.start()
        ada.prompt(f"{THINK} for long")
        message = ada.send("x" * 12_000, "urgent")
        wait_until(lambda: taken(ada), 10, seen=ada.report)

        os.kill(sm.json("show", "ada")["pid"], signal.SIGKILL)
        sm.wait_state("ada", "crashed")
        wait_until(lambda: state(ada, message) == "queued", 15, seen=lambda: ada.messages())

    assert ada.arrived().total() == 0


def test_a_note_taken_before_a_clear_is_neither_lost_nor_doubled(sm: Sm) -> None:
    hold = threading.Event()
    with desk(sm, by_prompt([(THINK, Reply(text="Well", hold=hold))])) as ada:
        ada.start()
        ada.prompt(f"{THINK} for long")
        ada.send("x" * 12_000, "urgent")
        wait_until(lambda: taken(ada), 10, seen=ada.report)
        ada.type("/clear")
        wait_until(lambda: ada.box() == "/clear", seen=ada.report)
        ada.press("Enter")
        wait_until(lambda: ada.box() != "/clear", seen=ada.report)
        hold.set()

        wait_until(lambda: sm.json("show", "ada")["context"]["number"] == 2, 20, seen=ada.report)
        ada.settle()

        assert ada.judge().holds, (ada.judge(), ada.report())


def taken(ada: Desk) -> bool:
    session = ada.sm.json("show", "ada")["id"]
    return any((ada.sm.home.sessions / session / "taken").glob("*.note"))


def state(ada: Desk, message: str) -> str:
    return next(str(m["state"]) for m in ada.messages() if m["id"] == message)


def test_messages_and_reminders_approve_no_dialog(sm: Sm) -> None:
    """Whatever arrives while a permission is asked for: the tool does not run."""
    ask = Reply(tools=(ToolUse(name="Bash", input={"command": "touch approved"}),))
    with desk(sm, by_prompt([("may you", ask)])) as ada:
        (ada.home.config / "settings.json").write_text("{}")
        ada.start()
        ada.prompt("may you run this")
        sm.wait_state("ada", "waiting", timeout=10)
        for mode in ("sequential", "important", "urgent"):
            ada.send(f"an {mode} one", mode)
        sm.run("remind", "ada", "stand up", "--in", "1s")
        wait_until(lambda: len(ada.messages()) == 4, 10, seen=ada.report)
        # Long enough for every retry that might type.
        time.sleep(3)

        assert sm.state("ada") == "waiting"
        assert not (ada.home.cwd / "approved").exists()
        assert all("dialog" in m["waiting"] for m in ada.messages())
        ada.press("Escape")
        wait_until(lambda: all(m["state"] == "done" for m in ada.messages()), 30, seen=ada.report)
        assert not (ada.home.cwd / "approved").exists()
        assert ada.judge().holds, ada.judge()

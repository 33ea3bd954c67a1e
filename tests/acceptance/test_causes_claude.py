"""How the real Claude Code ends, and what sm says took it."""

import os
import signal
from collections.abc import Callable, Iterator

import pytest

from sm.adapters.system import ProcessTable
from sm.core.ids import SessionId
from tests.acceptance.test_causes import end, ended, pid
from tests.kit.anthropic_api import Reply, ToolUse, by_prompt
from tests.kit.sm import Sm
from tests.kit.tmux import wait_until
from tests.prove.ladder import Desk, desk

pytestmark = pytest.mark.claude

REPLIES = by_prompt(
    [
        ("run for long", Reply(tools=(ToolUse(name="Bash", input={"command": "sleep 61"}),))),
        ("limit", Reply(status=429, error="rate_limit_error", text="slow down")),
    ]
)


@pytest.fixture
def ada(sm: Sm) -> Iterator[Desk]:
    with desk(sm, REPLIES) as ada:
        yield ada


def send(number: int) -> Callable[[Desk], None]:
    return lambda ada: os.kill(pid(ada.sm), number)


def close_pane(ada: Desk) -> None:
    ada.sm.tmux("kill-pane", "-t", ada.sm.pane("ada"))


def end_server(ada: Desk) -> None:
    ada.sm.tmux("kill-server")


@pytest.mark.parametrize(
    ("happens", "cause", "words"),
    [
        (send(signal.SIGKILL), "signal", "is dead"),
        (send(signal.SIGTERM), "signal", "the code stands for signal 15 (SIGTERM)"),
        (send(signal.SIGHUP), "signal", "the code stands for signal 1 (SIGHUP)"),
        (close_pane, "pane_closed", "is gone"),
        (end_server, "server_exit", "its tmux server ended: the one that answers is a later one"),
    ],
)
def test_the_end_of_a_real_agent_has_its_cause(
    ada: Desk, happens: Callable[[Desk], None], cause: str, words: str
) -> None:
    """Also where it notices its end and tidies up."""
    ada.start()

    happens(ada)

    told = ended(ada.sm)
    assert told[0] == cause
    assert told[1].endswith(words)
    assert ada.sm.state("ada") == "crashed"


def test_what_a_killed_agent_had_started_carries_its_mark(ada: Desk) -> None:
    """Its tool lives on, and is found by whoever brings the agent back."""
    ada.start()
    session, table = SessionId(ada.sm.json("show", "ada")["id"]), ProcessTable()
    assert pid(ada.sm) in [p.pid for p in table.marked(session)]
    ada.prompt("please run for long")
    wait_until(lambda: tools(table, session), seen=ada.report)

    send(signal.SIGKILL)(ada)

    assert ended(ada.sm)[0] == "signal"
    left = tools(table, session)
    assert left
    for process in left:
        os.kill(process, signal.SIGKILL)


def said(ada: Desk) -> str:
    return str(ada.sm.json("show", "ada")["last_words"])


def tools(table: ProcessTable, session: SessionId) -> list[int]:
    """The tool's own process, below the agent's shell."""
    return [p.pid for p in table.marked(session) if p.command == ("sleep", "61")]


def test_a_real_limit_is_no_end(ada: Desk) -> None:
    """Claude Code says so and waits for the next prompt."""
    ada.start()

    ada.prompt("please, a limit")

    wait_until(
        lambda: "rate_limit" in ada.sm.json("show", "ada")["last_words"], 60, seen=ada.report
    )
    ada.sm.wait_state("ada", "idle")
    assert not end(ada.sm)

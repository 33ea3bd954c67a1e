"""sm kill"""

import os

import pytest

from tests.cli.conftest import refusal
from tests.kit.sm import Sm


def test_the_agent_ends_and_the_log_stays(sm: Sm) -> None:
    """The process is gone when the command returns."""
    sm.run("new", "tom", "--agent", "sh -c 'echo last words; sleep 60'")
    sm.run("new", "tim", "--agent", "cat")
    pid = sm.json("show", "tom")["pid"]

    assert sm.run("kill", "tom", "tim") == "tom has ended.\ntim has ended.\n"

    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    assert "last words" in sm.run("log", "tom")
    assert "tom" not in sm.tmux("list-sessions")


def test_json_is_a_list_of_the_ended_sessions(sm: Sm) -> None:
    """Everything about each; its state says so."""
    sm.run("new", "tam", "--agent", "cat")

    [ended] = sm.json("kill", "tam")

    assert (ended["name"], ended["state"], ended["exit"]["intended"]) == ("tam", "ended", True)


def test_what_has_ended_may_be_ended_again(sm: Sm) -> None:
    """It is so; nothing else happens."""
    assert sm.run("kill", "gone") == "gone has ended.\n"


def test_what_is_not_there_is_refused(sm: Sm) -> None:
    """A typing error ends none of the others either."""
    assert refusal(sm, "kill", "ada", "eve")[0] == 1
    assert sm.state("ada") == "idle"
    assert refusal(sm, "kill", "eve") == (1, "There is no session 'eve'. See: sm ls --all")

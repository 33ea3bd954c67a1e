"""Notices below the output of other commands."""

from tests.cli.test_install import at_a_terminal
from tests.cli.test_notices import WORDS, own, tell
from tests.kit.sm import Sm

__all__ = ["own"]


def test_a_notice_stands_once_below_the_output_of_a_command(own: Sm) -> None:
    """Of the first one on a terminal, whichever it is; in colour."""
    tell(own)
    own.run("daemon", "start")
    first = at_a_terminal(own, "ls", answer=b"")
    second = at_a_terminal(own, "ls", answer=b"")

    none = "No sessions. Start one with: sm new ada --agent demo\n"
    assert first == (0, f"{none}\x1b[33m! {WORDS}\x1b[0m\n")
    assert second == (0, none)
    assert [n["seen"] for n in own.json("notices")] == [True]


def test_what_a_program_reads_has_no_notice(own: Sm) -> None:
    """Neither a pipe nor JSON, nor an agent at work inside a session."""
    tell(own)
    own.run("daemon", "start")

    assert WORDS not in own.run("ls")
    assert WORDS not in at_a_terminal(own, "ls", "--json", answer=b"")[1]
    inside = {"CLAUDE_SESSION_MANAGER_ID": "0123abcd"}
    assert WORDS not in at_a_terminal(own, "ls", answer=b"", environment=inside)[1]
    assert [n["seen"] for n in own.json("notices")] == [False]


def test_no_daemon_is_started_to_ask_for_notices(own: Sm) -> None:
    tell(own)

    assert WORDS not in at_a_terminal(own, "config", "path", answer=b"")[1]
    assert not own.home.pid.exists()


def test_the_doctor_lists_them_until_they_are_cleared(own: Sm) -> None:
    """Seen or not."""
    tell(own)
    own.run("daemon", "start")
    at_a_terminal(own, "ls", answer=b"")

    shown = own.run("doctor")
    assert f"· session 0123abcd: {WORDS}\n    Put it away with: sm notices --clear\n" in shown
    own.run("notices", "--clear")
    assert WORDS not in own.run("doctor")

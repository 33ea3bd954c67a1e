"""Real ends of real agents in a real tmux: sm says what happened, and why it believes that."""

import os
import signal
from pathlib import Path
from typing import Any

import pytest

from sm.adapters.system import ProcessTable
from tests.kit.sm import Sm
from tests.kit.tmux import private_tmux, wait_until


def end(sm: Sm, name: str = "ada") -> dict[str, Any]:
    """The end of its agent as it was committed, for ``sm explain``."""
    recent = sm.json("explain", name)["recent"]
    return next((e["body"] for e in reversed(recent) if e["kind"] == "AgentExited"), {})


def ended(sm: Sm, name: str = "ada") -> tuple[str, str]:
    """Wait for its end: the cause, and the evidence for it."""
    wait_until(lambda: end(sm, name), 20, seen=lambda: sm.json("explain", name))
    told = end(sm, name)
    return told["cause"], told["evidence"]


def pid(sm: Sm, name: str = "ada") -> int:
    return int(sm.json("show", name)["pid"])


def stays(sm: Sm, state: str, name: str = "ada") -> bool:
    """Whether a look at it from anew brings no other state; a new daemon asks after everybody."""
    anew(sm)
    sm.wait_state(name, state, timeout=30)
    return not end(sm, name)


def anew(sm: Sm) -> None:
    sm.run("daemon", "stop")
    sm.run("ls")


@pytest.mark.parametrize(
    ("how", "cause", "words"),
    [
        ("", "signal", "pane {} is dead"),
        ("SIGTERM", "signal", "pane {} is dead; the code stands for signal 15 (SIGTERM)"),
        ("SIGSEGV", "signal", "pane {} is dead"),
        ("exit 3", "exit", "pane {} is dead"),
    ],
)
def test_an_agent_that_ends_by_itself_is_told_by_its_pane(
    sm: Sm, how: str, cause: str, words: str
) -> None:
    """By a signal it caught or did not, or with an exit code."""
    sm.new_demo("ada")
    pane = sm.pane("ada")

    sm.run("send", "ada", f"%crash {how}")

    assert ended(sm) == (cause, words.format(pane))
    assert sm.state("ada") == "crashed"


def test_an_agent_that_is_killed_from_outside_too(sm: Sm) -> None:
    sm.new_demo("ada")

    os.kill(pid(sm), signal.SIGKILL)

    assert ended(sm)[0] == "signal"
    assert end(sm)["signal"] == 9


def test_a_prompt_that_was_accepted_clears_a_limit(sm: Sm) -> None:
    """The service takes requests again: an end after that has another cause."""
    sm.new_demo("ada")

    sm.run("send", "ada", "%fail rate_limit")
    wait_until(lambda: "rate_limit" in sm.json("show", "ada")["last_words"], 15)
    sm.run("send", "ada", "%crash exit 1")

    assert ended(sm)[0] == "exit"


def test_a_pane_that_was_closed_takes_its_agent_along(sm: Sm) -> None:
    """The server lives on: it was not the server's end."""
    sm.new_demo("ada")
    pane = sm.pane("ada")

    sm.tmux("kill-pane", "-t", pane)

    assert ended(sm) == ("pane_closed", f"pane {pane} is gone")


def deaf(sm: Sm) -> int:
    """An agent that does not notice that its terminal is gone; its process."""
    script = "trap '' HUP; touch ready; while :; do sleep 0.2; done"
    sm.new("ada", "-c", script, agent="sh")
    wait_until(lambda: (sm.work / "ready").exists())
    return pid(sm)


def test_an_agent_that_outlives_its_pane_is_told_of(sm: Sm) -> None:
    """Whoever starts another has to end this one first."""
    process = deaf(sm)
    try:
        pane = sm.pane("ada")
        sm.tmux("kill-pane", "-t", pane)

        told = ended(sm)

        assert told == ("pane_closed", f"pane {pane} is gone, its process lives on")
        mine = [p.pid for p in ProcessTable().marked(sm.json("show", "ada")["id"])]
        assert process in mine
    finally:
        os.kill(process, signal.SIGKILL)


def test_an_agent_that_outlives_its_server_is_told_of(sm: Sm) -> None:
    process = deaf(sm)
    try:
        sm.tmux("kill-server")

        cause, words = ended(sm)

        assert cause == "server_exit"
        assert words.endswith("its process lives on")
    finally:
        os.kill(process, signal.SIGKILL)


def test_a_shell_where_the_agent_was_is_no_agent(sm: Sm) -> None:
    """Somebody gave its pane to another program, whose end is not the agent's."""
    sm.new_demo("ada")
    pane = sm.pane("ada")

    sm.tmux("respawn-pane", "-k", "-t", pane, "sh")
    shell = sm.tmux("display-message", "-p", "-t", pane, "#{pane_pid}").strip()

    assert ended(sm) == ("replaced", f"sh (process {shell}) is where the agent was, in pane {pane}")
    assert end(sm)["status"] is None
    assert sm.state("ada") == "crashed"


def test_the_end_of_the_server_is_everybodys(sm: Sm) -> None:
    """One cause for all; none of them is said to have failed by itself."""
    names = ["ada", "bob", "eve"]
    for name in names:
        sm.new_demo(name)

    sm.tmux("kill-server")

    for name in names:
        assert ended(sm, name) == (
            "server_exit",
            "its tmux server ended: the one that answers is a later one",
        )
        assert sm.state(name) == "crashed"


def test_a_server_that_was_killed_while_no_daemon_ran_too(sm: Sm) -> None:
    """The next daemon finds another server than the agent was started in."""
    sm.new_demo("ada")
    server = int(sm.tmux("display-message", "-p", "#{pid}"))
    process = pid(sm)
    sm.run("daemon", "stop")

    os.kill(server, signal.SIGKILL)
    wait_until(lambda: ProcessTable().started(process) is None)
    sm.run("ls")

    assert ended(sm)[0] == "server_exit"


def test_a_session_that_was_restored_empty_is_no_agent(sm: Sm) -> None:
    """As tmux-resurrect does: the same name, and a shell."""
    sm.new_demo("ada")
    socket = sm.health()["tmux"]
    server = int(sm.tmux("display-message", "-p", "#{pid}"))
    sm.run("daemon", "stop")

    with private_tmux() as maker:
        maker.run("run-shell", f"tmux -S {socket} kill-server || :")
        # Until it is gone it takes what comes, and then says nothing.
        wait_until(lambda: ProcessTable().started(server) is None)
        maker.run("run-shell", f"tmux -S {socket} -f /dev/null new-session -d -s ada sh")
        sm.run("ls")
        cause, words = ended(sm)

    assert cause == "server_exit"
    assert words.endswith("; tmux session ada was made anew, with sh in it")


def test_an_agent_that_cannot_be_executed_did_not_start(sm: Sm) -> None:
    """The launcher in its pane says why."""
    script = Path(sm.work / "agent")
    script.write_text("#!/no/such/interpreter\n")
    script.chmod(0o755)

    sm.start("new", "ada", "--agent", str(script))

    cause, words = ended(sm)
    assert cause == "start"
    assert "sm could not start the agent" in words


# --- what is no end --------------------------------------------------------------------------


def test_a_stopped_agent_is_not_taken_for_ended(sm: Sm) -> None:
    """SIGSTOP: it hangs, which only a person can judge."""
    sm.new_demo("ada")
    process = pid(sm)

    os.kill(process, signal.SIGSTOP)
    try:
        assert stays(sm, "idle")
    finally:
        os.kill(process, signal.SIGCONT)


def test_a_stopped_server_is_not_taken_for_ended(sm: Sm) -> None:
    """Nobody answers, and the agents are well."""
    sm.new_demo("ada")
    server = int(sm.tmux("display-message", "-p", "#{pid}"))

    os.kill(server, signal.SIGSTOP)
    try:
        assert stays(sm, "unknown")
    finally:
        os.kill(server, signal.SIGCONT)
    sm.wait_state("ada", "idle")
    assert not end(sm)


def test_an_end_that_was_asked_for_is_no_crash(sm: Sm) -> None:
    sm.new_demo("ada")

    sm.run("kill", "ada")

    assert sm.state("ada") == "ended"

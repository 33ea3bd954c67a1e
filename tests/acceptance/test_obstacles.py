"""A message to an agent that must not be typed at waits, says why, and arrives afterwards."""

import os
import signal
import subprocess

import pytest

from sm.core.envelope import unwrap
from tests.kit.sm import Sm
from tests.kit.tmux import wait_until


def allow(sm: Sm, *routes: str) -> None:
    """Switch off every other route to demo agents."""
    sm.base.mkdir(parents=True, exist_ok=True)
    (sm.base / "config.toml").write_text(f"[delivery]\nroutes = {{ demo = {list(routes)} }}\n")


def queued(sm: Sm, name: str, text: str) -> str:
    return sm.run("send", name, text).strip()


def waiting(sm: Sm, message: str) -> str:
    """Why a message waits, as `sm messages` says it."""
    return next(m["waiting"] or "" for m in sm.messages() if m["id"] == message)


def arrived(sm: Sm, name: str, text: str) -> int:
    return [unwrap(p) for p in sm.received(name)].count(text)


def wait_for_reason(sm: Sm, message: str, words: str) -> None:
    wait_until(lambda: words in waiting(sm, message), 15, seen=lambda: waiting(sm, message))


def wait_for_arrival(sm: Sm, name: str, text: str) -> None:
    wait_until(lambda: arrived(sm, name, text), 30, seen=lambda: sm.run("messages", name))
    sm.run("wait", name)
    assert arrived(sm, name, text) == 1


def test_an_open_dialog_is_not_answered_by_a_message(sm: Sm) -> None:
    """Text and Enter at a permission dialog would approve the tool."""
    sm.new_demo("ada")
    queued(sm, "ada", "%ask touch approved")
    sm.wait_state("ada", "waiting")

    messages = [queued(sm, "ada", text) for text in ("one", "two")]
    sm.run("remind", "ada", "three", "--in", "0s")
    urgent = sm.run("send", "ada", "now", "--urgent").strip()

    wait_for_reason(sm, urgent, "a dialog is open")
    assert waiting(sm, messages[0]).startswith(f"behind message {urgent}: a dialog is open")
    assert not (sm.work / "approved").exists()
    assert sm.state("ada") == "waiting"
    sm.tmux("send-keys", "-t", sm.pane("ada"), "Escape")
    for text in ("now", "one", "two", "[sm reminder] three"):
        wait_for_arrival(sm, "ada", text)
    assert not (sm.work / "approved").exists()


def test_a_dialog_a_person_opened_is_left_alone_too(sm: Sm) -> None:
    """The daemon has no hook for it; the screen tells."""
    sm.new_demo("ada")
    sm.tmux("send-keys", "-t", sm.pane("ada"), "-l", "%ask touch approved")
    sm.tmux("send-keys", "-t", sm.pane("ada"), "Enter")
    sm.wait_state("ada", "waiting")

    message = queued(sm, "ada", "one")

    wait_for_reason(sm, message, "a dialog is open")
    sm.tmux("send-keys", "-t", sm.pane("ada"), "Enter")
    wait_for_arrival(sm, "ada", "one")
    assert (sm.work / "approved").exists(), "the person's own Enter counts"


@pytest.mark.parametrize("routes", [("doorbell", "paste"), ("paste",)])
def test_a_draft_is_neither_merged_nor_sent(sm: Sm, routes: tuple[str, ...]) -> None:
    """A person's half-typed text stays theirs, whether the message goes round it or past it."""
    allow(sm, *routes)
    sm.new_demo("ada")
    sm.tmux("send-keys", "-t", sm.pane("ada"), "-l", "half a thou")
    wait_until(lambda: "half a thou" in sm.screen("ada"))

    queued(sm, "ada", "one")

    wait_for_arrival(sm, "ada", "one")
    assert sm.messages("ada")[0]["route"] == routes[0]
    wait_until(lambda: "❯\xa0half a thou" in sm.screen("ada"))
    sm.tmux("send-keys", "-t", sm.pane("ada"), "-l", "ght")
    sm.tmux("send-keys", "-t", sm.pane("ada"), "Enter")
    wait_until(lambda: "half a thought" in sm.received("ada"))
    assert len(sm.received("ada")) == 2


def test_a_dead_agent_gets_nothing_typed(sm: Sm) -> None:
    sm.new_demo("ada")
    queued(sm, "ada", "%crash")
    sm.wait_state("ada", "crashed")

    message = queued(sm, "ada", "!touch executed")

    wait_for_reason(sm, message, "the agent died")
    assert not (sm.work / "executed").exists()
    assert "executed" not in sm.screen("ada")
    explained = sm.json("explain", "ada")
    assert "signal 9" in explained["because"]["says"]


def test_a_shell_where_the_agent_was_executes_nothing(sm: Sm) -> None:
    """An agent that leaves its terminal to another program: nothing is typed into that one."""
    sm.new_demo("ada")
    pane = sm.pane("ada")
    sm.tmux("respawn-pane", "-k", "-t", pane, "sh")

    message = queued(sm, "ada", "touch executed")

    sm.wait_state("ada", "crashed")
    assert waiting(sm, message).startswith(("the agent died", "the agent's process has ended"))
    assert not (sm.work / "executed").exists()


def test_copy_mode_is_left_before_typing(sm: Sm) -> None:
    sm.new_demo("ada")
    sm.tmux("copy-mode", "-t", sm.pane("ada"))

    queued(sm, "ada", "one")

    wait_for_arrival(sm, "ada", "one")


def test_what_a_person_selects_is_not_lost_to_a_message(sm: Sm) -> None:
    """Copy mode with a selection stays; the message rings."""
    sm.new_demo("ada")
    sm.tmux("copy-mode", "-t", sm.pane("ada"))
    sm.tmux("send-keys", "-t", sm.pane("ada"), "-X", "begin-selection")

    queued(sm, "ada", "one")

    wait_for_arrival(sm, "ada", "one")
    assert sm.messages("ada")[0]["route"] == "doorbell"
    shown = sm.tmux("display-message", "-p", "-t", sm.pane("ada"), "#{selection_present}")
    assert shown.strip() == "1"


def test_a_stopped_agent_gets_the_message_once_it_goes_on(sm: Sm) -> None:
    """tmux itself makes a stopped program go on; until then nothing is typed twice."""
    sm.new_demo("ada")
    os.kill(sm.json("show", "ada")["pid"], signal.SIGSTOP)

    queued(sm, "ada", "one")

    wait_for_arrival(sm, "ada", "one")


def test_a_swallowed_enter_is_pressed_once_more(sm: Sm) -> None:
    """The text stands in the box and nothing happens: one bare Enter, never a second paste."""
    sm.new_demo("ada", "--swallow-enter", "1")

    queued(sm, "ada", "one")

    wait_for_arrival(sm, "ada", "one")
    steps = [r["evidence"] for r in sm.messages("ada")[0]["receipts"] if r["step"] == "entered"]
    assert steps == ["Enter 1", "Enter 2"]


def test_an_urgent_message_interrupts_a_working_agent(sm: Sm) -> None:
    """With no gentler route it does not wait for a turn that would take a minute."""
    allow(sm, "paste", "interrupt")
    sm.new_demo("ada")
    queued(sm, "ada", "%tool true\n%tool sleep 60\n%say never said")
    sm.wait_state("ada", "working")
    later = queued(sm, "ada", "later")

    sm.run("send", "ada", "stop that", "--urgent", "--wait", "20")

    wait_for_arrival(sm, "ada", "later")
    texts = [unwrap(p) for p in sm.received("ada")]
    assert texts[-2:] == ["stop that", "later"]
    assert waiting(sm, later) == ""


def test_messages_of_an_ended_session_are_refused(sm: Sm) -> None:
    sm.new_demo("ada")
    queued(sm, "ada", "%tool sleep 60")
    sm.wait_state("ada", "working")
    left = queued(sm, "ada", "too late")

    sm.run("kill", "ada")

    states = {m["id"]: m["state"] for m in sm.messages()}
    assert states[left] == "refused"
    assert sm.start("send", "ada", "hello").returncode == 1


def test_unreachable_tmux_is_not_a_dead_session(sm: Sm) -> None:
    """A tmux server that does not answer says nothing about its agents."""
    sm.new_demo("ada")
    server = int(sm.tmux("display-message", "-p", "#{pid}"))
    os.kill(server, signal.SIGSTOP)
    try:
        message = queued(sm, "ada", "one")
        wait_for_reason(sm, message, "tmux cannot be reached")
        assert sm.state("ada") in ("idle", "unknown")
    finally:
        os.kill(server, signal.SIGCONT)
    wait_for_arrival(sm, "ada", "one")


def test_a_killed_tmux_server_is_a_crash_with_its_reason(sm: Sm) -> None:
    sm.new_demo("ada")

    subprocess.run(["tmux", "-S", sm.health()["tmux"], "kill-server"], check=True)

    sm.wait_state("ada", "crashed")
    assert "gone" in sm.json("explain", "ada")["because"]["says"]


def test_a_generic_agent_gets_text_without_proof(sm: Sm) -> None:
    """Any program can be sent text; its messages end at offered, shown as unproved."""
    sm.new("cat", agent="cat")

    message = sm.json("send", "cat", "hello cat", "--wait", "10")

    assert (message["state"], message["unproved"]) == ("offered", True)
    wait_until(lambda: sm.screen("cat").count("hello cat") == 2)
    assert sm.state("cat") == "unknown"


@pytest.mark.parametrize("agent", ["no-such-program-anywhere", "'unbalanced", ""])
def test_an_agent_that_cannot_be_started_is_refused_in_words(sm: Sm, agent: str) -> None:
    done = sm.start("new", "ada", "--agent", agent)

    assert done.returncode == 1
    assert done.stderr.startswith("sm: ")
    assert "Traceback" not in done.stderr
    assert sm.json("ls") == []


def test_a_letter_typed_beside_a_message_does_not_double_it(sm: Sm) -> None:
    """A person's key falls between paste and Enter, and they send both off: it arrived once."""
    sm.new_demo("ada", "--swallow-enter", "1")
    queued(sm, "ada", "one")
    wait_until(lambda: "entered" in str(sm.messages("ada")[0]["receipts"]), 10)

    sm.tmux("send-keys", "-t", sm.pane("ada"), "-l", "y")
    sm.tmux("send-keys", "-t", sm.pane("ada"), "Enter")

    sm.run("wait", "ada", "--timeout", "30")
    sm.run("send", "ada", "two", "--wait", "20")
    assert [p.count("one") for p in sm.received("ada")] == [1, 0]
    assert sm.messages("ada")[0]["state"] == "done"

"""sm send"""

import os
import re
import signal
import subprocess

import pytest

from sm.api.client import Client
from sm.api.types import MessageView
from sm.cli.main import main
from tests.cli.conftest import refusal, shape
from tests.kit.sm import SM, Sm, sm_home
from tests.kit.tmux import wait_until


def test_the_messages_id_is_printed(sm: Sm) -> None:
    """Queued durably; nothing is waited for."""
    printed = sm.run("send", "ada", "one")

    assert re.fullmatch(r"[0-9a-f]{12}\n", printed)
    assert printed.strip() in [m["id"] for m in sm.messages("ada")]


def test_wait_prints_the_receipt(sm: Sm) -> None:
    """Id, route and the agent's own evidence."""
    sm.run("wait", "ada")
    assert shape(sm, sm.run("send", "ada", "two", "--wait", "20")) == (
        "MESSAGE\naccepted by ada (paste; UserPromptSubmit of prompt ID)\n"
    )


def test_whoever_stops_waiting_knows_the_messages_id(sm: Sm) -> None:
    """It is stored by then: without its id, it would be sent again."""
    sm.run("send", "ada", "%work 5")
    sm.wait_state("ada", "working")
    words = [str(SM), "send", "ada", "three", "--wait", "60"]
    with subprocess.Popen(
        words, env=sm.environment, cwd=sm.work, stdout=subprocess.PIPE, text=True
    ) as sending:
        assert sending.stdout is not None
        printed = sending.stdout.readline()
        sending.send_signal(signal.SIGINT)

    assert sending.returncode == 130
    assert printed.strip() in [m["id"] for m in sm.messages("ada")]


def test_a_dash_reads_standard_input(sm: Sm) -> None:
    """Several lines, quotes and all."""
    sm.run("send", "ada", "-", "--wait", "20", input="first 'line'\nsecond $LINE; \\ü\n")

    assert any("first 'line'\nsecond $LINE; \\ü" in prompt for prompt in sm.received("ada"))


def test_a_message_that_cannot_be_delivered_is_refused_with_the_reason(sm: Sm) -> None:
    """A dialog is open: nothing is typed into it. The message stays."""
    done = sm.start("send", "bob", "not into the dialog", "--wait", "0.2", "--important")

    assert done.returncode == 1
    assert re.fullmatch(r"[0-9a-f]{12}\n", done.stdout)
    assert done.stderr == (
        "sm: queued, not accepted by bob yet: a dialog is open: a person must answer it first."
        " It stays in sm messages.\n"
    )
    assert not (sm.work / "x").exists()
    sm.run("cancel", done.stdout.strip())


def test_a_message_that_is_over_is_not_awaited_any_more(sm: Sm) -> None:
    """It will never arrive: no "yet", and nothing more to look for."""
    done = sm.start("send", "bob", "too late", "--important", "--expire", "0.1s", "--wait", "10")

    assert (done.returncode, done.stderr) == (
        1, "sm: expired, never accepted by bob: not given before its deadline.\n",
    )  # fmt: skip


def test_an_agent_that_reports_nothing_takes_it_unproved(sm: Sm) -> None:
    """It is said so."""
    sm.run("new", "mute", "--agent", "cat")
    printed = sm.run("send", "mute", "hi", "--wait", "20")
    sm.run("kill", "mute")

    assert printed.splitlines()[1] == (
        "offered to mute, unproved: this kind of agent reports nothing"
    )


def test_json_has_exactly_the_documented_keys(sm: Sm) -> None:
    """With the receipts so far."""
    sent = sm.json("send", "ada", "three", "--wait", "20")

    assert list(sent) == list(MessageView.__annotations__)
    assert [r["step"] for r in sent["receipts"]][:2] == ["queued", "offered"]


@pytest.mark.parametrize("mode", ["sequential", "important", "urgent"])
def test_each_mode_can_be_asked_for(sm: Sm, mode: str) -> None:
    """sequential is the default; two at once are wrong usage."""
    assert sm.json("send", "ada", "four", f"--{mode}")["mode"] == mode
    assert sm.start("send", "ada", "x", "--urgent", "--important").returncode == 2


def test_an_unseen_message_expires(sm: Sm) -> None:
    """--expire: withdrawn if not given by then."""
    message = sm.run("send", "bob", "too late", "--expire", "0.1s").strip()

    wait_until(lambda: {m["id"]: m["state"] for m in sm.messages("bob")}[message] == "expired")


def test_the_sender_is_told_once_when_the_turn_ends(sm: Sm) -> None:
    """Unless it said --no-notify."""
    inside = {"CLAUDE_SESSION_MANAGER_ID": sm.json("show", "ada")["id"]}
    sm.new_demo("carl")
    sm.run("send", "carl", "quietly", "--no-notify", environment=inside)
    sm.run("wait", "carl")
    sent = sm.json("send", "carl", "loudly", environment=inside)
    sm.run("wait", "carl")
    wait_until(lambda: any("carl stopped" in prompt for prompt in sm.received("ada")))
    sm.run("wait", "ada")
    sm.run("kill", "carl")

    notices = [prompt for prompt in sm.received("ada") if "carl stopped" in prompt]
    assert sent["from"] == "ada"
    assert len(notices) == 1
    assert "loudly" in notices[0]


def test_what_cannot_be_sent_is_refused(sm: Sm) -> None:
    """Empty, or to nobody."""
    assert refusal(sm, "send", "ada", "") == (
        1, "The text is empty. Give some words, or '-' to read standard input.",
    )  # fmt: skip
    assert refusal(sm, "send", "gone", "x") == (
        1, "gone has ended. Start a new session with: sm new",
    )  # fmt: skip
    assert refusal(sm, "send", "eve", "x") == (1, "There is no session 'eve'. See: sm ls --all")


def test_standard_input_that_is_closed_is_told(sm: Sm) -> None:
    """Nothing is sent."""
    done = sm.start("send", "ada", "-", preexec_fn=lambda: os.close(0))

    assert (done.returncode, done.stderr) == (
        1, "sm: Standard input is closed. Give the text itself.\n",
    )  # fmt: skip


def test_standard_input_that_is_not_utf8_is_refused(sm: Sm) -> None:
    """It would not arrive byte for byte."""
    done = subprocess.run(
        [SM, "send", "ada", "-"], input=b"caf\xe9", env=sm.environment, capture_output=True
    )

    assert (done.returncode, done.stderr.decode()) == (
        1,
        "sm: Standard input is not valid UTF-8. Convert it first, as with: iconv -f LATIN1\n",
    )


def test_no_more_of_standard_input_is_read_than_may_be_sent(sm: Sm) -> None:
    """An endless one ends in a refusal, not with the machine's memory."""
    with subprocess.Popen(["yes"], stdout=subprocess.PIPE) as endless:
        done = sm.start("send", "ada", "-", stdin=endless.stdout)
        endless.kill()

    assert (done.returncode, done.stderr) == (
        1, "sm: The text has 1000001 characters; the limit is 1000000.\n",
    )  # fmt: skip


def test_a_message_to_a_daemon_that_hangs_is_told_with_its_id(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """First that it waits; at last which message to look for before sending it again."""
    with sm_home() as hung:
        hung.run("daemon", "start")
        for name, value in hung.environment.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setattr(
            Client.call, "__kwdefaults__", {"query": None, "token": "", "within": 4.0}
        )
        worker = hung.health()["worker"]
        os.kill(worker, signal.SIGSTOP)
        try:
            status = main(["send", "ada", "hello"])
            told = capfd.readouterr().err
            main(["new", "ada"])
        finally:
            os.kill(worker, signal.SIGCONT)

    assert status == 2
    assert re.sub(r"[0-9a-f]{12}", "MESSAGE", told).splitlines() == [
        "sm: The daemon is not answering; still waiting. To end it: sm daemon stop",
        (
            "sm: The daemon did not answer in time. See: sm doctor. Message MESSAGE may have been "
            "stored all the same: before sending it again, look for it with sm messages ada"
        ),
    ]
    assert re.search(
        r"Session [0-9a-f]{8} may have been started all the same: look with sm ls\n$",
        capfd.readouterr().err,
    )


def test_a_message_cannot_expire_at_once(sm: Sm) -> None:
    """0 is wrong usage, in the command's own words."""
    done = sm.start("send", "ada", "x", "--expire", "0")

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.endswith(
        "argument --expire: '0' is no time to wait; write 30s, 10m, 1h or 2d\n"
    )

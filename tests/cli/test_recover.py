"""sm recover"""

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from typing import cast

import pytest

from sm.api.types import RecoverableView, RecoveryView, SessionDetail
from sm.cli.recover import _list, _tell
from tests.cli.conftest import ORDERS, refusal
from tests.kit.sm import SM, Sm, sm_home
from tests.kit.tmux import wait_until


@pytest.fixture
def own() -> Iterator[Sm]:
    """A home of its own: what crashes here must not be listed elsewhere."""
    with sm_home() as made:
        yield made


def crash(sm: Sm, name: str) -> None:
    os.kill(sm.json("show", name)["pid"], signal.SIGKILL)
    sm.wait_state(name, "crashed")


def test_nothing_to_bring_back_is_said(own: Sm) -> None:
    own.new_demo("tia")

    said = "Nothing to bring back: no session has crashed.\n"
    assert own.run("recover") == own.run("recover", "--all") == said
    assert own.json("recover") == own.json("recover", "--all") == []


def test_a_crashed_session_is_listed_and_brought_back(own: Sm) -> None:
    """With what was found, each step as it is proved, and where to look at it."""
    own.new_demo("tia")
    own.run("send", "tia", "%tool sleep 60", "--wait", "20")
    own.wait_recorded("tia", "tool_use")
    crash(own, "tia")

    listed = own.run("recover")
    assert listed.startswith("Recoverable sessions:\n  1. tia  [crashed ")
    assert "the agent was ended by signal 9" in listed
    assert listed.endswith("\nBring them back with: sm recover --all, or sm recover NAME\n")
    assert own.json("notices")[-1]["words"].endswith("Bring it back with: sm recover tia")

    said = own.run("recover", "tia")
    assert "1 request, " in said
    assert "Last activity: running `sleep 60`" in said
    assert "✓ demo started: process " in said
    assert "✓ context given to it (paste " in said
    assert "✓ back at work (UserPromptSubmit of prompt " in said
    assert said.endswith("\nLook at it with: sm attach tia\n")
    assert own.json("notices") == [], "there is nothing to bring back any more"
    prompts = own.received("tia")
    assert "Your session crashed, and sm has resumed it" in prompts[-1]
    assert "It still runs (process " in prompts[-1], "the command is named with its pid"
    shown = own.run("show", "tia")
    assert "ended by signal 9 (signal)" in shown
    assert "done after " in shown


def test_a_dry_run_shows_command_and_prompt_and_does_nothing(own: Sm) -> None:
    own.new_demo("tia")
    own.run("send", "tia", "port the parser", "--wait", "20")
    own.run("wait", "tia")
    own.wait_recorded("tia", "Got it:")
    crash(own, "tia")

    resume = own.run("recover", "tia", "--dry-run")
    fresh = own.run("recover", "tia", "--dry-run", "--fresh")

    assert "way       resume: its record is whole" in resume
    assert " --resume " in resume
    assert "prompt    none: it was idle, and goes on where it was" in resume
    assert "way       fresh: as asked: fresh" in fresh
    assert "port the parser" in fresh
    assert "## Instructions" in fresh
    (plan,) = own.json("recover", "tia", "--dry-run")
    assert (plan["name"], plan["way"], plan["prompt"]) == ("tia", "resume", "")
    assert own.state("tia") == "crashed"


def test_all_of_them_come_back_together(own: Sm) -> None:
    """After the tmux server was killed: a line for each step of each."""
    for name in ("tia", "tom"):
        own.new_demo(name)
    own.run("new", "cat", "--agent", "cat")
    own.tmux("kill-server")
    for name in ("tia", "tom", "cat"):
        own.wait_state(name, "crashed")
    assert own.json("show", "tia")["crash"]["cause"] == "server_exit"

    said = own.run("recover", "--all")

    for name in ("tia", "tom"):
        assert f"✓ {name}: back at work (the agent is ready)" in said
        assert own.state(name) == "idle"
    assert "✓ cat: back at work (the agent was started)" in said
    ended = own.json("show", "tom")
    assert (ended["tmux"]["session"], ended["name"]) == ("tom", "tom")


def test_a_person_at_a_terminal_is_asked(own: Sm) -> None:
    """By number, name, all or none; a wrong answer asks again."""
    for name in ("tia", "tom"):
        own.new_demo(name)
        crash(own, name)
    screen = [str(SM.parent / "sm"), "recover"]
    variables = [f"{name}={value}" for name, value in own.environment.items()]
    place = ("new-session", "-d", "-P", "-F", "#{pane_id}", "-x", "120", "-y", "30")
    pane = own.tmux(*place, "env", *variables, *screen).strip()

    def shows(words: str) -> bool:
        return words in own.tmux("capture-pane", "-p", "-t", pane)

    wait_until(lambda: shows("Recover which session? [1-2, a name, all, none]:"), 20)
    own.tmux("send-keys", "-t", pane, "7", "Enter")
    wait_until(lambda: shows("'7' is none of them."), 20)
    own.tmux("send-keys", "-t", pane, "tom", "Enter")

    wait_until(lambda: own.state("tom") == "idle", 20)

    assert own.state("tia") == "crashed"


@pytest.mark.parametrize("which", ["--all", "tia tom"])
def test_two_that_ask_for_the_same_at_once_are_both_done(own: Sm, which: str) -> None:
    """What they asked for is so in the end, whoever was first."""
    for name in ("tia", "tom"):
        own.new_demo(name)
        crash(own, name)
    both = [
        subprocess.Popen(
            [str(SM), "recover", *which.split()], env=own.environment, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )
        for _ in range(2)
    ]  # fmt: skip

    said = [one.communicate(timeout=60)[0] for one in both]

    assert [one.returncode for one in both] == [0, 0], said
    assert (own.state("tia"), own.state("tom")) == ("idle", "idle")


def test_what_cannot_be_brought_back_is_refused(sm: Sm) -> None:
    assert refusal(sm, "recover", "ada")[0] == 1
    assert refusal(sm, "recover", "gone")[1].startswith("gone was ended on purpose.")
    assert refusal(sm, "recover", "eve") == (1, "There is no session 'eve'. See: sm ls --all")
    assert refusal(sm, "recover", "--all", "ada") == (2, "name sessions, or say --all")
    assert sm.start("recover", "--fresh", "--resume").returncode == 2


def test_what_was_asked_for_is_told_though_it_is_tried_again_by_itself(own: Sm) -> None:
    """A failure is said as one, with its reason; the next try is another."""
    own.base.mkdir()
    own.home.config.write_text("[recovery]\nauto_recover = true\n")
    folder = own.folder / "elsewhere"
    folder.mkdir()
    own.new_demo("tia", cwd=folder)
    folder.rmdir()
    crash(own, "tia")

    done = own.start("recover", "tia", "--json")

    (told,) = json.loads(done.stdout)
    assert (done.returncode, told["by"], told["state"]) == (1, "a person", "failed")
    assert str(folder) in told["steps"][-1]["evidence"]


def test_without_a_standard_input_nobody_is_asked(own: Sm) -> None:
    """Started by a job, perhaps: it lists, and ends."""
    own.new_demo("tia")
    crash(own, "tia")

    done = own.start("recover", preexec_fn=lambda: os.close(0))

    assert (done.returncode, done.stderr) == (0, "")
    assert "Recoverable sessions:" in done.stdout


def test_an_environment_that_is_not_kept_is_lent_by_whoever_asks(own: Sm) -> None:
    """Named twice is meant once."""
    own.base.mkdir()
    own.home.config.write_text("[recovery]\nkeep_environment = false\n")
    own.new_demo("tia")
    crash(own, "tia")
    assert not (own.home.sessions / own.json("show", "tia")["id"] / "launch.json").exists()

    planned = own.run("recover", "tia", "--dry-run")
    said = own.run("recover", "tia", "tia")

    assert "command   " in planned
    assert "✓ back at work" in said
    assert own.state("tia") == "idle"


def test_what_is_told_of_a_crash_gives_the_terminal_no_orders(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Agents and the system are quoted in it."""
    listed: RecoverableView = {
        "id": "1", "name": "ada", "agent": "demo", "state": "crashed", "cwd": "/",
        "crashed_at": 0.0, "cause": "exit", "reason": ORDERS, "busy": False, "lines": 1,
        "percent": None, "hopeless": f"crashed: {ORDERS}", "next_recovery": None,
    }  # fmt: skip
    steps = [{"step": "failed", "at": 0.0, "evidence": ORDERS}]
    session = cast("SessionDetail", {"id": "1", "name": "ada", "agent": "demo"})
    _list([listed])
    _tell(session, cast("RecoveryView", {"state": "failed", "steps": steps}), {"1": 0}, 1)

    shown = capsys.readouterr()
    assert "\x1b" not in shown.out + shown.err
    assert (shown.out + shown.err).count("\ufffd[2Jgone\ufffd") == 3

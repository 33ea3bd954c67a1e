"""sm new"""

import os
import re
from pathlib import Path

import pytest

from sm.api import starting
from sm.cli.main import main
from tests.cli.conftest import refusal
from tests.kit.sm import Sm
from tests.kit.tmux import wait_until


def test_the_id_of_the_new_session_is_printed(sm: Sm) -> None:
    """And nothing else, so that a script can use it; without a name one is made up."""
    printed = sm.run("new", "--agent", "cat")
    name = sm.json("show", printed.strip())["name"]
    sm.run("kill", name)

    assert re.fullmatch(r"[0-9a-f]{8}\n", printed)
    assert name == "generic-1"


def test_the_agent_runs_in_the_callers_directory_and_environment(sm: Sm) -> None:
    """Not in the daemon's, and with its own identity instead of its caller's."""
    told = sm.folder / "told"
    program = f"sh -c 'pwd > {told}; umask >> {told}; env >> {told}; sleep 60'"
    given = {
        "PLACE": "here", "SM_SESSION_TOKEN": "stolen", "TMUX": "x",
        "CLAUDE_SESSION_MANAGER_ID": sm.json("show", "ada")["id"],
    }  # fmt: skip

    session = sm.run(
        "new", "env", "--agent", program, cwd=sm.folder, environment=given, umask=0o027
    )
    wait_until(lambda: told.exists() and "PLACE" in told.read_text())
    parent = sm.json("show", "env")["parent"]
    sm.run("kill", "env")

    lines = told.read_text().splitlines()
    assert lines[:2] == [str(sm.folder), "0027"]
    assert "PLACE=here" in lines
    assert f"CLAUDE_SESSION_MANAGER_ID={session.strip()}" in lines
    assert "SM_SESSION_TOKEN=stolen" not in lines
    assert "TMUX=x" not in lines
    assert not any(line.startswith("SM_UMASK=") for line in lines)
    assert parent == given["CLAUDE_SESSION_MANAGER_ID"]


def test_a_directory_that_cannot_be_told_is_refused(sm: Sm) -> None:
    """Its name is not UTF-8."""
    folder = Path(os.fsdecode(os.fsencode(sm.work) + b"/caf\xe9"))
    folder.mkdir()
    done = sm.start("new", "eve", cwd=folder)

    assert done.returncode == 1
    assert done.stderr == (
        f"sm: The name {folder.parent}/caf\ufffd is not valid UTF-8."
        " Rename the folder, or link it under another name.\n"
    )


def test_the_first_prompt_arrives(sm: Sm) -> None:
    """--prompt is a message like any other, with its receipts."""
    sm.run("new", "eager", "--prompt", "say hello", "--", "--delay", "0")
    sm.run("wait", "eager")
    [message] = sm.messages("eager")
    sm.run("kill", "eager")

    assert (message["text"], message["state"], message["from"]) == ("say hello", "done", "you")


def test_a_session_may_be_left_alone(sm: Sm) -> None:
    """Walk-away mode goes by the monitor, and needs an agent that proves."""
    sm.run("new", "alone", "--auto-handoff")
    told = sm.json("show", "alone")["auto_handoff"], sm.json("show", "ada")["auto_handoff"]
    sm.run("kill", "alone")

    assert told == (True, False)
    both = sm.start("new", "x", "--auto-handoff", "--no-monitor")
    assert both.returncode == 2
    assert both.stderr == "sm: --auto-handoff goes by the monitor: leave --no-monitor away\n"
    code, words = refusal(sm, "new", "x", "--agent", "cat", "--auto-handoff")
    assert (code, words.endswith("Start it without --auto-handoff.")) == (1, True)


def test_words_behind_two_dashes_are_the_agents(sm: Sm) -> None:
    """Options of the agent are not ours."""
    session = sm.json("show", "bob")

    assert session["arguments"] == ["--delay", "0"]


def test_cwd_gives_another_directory(sm: Sm) -> None:
    """Relative to where sm is called."""
    made = sm.json("new", "there", "--agent", "cat", "--cwd", "..")
    sm.run("kill", "there")

    assert made["cwd"].startswith(str(sm.work))
    assert set(made) == set(sm.json("show", "ada"))


def test_what_cannot_be_started_is_refused(sm: Sm) -> None:
    """One line, with what to do; no session is left."""
    before = sm.json("ls", "--all")

    remedy = "Check the spelling, or give its full path with --agent."
    assert refusal(sm, "new", "x", "--agent", "no-such") == (
        1, f"no-such is not a program on your PATH. {remedy}",
    )  # fmt: skip
    assert refusal(sm, "new", "ada") == (1, "ada is taken. Choose another name, or: sm kill ada")
    assert refusal(sm, "new", "x", "--cwd", "/nowhere") == (
        1, "/nowhere is not a directory. Give --cwd DIR.",
    )  # fmt: skip
    assert [s["id"] for s in sm.json("ls", "--all")] == [s["id"] for s in before]


def test_a_tmux_that_is_too_old_is_refused_with_its_version(
    sm: Sm, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Before anything is started: no server of its would ever answer."""
    monkeypatch.setattr(starting, "_USUAL_PLACES", ())
    folder = sm.folder / "old"
    folder.mkdir()
    (folder / "tmux").write_text("#!/bin/sh\necho tmux 2.9\n")
    (folder / "tmux").chmod(0o755)
    for name, value in {**sm.environment, "PATH": f"{folder}:/usr/bin:/bin"}.items():
        monkeypatch.setenv(name, value)

    assert main(["new", "nobody"]) == 1
    assert capsys.readouterr().err == (
        f"sm: tmux 2.9 ({folder}/tmux) is too old: sm needs tmux 3.2 or newer."
        " Install that, or put it first on your PATH.\n"
    )
    assert "nobody" not in sm.run("ls", "--all")


def test_without_tmux_the_words_say_what_to_install(
    sm: Sm, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Before anything is started."""
    monkeypatch.setattr(starting, "_USUAL_PLACES", ())
    for name, value in {**sm.environment, "PATH": str(sm.folder / "empty")}.items():
        monkeypatch.setenv(name, value)

    assert main(["new", "nobody"]) == 1
    assert capsys.readouterr().err == (
        "sm: tmux is not installed. On Debian or Ubuntu: apt install tmux\n"
    )
    assert "nobody" not in sm.run("ls", "--all")


@pytest.mark.parametrize("prompt", ["", "  ", "-"])
def test_an_empty_prompt_is_refused(sm: Sm, prompt: str) -> None:
    """Whoever gave one waits for work; nothing is started."""
    done = sm.start("new", "idler", "--prompt", prompt, input="")

    assert (done.returncode, done.stdout) == (1, "")
    assert "empty" in done.stderr
    assert refusal(sm, "show", "idler")[0] == 1


def test_the_prompt_may_come_from_standard_input(sm: Sm) -> None:
    """As a message may."""
    sm.run("new", "piped", "--prompt", "-", input="from a pipe")
    [message] = sm.messages("piped")
    sm.run("kill", "piped")

    assert message["text"] == "from a pipe"

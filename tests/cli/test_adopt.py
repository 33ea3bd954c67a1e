"""sm adopt"""

import re
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from sm.cli.adopt import _socket
from sm.core.adoption import limits as core_limits
from tests.cli.conftest import refusal, shape
from tests.kit.sm import Sm
from tests.kit.tmux import Tmux, private_tmux, socket_path, wait_until

DEMO = [sys.executable, "-I", "-m", "sm.adapters.agents.demo", "--delay", "0"]


@pytest.fixture
def theirs() -> Iterator[Tmux]:
    with private_tmux() as tmux:
        yield tmux


def demo(sm: Sm, tmux: Tmux) -> str:
    """A demo agent that a person started by hand; its pane."""
    environment = {**sm.environment, "SM_DEMO_CONFIG": str(sm.folder / "demo by hand")}
    pane = tmux.start(DEMO, environment=environment, cwd=sm.work)
    wait_until(lambda: "❯" in tmux.screen(pane), 20, seen=lambda: tmux.screen(pane))
    return pane


def test_an_agent_that_runs_is_taken_over(sm: Sm, theirs: Tmux) -> None:
    """What is printed says what cannot be promised."""
    pane, socket = demo(sm, theirs), str(socket_path(theirs.name))

    told = sm.run("adopt", pane, "tia", "--tmux-socket", socket)

    first, intro, *limits = shape(sm, told).splitlines()
    assert (first, intro) == ("ID tia demo idle", "What sm cannot promise for it:")
    assert limits == [f"- {limit}." for limit in core_limits(heard=False, logged=True)]
    assert sm.json("send", "tia", "hello", "--wait", "30")["state"] in ("accepted", "done")
    shown = sm.run("show", "tia")
    assert re.search(r"adopted +yes: sm did not start it and cannot promise:", shown)
    assert f"{pane} on {socket}" in shown
    sm.run("kill", "tia")
    assert theirs.run("list-panes", "-a", "-F", "#{pane_dead}") == "1"


def test_json_is_the_session(sm: Sm, theirs: Tmux) -> None:
    """Found by any tmux target, named by itself."""
    demo(sm, theirs)

    session = sm.json("adopt", "0:0", "--tmux-socket", str(socket_path(theirs.name)))

    assert (session["adopted"], session["agent"], len(session["limits"])) == (True, "demo", 3)
    assert re.fullmatch(r"demo-\d+", session["name"])
    sm.run("release", session["id"])


def test_a_pipe_that_is_there_is_told(sm: Sm, theirs: Tmux) -> None:
    """tmux can hand on a pane's output once."""
    pane = demo(sm, theirs)
    theirs.run("pipe-pane", "-t", pane, "cat > /dev/null")

    told = sm.run("adopt", pane, "--tmux-socket", str(socket_path(theirs.name)))

    assert "Its log is not kept: another pipe-pane already has its output." in told
    sm.run("release", told.split()[0])


def test_what_is_not_there_is_refused(sm: Sm, theirs: Tmux) -> None:
    """One line that says where it was looked for."""
    socket = str(socket_path(theirs.name))

    code, words = refusal(sm, "adopt", "%5", "--tmux-socket", socket)

    assert code == 1
    assert words.startswith(f"There is no pane '%5' on {socket} or on sm's own tmux server")


def test_the_callers_own_tmux_is_meant(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The one named, the one we are in, or tmux's default."""
    monkeypatch.setenv("TMUX", "/tmp/a,b,123,0")
    assert _socket(None) == "/tmp/a,b"
    named = tmp_path / "s"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(named))
        assert _socket(str(named)) == str(named)
    monkeypatch.delenv("TMUX")
    monkeypatch.setenv("TMUX_TMPDIR", str(tmp_path))
    assert _socket(None) is None


def test_a_socket_that_is_none_is_refused(sm: Sm) -> None:
    """Not looked for elsewhere: another server's pane may have the same name."""
    code, words = refusal(sm, "adopt", "%0", "--tmux-socket", "/nowhere.sock")

    assert code == 1
    assert words.startswith("/nowhere.sock is no tmux socket. ")

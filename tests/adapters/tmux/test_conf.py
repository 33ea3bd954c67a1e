"""What a server of our own is like, seen by whoever attaches to it."""

from pathlib import Path

import pytest

from sm.adapters.tmux.conf import private_conf
from sm.adapters.tmux.program import TmuxProgram

from .rig import Rig, until_true

GLOBAL = {
    "history-limit": "12345",
    "remain-on-exit": "on",
    "mouse": "on",
    "set-titles": "off",
    "window-size": "latest",
    "status-left-length": "40",
    "status-left": "[#{session_name}] ",
    "status-right": "",
    "window-status-format": "",
    "window-status-current-format": "",
}
OF_THE_SERVER = {
    "default-terminal": "tmux-256color",
    "exit-empty": "off",
    "escape-time": "10",
    "focus-events": "on",
}


@pytest.fixture
async def conf(rig: Rig) -> Path:
    """The configuration of the server that now runs, with one session, ``ada``."""
    conf = rig.folder / "tmux.conf"
    conf.write_text(private_conf(history_limit=12_345))
    program = TmuxProgram(socket=rig.socket, conf=conf)
    await program.call("new-session", "-d", "-s", "ada", "cat", deadline=5)
    return conf


async def test_the_server_has_every_option_as_promised(rig: Rig, conf: Path) -> None:
    shown = {name: rig.tmux("show-options", "-gv", name) for name in GLOBAL}
    assert shown == GLOBAL
    shown = {name: rig.tmux("show-options", "-sv", name) for name in OF_THE_SERVER}
    assert shown == OF_THE_SERVER


async def test_every_line_is_one_this_test_knows(rig: Rig, conf: Path) -> None:
    """tmux reads it again without a complaint, and nothing is set that nobody looked at."""
    rig.tmux("source-file", str(conf))

    lines = [line.split() for line in conf.read_text().splitlines() if not line.startswith("#")]
    assert {(scope, name) for _, scope, name, *_ in lines} == {
        *(("-g", name) for name in GLOBAL),
        *(("-s", name) for name in OF_THE_SERVER),
    }


async def test_the_status_line_names_the_session(rig: Rig, conf: Path) -> None:
    """A person who attached sees whose terminal it is."""
    assert rig.tmux("display-message", "-p", "-t", "ada:", "#{T:status-left}") == "[ada] "


async def test_a_pane_stays_after_its_program_ended(rig: Rig, conf: Path) -> None:
    """The last screen of an agent that crashed can still be read."""
    rig.tmux("send-keys", "-t", "ada:", "last words", "Enter", "C-d")

    await until_true(lambda: rig.tmux("display-message", "-p", "-t", "ada:", "#{pane_dead}") == "1")
    assert "last words" in rig.tmux("capture-pane", "-p", "-t", "ada:")


async def test_the_server_stays_when_its_last_session_ends(rig: Rig, conf: Path) -> None:
    pid = rig.tmux("display-message", "-p", "#{pid}")

    rig.tmux("kill-session", "-t", "ada")

    rig.tmux("new-session", "-d", "-s", "bob", "cat")
    assert rig.tmux("display-message", "-p", "#{pid}") == pid

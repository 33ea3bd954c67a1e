"""A line for the person, on the terminals of those who look at our sessions and on no other."""

import contextlib
import os
import pty
import select
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from sm.adapters.system import ProcessTable
from sm.adapters.tmux.router import TmuxRouter
from sm.adapters.tmux.server import TmuxTerminal
from tests.kit.tmux import private_tmux

from .rig import Rig, until_true

pytestmark = pytest.mark.anyio
WORDS = "ada crashed: 100% of #{pane_pid} #[fg=red]; %H'é' \"x\""


@dataclass
class Onlooker:
    """Somebody at a terminal."""

    terminal: int
    shown: str = ""

    def sees(self, text: str, within: float = 0.0) -> bool:
        deadline = time.monotonic() + within
        while text not in self.shown:
            left = max(0.0, deadline - time.monotonic())
            if not select.select([self.terminal], [], [], left)[0]:
                return False
            with contextlib.suppress(OSError):
                self.shown += os.read(self.terminal, 1 << 16).decode(errors="replace")
        return True


@contextlib.contextmanager
def onlooker(socket: str, session: str) -> Iterator[Onlooker]:
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color"}
    process = subprocess.Popen(
        ["tmux", "-u", "-L", socket, "attach", "-t", session],
        stdin=theirs, stdout=theirs, stderr=theirs, env=environment, start_new_session=True,
    )  # fmt: skip
    os.close(theirs)
    try:
        yield Onlooker(ours)
    finally:
        process.terminate()
        process.wait(10)
        os.close(ours)


async def test_whoever_looks_at_a_session_of_ours_reads_it(
    rig: Rig, terminal: TmuxTerminal
) -> None:
    """Word for word, whatever tmux would take it for; our own connection does not count."""
    assert await terminal.tell(WORDS) == 0
    await terminal.launch(rig.launch())
    with onlooker(rig.socket, "ada") as one, onlooker(rig.socket, "ada") as other:
        await until_true(lambda: rig.tmux("list-clients", "-t", "ada").count("\n") == 1)

        assert await terminal.tell(WORDS) == 2
        assert one.sees(WORDS, 5)
        assert other.sees(WORDS, 5)


async def test_whoever_looks_at_a_session_of_their_own_is_left_in_peace(
    rig: Rig, terminal: TmuxTerminal
) -> None:
    """`tmux.socket` may name a server a person uses themselves."""
    await terminal.launch(rig.launch())
    rig.tmux("new-session", "-d", "-s", "theirs", "echo READY; cat")
    with onlooker(rig.socket, "theirs") as person:
        assert person.sees("READY", 5)

        assert await terminal.tell(WORDS) == 0
        rig.tmux("send-keys", "-t", "theirs", "typed", "Enter")
        assert person.sees("typed", 5)
        assert "crashed" not in person.shown


async def test_on_somebody_elses_server_nothing_is_said(rig: Rig, terminal: TmuxTerminal) -> None:
    """A guest adopts panes there, and no more."""
    router = TmuxRouter(terminal, home="home1", started=ProcessTable().started)
    with private_tmux() as theirs:
        theirs.run("new-session", "-d", "-s", "work", "cat")
        theirs.run("set-option", "-t", "work", "@sm_home", "home1")
        with onlooker(theirs.name, "work"):
            await until_true(lambda: theirs.run("list-clients") != "")

            assert await router.tell(WORDS) == 0


async def test_where_tmux_cannot_be_asked_nobody_is_told(rig: Rig) -> None:
    """And nothing is raised: there are other ways."""
    terminal = TmuxTerminal(
        socket=rig.socket, home="home1", conf=rig.folder / "conf",
        started=ProcessTable().started, deadline=0.2,
    )  # fmt: skip

    assert await terminal.tell(WORDS) == 0

"""The leader as a pseudoterminal has it: a script with a socket to listen to."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from sm.adapters.pty import leader
from tests.adapters.pty.rig import lives, until


class Led:
    """A leader and its agent, spoken to as the proxy does."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.master, slave = os.openpty()
        self.control, theirs = socket.socketpair()
        self.control.settimeout(10)
        self.told = b""
        self._slave, self._theirs = slave, theirs

    def start(self, *agent: str, cwd: str | None = None) -> None:
        control = str(self._theirs.fileno())
        self.process = subprocess.Popen(
            [sys.executable, "-I", "-S", leader.__file__, control, cwd or str(self.folder), *agent],
            stdin=self._slave, stdout=self._slave, stderr=self._slave,
            pass_fds=[self._theirs.fileno()],
        )  # fmt: skip
        os.close(self._slave)
        self._theirs.close()

    def order(self, line: str) -> None:
        self.control.send(f"{line}\n".encode())

    def hear(self, word: str) -> int:
        """Its next line must be this; the number beside it."""
        while b"\n" not in self.told:
            self.told += self.control.recv(4096)
        line, _, self.told = self.told.partition(b"\n")
        told, _, number = line.decode().partition(" ")
        if told == "continued" != word:
            return self.hear(word)
        assert told == word
        return int(number or 0)

    def shown(self, text: bytes) -> None:
        seen = b""
        while text not in seen:
            seen += os.read(self.master, 4096)

    def pid(self, name: str) -> int:
        path = self.folder / name
        until(lambda: path.exists() and path.read_text().endswith("\n"))
        return int(path.read_text())


@pytest.fixture
def led(tmp_path: Path) -> Iterator[Led]:
    led = Led(tmp_path)
    yield led
    led.control.close()
    led.process.wait(timeout=5)
    os.close(led.master)


@pytest.mark.parametrize(
    ("command", "word", "number"),
    [("exit 0", "exited", 0), ("exit 3", "exited", 3), ("kill -9 $$", "killed", 9)],
)
def test_it_tells_how_the_agent_ended(led: Led, command: str, word: str, number: int) -> None:
    led.start("sh", "-c", command)

    assert led.hear("started") > 0
    assert led.hear(word) == number
    assert led.control.recv(1) == b""
    assert led.process.wait(timeout=5) == 0


def test_the_agent_has_the_terminal_and_nothing_of_ours(led: Led) -> None:
    """Its own group in the foreground, every signal as usual, no file but the three."""
    probe = (
        "import os, signal; "
        "assert os.tcgetpgrp(0) == os.getpgrp() == os.getpid() != os.getsid(0); "
        "assert not [n for n in signal.valid_signals() if signal.getsignal(n) is signal.SIG_IGN"
        " and n not in (signal.SIGPIPE, signal.SIGXFSZ)]; "
        "assert [n for n in range(3, 100) if os.path.exists(f'/dev/fd/{n}')] == []; "
        "print('well')"
    )
    led.start(sys.executable, "-I", "-c", probe)

    led.shown(b"well\r\n")


def test_what_cannot_be_started_says_why(led: Led) -> None:
    led.start("/nowhere/agent")
    led.hear("started")

    assert led.hear("exited") == 127
    led.shown(b"sm could not start /nowhere/agent: No such file or directory\r\n")


def test_it_tells_of_a_stop_and_continues_the_whole_group(led: Led) -> None:
    led.start("sh", "-c", "echo ready; exec cat")
    led.hear("started")
    led.shown(b"ready")
    os.write(led.master, b"\x1a")

    assert led.hear("stopped") == signal.SIGTSTP
    led.order(f"signal {int(signal.SIGCONT)}")
    led.hear("continued")


def test_a_stopped_agent_hears_that_it_must_end(led: Led) -> None:
    led.start("sh", "-c", "echo ready; exec cat")
    led.hear("started")
    led.shown(b"ready")
    os.write(led.master, b"\x1a")
    led.hear("stopped")
    led.order(f"signal {int(signal.SIGTERM)}")

    assert led.hear("killed") == signal.SIGTERM


def test_an_agent_that_will_not_end_is_killed(led: Led) -> None:
    """When patience is over, and not before."""
    led.start("sh", "-c", "trap '' TERM; echo ready; while :; do sleep 0.05; done")
    led.hear("started")
    led.shown(b"ready")
    began = time.monotonic()
    led.order("end 15 0.4")

    assert led.hear("killed") == signal.SIGKILL
    assert 0.4 <= time.monotonic() - began < 2


JOBS = "set -m; sh -c 'echo $$ > job; exec sleep 100' & while [ ! -s job ]; do sleep 0.01; done; "


def test_jobs_in_the_background_end_with_an_agent_that_was_ended(led: Led) -> None:
    led.start("bash", "-c", JOBS + "echo ready; exec sleep 100")
    led.hear("started")
    led.shown(b"ready")
    job = led.pid("job")
    assert lives(job)
    led.order("end 15 2.0")

    assert led.hear("killed") == signal.SIGTERM
    until(lambda: not lives(job))


def test_jobs_of_an_agent_that_left_by_itself_go_on(led: Led) -> None:
    """As they would without us."""
    led.start("bash", "-c", JOBS + "exit 0")
    led.hear("started")
    led.hear("exited")
    led.process.wait(timeout=5)
    job = led.pid("job")

    assert lives(job)
    os.kill(job, signal.SIGKILL)


def test_nobody_at_the_other_end_means_the_end(led: Led) -> None:
    led.start("sh", "-c", "trap : HUP TERM; echo ready; while :; do sleep 0.05; done")
    agent = led.hear("started")
    led.shown(b"ready")
    led.control.close()

    until(lambda: not lives(agent), timeout=2.0)


def test_a_session_has_all_its_groups() -> None:
    assert os.getpgrp() in leader.groups_of(os.getsid(0))

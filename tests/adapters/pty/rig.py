"""A terminal somebody sits at, for one test: types, reads, resizes, hangs up."""

import fcntl
import os
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sm.adapters.system import ProcessTable

HERE = Path(__file__).parent
PROXY = (sys.executable, str(HERE / "proxy.py"))
SEAT = (sys.executable, "-I", "-S", str(HERE / "seat.py"))


class Seat:
    """A real pseudoterminal with a real program in it."""

    def __init__(self, argv: Sequence[str], cwd: Path, *, size: tuple[int, int] = (80, 24)) -> None:
        self.master, self.slave = os.openpty()
        self.resize(*size)
        self.settings = self.tcgetattr()
        self.seen = b""
        environment = {**os.environ, "PYTHONPATH": str(HERE.parents[2]), "TERM": "xterm"}
        self.process = subprocess.Popen(
            [*SEAT, *argv],
            stdin=self.slave,
            stdout=self.slave,
            stderr=self.slave,
            cwd=cwd,
            env=environment,
        )

    def tcgetattr(self) -> list[Any]:
        return termios.tcgetattr(self.slave)

    def type(self, text: bytes) -> None:
        os.write(self.master, text)

    def resize(self, cols: int, rows: int) -> None:
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, cols, 0, 0))

    def read(self, seconds: float = 0.05) -> bytes:
        """What comes within this time."""
        ready, _, _ = select.select([self.master], [], [], seconds)
        try:
            output = os.read(self.master, 65536) if ready else b""
        except OSError:
            output = b""
        self.seen += output
        return output

    def expect(self, text: bytes, timeout: float = 10.0) -> bytes:
        """Read until this is there; all that came up to it. It is not seen again."""
        deadline = time.monotonic() + timeout
        while text not in self.seen:
            assert time.monotonic() < deadline, f"{text!r} never came, but {self.seen[-2000:]!r}"
            self.read()
        before, _, self.seen = self.seen.partition(text)
        return before + text

    def wait(self, timeout: float = 10.0) -> int:
        """The program's exit code; what it shows is read meanwhile."""
        deadline = time.monotonic() + timeout
        while self.process.poll() is None:
            assert time.monotonic() < deadline, f"it does not end; seen: {self.seen[-2000:]!r}"
            self.read()
        while self.read(0):
            pass
        return self.process.returncode

    def hang_up(self) -> None:
        os.close(self.slave)
        os.close(self.master)
        self.master = self.slave = -1

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        if self.master >= 0:
            self.hang_up()


class Desk:
    """Where a test runs the proxy: its folder, its seats, and what is known of its agents."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._seats: list[Seat] = []

    def sit(self, *argv: str, size: tuple[int, int] = (80, 24)) -> Seat:
        seat = Seat(argv, self.folder, size=size)
        self._seats.append(seat)
        return seat

    def run(
        self, *agent: str, options: Sequence[str] = (), size: tuple[int, int] = (80, 24)
    ) -> Seat:
        """The proxy, with this agent in it."""
        return self.sit(*self.proxy(*agent, options=options), size=size)

    def proxy(self, *agent: str, options: Sequence[str] = ()) -> list[str]:
        return [*PROXY, str(self.folder), *options, "--", *agent]

    def pids(self) -> tuple[int, int]:
        """The agent's and the proxy's."""
        until(lambda: (self.folder / "pid").exists() and (self.folder / "pid").read_text())
        agent, proxy = map(int, (self.folder / "pid").read_text().split())
        return agent, proxy

    def noted(self, name: str) -> int:
        """A pid some program of the test wrote down."""
        path = self.folder / name
        until(lambda: path.exists() and path.read_text().endswith("\n"))
        return int(path.read_text())

    @property
    def raw(self) -> bytes:
        return (self.folder / "raw.log").read_bytes()

    def close(self) -> None:
        for seat in self._seats:
            seat.close()


def lives(pid: int) -> bool:
    return ProcessTable().started(pid) is not None


def until(predicate: Any, timeout: float = 10.0) -> None:
    deadline = time.monotonic() + timeout
    while not predicate():
        assert time.monotonic() < deadline, "it never came to that"
        time.sleep(0.01)


def kill(pid: int, number: signal.Signals) -> None:
    os.kill(pid, number)

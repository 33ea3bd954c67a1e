"""One agent in a pseudoterminal of its own: started, fed, listened to, ended, and its end known.

Its parent is a small program that leads the terminal's session; see ``leader``. What is written
here must run in the main thread: on Linux the agent's life hangs on its parent's thread.
"""

import asyncio
import fcntl
import os
import signal
import socket
import struct
import sys
import termios
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from sm.adapters.pty.channel import BATCH, Inlet, Outlet
from sm.core.launch import LaunchFailedError, PaneLaunch

LEADER = Path(__file__).with_name("leader.py")
STARTED_WITHIN = 10.0
KILLED_WITHIN = 2.0
# Python ignores them, and what is ignored stays so in whatever is started.
_RESET = (signal.SIGPIPE, signal.SIGXFSZ)


@dataclass(frozen=True, slots=True, kw_only=True)
class Exit:
    """How an agent ended: with a status, or by a signal."""

    pid: int
    status: int | None = None
    signal: int | None = None

    @property
    def code(self) -> int:
        """As a shell tells it."""
        return 128 + self.signal if self.signal is not None else self.status or 0


class Owner(Protocol):
    """Whom a child tells what happens."""

    def shown(self, output: bytes) -> None: ...

    def has_room(self) -> None:
        """All input was taken; more may be written."""

    def stopped(self) -> None: ...

    def ended(self, exit_: Exit) -> None: ...


class Child:
    """Made by ``start``."""

    def __init__(self, owner: Owner, master: int, control: socket.socket, leader: int) -> None:
        loop = asyncio.get_running_loop()
        self.pid = 0
        self.exit: Exit | None = None
        self._owner = owner
        self._master = master
        self._control = control
        self._leader = leader
        self._told = b""
        self._verdict: Exit | None = None
        self._last = b"\n"
        self._began = loop.create_future()
        self._over = asyncio.Event()
        self._output = Inlet(master, take=owner.shown, ended=lambda: None, batch=BATCH)
        self._input = Outlet(master, emptied=owner.has_room, lost=lambda: None)
        self._output.open()
        loop.add_reader(control.fileno(), self._hear)

    @classmethod
    def start(
        cls, launch: PaneLaunch, owner: Owner, size: tuple[int, int], attributes: list[Any] | None
    ) -> "Child":
        """In a window of this size (columns, rows), with these settings of the terminal."""
        master, slave = os.openpty()
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                os.set_blocking(master, False)
                ours.setblocking(False)
                _resize(slave, size)
                _set_up(slave, attributes)
                leader = _spawn(launch, slave, theirs.fileno())
            except OSError as error:
                os.close(master)
                ours.close()
                raise LaunchFailedError(f"the agent could not be started: {error}") from error
            finally:
                os.close(slave)
        return cls(owner, master, ours, leader)

    async def begin(self) -> None:
        """Wait until its process is known. Raises LaunchFailedError."""
        try:
            async with asyncio.timeout(STARTED_WITHIN):
                await asyncio.shield(self._began)
        except TimeoutError:
            self._kill_leader()
            await self._over.wait()
        if not self.pid:
            raise LaunchFailedError("the agent could not be started: its terminal closed at once")

    # --- what it is told -----------------------------------------------------------------

    @property
    def is_full(self) -> bool:
        """It has yet to take what was written."""
        return self._input.is_full

    @property
    def reads_keys(self) -> bool:
        """It has made its terminal raw: what was typed before may have been dropped by that."""
        return self.exit is None and not termios.tcgetattr(self._master)[3] & termios.ICANON

    def write(self, typed: bytes) -> None:
        self._last = typed[-1:] or self._last
        self._input.write(typed)

    def write_eof(self) -> None:
        """What a terminal has in place of the end of a file: of a begun line's end first."""
        if self.exit is not None:
            return
        attributes = termios.tcgetattr(self._master)
        key = attributes[6][termios.VEOF]
        is_line_begun = attributes[3] & termios.ICANON and self._last != b"\n"
        self.write(key * 2 if is_line_begun else key)

    def pause(self) -> None:
        """Take no more of its output: it will wait."""
        self._output.pause()

    def go_on(self) -> None:
        if self.exit is None:
            self._output.open()

    def resize(self, size: tuple[int, int]) -> None:
        if self.exit is None:
            _resize(self._master, size)

    def send(self, number: signal.Signals) -> None:
        self._order(f"signal {int(number)}")

    def end_soon(self, gently: signal.Signals, patience: float) -> None:
        """Ask it to end, and its whole group; kill them when patience is over."""
        self._order(f"end {int(gently)} {patience}")

    async def end(self, gently: signal.Signals, patience: float) -> None:
        """The same, and wait until it has."""
        self.end_soon(gently, patience)
        try:
            async with asyncio.timeout(patience + KILLED_WITHIN):
                await self._over.wait()
        except TimeoutError:
            # It does not answer. The agent dies with it.
            self._kill_leader()
            await self._over.wait()

    def _kill_leader(self) -> None:
        # Not yet waited for: the pid cannot be another's.
        if self.exit is None:
            os.kill(self._leader, signal.SIGKILL)

    def _order(self, line: str) -> None:
        if self.exit is not None:
            return
        try:
            self._control.send(f"{line}\n".encode())
        except OSError:
            # It is gone, as we are about to hear.
            return

    # --- what it tells -------------------------------------------------------------------

    def _hear(self) -> None:
        try:
            heard = self._control.recv(4096)
        except BlockingIOError:
            return
        except OSError:
            heard = b""
        *lines, self._told = (self._told + heard).split(b"\n")
        for line in lines:
            word, _, number = line.decode().partition(" ")
            self._learn(word, int(number or 0))
        if not heard:
            self._finish()

    def _learn(self, word: str, number: int) -> None:
        match word:
            case "started":
                self._began.set_result(number)
                self.pid = number
            case "stopped":
                # Its last words come first: that it stops, and what puts the terminal right.
                self._output.drain()
                self._owner.stopped()
            case "exited":
                self._verdict = Exit(pid=self.pid, status=number)
            case "killed":
                self._verdict = Exit(pid=self.pid, signal=number)
            case _:
                # "continued": as we asked, or somebody else did.
                pass

    def _finish(self) -> None:
        """All it wrote is there to be read: its terminal has no writer any more."""
        asyncio.get_running_loop().remove_reader(self._control.fileno())
        self._control.close()
        os.waitpid(self._leader, 0)
        self._output.drain()
        self._output.close()
        self._input.close()
        os.close(self._master)
        # Without a word: the leader was killed, and the agent with it.
        self.exit = self._verdict or Exit(pid=self.pid, signal=signal.SIGKILL)
        if not self._began.done():
            self._began.set_result(0)
        self._over.set()
        self._owner.ended(self.exit)


def _spawn(launch: PaneLaunch, slave: int, control: int) -> int:
    line = [sys.executable, "-I", "-S", str(LEADER), str(control), launch.cwd, *launch.argv]
    return os.posix_spawn(
        sys.executable,
        line,
        os.environ,
        file_actions=[
            *((os.POSIX_SPAWN_DUP2, slave, number) for number in (0, 1, 2)),
            # Onto itself: that is how a file is handed on.
            (os.POSIX_SPAWN_DUP2, control, control),
        ],
        setsigmask=(),
        setsigdef=_RESET,
    )


def _resize(fd: int, size: tuple[int, int]) -> None:
    cols, rows = size
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, cols, 0, 0))


def _set_up(slave: int, attributes: list[Any] | None) -> None:
    """As the person's own terminal is. Where there is none nobody wants to see an echo."""
    if attributes is None:
        attributes = termios.tcgetattr(slave)
        attributes[3] &= ~termios.ECHO
    termios.tcsetattr(slave, termios.TCSANOW, attributes)

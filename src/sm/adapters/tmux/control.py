"""A lasting conversation with one tmux server, over connections that come and go.

A command is sent at most once. Whoever waits when the connection is lost is told so and must look
at what happened: the command may have run.
"""

import asyncio
import contextlib
import os
import signal
from collections.abc import Callable, Iterable, Sequence

from sm.adapters.tmux.blocks import Block
from sm.adapters.tmux.errors import TmuxError
from sm.adapters.tmux.formats import SERVER, read_server
from sm.adapters.tmux.program import TmuxProgram
from sm.adapters.tmux.quote import Command
from sm.adapters.tmux.wire import Wire, open_wire
from sm.core.launch import TerminalUnreachableError
from sm.core.terminal import Server
from sm.log import structlog

log = structlog.get_logger()

FIRST_PAUSE = 0.05
LONGEST_PAUSE = 2.0
LEAVES_WITHIN = 3.0
"""How long a server that is ending may keep its socket from the next one."""
CLIENT = "#{client_pid} #{client_control_mode}"
PLACEHOLDER = ("sleep", "2147483647")
"""Keeps a window open and does nothing; two arguments, so that no shell is started for it."""


def _nothing() -> None:
    """What happens on a change nobody asked to hear of."""


def _ignore(_line: str) -> None:
    """What happens to a notice nobody asked to hear."""


class ControlClient:
    """Runs tmux commands; reconnects by itself, starting the server if there is none."""

    def __init__(
        self,
        program: TmuxProgram,
        *,
        anchor: str,
        deadline: float = 5.0,
        apart: Sequence[str] = (),
    ) -> None:
        """``apart``: what a new server is started by, so that it does not end with us."""
        self.program = program
        self._apart = tuple(apart)
        self.server: Server | None = None
        """The last server that answered."""
        self.on_connected: Callable[[], None] = _nothing
        self.on_lost: Callable[[], None] = _nothing
        self.on_notice: Callable[[str], None] = _ignore
        self._anchor = anchor
        self._deadline = deadline
        self._wire: Wire | None = None
        self._trouble = ""
        """Why the last try to connect failed; empty once one succeeded."""
        self._ready = asyncio.Event()
        self._broken = asyncio.Event()
        self._supervisor: asyncio.Task[None] | None = None
        self._leaving: tuple[int, float] | None = None
        """The socket of a server that is ending, and since when it is seen to."""

    @property
    def connected(self) -> bool:
        return self._ready.is_set()

    async def start(self) -> None:
        """Begin connecting; returns when connected, or after the deadline while still trying."""
        self._supervisor = asyncio.create_task(self._supervise(), name="tmux connection")
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._deadline):
                await self._ready.wait()

    async def close(self) -> None:
        """Leave. The server and everything in it stay."""
        if self._supervisor is not None:
            self._supervisor.cancel()
            await asyncio.wait([self._supervisor])
            self._supervisor = None

    async def run(self, *command: str) -> list[str]:
        """Run one command; the lines it printed."""
        return [line for lines in await self.run_list(command) for line in lines]

    async def run_list(self, *commands: Command) -> list[list[str]]:
        """Run a list that stops at the first failure; the lines of each command that ran."""
        wire: Wire | None = None
        try:
            async with asyncio.timeout(self._deadline):
                wire = await self._open_wire()
                blocks = await wire.request(*commands)
        except TimeoutError:
            raise self._give_up(wire) from None
        return lines_of(blocks)

    async def _open_wire(self) -> Wire:
        while self._wire is None or not self._wire.is_open():
            await self._ready.wait()
        return self._wire

    def _give_up(self, wire: Wire | None) -> TerminalUnreachableError:
        if wire is None:
            reason = self._trouble or f"no connection within {self._deadline:g} s"
            return TerminalUnreachableError(f"tmux cannot be reached: {reason}")
        # What still waits in the pipe would run long after its caller was told otherwise.
        wire.close()
        return TerminalUnreachableError(
            f"tmux did not answer within {self._deadline:g} s; the command may have run"
        )

    async def _supervise(self) -> None:
        pause = FIRST_PAUSE
        while True:
            if await self._live_once() >= LONGEST_PAUSE:
                pause = FIRST_PAUSE
            await asyncio.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE)

    async def _live_once(self) -> float:
        """Connect and stay until the connection is lost; for how many seconds it was there."""
        self._broken.clear()
        try:
            wire = await self._connect()
        except (TerminalUnreachableError, TmuxError, OSError) as error:
            self._trouble = str(error)
            log.warning("tmux cannot be reached", reason=self._trouble)
            self._pass_by(is_leaving=self._trouble.startswith("server exited"))
            return 0.0
        began = asyncio.get_running_loop().time()
        try:
            self._welcome(wire)
            await self._broken.wait()
        finally:
            self._wire = None
            self._ready.clear()
            wire.close()
            await wire.wait_closed()
        log.info("connection to tmux lost")
        self.on_lost()
        return asyncio.get_running_loop().time() - began

    def _pass_by(self, *, is_leaving: bool) -> None:
        """Let a new server begin where the old one never comes to its end.

        tmux waits for the last of its clients before it exits, and for one that is stopped it waits
        for ever. Its sessions are gone by then, and it turns everybody away.
        """
        try:
            socket = self.program.path.stat().st_ino
        except OSError:
            is_leaving = False
        if not is_leaving:
            self._leaving = None
            return
        now = asyncio.get_running_loop().time()
        if self._leaving is None or self._leaving[0] != socket:
            self._leaving = (socket, now)
        elif now - self._leaving[1] >= LEAVES_WITHIN:
            log.warning("a tmux server that does not come to its end is passed by")
            self.program.path.unlink(missing_ok=True)

    def _welcome(self, wire: Wire) -> None:
        # Lost between its first answer and now: the loss was told before anybody listened.
        if self._broken.is_set():
            return
        self._wire = wire
        self._trouble = ""
        self._ready.set()
        self.on_connected()

    async def _connect(self) -> Wire:
        await self._ensure_anchor()
        wire = await open_wire(
            self.program, f"={self._anchor}", lost=self._forget_wire, notice=self._pass_on
        )
        try:
            async with asyncio.timeout(self._deadline):
                blocks = await wire.request(
                    ("display-message", "-p", SERVER),
                    ("list-clients", "-t", f"={self._anchor}", "-F", CLIENT),
                )
            told, clients = lines_of(blocks)
            self.server = read_server(told[0])
            _end_others(clients, wire.pid)
        except BaseException as error:
            wire.close()
            await wire.wait_closed()
            if isinstance(error, TimeoutError):
                raise TerminalUnreachableError("tmux accepted us and said nothing") from None
            raise
        return wire

    async def _ensure_anchor(self) -> None:
        """A session of our own to attach to; starts the server when there is none."""
        size = ("-x", "80", "-y", "24")
        new = ("new-session", "-d", "-s", self._anchor, *size, *PLACEHOLDER)
        try:
            if self._apart and not await self.program.is_served(deadline=self._deadline):
                await self._begin_apart(new)
            await self.program.call(*new, deadline=self._deadline)
        except TmuxError as error:
            if not error.is_duplicate:
                raise

    async def _begin_apart(self, new: Command) -> None:
        """Whatever comes of it, the same is asked for once more, without any of this. The next
        server is tried like this again: a host that is just booting has not much time for us."""
        try:
            await self.program.call(*new, deadline=self._deadline, before=self._apart)
        except (TmuxError, TerminalUnreachableError) as error:
            log.info("tmux is not started in a scope of its own", reason=str(error))

    def _forget_wire(self) -> None:
        self._wire = None
        self._ready.clear()
        self._broken.set()

    def _pass_on(self, line: str) -> None:
        self.on_notice(line)


def _end_others(clients: Iterable[str], own: int | None) -> None:
    """Those that daemons left behind which were killed. Of an answer that nobody reads any more,
    tmux never gets rid: the client stays for good, and keeps the server from coming to its end."""
    for client in clients:
        pid, _, is_control = client.partition(" ")
        if is_control == "1" and int(pid) != own:
            with contextlib.suppress(OSError):
                os.kill(int(pid), signal.SIGKILL)


def lines_of(blocks: list[Block]) -> list[list[str]]:
    for block in blocks:
        if block.failed:
            raise TmuxError("\n".join(block.lines))
    return [list(block.lines) for block in blocks]

"""A guest on somebody else's tmux server: connected while needed, for the sake of one pane.

Nothing is created there. The connection is attached to the pane's own session without a say in its
size or environment, is made at the first question, and again after a loss.
"""

import asyncio
from collections.abc import Callable

from sm.adapters.tmux.control import lines_of
from sm.adapters.tmux.errors import TmuxError
from sm.adapters.tmux.program import TmuxProgram
from sm.adapters.tmux.quote import Command
from sm.adapters.tmux.wire import Wire, open_wire
from sm.core.launch import TerminalUnreachableError
from sm.core.terminal import Server

REST = 15.0
"""After a server did not answer, it is left alone for so long: others wait for us meanwhile."""


class GuestClient:
    """Runs tmux commands as ``ControlClient`` does, but starts nothing and waits for nobody."""

    def __init__(
        self,
        program: TmuxProgram,
        pane: str,
        *,
        deadline: float = 5.0,
        resized: Callable[[], None] = lambda: None,
    ) -> None:
        self.program = program
        self._resized = resized
        self._pane = pane
        self._deadline = deadline
        self._wire: Wire | None = None
        self._connecting = asyncio.Lock()
        self._rests_until = 0.0

    @property
    def connected(self) -> bool:
        return self._wire is not None and self._wire.is_open()

    @property
    def server(self) -> Server | None:
        """Not asked: its panes are known by their tags alone."""
        return None

    async def start(self) -> None:
        """The first question connects."""

    async def close(self) -> None:
        """Leave; everything there stays."""
        wire, self._wire = self._wire, None
        if wire is not None:
            wire.close()
            await wire.wait_closed()

    async def run(self, *command: str) -> list[str]:
        return [line for lines in await self.run_list(command) for line in lines]

    async def run_list(self, *commands: Command) -> list[list[str]]:
        """Raises TmuxError when the pane is gone, as tmux itself would say it."""
        clock = asyncio.get_running_loop().time
        if clock() < self._rests_until:
            raise TerminalUnreachableError("tmux did not answer a moment ago")
        try:
            async with asyncio.timeout(self._deadline):
                wire = await self._open()
                return lines_of(await wire.request(*commands))
        except TimeoutError:
            self._rests_until = clock() + REST
            # What still waits in the pipe would run long after its caller was told otherwise.
            if self._wire is not None:
                self._wire.close()
            raise TerminalUnreachableError(
                f"tmux did not answer within {self._deadline:g} s; the command may have run"
            ) from None

    async def _open(self) -> Wire:
        async with self._connecting:
            if self._wire is None or not self._wire.is_open():
                await self.close()
                self._wire = await self._connect()
                # While nobody was connected, nobody was told of a new size.
                self._resized()
            return self._wire

    def _hear(self, line: str) -> None:
        if line.startswith("%layout-change"):
            self._resized()

    async def _connect(self) -> Wire:
        # By the session's id: attaching to the pane would make it the current one of its window.
        session = await self.program.call(
            "display-message", "-p", "-t", self._pane, "#{session_id}", deadline=2 * self._deadline
        )
        if not session:
            raise TmuxError(f"can't find pane: {self._pane}")
        wire = await open_wire(self.program, session, lost=_nothing, notice=self._hear)
        try:
            lines_of(await wire.request(("display-message", "-p", "welcome")))
        except BaseException:
            wire.close()
            await wire.wait_closed()
            raise
        return wire


def _nothing() -> None:
    """A loss is noticed by whoever asks next."""

"""Our own tmux server and, for adopted agents, other people's: each pane is asked for where it is.

A pane of another server is named ``%N@SOCKET``, so that two servers' panes are never confused.
"""

import asyncio
import contextlib
import os
from collections.abc import Callable
from pathlib import Path

from sm.adapters.tmux.errors import TmuxError
from sm.adapters.tmux.formats import FOUND, SERVER, read_found, read_server
from sm.adapters.tmux.guest import GuestClient
from sm.adapters.tmux.program import TmuxProgram
from sm.adapters.tmux.server import TmuxTerminal
from sm.core.adoption import Spot
from sm.core.ids import PaneId, SessionId
from sm.core.launch import LaunchFailedError, PaneLaunch, TerminalUnreachableError
from sm.core.terminal import Pane, PaneStatus, Server, View

NO_CONF = Path("/dev/null")
DEADLINE = 3.0


class TmuxRouter:
    """Fits the engine's ``Terminal``."""

    def __init__(
        self, own: TmuxTerminal, *, home: str, started: Callable[[int], int | None]
    ) -> None:
        self._own = own
        self._home = home
        self._started = started
        self._guests: dict[PaneId, TmuxTerminal] = {}
        self._sizes: dict[PaneId, str] = {}
        self._noting: dict[PaneId, asyncio.Task[None]] = {}

    async def close(self) -> None:
        """Leave every server that is not ours."""
        for pane in list(self._guests):
            await self._leave(pane)

    async def _leave(self, pane: PaneId) -> None:
        noting = self._noting.pop(pane, None)
        if noting is not None:
            noting.cancel()
            await asyncio.wait([noting])
        self._sizes.pop(pane, None)
        guest = self._guests.pop(pane, None)
        if guest is not None:
            await guest.close()

    def _at(self, pane: PaneId) -> tuple[TmuxTerminal, PaneId]:
        """The terminal a pane is in, and its name there."""
        number, _, socket = pane.partition("@")
        if not socket:
            return self._own, pane
        if pane not in self._guests:
            program = TmuxProgram(socket=socket, conf=NO_CONF)
            self._guests[pane] = TmuxTerminal(
                socket=socket,
                home=self._home,
                conf=NO_CONF,
                started=self._started,
                control=GuestClient(
                    program, number, deadline=DEADLINE, resized=lambda: self._note(pane)
                ),
            )
        return self._guests[pane], PaneId(number)

    def _note(self, pane: PaneId) -> None:
        """Told by tmux in the middle of its answers: asked for the size afterwards."""
        noting = self._noting.get(pane)
        if pane in self._guests and (noting is None or noting.done()):
            self._noting[pane] = asyncio.create_task(self._note_size(pane), name="pane size")

    async def _note_size(self, pane: PaneId) -> None:
        terminal, number = self._at(pane)
        # Of a pane that is gone or cannot be reached there is nothing to note.
        with contextlib.suppress(TmuxError, TerminalUnreachableError, LaunchFailedError):
            self._sizes[pane] = await terminal.note_size(number, self._sizes.get(pane, ""))

    # --- adopting ------------------------------------------------------------------------

    async def examine(self, target: str, socket: str | None) -> Spot | None:
        """Look at a pane without touching anything; None if there is no such pane."""
        path = socket or self._own.socket_path
        is_own = os.path.realpath(path) == os.path.realpath(self._own.socket_path)
        program = TmuxProgram(socket=path, conf=NO_CONF)
        try:
            line = await program.call(
                "display-message", "-p", "-t", target, FOUND, deadline=DEADLINE
            )
        except TmuxError as error:
            if error.is_gone:
                return None
            raise TerminalUnreachableError(str(error)) from None
        suffix = "" if is_own else f"@{path}"
        return read_found(line, socket=path, home=self._home, suffix=suffix)

    async def take(self, pane: PaneId, session: SessionId, raw_log: str, sizes_log: str) -> bool:
        terminal, number = self._at(pane)
        return await terminal.take(number, session, raw_log, sizes_log)

    async def release(self, pane: PaneId, session: SessionId) -> None:
        terminal, number = self._at(pane)
        try:
            await terminal.release(number, session)
        finally:
            await self._leave(pane)

    # --- as any terminal -----------------------------------------------------------------

    def check_startable(self, launch: PaneLaunch) -> None:
        self._own.check_startable(launch)

    async def relaunch(self, launch: PaneLaunch) -> Pane:
        return await self._own.relaunch(launch)

    async def launch(self, launch: PaneLaunch) -> Pane:
        return await self._own.launch(launch)

    async def find(self, session: SessionId) -> Pane | None:
        return await self._own.find(session)

    async def panes(self) -> list[PaneStatus]:
        return await self._own.panes()

    async def look(self, pane: PaneId) -> View | None:
        terminal, number = self._at(pane)
        if terminal is self._own:
            return await terminal.look(number)
        try:
            view = await terminal.look(number)
        except TerminalUnreachableError:
            # Once more: a look does no harm, and only asking shows that a person detached us.
            view = await terminal.look(number)
        if view is None:
            # Nothing of ours is there (any more): a guest does not stay.
            await self._leave(pane)
        return view

    async def server_of(self, pane: PaneId) -> Server:
        """The server that answers where this pane was; raises ServerGoneError if none listens."""
        _, _, socket = pane.partition("@")
        if not socket:
            return await self._own.server_now()
        program = TmuxProgram(socket=socket, conf=NO_CONF)
        try:
            told = await program.call("display-message", "-p", SERVER, deadline=DEADLINE)
            return read_server(told)
        except (TmuxError, ValueError) as error:
            raise TerminalUnreachableError(f"tmux gave no answer we can read: {error}") from None

    async def dump(
        self, pane: PaneId, *, of: SessionId | None = None, lines: int | None = None
    ) -> bytes | None:
        terminal, number = self._at(pane)
        return await terminal.dump(number, of=of, lines=lines)

    async def paste(self, pane: PaneId, mark: str, text: str) -> None:
        terminal, number = self._at(pane)
        await terminal.paste(number, mark, text)

    async def press(self, pane: PaneId, key: str, *, option: str, mark: str) -> None:
        terminal, number = self._at(pane)
        await terminal.press(number, key, option=option, mark=mark)

    async def leave_mode(self, pane: PaneId) -> None:
        terminal, number = self._at(pane)
        await terminal.leave_mode(number)

    async def rename(self, pane: PaneId, name: str) -> str:
        terminal, number = self._at(pane)
        return await terminal.rename(number, name)

    async def tell(self, words: str) -> int:
        """On our own server: on somebody else's, a guest says nothing."""
        return await self._own.tell(words)

    async def kill(self, session: SessionId) -> None:
        await self._own.kill(session)

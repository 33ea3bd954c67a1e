"""The present terminal as the engine's: one agent, in front of the person who started it.

It dies with us. Nothing is ever typed into it: a person sits at the keyboard. What is asked about
any other pane than the one is answered with "gone".
"""

import asyncio
import os
import shutil
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from sm.adapters.pty.child import Exit
from sm.adapters.pty.foreground import PATIENCE, Foreground
from sm.core.adoption import Spot
from sm.core.ids import PaneId, SessionId
from sm.core.launch import LaunchFailedError, PaneLaunch, TerminalUnreachableError
from sm.core.terminal import Pane, PaneStatus, Server, View

PANE = PaneId("pty")
LINE = 400
"""Bytes of a log that are looked at for each line that is wanted: agents draw much of it twice."""
Render = Callable[[Path, Path, int], list[str]]
"""The lines a raw log shows from an offset on, with the sizes log that belongs to it."""


def _nothing() -> None:
    """What happens when nobody asked to hear that we are told to end."""


class NeverTypedError(TerminalUnreachableError):
    """Nothing is typed for a person who sits at the keyboard."""


class PtyTerminal:
    """Fits the engine's ``Terminal`` for exactly one session."""

    def __init__(
        self,
        *,
        started: Callable[[int], int | None],
        render: Render,
        environment: Mapping[str, str] = os.environ,
        patience: float = PATIENCE,
        now: Callable[[], float] = time.time,
        between: Callable[[], str] = str,
        on_dismissed: Callable[[], None] = _nothing,
    ) -> None:
        """``between``: what the person is told when one agent has ended and another begins;
        ``on_dismissed``: called when we are told to end."""
        self._between = between
        self._on_dismissed = on_dismissed
        self._started = started
        self._render = render
        self._environment = environment
        self._patience = patience
        self._now = now
        self._began = int(now())
        self._foreground: Foreground | None = None
        self._launch: PaneLaunch | None = None
        self._pane: Pane | None = None

    # --- for the root --------------------------------------------------------------------

    @asynccontextmanager
    async def foreground(self, stdin: int, stdout: int) -> AsyncIterator[None]:
        """Whatever is launched meanwhile has this terminal; at the end it is as it was before.

        Needs the main thread. An agent that still runs at the end is ended.
        """
        foreground = Foreground(
            environment=self._environment,
            patience=self._patience,
            now=self._now,
            on_dismissed=self._on_dismissed,
        )
        foreground.enter(stdin, stdout)
        self._foreground = foreground
        try:
            yield
        finally:
            await foreground.leave()

    async def exited(self) -> Exit:
        """How the agent ended; of several launches the last one's.

        Also when we were told to end while no agent ran: by that signal, with pid 0.
        """
        return await asyncio.shield(self._connected.exit)

    @property
    def dismissed(self) -> int | None:
        """The signal by which we were told to end, if we were: nothing is launched any more."""
        return self._connected.dismissed

    def wait(self) -> None:
        """The next agent takes its time: until it is there, Ctrl-C tells us to end."""
        self._connected.wait()

    @property
    def is_waiting(self) -> bool:
        """For the next agent. It stays so when we are told to end meanwhile."""
        return self._connected.is_waiting

    def say(self, text: str) -> None:
        """A line to the person, between two agents."""
        self._connected.say(text)

    @property
    def _connected(self) -> Foreground:
        if self._foreground is None:
            raise LaunchFailedError("there is no terminal yet: foreground() comes first")
        return self._foreground

    # --- for the engine ------------------------------------------------------------------

    def check_startable(self, launch: PaneLaunch) -> None:
        _check_startable(launch)

    async def relaunch(self, launch: PaneLaunch) -> Pane:
        return await self.launch(launch)

    async def launch(self, launch: PaneLaunch) -> Pane:
        """Start the agent, or find the one that runs. Raises LaunchFailedError."""
        foreground = self._connected
        pane = await self.find(launch.session)
        if pane is not None:
            return pane
        _check_startable(launch)
        told = self._between() if self._pane is not None else ""
        if told:
            foreground.say(told)
        child = await foreground.start(launch)
        self._launch = launch
        self._pane = Pane(
            socket="",
            session=launch.tmux_session,
            id=PANE,
            pid=child.pid,
            # 0: it is already gone, as its status will tell.
            started=self._started(child.pid) or 0,
        )
        return self._pane

    async def find(self, session: SessionId) -> Pane | None:
        """The pane of an agent that runs: after its end, the next launch is a new one."""
        return self._pane if self._is_ours(session) and self._ended is None else None

    async def panes(self) -> list[PaneStatus]:
        if self._launch is None or self._pane is None:
            return []
        return [
            PaneStatus(
                id=PANE,
                sm_session=self._launch.session,
                tmux_session=self._pane.session,
                pid=self._pane.pid,
                dead=self._ended is not None,
                exit_status=self._ended.status if self._ended else None,
                exit_signal=self._ended.signal if self._ended else None,
            )
        ]

    async def look(self, pane: PaneId) -> View | None:
        recording = self._connected.recording
        if pane != PANE or self._launch is None or recording is None:
            return None
        # Before the screen: what it showed last is then certainly there.
        ended, screen = self._ended, await recording.screen()
        return View(
            lines=screen.lines,
            cursor_x=screen.cursor[0],
            cursor_y=screen.cursor[1],
            title=screen.title,
            in_mode=False,
            width=screen.size[0],
            height=screen.size[1],
            dead=ended is not None,
            exit_status=ended.status if ended else None,
            exit_signal=ended.signal if ended else None,
            pasted="",
            entered="",
            session=self._launch.session,
        )

    async def server_of(self, pane: PaneId) -> Server:
        """We are the server ourselves: whoever can ask, is answered by the same as ever."""
        return Server(pid=os.getpid(), started=self._began, socket_path="")

    async def dump(
        self, pane: PaneId, *, of: SessionId | None = None, lines: int | None = None
    ) -> bytes | None:
        """The text it showed since it was last launched."""
        recording = self._connected.recording
        if pane != PANE or self._launch is None or recording is None:
            return None
        if of is not None and not self._is_ours(of):
            return None
        log, since = recording.log, recording.began
        if lines is not None:
            # A log of days takes minutes to work out; a few lines stand at its end.
            since = max(since, log.end - lines * LINE)
        shown = await asyncio.to_thread(self._render, log.raw, log.sizes, since)
        return "".join(f"{line}\n" for line in shown[-(lines or 0) :]).encode()

    async def paste(self, pane: PaneId, mark: str, text: str) -> None:
        raise NeverTypedError("a person sits at this terminal: nothing is typed into it")

    async def press(self, pane: PaneId, key: str, *, option: str, mark: str) -> None:
        raise NeverTypedError("a person sits at this terminal: no key is pressed in it")

    async def leave_mode(self, pane: PaneId) -> None:
        """It has none."""

    async def rename(self, pane: PaneId, name: str) -> str:
        """Nobody finds it by its name."""
        return name

    async def tell(self, words: str) -> int:
        """An agent has the whole terminal: a line of ours would be lost in what it draws."""
        return 0

    async def kill(self, session: SessionId) -> None:
        """End the agent, whatever it runs in the terminal, and what it left there."""
        if self._is_ours(session):
            await self._connected.end()

    async def examine(self, target: str, socket: str | None) -> Spot | None:
        """There is no pane but the one."""
        return None

    async def take(self, pane: PaneId, session: SessionId, raw_log: str, sizes_log: str) -> bool:
        """Nothing can be adopted here."""
        return False

    async def release(self, pane: PaneId, session: SessionId) -> None:
        """Nothing can be let go here."""

    def _is_ours(self, session: SessionId) -> bool:
        return self._launch is not None and self._launch.session == session

    @property
    def _ended(self) -> Exit | None:
        """How the agent of the last launch ended, if it has."""
        exit_ = self._connected.exit
        return exit_.result() if self._launch is not None and exit_.done() else None


def _check_startable(launch: PaneLaunch) -> None:
    if not Path(launch.cwd).is_dir():
        raise LaunchFailedError(f"{launch.cwd} is not a folder. Create it or choose another.")
    if shutil.which(launch.argv[0]) is None:
        raise LaunchFailedError(f"{launch.argv[0]} is not there or cannot be executed.")

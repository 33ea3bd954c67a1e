"""Connects the terminal a person sits at with an agent in a pseudoterminal of its own.

Bytes go through unchanged in both directions; a side that does not take them makes the other
wait. Keys, also Ctrl-C and Ctrl-Z, mean what the agent's own terminal makes of them. An agent that
stops takes us with it, so that the person's shell is there, and goes on when we do.
"""

import asyncio
import os
import signal
import time
from collections.abc import Callable, Mapping
from contextlib import suppress

from sm.adapters.pty.child import Child, Exit
from sm.adapters.pty.console import Console
from sm.adapters.pty.recording import Recording
from sm.core.launch import LaunchFailedError, PaneLaunch

PASSED_ON = (signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGTSTP)
PATIENCE = 5.0
"""How long an agent may take to leave before it is killed."""
FLUSHED_WITHIN = 5.0
KEYS_WITHIN = 5.0
"""An agent that reads no keys by then reads lines."""
HEARD_WITHIN = 0.1
"""A signal that came together with SIGCONT is heard by then."""


class Foreground:
    """One person's terminal, and one agent in it at a time."""

    def __init__(
        self,
        *,
        environment: Mapping[str, str],
        patience: float = PATIENCE,
        now: Callable[[], float] = time.time,
        on_dismissed: Callable[[], None],
    ) -> None:
        """``on_dismissed``: called when we are told to end."""
        self._on_dismissed = on_dismissed
        self._environment = environment
        self._patience = patience
        self._now = now
        self._loop = asyncio.get_running_loop()
        self._console: Console | None = None
        self._handlers: dict[int, object] = {}
        self.dismissed: signal.Signals | None = None
        """The signal by which we were told to end."""
        self.is_waiting = False
        """For the next agent. It stays so when we are told to end meanwhile."""
        self._is_early = False
        """It is not known yet whether the agent reads keys or lines."""
        self._must_stop = False
        """The agent has stopped, and so must we once its last words are shown."""
        self.child: Child | None = None
        self.recording: Recording | None = None
        """Of the last launch; it stays when its agent has ended."""
        self.exit: asyncio.Future[Exit] = self._loop.create_future()

    # --- coming and going ----------------------------------------------------------------

    def enter(self, stdin: int, stdout: int) -> None:
        self._console = Console(stdin, stdout, self, self._environment)
        try:
            self._heed(signal.SIGWINCH, self._refresh_size)
            self._heed(signal.SIGCONT, self._continued)
            self._heed(signal.SIGHUP, self.hung_up)
            for number in PASSED_ON:
                self._heed(number, self._pass_on, number)
            self._console.take()
        except BaseException:
            self._close()
            raise

    def _heed(self, number: signal.Signals, act: Callable[..., None], *arguments: object) -> None:
        before = signal.getsignal(number)
        # Whoever started us with nohup or in the background meant it.
        if before is not signal.SIG_IGN:
            self._handlers[number] = before
            self._loop.add_signal_handler(number, act, *arguments)

    async def leave(self) -> None:
        """End an agent that still runs, and put everything back."""
        try:
            await self.end()
            self._tidy()
            if self._console is not None:
                await self._console.flush(FLUSHED_WITHIN)
        finally:
            self._close()

    def _close(self) -> None:
        if self._console is not None:
            self._console.close()
            self._console = None
        # The loop leaves the system's handlers behind: none of them may be met in between.
        signal.pthread_sigmask(signal.SIG_BLOCK, self._handlers)
        for number, before in self._handlers.items():
            self._loop.remove_signal_handler(number)
            signal.signal(number, before)  # type: ignore[arg-type]  # as getsignal() gave it
        signal.pthread_sigmask(signal.SIG_UNBLOCK, self._handlers)
        self._handlers.clear()
        if self.recording is not None:
            self.recording.close()

    # --- the agent -----------------------------------------------------------------------

    async def start(self, launch: PaneLaunch) -> Child:
        console = self._console
        if console is None or self.dismissed is not None:
            raise LaunchFailedError("the terminal is closing; nothing is started in it any more")
        if self.child is not None:
            raise LaunchFailedError("an agent is running in this terminal already")
        self.is_waiting = False
        self._take()
        self._tidy()
        before = self.recording
        self.recording = Recording(launch.raw_log, launch.sizes_log, console.size, now=self._now)
        if before is not None:
            before.close()
        if self.exit.done():
            self.exit = self._loop.create_future()
        attributes = console.settings if console.types else None
        child = self.child = Child.start(launch, self, console.size, attributes)
        await child.begin()
        if child.exit is None:
            self._refresh_size()
            self._open_early(console)
        return child

    def _open_early(self, console: Console) -> None:
        """What a file or a pipe holds waits until the agent has set its terminal up: it drops what
        is there before. A person sees when it is ready."""
        self._is_early = not console.types
        if self._is_early:
            self._loop.call_later(KEYS_WITHIN, self._open_late)
        else:
            console.input.open()

    def _open_late(self) -> None:
        if not self._is_early or self._console is None or self.child is None:
            return
        # Keys that nobody presses have no end: it would end an agent in the middle of its work.
        self._is_early = self._console.is_nobodys and self.child.reads_keys
        self.has_room()

    def wait(self) -> None:
        """The next agent takes its time: until it is there, the keys that interrupt are ours."""
        if self.child is None and not self.is_waiting:
            self.is_waiting = True
            self._take()

    async def end(self) -> None:
        if self.child is not None:
            await self.child.end(signal.SIGTERM, self._patience)

    def say(self, text: str) -> None:
        """A line to the person, below whatever the agent left there."""
        self._tidy()
        line = b"\x1b[m\r\n\x1b[J" + text.encode() + b"\r\n"
        if self.recording is not None:
            self.recording.append(line)
        if self._console is not None:
            self._console.write(line if self._console.shows else text.encode() + b"\r\n")

    def _tidy(self) -> None:
        undo = self.recording.tidy() if self.recording is not None else b""
        if self._console is not None and self._console.shows:
            self._console.write(undo)

    # --- what the agent tells ------------------------------------------------------------

    def shown(self, output: bytes) -> None:
        assert self.recording is not None
        self.recording.append(output)
        if self._is_early and self.child is not None and self.child.reads_keys:
            self._open_late()
        if self._console is None:
            return
        self._console.write(output)
        if self._console.is_full and self.child is not None:
            self.child.pause()

    def has_room(self) -> None:
        if self._console is not None and self.child is not None and not self._is_early:
            self._console.input.open()

    def stopped(self) -> None:
        self._must_stop = True
        if self._console is not None and not self._console.is_full:
            self._stop_with_agent()

    def _stop_with_agent(self) -> None:
        self._must_stop = False
        if self._console is None or self.child is None:
            return
        self._console.give_back()
        self._stop(signal.SIGTSTP)
        self._go_on()

    def ended(self, exit_: Exit) -> None:
        self.child = None
        # What is typed now waits for the next agent.
        if self._console is not None:
            self._console.input.pause()
        self.exit.set_result(exit_)

    # --- stopping and going on -----------------------------------------------------------

    def _stop(self, number: signal.Signals) -> None:
        """Stop, with everybody in our job; returns when we are continued.

        Or at once, if nobody could continue us: then the system ignores the signal.
        """
        before = signal.getsignal(number)
        if before is signal.SIG_IGN:
            return
        signal.signal(number, signal.SIG_DFL)
        os.kill(0, number)
        signal.signal(number, before)

    def _go_on(self) -> None:
        console, child = self._console, self.child
        if console is None or child is None:
            return
        if not console.is_ours:
            # Continued in the background, or only to hear that it must end.
            self._loop.call_later(HEARD_WITHIN, self._wait_for_foreground)
            return
        self._continued()
        child.send(signal.SIGCONT)

    def _wait_for_foreground(self) -> None:
        if self.child is not None and self.dismissed is None:
            if self._console is not None and not self._console.is_ours:
                self._stop(signal.SIGTTOU)
            self._go_on()

    def _continued(self) -> None:
        self._take()
        self._refresh_size()

    def _take(self) -> None:
        # In the background, whoever changes the terminal's settings is stopped.
        if self._console is not None and self._console.is_ours:
            self._console.take(has_signals=self.is_waiting)

    # --- what the person's terminal tells ------------------------------------------------

    def typed(self, text: bytes) -> None:
        if self.child is None or self._console is None:
            return
        self.child.write(text)
        if self.child.is_full:
            self._console.input.pause()

    def typing_ended(self) -> None:
        if self._console is not None and self._console.types:
            self.hung_up()
        elif self.child is not None:
            self.child.write_eof()

    def emptied(self) -> None:
        if self._must_stop:
            self._stop_with_agent()
        if self.child is not None:
            self.child.go_on()

    def hung_up(self) -> None:
        """Nobody sits there any more: the agent must not either."""
        self._note_dismissal(signal.SIGHUP)
        if self.child is not None:
            self.child.end_soon(signal.SIGHUP, self._patience)
        else:
            self._dismiss(signal.SIGHUP)

    def _refresh_size(self) -> None:
        console, child = self._console, self.child
        if console is not None and child is not None and self.recording is not None:
            size = console.size
            if self.recording.resize(size):
                child.resize(size)

    def _pass_on(self, number: signal.Signals) -> None:
        if number is signal.SIGTERM:
            self._note_dismissal(number)
        if self.child is not None:
            self.child.send(number)
        elif number is not signal.SIGTSTP:
            self._dismiss(number)

    def _dismiss(self, number: signal.Signals) -> None:
        """Asked to end while there was no agent to be told."""
        self._note_dismissal(number)
        with suppress(asyncio.InvalidStateError):
            self.exit.set_result(Exit(pid=0, signal=number))

    def _note_dismissal(self, number: signal.Signals) -> None:
        self.dismissed = self.dismissed or number
        self._on_dismissed()

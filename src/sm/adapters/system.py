"""The process table and the clock, as the operating system tells them."""

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

PAUSE = 2.0
"""Seconds between two looks at a process where the system cannot tell us of its end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessEntry:
    """One living process."""

    started: int
    """Clock ticks since boot, or seconds since 1970 where there is no /proc: only for comparing."""
    stopped: bool
    foreground: bool


def read_proc(pid: int) -> ProcessEntry | None:
    """Linux."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    # ESRCH instead of a missing file: the process ended while we read.
    except (FileNotFoundError, ProcessLookupError):
        return None
    # The program's name may hold blanks and brackets; nothing after its last bracket does.
    fields = stat.rpartition(")")[2].split()
    state, group, terminal_group, started = fields[0], fields[2], fields[5], fields[19]
    if state in "ZXx":
        return None
    return ProcessEntry(
        started=int(started), stopped=state in "Tt", foreground=group == terminal_group
    )


def read_ps(pid: int) -> ProcessEntry | None:
    """macOS, and wherever else there is a ps."""
    ps = subprocess.run(
        ["ps", "-o", "stat=,pgid=,tpgid=,lstart=", "-p", str(pid)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "LC_ALL": "C"},
    )
    fields = ps.stdout.split(maxsplit=3)
    if len(fields) < 4 or fields[0].startswith("Z"):
        return None
    state, group, terminal_group, started = fields
    return ProcessEntry(
        started=int(time.mktime(time.strptime(started.strip(), "%a %b %d %H:%M:%S %Y"))),
        stopped=state.startswith("T"),
        foreground=group == terminal_group,
    )


class ProcessTable:
    """Who runs, since when, and who has the terminal."""

    def __init__(self, read: Callable[[int], ProcessEntry | None] | None = None) -> None:
        self._read = read or (read_proc if sys.platform == "linux" else read_ps)

    def started(self, pid: int) -> int | None:
        """Start time of a living process; None if there is none (a zombie is none)."""
        entry = self._read(pid)
        return None if entry is None else entry.started

    def is_foreground(self, pid: int) -> bool:
        entry = self._read(pid)
        return entry is not None and entry.foreground

    def is_stopped(self, pid: int) -> bool:
        entry = self._read(pid)
        return entry is not None and entry.stopped


Cancel = Callable[[], object]


class ExitWatch:
    """Tells once when a process has ended; a reused pid is another process."""

    def __init__(self, processes: ProcessTable, *, pause: float = PAUSE) -> None:
        self._processes = processes
        self._pause = pause
        self._watches: dict[tuple[int, int], Cancel] = {}

    def watch(self, pid: int, started: int, ended: Callable[[], None]) -> None:
        """Call back, never before this returns; watching the same process again replaces it."""
        self.unwatch(pid, started)

        def end() -> None:
            self.unwatch(pid, started)
            ended()

        self._watches[pid, started] = self._begin(pid, started, end)

    def unwatch(self, pid: int, started: int) -> None:
        cancel = self._watches.pop((pid, started), None)
        if cancel is not None:
            cancel()

    def _begin(self, pid: int, started: int, end: Callable[[], None]) -> Cancel:
        handle = _open_pidfd(pid)
        # Asked after opening: from here on the handle cannot mean another process.
        if self._processes.started(pid) != started:
            if handle is not None:
                os.close(handle)
            return asyncio.get_running_loop().call_soon(end).cancel
        if handle is None:
            return self._poll(pid, started, end)
        return _watch_pidfd(handle, end)

    def _poll(self, pid: int, started: int, end: Callable[[], None]) -> Cancel:
        loop = asyncio.get_running_loop()
        timer: asyncio.TimerHandle

        def look() -> None:
            nonlocal timer
            if self._processes.started(pid) != started:
                end()
            else:
                timer = loop.call_later(self._pause, look)

        timer = loop.call_later(self._pause, look)
        return lambda: timer.cancel()


def _open_pidfd(pid: int) -> int | None:
    """A handle that becomes readable when the process ends, where there is such a thing."""
    if sys.platform != "linux":
        return None
    try:
        return os.pidfd_open(pid)
    except OSError:
        return None


def _watch_pidfd(handle: int, end: Callable[[], None]) -> Cancel:
    loop = asyncio.get_running_loop()
    loop.add_reader(handle, end)

    def cancel() -> None:
        loop.remove_reader(handle)
        os.close(handle)

    return cancel


class SystemClock:
    def now(self) -> float:
        return time.time()

"""The process table and the clock, as the operating system tells them."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from sm.core.adoption import Process

PAUSE = 2.0
"""Seconds between two looks at a process where the system cannot tell us of its end."""
TERM_WITHIN = 3.0
KILL_WITHIN = 2.0


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


def list_proc() -> list[Process]:
    """Linux: every process we may look at."""
    numbers = (int(path.name) for path in Path("/proc").iterdir() if path.name.isdecimal())
    return [process for pid in numbers if (process := _process(pid)) is not None]


def _process(pid: int) -> Process | None:
    entry = read_proc(pid)
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(errors="replace")
        command = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return None
    if entry is None:
        return None
    name = stat[stat.index("(") + 1 : stat.rindex(")")]
    return Process(
        pid=pid,
        parent=int(stat.rpartition(")")[2].split()[1]),
        started=entry.started,
        name=name,
        command=tuple(os.fsdecode(word) for word in command.split(b"\0")[:-1]),
        environment=_environment(pid),
        foreground=entry.foreground,
    )


def _environment(pid: int) -> dict[str, str]:
    try:
        content = Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        # Another user's, or gone: nothing is known of it.
        return {}
    pairs = (os.fsdecode(pair).partition("=") for pair in content.split(b"\0") if b"=" in pair)
    return {name: value for name, _, value in pairs}


def list_ps() -> list[Process]:
    """macOS, and wherever else there is a ps; it does not tell environments."""
    ps = subprocess.run(
        ["ps", "-axo", "pid=,ppid=,stat=,pgid=,tpgid=,lstart=,command="],
        capture_output=True, text=True, check=False, env={**os.environ, "LC_ALL": "C"},
    )  # fmt: skip
    found = []
    for line in ps.stdout.splitlines():
        fields = line.split(maxsplit=10)
        if len(fields) < 11 or fields[2].startswith("Z"):
            continue
        started = time.mktime(time.strptime(" ".join(fields[5:10]), "%a %b %d %H:%M:%S %Y"))
        command = tuple(fields[10].split())
        found.append(
            Process(
                pid=int(fields[0]),
                parent=int(fields[1]),
                started=int(started),
                name=command[0].rpartition("/")[2],
                command=command,
                environment={},
                foreground=fields[3] == fields[4],
            )
        )
    return found


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

    def tree(self, pid: int) -> list[Process]:
        """A process and all its descendants, each after its parent."""
        everyone = list_proc() if sys.platform == "linux" else list_ps()
        children: dict[int, list[Process]] = {}
        for process in everyone:
            children.setdefault(process.parent, []).append(process)
        found = [process for process in everyone if process.pid == pid]
        for process in found:
            found += children.get(process.pid, [])
        return found

    async def end(self, pid: int, started: int) -> bool:
        """End this very process, gently first; whether it is gone."""
        for number, patience in ((signal.SIGTERM, TERM_WITHIN), (signal.SIGKILL, KILL_WITHIN)):
            if not self._signal(pid, started, number):
                return True
            try:
                async with asyncio.timeout(patience):
                    while self.started(pid) == started:
                        await asyncio.sleep(0.02)
            except TimeoutError:
                continue
            return True
        return False

    def _signal(self, pid: int, started: int, number: signal.Signals) -> bool:
        """False when there is no such process any more."""
        handle = _open_pidfd(pid)
        try:
            # Asked after opening: from here on the handle cannot mean another process.
            if self.started(pid) != started:
                return False
            if handle is None:
                os.kill(pid, number)
            else:
                signal.pidfd_send_signal(handle, number)
        except ProcessLookupError:
            return False
        finally:
            if handle is not None:
                os.close(handle)
        return True


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

"""The process table and the clock, as the operating system tells them."""

import asyncio
import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from sm.adapters import kernel
from sm.core.adoption import Process
from sm.core.ids import SessionId
from sm.settings.variables import SESSION_ID

PAUSE = 2.0
"""Seconds between two looks at a process where the system cannot tell us of its end."""
TERM_WITHIN = 3.0
KILL_WITHIN = 2.0
DRIFT = 0.001
"""The kernel's log has a clock of its own, which goes a little faster or slower."""


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


def list_marked(session: SessionId) -> list[Process]:
    """Linux: by what each was started with. Nothing else is read of those without the mark."""
    mark = os.fsencode(f"{SESSION_ID}={session}")
    found = []
    with os.scandir("/proc") as entries:
        for entry in entries:
            if not entry.name.isdecimal():
                continue
            try:
                handle = os.open(f"/proc/{entry.name}/environ", os.O_RDONLY)
                try:
                    # A kernel thread has none: one read that brings nothing.
                    environment = _read_all(handle)
                finally:
                    os.close(handle)
            except OSError:
                continue
            if mark in environment and mark in environment.split(b"\0"):
                process = _process(int(entry.name))
                found += [process] if process is not None else []
    return found


def _read_all(handle: int) -> bytes:
    content = b""
    while part := os.read(handle, 65_536):
        content += part
    return content


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
        self._counters: dict[tuple[int, int], kernel.Counter] = {}

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

    def marked(self, session: SessionId) -> list[Process]:
        """Every living process that was started as this session's agent, or below it."""
        return list_marked(session) if sys.platform == "linux" else []

    def booted_at(self) -> float | None:
        """When the host was started, by the clock on the wall as it goes now."""
        if sys.platform == "linux":
            return time.time() - time.clock_gettime(time.CLOCK_BOOTTIME)
        return boot_time(_sysctl("kern.boottime"))

    def note_memory(self, pid: int, started: int) -> None:
        """Remember what is counted for a living process's control group, to compare it later."""
        with contextlib.suppress(OSError):
            counter = kernel.counter_of(Path(f"/proc/{pid}/cgroup").read_text())
            if counter is not None and self.started(pid) == started:
                self._counters[pid, started] = counter

    def forget_memory(self, pid: int, started: int) -> None:
        self._counters.pop((pid, started), None)

    def memory_killed(self, pid: int, started: int, *, by_kill: bool) -> str | None:
        """What the kernel says about killing it for want of memory; None: nothing.

        ``by_kill``: SIGKILL certainly ended it. Then a counter that rose is evidence too.
        """
        if sys.platform != "linux":
            return None
        told = kernel.killed_in(kernel.read_log(), pid, _logged_since(started))
        if told is not None:
            return f"the kernel took it, for want of memory: {told}"
        counter = self._counters.get((pid, started))
        if not by_kill or counter is None or not counter.rise():
            return None
        return (
            f"most likely the kernel, for want of memory: {counter.path} counts {counter.rise()}"
            " more than at its start"
        )

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


def _logged_since(started: int) -> float:
    """The earliest time the kernel's log may give to anything a process of this start time did."""
    # The log's clock stands still while the host sleeps.
    slept = time.clock_gettime(time.CLOCK_BOOTTIME) - time.monotonic()
    awake = started / os.sysconf("SC_CLK_TCK") - slept
    return awake * (1 - DRIFT) - 1


def boot_time(told: str) -> float | None:
    """What ``sysctl kern.boottime`` says: ``{ sec = 1700000000, usec = 0 } Tue Nov 14 …``."""
    found = re.search(r"sec = (\d+)", told)
    return float(found[1]) if found else None


def _sysctl(name: str) -> str:
    try:
        asked = subprocess.run(["sysctl", "-n", name], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return ""
    return asked.stdout


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
            # What was noted of it stays: whoever is told now wants to know why it ended.
            self._cancel(pid, started)
            ended()

        self._watches[pid, started] = self._begin(pid, started, end)
        self._processes.note_memory(pid, started)

    def unwatch(self, pid: int, started: int) -> None:
        self._cancel(pid, started)
        self._processes.forget_memory(pid, started)

    def _cancel(self, pid: int, started: int) -> None:
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

"""The process table, asked about real processes of our own."""

import asyncio
import errno
import os
import pty
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from sm.adapters import system
from sm.adapters.system import (
    ExitWatch,
    ProcessEntry,
    ProcessTable,
    SystemClock,
    read_proc,
    read_ps,
)
from sm.core.ids import SessionId
from tests.kit.tmux import wait_until

linux = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(params=[pytest.param(read_proc, marks=linux), read_ps])
def table(request: pytest.FixtureRequest) -> ProcessTable:
    return ProcessTable(request.param)


@pytest.fixture
def ended_process() -> subprocess.Popen[bytes]:
    process = subprocess.Popen(["true"])
    process.wait()
    return process


def sleeping() -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(["sleep", "1000"])
    yield process
    process.kill()
    process.wait()


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    yield from sleeping()


@pytest.fixture
def other_sleeper() -> Iterator[subprocess.Popen[bytes]]:
    yield from sleeping()


def start_of(process: subprocess.Popen[bytes]) -> int:
    started = ProcessTable().started(process.pid)
    assert started is not None
    return started


async def until(probe: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not probe():
            await asyncio.sleep(0.01)


def open_handles() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def test_a_living_process_has_a_start_time_that_stays(
    table: ProcessTable, sleeper: subprocess.Popen[bytes]
) -> None:
    started = table.started(sleeper.pid)

    assert started is not None
    assert table.started(sleeper.pid) == started


def test_a_process_that_was_waited_for_is_none(
    table: ProcessTable, ended_process: subprocess.Popen[bytes]
) -> None:
    assert table.started(ended_process.pid) is None
    assert not table.is_stopped(ended_process.pid)
    assert not table.is_foreground(ended_process.pid)


def test_a_zombie_is_none(table: ProcessTable, sleeper: subprocess.Popen[bytes]) -> None:
    """A dead agent whose parent has not noticed yet must not be taken for a living one."""
    sleeper.kill()
    os.waitid(os.P_PID, sleeper.pid, os.WEXITED | os.WNOWAIT)

    assert table.started(sleeper.pid) is None


async def test_a_stopped_process_is_told_from_a_running_one(
    table: ProcessTable, sleeper: subprocess.Popen[bytes]
) -> None:
    assert not table.is_stopped(sleeper.pid)

    sleeper.send_signal(signal.SIGSTOP)

    await until(lambda: table.is_stopped(sleeper.pid))
    assert table.started(sleeper.pid) is not None


def test_only_the_group_that_owns_the_terminal_is_in_the_foreground(table: ProcessTable) -> None:
    """The shell an agent left behind has the terminal; its background job has not."""
    shell, terminal = pty.fork()
    if shell == 0:
        os.execlp("bash", "bash", "-c", "set -m; sleep 1000 & echo $!; read line")
    try:
        background = int(os.read(terminal, 100).split()[0])
        assert table.is_foreground(shell)
        assert not table.is_foreground(background)
    finally:
        os.kill(background, signal.SIGKILL)
        os.kill(shell, signal.SIGKILL)
        os.waitpid(shell, 0)
        os.close(terminal)


@linux
def test_a_name_with_brackets_and_blanks_does_not_shift_the_fields(tmp_path: Path) -> None:
    program = tmp_path / "a) Z 1 (b"
    program.symlink_to("/bin/sleep")
    process = subprocess.Popen([program, "1000"])
    try:
        assert read_proc(process.pid) is not None
    finally:
        process.kill()
        process.wait()


@pytest.fixture
def closed(monkeypatch: pytest.MonkeyPatch, sleeper: subprocess.Popen[bytes]) -> int:
    """The pid of a process of another user, where /proc shows each user only their own."""
    closed, read = Path(f"/proc/{sleeper.pid}/stat"), Path.read_text

    def denied(path: Path, *args: str | None, **keys: str | None) -> str:
        if path == closed:
            raise PermissionError(errno.EPERM, "Operation not permitted", str(path))
        return read(path, *args, **keys)

    monkeypatch.setattr(Path, "read_text", denied)
    return sleeper.pid


@linux
def test_a_process_that_is_closed_to_us_is_none_of_ours(closed: int) -> None:
    """After a reboot an agent's pid may be another user's; and others' processes hide no tree."""
    assert ProcessTable().started(closed) is None
    assert closed not in {process.pid for process in ProcessTable().tree(os.getpid())}


@pytest.fixture(params=["told by the system", "by looking"])
def watch(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> ExitWatch:
    """Both ways of noticing an end."""
    if request.param == "by looking":
        monkeypatch.setattr(system, "_open_pidfd", lambda _pid: None)
    return ExitWatch(ProcessTable(), pause=0.01)


async def test_the_end_of_a_watched_process_is_told_once(
    watch: ExitWatch, sleeper: subprocess.Popen[bytes]
) -> None:
    ended: list[str] = []
    watch.watch(sleeper.pid, start_of(sleeper), lambda: ended.append("sleeper"))

    sleeper.kill()
    await until(lambda: bool(ended))
    sleeper.wait()

    assert ended == ["sleeper"]


async def test_a_process_that_had_ended_before_is_told_too(
    watch: ExitWatch, ended_process: subprocess.Popen[bytes]
) -> None:
    ended = asyncio.Event()

    watch.watch(ended_process.pid, 1, ended.set)

    assert not ended.is_set()
    await asyncio.wait_for(ended.wait(), 10)


async def test_a_reused_pid_is_told_as_an_end(
    watch: ExitWatch, sleeper: subprocess.Popen[bytes]
) -> None:
    ended = asyncio.Event()

    watch.watch(sleeper.pid, start_of(sleeper) - 1, ended.set)

    await asyncio.wait_for(ended.wait(), 10)


async def test_a_process_no_longer_watched_ends_unheard(
    watch: ExitWatch, sleeper: subprocess.Popen[bytes], other_sleeper: subprocess.Popen[bytes]
) -> None:
    ended: list[str] = []
    watch.watch(sleeper.pid, start_of(sleeper), lambda: ended.append("unwatched"))
    watch.watch(other_sleeper.pid, start_of(other_sleeper), lambda: ended.append("watched"))

    watch.unwatch(sleeper.pid, start_of(sleeper))
    sleeper.kill()
    sleeper.wait()
    other_sleeper.kill()
    await until(lambda: bool(ended))

    assert ended == ["watched"]


async def test_watching_again_replaces_the_first_watch(
    watch: ExitWatch, sleeper: subprocess.Popen[bytes]
) -> None:
    ended: list[str] = []
    watch.watch(sleeper.pid, start_of(sleeper), lambda: ended.append("first"))
    watch.watch(sleeper.pid, start_of(sleeper), lambda: ended.append("second"))

    sleeper.kill()
    await until(lambda: bool(ended))

    assert ended == ["second"]


@linux
async def test_no_handles_are_left_open(sleeper: subprocess.Popen[bytes]) -> None:
    before = open_handles()
    watch = ExitWatch(ProcessTable())
    for _ in range(20):
        watch.watch(sleeper.pid, start_of(sleeper), lambda: None)

    watch.unwatch(sleeper.pid, start_of(sleeper))

    assert open_handles() == before


async def test_a_look_that_fails_is_not_the_last_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the system cannot tell us: no process could be asked at one moment."""
    monkeypatch.setattr(system, "_open_pidfd", lambda _pid: None)
    alive = ProcessEntry(started=1, stopped=False, foreground=False)
    answers: list[ProcessEntry | OSError | None] = [alive, OSError(errno.EAGAIN, "fork"), None]

    def answer(_pid: int) -> ProcessEntry | None:
        if isinstance(told := answers.pop(0), OSError):
            raise told
        return told

    ended = asyncio.Event()
    ExitWatch(ProcessTable(answer), pause=0.01).watch(0, 1, ended.set)

    await asyncio.wait_for(ended.wait(), 10)


@linux
async def test_a_watch_that_cannot_begin_leaves_no_handle_open(
    sleeper: subprocess.Popen[bytes],
) -> None:
    """The process could be opened, and nothing more: every try would take one handle away."""

    def exhausted(_pid: int) -> None:
        raise OSError(errno.EMFILE, "Too many open files")

    watch, before = ExitWatch(ProcessTable(exhausted)), open_handles()

    with pytest.raises(OSError, match="Too many"):
        watch.watch(sleeper.pid, 1, lambda: None)

    assert open_handles() == before


def test_the_clock_goes_on() -> None:
    clock = SystemClock()

    assert clock.now() <= clock.now()


# --- agents that somebody else started ----------------------------------------------------------


@contextmanager
def shell_with(*tool: str, **environment: str) -> Iterator[subprocess.Popen[bytes]]:
    """A shell and the tool below it, once that is itself: at first it is a second shell."""
    environment["PATH"] = "/bin:/usr/bin"
    shell = subprocess.Popen(["sh", "-c", f"{' '.join(tool)} & wait"], env=environment)
    try:
        wait_until(lambda: tool in [process.command for process in ProcessTable().tree(shell.pid)])
        yield shell
    finally:
        subprocess.run(["pkill", "-P", str(shell.pid)], check=True)
        shell.wait()


@linux
def test_a_tree_is_a_process_and_everything_below_it() -> None:
    """Each after its parent, with its command line and what it was started with."""
    table = ProcessTable()
    with shell_with("sleep", "1001", A="b") as shell:
        first, second = table.tree(shell.pid)

    assert (first.pid, first.name, first.parent) == (shell.pid, "sh", os.getpid())
    assert (second.command, second.parent) == (("sleep", "1001"), shell.pid)
    assert second.environment["A"] == "b"
    assert table.tree(shell.pid) == []


def test_ps_tells_the_same_processes(sleeper: subprocess.Popen[bytes]) -> None:
    """Where there is no /proc; without environments."""
    found = {process.pid: process for process in system.list_ps()}

    assert found[sleeper.pid].command == ("sleep", "1000")
    assert found[sleeper.pid].parent == os.getpid()
    assert found[sleeper.pid].started == ProcessTable(read_ps).started(sleeper.pid)


@pytest.mark.anyio
async def test_a_process_is_ended_by_its_start_time_too(sleeper: subprocess.Popen[bytes]) -> None:
    """A pid that came round again is another process."""
    table = ProcessTable()
    started = table.started(sleeper.pid)
    assert started is not None

    assert await table.end(sleeper.pid, started + 1)
    assert sleeper.poll() is None

    assert await table.end(sleeper.pid, started)
    assert sleeper.wait(5) == -signal.SIGTERM


@pytest.fixture
def deaf() -> Iterator[subprocess.Popen[bytes]]:
    """It does not listen to a gentle word."""
    script = "trap '' TERM; echo; while :; do sleep 0.05; done"
    process = subprocess.Popen(["sh", "-c", script], stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    yield process
    process.kill()
    process.wait()
    process.stdout.close()


@pytest.mark.anyio
async def test_one_that_does_not_listen_is_ended_all_the_same(
    deaf: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Gently first, then not."""
    monkeypatch.setattr(system, "TERM_WITHIN", 0.2)
    table = ProcessTable()

    assert await table.end(deaf.pid, table.started(deaf.pid) or 0)

    assert deaf.wait(5) == -signal.SIGKILL


# --- for the inquest into an agent's end --------------------------------------------------------


def test_the_host_was_started_before_everything_that_runs() -> None:
    """And at the same time whenever one asks."""
    first, second = ProcessTable().booted_at(), ProcessTable().booted_at()

    assert first is not None
    assert second is not None
    assert abs(first - second) < 0.5
    assert 0 < first < SystemClock().now()


@linux
def test_the_time_of_the_boot_is_the_kernels_own() -> None:
    found = next(
        line for line in Path("/proc/stat").read_text().splitlines() if line.startswith("btime")
    )
    booted = ProcessTable().booted_at()

    assert booted is not None
    assert abs(booted - int(found.split()[1])) < 2


def test_macos_tells_its_boot_in_its_own_words() -> None:
    told = "{ sec = 1700000000, usec = 123456 } Tue Nov 14 23:13:20 2023"

    assert system.boot_time(told) == 1_700_000_000
    assert system.boot_time("") is None


@pytest.fixture
def marked() -> Iterator[subprocess.Popen[bytes]]:
    """An agent of ada's with a tool below it."""
    with shell_with("sleep", "1002", CLAUDE_SESSION_MANAGER_ID="ada00001") as shell:
        yield shell


@linux
def test_what_runs_for_a_session_is_found_by_its_mark(
    marked: subprocess.Popen[bytes], sleeper: subprocess.Popen[bytes]
) -> None:
    """The agent and what it started, wherever they are by now; nobody else's."""
    table = ProcessTable()

    found = table.marked(SessionId("ada00001"))

    assert [process.parent for process in found] == [os.getpid(), marked.pid]
    assert found[0].started == table.started(marked.pid)
    assert found[1].command == ("sleep", "1002")
    assert table.marked(SessionId("ada0000")) == []
    assert table.marked(SessionId("da00001")) == []


@linux
def test_a_process_that_only_mentions_a_mark_is_not_marked() -> None:
    """In its arguments, or inside another variable."""
    mention = "CLAUDE_SESSION_MANAGER_ID=ada00001"
    process = subprocess.Popen(
        ["sh", "-c", "read x", mention], env={"X": mention}, stdin=subprocess.PIPE
    )
    try:
        assert ProcessTable().marked(SessionId("ada00001")) == []
    finally:
        process.kill()
        process.communicate()

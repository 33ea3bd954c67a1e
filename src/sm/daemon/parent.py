"""The parent: holds the listening sockets and restarts the worker when it dies.

So small that it has nothing to fail on. A killed worker means that callers wait a moment in the
sockets' backlog, never that they are refused.
"""

import contextlib
import fcntl
import os
import signal
import socket
import time
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

from sm.settings.errors import HOPELESS
from sm.settings.home import Home
from sm.version import VERSION

BACKLOG = 1024
STOP_WITHIN = 10.0
QUICK_DEATH = 2.0
PAUSES = (0.0, 0.0, 0.05, 0.1, 0.2, 0.5, 1.0)
"""Before each restart of a worker that keeps dying young."""
FIRST_PORT, PORTS = 21_000, 11_000
FDS = "SM_LISTEN_FDS"
LIFELINE = "SM_LIFELINE_FD"
"""A pipe nothing is written to: its end tells the worker that the parent is gone."""
RESTARTS = "SM_RESTARTS"


def run(worker: Sequence[str], *, taken: int = 0) -> int:
    """Hold the sockets until told to stop. ``taken``: the status if another daemon runs."""
    home = Home.from_environment()
    home.make()
    if not lock(home):
        return taken
    os.chdir("/")
    parent = Parent(worker, home)
    write_pid(home)
    try:
        return parent.run()
    finally:
        home.socket.unlink(missing_ok=True)
        home.pid.unlink(missing_ok=True)


def lock(home: Home) -> bool:
    """Keep other daemons off this state, whatever happens to the lock's file. All or nothing:
    whoever tries again must not find the folder locked by themselves."""
    # The folder first: it cannot be deleted while the store is in it, as the file can.
    folder = os.open(home.state, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    if _lock_folder(folder) and lock_file(home):
        return True
    os.close(folder)
    return False


def _lock_folder(folder: int) -> bool:
    try:
        return _lock(folder)
    except OSError:
        # Not every network file system locks folders; the file is left.
        return True


def lock_file(home: Home, *, inherited: bool = True) -> bool:
    """The lock by which commands see that a daemon runs."""
    file = os.open(home.lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    is_ours = False
    try:
        is_ours = _lock(file, inherited=inherited)
    finally:
        if not is_ours:
            os.close(file)
    return is_ours


def _lock(file: int, *, inherited: bool = True) -> bool:
    """Held until the last process with this file is gone; False if somebody else holds it."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    # The worker keeps the lock too: while an orphan lives, no second daemon begins.
    os.set_inheritable(file, inherited)
    return True


def listen_unix(home: Home) -> socket.socket:
    """The socket local callers use. Holding the lock, an old one is nobody's."""
    home.socket.unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o177)
    try:
        listener.bind(str(home.socket))
    finally:
        os.umask(before)
    listener.listen(BACKLOG)
    return listener


def listen_tcp(home: Home) -> list[socket.socket]:
    """Loopback, on a port that never changes once chosen; none when somebody else has it."""
    saved = saved_port(home)
    for port in [saved] if saved else candidate_ports(home):
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(("127.0.0.1", port))
            listener.listen(BACKLOG)
        except OSError:
            listener.close()
            continue
        replace_file(home.port, str(port))
        return [listener]
    return []


def saved_port(home: Home) -> int | None:
    try:
        port = int(home.port.read_text())
    except (OSError, ValueError):
        return None
    return port if 1024 <= port <= 65535 else None


def candidate_ports(home: Home) -> list[int]:
    """Below what systems hand out to outgoing connections, so that it stays free for us."""
    first = int(home.tag, 16) % PORTS
    return [FIRST_PORT + (first + step) % PORTS for step in range(50)]


def write_pid(home: Home) -> None:
    """Who runs, which version (a newer command line replaces an older daemon), and where."""
    replace_file(home.pid, f"{os.getpid()} {VERSION} {home.socket}\n")


def replace_file(path: Path, text: str) -> None:
    beside = path.with_name(f".{path.name}")
    beside.write_text(text)
    beside.chmod(0o600)
    beside.replace(path)


class Parent:
    """Runs one worker at a time and passes signals on to it."""

    def __init__(self, worker: Sequence[str], home: Home) -> None:
        self._worker = list(worker)
        self._home = home
        self._unix = listen_unix(home)
        self._tcp = listen_tcp(home)
        self._pid: int | None = None
        self._stopping = False
        self._restarts = 0
        self._lifeline, self._held = os.pipe()

    def run(self) -> int:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._stop)
        signal.signal(signal.SIGHUP, self._restore)
        deaths = 0
        while not self._is_stopping():
            born = time.monotonic()
            status = self._serve()
            if status == HOPELESS:
                return status
            deaths = deaths + 1 if time.monotonic() - born < QUICK_DEATH else 0
            self._restarts += 1
            if not self._is_stopping():
                time.sleep(PAUSES[min(deaths, len(PAUSES) - 1)])
        return 0

    def _is_stopping(self) -> bool:
        """Asked anew each time: a signal may have changed it."""
        return self._stopping

    def _serve(self) -> int:
        """Run one worker to its end; its exit status."""
        if not self._home.socket.exists():
            self._unix = listen_unix(self._home)
        sockets = [self._unix, *self._tcp]
        for listener in sockets:
            listener.set_inheritable(True)
        fds = ",".join(str(listener.fileno()) for listener in sockets)
        os.set_inheritable(self._lifeline, True)
        environment = {
            **os.environ,
            FDS: fds,
            LIFELINE: str(self._lifeline),
            RESTARTS: str(self._restarts),
        }
        self._pid = os.posix_spawn(self._worker[0], self._worker, environment)
        if self._is_stopping():
            # The signal came before there was a worker to pass it on to.
            self._stop(signal.SIGTERM, None)
        _, status = os.waitpid(self._pid, 0)
        self._pid = None
        return os.waitstatus_to_exitcode(status)

    def _restore(self, _number: int, _frame: FrameType | None) -> None:
        """Somebody deleted a file of ours, as cleaners of /tmp do with the socket: the next worker
        gets a new one. A hang-up for any other reason means nothing to us."""
        # On a full disk the worker notices again, and asks again.
        with contextlib.suppress(OSError):
            if not self._home.lock.exists():
                lock_file(self._home)
            if not self._home.pid.exists():
                write_pid(self._home)
        if self._pid is not None and not self._home.socket.exists():
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._pid, signal.SIGTERM)

    def _stop(self, _number: int, _frame: FrameType | None) -> None:
        self._stopping = True
        if self._pid is None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._pid, signal.SIGTERM)
            signal.signal(signal.SIGALRM, self._lose_patience)
            signal.setitimer(signal.ITIMER_REAL, STOP_WITHIN)

    def _lose_patience(self, _number: int, _frame: FrameType | None) -> None:
        if self._pid is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._pid, signal.SIGKILL)

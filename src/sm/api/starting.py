"""Starts the daemon on demand, replaces an older one, and stops it."""

import contextlib
import fcntl
import os
import signal
import socket
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sm.api.errors import StartError
from sm.api.runs import is_run
from sm.settings.home import Home, HomeError
from sm.version import VERSION

if TYPE_CHECKING:
    import subprocess

READY_WITHIN = 20.0
ERRORS_KEPT = 100_000
STOPPED_WITHIN = 15.0
_KEPT = ("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "TZ", "SM_HOME", "TMUX_TMPDIR")
_USUAL_PLACES = ("/usr/local/bin", "/usr/bin", "/bin", "/opt/homebrew/bin")
_KEPT_PREFIXES = ("LC_", "XDG_")


def ensure(home: Home) -> None:
    """A daemon of at least our version runs when this returns."""
    try:
        home.check()
    except HomeError as error:
        raise StartError(str(error)) from None
    running = running_version(home)
    if is_run(home):
        # Only the run itself answers there; nobody else is to be started or replaced.
        if running is None:
            raise StartError("This run has ended. What it kept is still there: sm ls --all")
        return
    if running is None:
        start(home)
    elif is_older(running, VERSION):
        stop(home)
        start(home)


def running_version(home: Home) -> str | None:
    """The version of the daemon that runs, or None."""
    found = _pid_file(home)
    return found[1] if found is not None and is_running(home) else None


def is_running(home: Home) -> bool:
    """Whether some process holds the daemon's lock."""
    try:
        lock = os.open(home.lock, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(lock)
    return False


def start(home: Home) -> None:
    """Start the daemon apart from us, and wait until it answers."""
    # Here: a command that finds a daemon should not pay for how one is started.
    from sm.api import scope, service

    try:
        home.make()
    except HomeError as error:
        raise StartError(str(error)) from None
    if _started_by_service(home):
        return
    errors = home.logs / "start.log"
    told = _forget_if_large(errors)
    apart = scope.words(before=service.unit_name(home))
    child = _spawn(home, errors, apart)
    deadline = time.monotonic() + READY_WITHIN
    while not answers(home):
        status = child.poll()
        if status is not None and not is_running(home):
            if status != 0 and not apart:
                raise StartError(_why(errors.read_bytes()[told:].decode(errors="replace")))
            # Ours left the place to another daemon, and that one is gone; or it could not be
            # started apart: whatever the reason, without that it is told.
            apart = ()
            child = _spawn(home, errors)
        if time.monotonic() > deadline:
            raise StartError(
                f"The daemon did not answer within {READY_WITHIN:g} s. See: {home.log}"
            )
        time.sleep(0.01)
    child.returncode = 0  # It lives on without us; nothing is to be waited for.


def _started_by_service(home: Home) -> bool:
    """Whether the system has started it, as it does at its own start: then it is looked after."""
    from sm.api import service

    pid = service.start(home)
    deadline = time.monotonic() + READY_WITHIN
    while pid is not None and time.monotonic() < deadline:
        if answers(home):
            return True
        if not is_running(home) and not _lives(pid):
            return False  # started once more, as our own child, it tells us why
        time.sleep(0.01)
    return False


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except OSError:
        return False
    return True


def _spawn(home: Home, errors: Path, apart: Sequence[str] = ()) -> "subprocess.Popen[bytes]":
    import subprocess

    try:
        # Appended to: several commands may start at once, and none may wipe another's reason.
        output = os.open(errors, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        try:
            return subprocess.Popen(
                [*apart, sys.executable, "-I", "-m", "sm.daemon"],
                env=_environment(home),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
                cwd="/",
            )
        finally:
            os.close(output)
    except OSError as error:
        raise StartError(f"The daemon could not be started: {error}.") from None


def _forget_if_large(errors: Path) -> int:
    """How much the file already holds: nothing of it is about this start."""
    try:
        size = errors.stat().st_size
        if size < ERRORS_KEPT:
            return size
        errors.unlink()
    except FileNotFoundError:
        pass
    return 0


def _why(output: str) -> str:
    last = [line for line in output.strip().splitlines() if line]
    return last[-1] if last else "The daemon ended at once. See: sm daemon logs"


def answers(home: Home, *, within: float = READY_WITHIN) -> bool:
    """Whether a worker serves: the parent alone would let us wait in the backlog."""
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(within)
            connection.connect(str(home.live_socket))
            connection.sendall(
                b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
            )
            return connection.recv(12).startswith(b"HTTP/1.1 200")
    except OSError:
        return False


def stop(home: Home) -> bool:
    """End the daemon and wait until it is gone; False when none ran."""
    found = _pid_file(home)
    if found is None or not is_running(home):
        return False
    with contextlib.suppress(ProcessLookupError):
        os.kill(found[0], signal.SIGTERM)
    deadline = time.monotonic() + STOPPED_WITHIN
    while is_running(home):
        if time.monotonic() > deadline:
            raise StartError(f"The daemon (process {found[0]}) does not stop.")
        time.sleep(0.01)
    return True


def _environment(home: Home) -> dict[str, str]:
    """The daemon's, for the home that is meant, whatever the caller's own says."""
    moved = {} if home.is_default else {"SM_HOME": str(home.base)}
    return {**clean_environment(), **moved}


def clean_environment() -> dict[str, str]:
    """What a daemon needs of its starter's environment: no secrets, nobody's identity."""
    kept = {
        name: value
        for name, value in os.environ.items()
        # Empty is as good as unset, as it is for Home.
        if value and (name in _KEPT or name.startswith(_KEPT_PREFIXES))
    }
    if "SM_HOME" in kept:
        # The daemon works elsewhere: a relative path would mean another folder there.
        kept["SM_HOME"] = os.path.abspath(kept["SM_HOME"])  # noqa: PTH100 - of a string
    # Who starts it first decides for all: a job's bare PATH must not hide tmux.
    kept["PATH"] = os.pathsep.join([*kept.get("PATH", "").split(os.pathsep), *_USUAL_PLACES])
    return kept


def _pid_file(home: Home) -> tuple[int, str] | None:
    try:
        pid, version = home.pid.read_text().split()[:2]
        return int(pid), version
    except (OSError, ValueError):
        return None


def is_older(running: str, ours: str) -> bool:
    def parts(version: str) -> list[int]:
        return [int(p) if p.isdigit() else 0 for p in version.split(".")]

    return parts(running) < parts(ours)

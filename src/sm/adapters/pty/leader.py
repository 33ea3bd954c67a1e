"""Leads the session of a new pseudoterminal: starts the agent there, tells how it fares, ends it.

A script of its own, started without site-packages, with the pseudoterminal as its three standard
files. It knows nothing of agents and decides nothing: it does what it is told over a socket, and
when nobody holds the other end any more, it ends what it started.

The agent is not the leader itself: no key could ever stop the group of a leader whose parent is in
another session (POSIX calls it orphaned), and whoever is killed with -9 could end nobody.
"""

import contextlib
import fcntl
import os
import select
import signal
import sys
import termios
import time

HANGUP_PATIENCE = 1.0
"""How long an agent may take to leave when whoever started it was killed."""
PR_SET_PDEATHSIG = 1
GENTLE = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM)


def main() -> None:
    control, cwd, argv = int(sys.argv[1]), sys.argv[2], sys.argv[3:]
    os.set_inheritable(control, False)
    os.setsid()
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    wake, woken = os.pipe()
    for end in (wake, woken):
        os.set_blocking(end, False)
    # A handler is needed for the wakeup to be written; hangups of the terminal come as the
    # other end's closing too, and must not end us before we have ended the agent.
    signal.signal(signal.SIGCHLD, lambda *_: None)
    for ignored in (signal.SIGHUP, signal.SIGTTOU, signal.SIGTTIN, signal.SIGTSTP):
        signal.signal(ignored, signal.SIG_IGN)
    signal.set_wakeup_fd(woken, warn_on_full_buffer=False)
    agent = os.fork()
    if agent == 0:
        become(argv, cwd, os.getppid())
    place(agent)
    Leader(agent, control, wake).run()
    # Not sys.exit: the other end waits for our end, and there is nothing to tidy up.
    os._exit(0)


def become(argv: list[str], cwd: str, leader: int) -> None:
    """The agent's process, until it is the agent."""
    try:
        place(os.getpid())
        _die_with(leader)
        signal.set_wakeup_fd(-1)
        for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
            with contextlib.suppress(OSError):  # a few are the C library's own
                signal.signal(number, signal.SIG_DFL)
        os.chdir(cwd)
        os.execvp(argv[0], argv)  # noqa: S606 - this is what a launcher is for
    except OSError as error:
        os.write(2, f"sm could not start {argv[0]}: {error.strerror}\n".encode())
    finally:
        os._exit(127)


def place(agent: int) -> None:
    """Into a group of its own that owns the terminal. Done by both: either may be the first."""
    with contextlib.suppress(OSError):  # it has become the agent already, or is gone
        os.setpgid(agent, agent)
    with contextlib.suppress(OSError):
        os.tcsetpgrp(0, agent)


def _die_with(leader: int) -> None:
    """Whoever kills the leader with -9 kills the agent: nobody would be left to end it.

    Only Linux has this. It survives the exec of everything but setuid programs.
    """
    if sys.platform != "linux":
        return
    # Only here: the leader itself stays small.
    import ctypes

    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != leader:
        os._exit(127)


class Leader:
    def __init__(self, agent: int, control: int, wake: int) -> None:
        self._agent = agent
        self._control = control
        self._wake = wake
        self._told = b""
        self._deadline: float | None = None
        """When an agent that was asked to end is killed."""
        self._is_ended_by_us = False
        self._hung_up = False

    def run(self) -> None:
        self._tell(f"started {self._agent}")
        while not self._is_over():
            watched = [self._wake] if self._hung_up else [self._wake, self._control]
            ready, _, _ = select.select(watched, [], [], self._left())
            if self._wake in ready:
                os.read(self._wake, 4096)
            if self._control in ready:
                self._listen()
            if self._deadline is not None and time.monotonic() >= self._deadline:
                self._deadline = None
                self._signal_group(signal.SIGKILL)

    def _left(self) -> float | None:
        return None if self._deadline is None else max(0.0, self._deadline - time.monotonic())

    def _is_over(self) -> bool:
        """Tell what has become of the agent; True once it has ended."""
        while True:
            pid, status = os.waitpid(self._agent, os.WNOHANG | os.WUNTRACED | os.WCONTINUED)
            if pid == 0:
                return False
            if os.WIFSTOPPED(status):
                self._tell(f"stopped {os.WSTOPSIG(status)}")
            elif os.WIFCONTINUED(status):
                self._tell("continued")
            else:
                self._clear_up()
                signalled = os.WIFSIGNALED(status)
                number = os.WTERMSIG(status) if signalled else os.WEXITSTATUS(status)
                self._tell(f"{'killed' if signalled else 'exited'} {number}")
                return True

    def _tell(self, line: str) -> None:
        with contextlib.suppress(OSError):  # nobody listens any more
            os.write(self._control, f"{line}\n".encode())

    def _listen(self) -> None:
        try:
            received = os.read(self._control, 4096)
        except OSError:
            received = b""
        if not received:
            self._hung_up = True
            self._end(signal.SIGHUP, HANGUP_PATIENCE)
        *lines, self._told = (self._told + received).split(b"\n")
        for line in lines:
            self._obey(line.decode().split())

    def _obey(self, order: list[str]) -> None:
        if order[0] == "signal":
            self._signal(signal.Signals(int(order[1])))
        elif order[0] == "end":
            self._end(signal.Signals(int(order[1])), float(order[2]))

    def _signal(self, number: signal.Signals) -> None:
        if number is signal.SIGCONT:
            self._signal_group(number)
            return
        # Not reaped before we did it: the pid cannot be another's. It may be another user's now.
        with contextlib.suppress(PermissionError):
            os.kill(self._agent, number)
        if number in GENTLE:
            self._signal_group(signal.SIGCONT)

    def _end(self, gently: signal.Signals, patience: float) -> None:
        self._signal_group(gently)
        self._signal_group(signal.SIGCONT)
        deadline = time.monotonic() + patience
        self._deadline = min(deadline, self._deadline or deadline)
        self._is_ended_by_us = True

    def _signal_group(self, number: signal.Signals) -> None:
        try:
            os.killpg(self._agent, number)
        except (ProcessLookupError, PermissionError):
            # It gave itself another group.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(self._agent, number)

    def _clear_up(self) -> None:
        """What an agent that was ended left running here hears that its terminal is gone."""
        if not self._is_ended_by_us:
            return
        for group in groups_of(os.getpid()) - {os.getpgrp()}:
            for number in (signal.SIGHUP, signal.SIGCONT):
                with contextlib.suppress(OSError):
                    os.killpg(group, number)


def groups_of(session: int) -> set[int]:
    """The process groups of a session."""
    found = set()
    for pid in _everyone():
        with contextlib.suppress(OSError):  # gone meanwhile
            if os.getsid(pid) == session:
                found.add(os.getpgid(pid))
    return found


def _everyone() -> list[int]:
    if sys.platform == "linux":
        return [int(name) for name in os.listdir("/proc") if name.isdecimal()]  # noqa: PTH208 - starts faster
    import subprocess

    ps = subprocess.run(["ps", "-axo", "pid="], capture_output=True, check=False)
    return [int(pid) for pid in ps.stdout.split()]


if __name__ == "__main__":
    main()

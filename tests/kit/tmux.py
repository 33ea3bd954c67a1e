"""A tmux server for one test, and waiting for what is to be seen on it.

Real tmux, on a socket name of its own, without anybody's configuration, gone at the end.
"""

import os
import secrets
import subprocess
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from inspect import isawaitable
from pathlib import Path
from typing import TypeVar

import anyio

EVERY_SECONDS = 0.05
T = TypeVar("T")


class NeverHappenedError(AssertionError):
    """What the test waited for did not come."""


def wait_until(
    predicate: Callable[[], T | None],
    timeout: float = 10.0,
    *,
    seen: Callable[[], object] = lambda: "",
) -> T:
    """What the predicate says once it is true; otherwise fail, with what ``seen`` sees then."""
    deadline = time.monotonic() + timeout
    while not (found := predicate()):
        if time.monotonic() > deadline:
            raise NeverHappenedError(f"not within {timeout} s; in its place:\n{seen()}")
        time.sleep(EVERY_SECONDS)
    return found


async def wait_until_async(
    predicate: Callable[[], Awaitable[object] | object],
    timeout: float = 10.0,  # noqa: ASYNC109 - a failure that says what was there in its place
    *,
    seen: Callable[[], object] = lambda: "",
) -> None:
    """As `wait_until`, for tests inside an event loop; the predicate may be a coroutine."""
    deadline = time.monotonic() + timeout
    while True:
        verdict = predicate()
        if await verdict if isawaitable(verdict) else verdict:
            return
        if time.monotonic() > deadline:
            raise NeverHappenedError(f"not within {timeout} s; in its place:\n{seen()}")
        await anyio.sleep(EVERY_SECONDS)


class Tmux:
    """One private server."""

    def __init__(self, name: str) -> None:
        self.name = name
        """For ``tmux -L``."""

    def run(self, *arguments: str, stdin: str | None = None) -> str:
        done = subprocess.run(
            ["tmux", "-L", self.name, "-f", "/dev/null", *arguments],
            input=stdin,
            capture_output=True,
            text=True,
            timeout=20,
        )
        assert done.returncode == 0, f"tmux {arguments}: {done.stderr}"
        return done.stdout.removesuffix("\n")

    def start(
        self,
        argv: Sequence[str | Path],
        *,
        environment: Mapping[str, str],
        cwd: Path,
        size: tuple[int, int] = (120, 40),
    ) -> str:
        """Run a program with exactly this environment in a session of its own; its pane id."""
        variables = [f"{name}={value}" for name, value in environment.items()]
        program = ["env", "-i", *variables, *map(str, argv)]
        width, height = map(str, size)
        place = ["-x", width, "-y", height, "-c", str(cwd)]
        return self.run("new-session", "-d", "-P", "-F", "#{pane_id}", *place, "--", *program)

    def screen(self, pane: str) -> str:
        return self.run("capture-pane", "-p", "-t", pane)

    def paste(self, pane: str, text: str) -> None:
        """Into the box, not yet submitted."""
        self.run("load-buffer", "-b", "kit", "-", stdin=text)
        self.run("paste-buffer", "-p", "-r", "-d", "-b", "kit", "-t", pane)

    def press(self, pane: str, key: str) -> None:
        self.run("send-keys", "-t", pane, key)

    def pid(self, pane: str) -> int:
        return int(self.run("display-message", "-p", "-t", pane, "#{pane_pid}"))


@contextmanager
def private_tmux() -> Iterator[Tmux]:
    """A server that dies with the test, with everything that runs in it."""
    tmux = Tmux(f"sm-test-{secrets.token_hex(6)}")
    try:
        # A program that died leaves its last words on the screen, for the test's failure.
        keep = ["set-option", "-g", "remain-on-exit", "on"]
        tmux.run("start-server", ";", "set-option", "-g", "exit-empty", "off", ";", *keep)
        yield tmux
    finally:
        reap(tmux.name)


def reap(name: str) -> None:
    """End the tmux server of this ``-L`` name, if there is one, and remove its socket."""
    subprocess.run(["tmux", "-L", name, "-f", "/dev/null", "kill-server"], capture_output=True)
    socket_path(name).unlink(missing_ok=True)


def socket_path(name: str) -> Path:
    """Where tmux keeps the socket of a ``-L`` name."""
    return Path(os.environ.get("TMUX_TMPDIR") or "/tmp") / f"tmux-{os.getuid()}" / name

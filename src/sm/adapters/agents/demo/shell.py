"""Commands through /bin/sh: hooks, tools, and what a person runs with ``!``.

Loaded when the first command runs, after the prompt is drawn: subprocess is slow to import.
"""

import contextlib
import os
import signal
import subprocess
import threading
import time
from collections.abc import Mapping
from typing import IO, NamedTuple

_GLANCE = 0.03


class Ran(NamedTuple):
    code: int
    stdout: str
    stderr: str


class StoppedError(Exception):
    """The command was ended by its time limit or an interrupt."""


def run(
    command: str,
    *,
    cwd: str,
    stdin: str = "",
    environment: Mapping[str, str] | None = None,
    timeout: float | None = None,
    interrupt: threading.Event | None = None,
) -> Ran:
    """Run to the end, or raise StoppedError. The command has its own process group."""
    deadline = None if timeout is None else time.monotonic() + timeout
    # No terminal of its own: a tool must not read the keys meant for the prompt.
    child = subprocess.Popen(
        ["/bin/sh", "-c", command],
        cwd=cwd,
        env={**os.environ, **(environment or {})},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    _feed(child, stdin.encode("utf-8", "replace"))
    while True:
        try:
            out, err = child.communicate(timeout=_wait(deadline, interrupt))
            return Ran(child.returncode, _text(out), _text(err))
        except subprocess.TimeoutExpired:
            if _is_over(deadline, interrupt):
                _end(child)
                raise StoppedError from None


def _feed(child: "subprocess.Popen[bytes]", content: bytes) -> None:
    """Give a command its input beside the waiting: a second communicate() sends no more of it."""
    stdin, child.stdin = child.stdin, None
    if stdin is not None:
        threading.Thread(target=_write, args=(stdin, content), daemon=True).start()


def _write(pipe: IO[bytes], content: bytes) -> None:
    # A command may end without reading all of it.
    with contextlib.suppress(BrokenPipeError), pipe:
        pipe.write(content)


def _text(output: bytes) -> str:
    return output.decode("utf-8", "replace")


def _wait(deadline: float | None, interrupt: threading.Event | None) -> float | None:
    left = None if deadline is None else max(0.0, deadline - time.monotonic())
    if interrupt is None:
        return left
    return _GLANCE if left is None else min(_GLANCE, left)


def _is_over(deadline: float | None, interrupt: threading.Event | None) -> bool:
    if interrupt is not None and interrupt.is_set():
        return True
    return deadline is not None and time.monotonic() >= deadline


def _end(child: "subprocess.Popen[bytes]") -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()
    for pipe in (child.stdout, child.stderr):
        if pipe is not None:
            pipe.close()

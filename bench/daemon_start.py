"""From ``sm daemon start`` to the first answer."""

import socket
import subprocess
import time
from collections.abc import Iterator

from tests.kit.sm import SM, Sm, sm_home

from bench.figures import Figure, at_most, median
from bench.floors import BARE_PYTHON, run_seconds
from bench.sizes import Sizes
from sm.settings.home import Home

_REQUEST = b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"


def measure(sizes: Sizes) -> Iterator[Figure]:
    ready: list[float] = []
    bare: list[float] = []
    with sm_home() as sm:
        for _ in range(sizes.daemon_starts):
            ready.append(_start(sm))
            sm.run("daemon", "stop")
            bare.append(run_seconds(BARE_PYTHON, sm.environment))
    yield Figure(
        what="daemon start → first answer",
        measured=median(ready),
        unit="s",
        floor=median(bare),
        floor_is="bare Python start",
        goal=at_most(0.8),
    )


def _start(sm: Sm) -> float:
    began = time.perf_counter()
    command = subprocess.Popen(
        [str(SM), "daemon", "start"],
        env=sm.environment,
        cwd=sm.work,
        stdout=subprocess.DEVNULL,
    )
    while not _answers(sm.home):
        time.sleep(0.002)
    taken = time.perf_counter() - began
    assert command.wait() == 0
    return taken


def _answers(home: Home) -> bool:
    """Once somebody listens, this waits for the answer: no poll blurs the time."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        try:
            connection.connect(str(home.socket))
        except OSError:
            return False
        connection.sendall(_REQUEST)
        return connection.recv(12) == b"HTTP/1.1 200"

"""The load generator: one process, raw sockets, each connection sending as soon as it is answered.

At the end every session's turn is ended, so that a daemon that is not under load is idle.

    python -m bench.load < job.json > report.json

Alone in its process, so that what it costs is not taken for the daemon's.
"""

import json
import random
import selectors
import socket
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

from bench.hook_requests import Request, Target, hook_ids, requests, stop_request
from bench.process import cpu_seconds

WARM_UP = 0.5
_END = b"\r\n\r\n"
_TAKEN = b"HTTP/1.1 204"


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    socket: str
    worker: int
    connections: int
    seconds: float
    targets: list[Target]


@dataclass(slots=True, kw_only=True)
class Report:
    seconds: float = 0.0
    worker_cpu: float = 0.0
    own_cpu: float = 0.0
    taken: int = 0
    """All of them, those of the warm-up too."""
    refused: int = 0
    latencies: list[float] = field(default_factory=list)


@dataclass(slots=True)
class _Connection:
    socket: socket.socket
    sent_at: float = 0.0
    received: bytes = b""


class Load:
    def __init__(self, job: Job) -> None:
        self._job = job
        self._report = Report()
        self._calls: Iterator[bytes] = _endless([r for t in job.targets for r in requests(t)])
        self._selector = selectors.DefaultSelector()
        self._waiting = 0

    def run(self) -> Report:
        for _ in range(self._job.connections):
            self._open()
        self._drive(min(WARM_UP, self._job.seconds))
        self._report.latencies.clear()
        worker, own, began = cpu_seconds(self._job.worker), time.process_time(), time.monotonic()
        self._drive(self._job.seconds)
        self._report.seconds = time.monotonic() - began
        self._report.worker_cpu = cpu_seconds(self._job.worker) - worker
        self._report.own_cpu = time.process_time() - own
        measured = list(self._report.latencies)
        self._calls = _once([stop_request(target) for target in self._job.targets])
        self._drain()
        self._report.latencies = measured
        return self._report

    def _open(self) -> None:
        stream = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        stream.connect(self._job.socket)
        connection = _Connection(stream)
        self._selector.register(stream, selectors.EVENT_READ, connection)
        self._send(connection)

    def _send(self, connection: _Connection) -> None:
        call = next(self._calls, None)
        if call is not None:
            connection.sent_at = time.perf_counter()
            connection.socket.sendall(call)
            self._waiting += 1

    def _drive(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            for key, _ in self._selector.select(1.0):
                if self._receive(key.data):
                    self._send(key.data)

    def _drain(self) -> None:
        """Send what is left and take every answer still owed."""
        while self._waiting:
            for key, _ in self._selector.select(5.0):
                if self._receive(key.data):
                    self._send(key.data)

    def _receive(self, connection: _Connection) -> bool:
        """Whether the answer is complete."""
        chunk = connection.socket.recv(4096)
        if not chunk:
            raise ConnectionError("the daemon closed a connection under load")
        connection.received += chunk
        if _END not in connection.received:
            return False
        self._waiting -= 1
        self._report.latencies.append(time.perf_counter() - connection.sent_at)
        if connection.received.startswith(_TAKEN):
            self._report.taken += 1
        else:
            self._report.refused += 1
        connection.received = b""
        return True


def _endless(prepared: list[Request]) -> Iterator[bytes]:
    chance = random.Random(1)
    for hook in hook_ids():
        yield chance.choice(prepared).stamped(hook)


def _once(prepared: list[Request]) -> Iterator[bytes]:
    return (request.stamped(hook) for request, hook in zip(prepared, hook_ids(), strict=False))


def main() -> None:
    given: dict[str, Any] = json.load(sys.stdin)
    given["targets"] = [Target(**target) for target in given["targets"]]
    json.dump(asdict(Load(Job(**given)).run()), sys.stdout)


if __name__ == "__main__":
    main()

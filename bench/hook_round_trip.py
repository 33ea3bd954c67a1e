"""One hook at a time on one connection: how long an agent waits for each."""

import socket
import time
from collections.abc import Iterator
from itertools import cycle

from tests.kit.sm import sm_home

from bench.figures import Figure, at_most, median, quantile
from bench.floors import commit_times
from bench.hook_requests import hook_ids, requests
from bench.known import prepare
from bench.sizes import Sizes

WARM_UP = 20


def measure(sizes: Sizes) -> Iterator[Figure]:
    taken: list[float] = []
    commits: list[float] = []
    with sm_home() as sm:
        (target,) = prepare(sm, 1)
        sm.run("daemon", "start")
        calls = cycle(requests(target))
        ids = hook_ids()
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as stream:
            stream.connect(str(sm.home.socket))
            for _ in range(WARM_UP):
                _round_trip(stream, next(calls).stamped(next(ids)))
            # In turns: a disk that others use is as slow for the floor as it is for us.
            for _ in range(sizes.rounds):
                taken += [
                    _round_trip(stream, next(calls).stamped(next(ids)))
                    for _ in range(sizes.round_trips)
                ]
                commits += commit_times(sm.folder, sizes.round_trips)
    yield Figure(
        what="hook round trip, one at a time, p50",
        measured=median(taken) * 1e3,
        unit="ms",
        floor=median(commits) * 1e3,
        floor_is="plain SQLite commit",
        goal=at_most(2),
    )
    yield Figure(
        what="hook round trip, one at a time, p99",
        measured=quantile(taken, 0.99) * 1e3,
        unit="ms",
        floor=quantile(commits, 0.99) * 1e3,
        floor_is="plain SQLite commit, p99",
    )


def _round_trip(stream: socket.socket, request: bytes) -> float:
    began = time.perf_counter()
    stream.sendall(request)
    answer = stream.recv(4096)
    taken = time.perf_counter() - began
    assert answer.startswith(b"HTTP/1.1 204"), answer
    return taken

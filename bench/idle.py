"""What a daemon costs while a hundred agents sit there and say nothing; and commands beside it."""

import os
import secrets
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import cast

from tests.kit.sm import SM, Sm, sm_home
from tests.kit.tmux import wait_until

from bench.figures import Figure, at_most, at_most_times, median
from bench.floors import BARE_PYTHON, TRUE, run_seconds
from bench.process import cpu_percent, rss_mb
from bench.sizes import Sizes
from sm.api.types import SessionView

SETTLING = 3.0
_SHARED = ("PATH", "HOME", "LANG", "TERM")


def measure(sizes: Sizes) -> Iterator[Figure]:
    with sm_home() as sm:
        sm.run("daemon", "start")
        empty = rss_mb(sm.health()["worker"])
        _start_agents(sm, sizes)
        yield from _memory(sm, sizes, empty)
        yield from _idle_cpu(sm, sizes)
        yield from _commands(sm, sizes)


def _start_agents(sm: Sm, sizes: Sizes) -> None:
    number = sizes.idle_sessions
    with ThreadPoolExecutor(max_workers=2 * (os.cpu_count() or 1)) as pool:
        list(pool.map(lambda _: _start_agent(sm), range(number)))
    wait_until(lambda: _idle(sm) == number, timeout=120)
    time.sleep(min(SETTLING, sizes.idle_seconds))


def _start_agent(sm: Sm) -> None:
    body = {
        "id": secrets.token_hex(4),
        "agent": "demo",
        # No reminder while we measure silence.
        "arguments": ["--idle-notice", "3600"],
        "cwd": str(sm.work),
        "environment": {name: sm.environment[name] for name in _SHARED},
    }
    sm.client().call("POST", "/sessions", body)


def _idle(sm: Sm) -> int:
    found = cast("list[SessionView]", sm.client().get("/sessions"))
    return sum(session["state"] == "idle" for session in found)


def _memory(sm: Sm, sizes: Sizes, empty: float) -> Iterator[Figure]:
    health = sm.health()
    parent, worker = rss_mb(health["pid"]), rss_mb(health["worker"])
    yield Figure(
        what=f"RSS of parent + worker, {sizes.idle_sessions} idle sessions",
        measured=parent + worker,
        unit="MB",
        floor=_bare_rss(sm),
        floor_is="bare Python",
        goal=at_most(75),
    )
    yield Figure(what="  parent", measured=parent, unit="MB")
    yield Figure(what="  worker", measured=worker, unit="MB", floor=empty, floor_is="no sessions")


def _bare_rss(sm: Sm) -> float:
    script = "print(open('/proc/self/statm').read().split()[1])"
    pages = subprocess.run(
        [BARE_PYTHON[0], "-c", script], env=sm.environment, capture_output=True, check=True
    ).stdout
    return int(pages) * os.sysconf("SC_PAGE_SIZE") / 1e6


def _idle_cpu(sm: Sm, sizes: Sizes) -> Iterator[Figure]:
    health = sm.health()
    used = cpu_percent([health["pid"], health["worker"]], sizes.idle_seconds)
    yield Figure(
        what=f"idle CPU of parent + worker, {sizes.idle_sessions} idle sessions",
        measured=sum(used.values()),
        unit="%",
        goal=at_most(0.3),
    )


def _commands(sm: Sm, sizes: Sizes) -> Iterator[Figure]:
    commands = {
        "true": TRUE,
        "python": BARE_PYTHON,
        "version": (str(SM), "version"),
        "ls": (str(SM), "ls"),
    }
    taken: dict[str, list[float]] = {name: [] for name in commands}
    # In turns: what else the machine does in the meantime hits each of them alike.
    for _ in range(sizes.cli_runs):
        for name, command in commands.items():
            taken[name].append(1e3 * run_seconds(command, sm.environment))
    true, python, version, ls = (median(taken[name]) for name in commands)
    yield Figure(what="bare Python start", measured=python, unit="ms", floor=true,
                 floor_is="/bin/true")  # fmt: skip
    yield Figure(what="sm version", measured=version, unit="ms", floor=python,
                 floor_is="bare Python start", goal=at_most_times(3))  # fmt: skip
    yield Figure(what=f"sm ls, {sizes.idle_sessions} sessions", measured=ls, unit="ms",
                 floor=python, floor_is="bare Python start", goal=at_most_times(5))  # fmt: skip

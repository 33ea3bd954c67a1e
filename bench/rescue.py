"""From the death of agents to their own word that they are at work again.

All sessions are in the middle of a turn when they are hit, so each agent is told what was cut, and
is back when it reports that. The floor is what such agents need to start, in a tmux of their own
and without sm: one alone, and as many as died, at once.
"""

import json
import os
import signal
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from tests.kit.sm import Sm, sm_home
from tests.kit.tmux import Tmux, private_tmux, wait_until

from bench.figures import Figure, at_most, median
from bench.sizes import Sizes

CONFIG = "[recovery]\nauto_recover = true\ncrash_budget = '1000 in 1s'\nat_once = {at_once}\n"
ONE_GOAL, ALL_GOAL = 2.0, 15.0
AT_ONCE = 4
"""As configured by default."""


def measure(sizes: Sizes) -> Iterator[Figure]:
    alone = median([_bare(1) for _ in range(sizes.rescues)])
    together = _bare(sizes.rescued)
    with sm_home() as sm:
        sm.home.config.parent.mkdir(parents=True)
        sm.home.config.write_text(CONFIG.format(at_once=AT_ONCE))
        names = _working(sm, sizes.rescued)
        ones = [_killed(sm, name) for name in names[: sizes.rescues]]
        _set_to_work(sm, names)
        wave = _server_killed(sm, names)
    yield Figure(
        what="kill -9 of an agent → at work again, median",
        measured=median(ones),
        unit="s",
        floor=alone,
        floor_is="the same agent's bare start",
        goal=at_most(round(ONE_GOAL + alone, 2)),
    )
    yield Figure(
        what=f"tmux kill-server → all {sizes.rescued} at work again",
        measured=wave,
        unit="s",
        floor=together,
        floor_is="bare start of as many at once",
        goal=at_most(ALL_GOAL),
    )


def _bare(number: int) -> float:
    """Seconds until the last of so many agents has called its first hook."""
    with private_tmux() as tmux, sm_home() as place:
        folder = place.folder
        settings, started = folder / "settings.json", folder / "started"
        hook = {"hooks": [{"type": "command", "command": f"echo >> {started}"}]}
        settings.write_text(json.dumps({"hooks": {"SessionStart": [hook]}}))
        began = time.perf_counter()
        for _ in range(number):
            _start(tmux, folder, settings)
        while not started.exists() or started.read_bytes().count(b"\n") < number:
            time.sleep(0.002)
        return time.perf_counter() - began


def _start(tmux: Tmux, folder: Path, settings: Path) -> None:
    program = [sys.executable, "-I", "-m", "sm.adapters.agents.demo"]
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "LANG": "C.UTF-8",
        "TERM": "tmux-256color",
        "SM_DEMO_CONFIG": str(folder / "demo"),
    }
    tmux.start([*program, "--settings", str(settings)], environment=environment, cwd=folder)


def _working(sm: Sm, number: int) -> list[str]:
    names = [f"w{n}" for n in range(1, number + 1)]
    with ThreadPoolExecutor(max_workers=4) as pool:
        list(pool.map(sm.new_demo, names))
    _set_to_work(sm, names)
    return names


def _set_to_work(sm: Sm, names: list[str]) -> None:
    client = sm.client()
    for name in names:
        client.call("POST", f"/sessions/{name}/messages", {"text": "%work 3600", "notify": False})
    wait_until(lambda: all(s["state"] == "working" for s in _sessions(sm)), 60)


def _sessions(sm: Sm) -> list[dict[str, Any]]:
    found: Any = sm.client().get("/sessions")
    return list(found)


def _killed(sm: Sm, name: str) -> float:
    pid = int(sm.json("show", name)["pid"])
    began = time.time()
    os.kill(pid, signal.SIGKILL)
    return _back(sm, [name], began)


def _server_killed(sm: Sm, names: list[str]) -> float:
    began = time.time()
    sm.tmux("kill-server")
    return _back(sm, names, began)


def _back(sm: Sm, names: list[str], since: float) -> float:
    """Seconds until the last one's recovery was done, by the daemon's own record."""
    return max(_ended(sm, name, since) for name in names) - since


def _ended(sm: Sm, name: str, since: float) -> float:
    """When this session's recovery was done."""

    def recoveries() -> list[dict[str, Any]]:
        shown: Any = sm.client().get(f"/sessions/{name}")
        return [r for r in shown["recoveries"] if r["asked_at"] >= since and r["state"] == "done"]

    wait_until(recoveries, 120, seen=lambda: sm.run("show", name))
    return float(recoveries()[-1]["ended_at"])

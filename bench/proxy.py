"""What passes through a foreground proxy while an agent writes as fast as it can.

Beside it the bare loop: read the pseudoterminal, write the log, write the screen, nothing else.
"""

import asyncio
import os
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from bench.figures import Figure, at_least, median
from bench.sizes import Sizes
from sm.adapters.archive.render import render
from sm.adapters.pty.terminal import PANE, PtyTerminal
from sm.adapters.system import ProcessTable
from sm.core.ids import SessionId
from sm.core.launch import PaneLaunch

LINE = b"all that an agent writes goes through here, one line after the other\n"
ROUNDS = 5
FASTEST = 50.0
"""Megabytes per second: no agent and no terminal is faster."""


def measure(sizes: Sizes) -> Iterator[Figure]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "text").write_bytes(LINE * (sizes.proxied_bytes // len(LINE)))
        proxied, bare, looks = [], [], []
        for _ in range(ROUNDS):
            bare.append(_bare(folder))
            speed, look = asyncio.run(_proxied(folder))
            proxied.append(speed)
            looks.append(look)
    yield Figure(
        what="cat through the foreground proxy",
        measured=median(proxied),
        unit="MB/s",
        floor=median(bare),
        floor_is="the bare loop: read, write the log, write the screen",
        goal=at_least(FASTEST),
    )
    yield Figure(what="  first look at all of it", measured=median(looks) * 1000, unit="ms")


async def _proxied(folder: Path) -> tuple[float, float]:
    """Megabytes per second from the agent's start to its end; seconds for a look after it."""
    raw = folder / "raw.log"
    raw.unlink(missing_ok=True)
    launch = PaneLaunch(
        session=SessionId("ada00001"),
        tmux_session="ada",
        cwd=str(folder),
        argv=("cat", "text"),
        raw_log=str(raw),
        sizes_log=str(folder / "sizes.jsonl"),
    )
    null = os.open("/dev/null", os.O_RDWR)
    terminal = PtyTerminal(started=ProcessTable().started, render=render)
    async with terminal.foreground(null, null):
        await terminal.launch(launch)
        began = time.perf_counter()
        await terminal.exited()
        ended = time.perf_counter()
        await terminal.look(PANE)
        looked = time.perf_counter()
    os.close(null)
    return raw.stat().st_size / (ended - began) / 1e6, looked - ended


def _bare(folder: Path) -> float:
    master, slave = os.openpty()
    log = os.open(folder / "bare.log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    null = os.open("/dev/null", os.O_WRONLY)
    writer = subprocess.Popen(["cat", "text"], cwd=folder, stdout=slave)
    os.close(slave)
    began, size = time.perf_counter(), 0
    while piece := _read(master):
        os.write(log, piece)
        os.write(null, piece)
        size += len(piece)
    speed = size / (time.perf_counter() - began) / 1e6
    writer.wait()
    for fd in (master, log, null):
        os.close(fd)
    return speed


def _read(master: int) -> bytes:
    try:
        return os.read(master, 65536)
    except OSError:
        # The last writer is gone.
        return b""

"""Faults to be made in a home whose sessions are at work, each as rough as the real thing.

Only what belongs to this home is hurt: its daemon by its pid file, its tmux server by its own
socket, its agents by their panes.
"""

import contextlib
import os
import random
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from sm.adapters.system import ProcessTable
from sm.api.runs import home_of_run
from tests.kit.sm import Sm
from tests.prove.wrapped import living

STOPPED_FOR = (0.2, 2.0)
FULL_FOR = (0.5, 2.0)
RECORDED_WITHIN = 1.0
"""An agent that cannot write its record tries again so soon."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where an agent runs."""

    session: str
    pid: int
    pane: str = ""
    """Empty in a terminal that is not ours."""


@dataclass(slots=True)
class Havoc:
    """Makes faults at random, and keeps what it did."""

    sm: Sm
    chance: random.Random
    ballast: Path | None
    """A file on the home's own small disk, where there is one."""
    made: list[tuple[float, str, str]] = field(default_factory=list)
    """When, what, and to which session."""
    blind: list[tuple[float, float]] = field(default_factory=list)
    """When nothing could be written on the home's disk."""
    healing: list[threading.Timer] = field(default_factory=list)

    def make(self, what: str) -> bool:
        """Whether there was somebody it could be done to."""
        began = time.time()
        hit = FAULTS[what](self)
        if hit is not None:
            self.made.append((began, what, hit))
        return hit is not None

    def end(self) -> None:
        """Whatever heals by itself has healed."""
        for timer in self.healing:
            timer.join()

    def later(self, seconds: float, heal: Callable[[], object]) -> None:
        timer = threading.Timer(seconds, heal)
        timer.start()
        self.healing = [t for t in self.healing if t.is_alive()] + [timer]

    def tmux(self, *arguments: str) -> str:
        name = self.sm.home.tmux_socket("sm")
        done = subprocess.run(
            ["tmux", "-L", name, "-f", "/dev/null", *arguments],
            capture_output=True,
            text=True,
            check=False,
        )
        return done.stdout

    def places(self) -> list[Place]:
        """Of all agents that live; nobody who is missing there is alive for tmux."""
        told = self.tmux(
            "list-panes", "-a", "-F", "#{@sm_pane} #{pane_id} #{pane_pid} #{pane_dead}"
        )
        rows = [line.split(" ") for line in told.splitlines()]
        ours = [Place(s, int(pid), pane) for s, pane, pid, dead in rows if s and dead == "0"]
        wrapped = [Place(run["id"], pid) for run, pid in living(self.sm.home) if pid]
        return ours + wrapped

    def anybody(self) -> Place | None:
        found = self.places()
        return self.chance.choice(found) if found else None

    def folder(self, session: str) -> Path:
        """Where its agent keeps its records."""
        own = home_of_run(self.sm.home, session).sessions / session
        return (own if own.exists() else self.sm.home.sessions / session) / "demo" / "projects"

    def daemon(self) -> int | None:
        """The daemon's parent."""
        try:
            pid = int(self.sm.home.pid.read_text().split()[0])
        except (OSError, ValueError, IndexError):
            return None
        return pid if _is_daemon(pid) else None

    def worker(self) -> int | None:
        parent = self.daemon()
        with contextlib.suppress(OSError):
            children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
            return int(children[0]) if children else None
        return None


def _is_daemon(pid: int) -> bool:
    """A pid file outlives its daemon, and its number may be somebody else's by now."""
    with contextlib.suppress(OSError):
        return b"sm.daemon" in Path(f"/proc/{pid}/cmdline").read_bytes()
    return False


def _kill(pid: int | None, number: signal.Signals = signal.SIGKILL) -> str | None:
    if pid is None:
        return None
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return None
    return ""


def kill_agent(havoc: Havoc) -> str | None:
    place = havoc.anybody()
    return place.session if place and _kill(place.pid) is not None else None


def close_pane(havoc: Havoc) -> str | None:
    ours = [place for place in havoc.places() if place.pane]
    if not ours:
        return None
    place = havoc.chance.choice(ours)
    havoc.tmux("kill-pane", "-t", place.pane)
    return place.session


def tear_transcript(havoc: Havoc) -> str | None:
    """The agent dies in the middle of writing a record."""
    place = havoc.anybody()
    if place is None or _kill(place.pid, signal.SIGSTOP) is None:
        return None
    written = sorted(
        havoc.folder(place.session).glob("*/*.jsonl"), key=lambda path: path.stat().st_mtime
    )
    if written:
        whole = written[-1].read_bytes()
        last = whole.rstrip(b"\n").rfind(b"\n") + 1
        os.truncate(written[-1], last + (len(whole) - last) // 2)
    _kill(place.pid)
    return place.session


def kill_run(havoc: Havoc) -> str | None:
    """The wrapper: its agent dies with it, and nobody is left at that terminal."""
    found = living(havoc.sm.home)
    if not found:
        return None
    run, _ = havoc.chance.choice(found)
    return run["id"] if _kill(run["pid"]) is not None else None


def kill_worker(havoc: Havoc) -> str | None:
    return _kill(havoc.worker())


def kill_daemon(havoc: Havoc) -> str | None:
    """The parent: nobody is left who would start the worker again."""
    return _kill(havoc.daemon())


def kill_server(havoc: Havoc) -> str | None:
    told = havoc.tmux("display-message", "-p", "#{pid}").strip()
    return _kill(int(told)) if told.isdecimal() else None


def end_server(havoc: Havoc) -> str | None:
    """As somebody types it: every agent is told to hang up."""
    if not havoc.places():
        return None
    havoc.tmux("kill-server")
    return ""


def stop_agent(havoc: Havoc) -> str | None:
    place = havoc.anybody()
    return place.session if place and _stop(havoc, place.pid) is not None else None


def stop_daemon(havoc: Havoc) -> str | None:
    return _stop(havoc, havoc.worker())


def _stop(havoc: Havoc, pid: int | None) -> str | None:
    if pid is None:
        return None
    started = ProcessTable().started(pid)

    def go_on() -> None:
        if ProcessTable().started(pid) == started:
            _kill(pid, signal.SIGCONT)

    stopped = _kill(pid, signal.SIGSTOP)
    havoc.later(havoc.chance.uniform(*STOPPED_FOR), go_on)
    return stopped


def fill_disk(havoc: Havoc) -> str | None:
    """Nothing can be written in the home for a while."""
    ballast = havoc.ballast
    if ballast is None or ballast.exists():
        return None
    with contextlib.suppress(OSError), ballast.open("wb", buffering=0) as file:
        while True:
            file.write(bytes(1 << 16))
    began = time.time()

    def free() -> None:
        ballast.unlink(missing_ok=True)
        havoc.blind.append((began - RECORDED_WITHIN, time.time() + RECORDED_WITHIN))

    havoc.later(havoc.chance.uniform(*FULL_FOR), free)
    return ""


KILL_RUN = "kill -9 an sm run"
FILL_DISK = "the disk full for a while"
FAULTS: dict[str, Callable[[Havoc], str | None]] = {
    "kill -9 an agent": kill_agent,
    "its pane closed": close_pane,
    "its transcript torn": tear_transcript,
    "an agent stopped for a while": stop_agent,
    KILL_RUN: kill_run,
    "kill -9 the daemon's worker": kill_worker,
    "kill -9 the daemon": kill_daemon,
    "the daemon stopped for a while": stop_daemon,
    "kill -9 the tmux server": kill_server,
    "tmux kill-server": end_server,
    FILL_DISK: fill_disk,
}
SHARES = {
    "kill -9 an agent": 320,
    "its pane closed": 120,
    "its transcript torn": 120,
    "an agent stopped for a while": 120,
    "kill -9 the daemon's worker": 130,
    "kill -9 the daemon": 50,
    "the daemon stopped for a while": 80,
    "kill -9 the tmux server": 10,
    "tmux kill-server": 10,
    FILL_DISK: 40,
}
"""How often each is made, of a thousand. Each ``sm run`` can be killed but once: it comes back as
the daemon's, in the place of so many killed agents."""


def plan(chance: random.Random, times: int, *, wrapped: int, disk: bool) -> list[str]:
    """So many faults in a random order, each kind at its share and at least once; and each
    ``sm run`` killed."""
    kinds = {what: share for what, share in SHARES.items() if disk or what != FILL_DISK}
    planned = [what for what, share in kinds.items() for _ in range(max(1, share * times // 1000))]
    planned = planned[wrapped:] + [KILL_RUN] * wrapped
    planned += ["kill -9 an agent"] * (times - len(planned))
    chance.shuffle(planned)
    return planned


@contextmanager
def small_disk(folder: Path, size: str) -> Iterator[Path | None]:
    """A file system of its own there, if we may: a full one must not be everybody's."""
    folder.mkdir(parents=True, exist_ok=True)
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size},mode=0700", "sm-test", str(folder)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode:
        yield None
        return
    try:
        yield folder / "ballast"
    finally:
        # Lazily: what still holds a file there goes with its process.
        subprocess.run(["umount", "-l", str(folder)], check=True)

"""Hooks over many connections at once, for one session and for many known ones."""

import json
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass, field
from pathlib import Path

from tests.kit.sm import Sm, sm_home
from tests.kit.tmux import wait_until

from bench.figures import Figure, at_least, at_most, at_most_times, median, quantile
from bench.floors import commit_times
from bench.hook_requests import Target
from bench.known import prepare
from bench.load import Job, Report
from bench.process import cpu_percent
from bench.sizes import Sizes

QUIET = 0.4
ROOT = Path(__file__).parent.parent


@dataclass(frozen=True, slots=True)
class _Daemon:
    """A daemon that knows this many sessions, and how it fared in each round."""

    known: int
    sm: Sm
    targets: list[Target]
    reports: list[Report] = field(default_factory=list)

    @property
    def latencies(self) -> list[float]:
        return [latency for report in self.reports for latency in report.latencies]

    @property
    def rate(self) -> float:
        return median([len(r.latencies) / r.seconds for r in self.reports])

    @property
    def cpu(self) -> float:
        """Microseconds of the worker per hook."""
        return median([1e6 * r.worker_cpu / len(r.latencies) for r in self.reports])


def measure(sizes: Sizes) -> Iterator[Figure]:
    commits: list[float] = []
    with ExitStack() as stack:
        daemons = [_start(stack.enter_context(sm_home()), known, sizes) for known in sizes.known]
        # In turns: what else the machine does in the meantime hits each of them alike.
        for _ in range(sizes.load_rounds):
            for daemon in daemons:
                daemon.reports.append(_generate(_job(daemon, sizes)))
                folder = daemon.sm.folder
                commits += commit_times(folder, sizes.shared_commits, rows=sizes.connections)
        for daemon in daemons:
            _check(daemon)
    shared_commit = median(commits)
    for daemon in daemons:
        yield from _figures(daemon, sizes.connections, shared_commit)
    first, last = daemons[0], daemons[-1]
    yield _cost(last, first, "daemon CPU per hook", last.cpu, first.cpu)
    yield _cost(last, first, "time per hook", 1e6 / last.rate, 1e6 / first.rate)


def _start(sm: Sm, known: int, sizes: Sizes) -> _Daemon:
    targets = prepare(sm, known)
    sm.run("daemon", "start")
    both = [sm.health()["worker"], int(sm.tmux("display-message", "-p", "#{pid}"))]
    quiet = min(QUIET, sizes.load_seconds)
    # It first looks after every pane its store tells of.
    wait_until(lambda: sum(cpu_percent(both, quiet).values()) <= 5, timeout=60)
    return _Daemon(known, sm, targets)


def _job(daemon: _Daemon, sizes: Sizes) -> Job:
    return Job(
        socket=str(daemon.sm.home.socket),
        worker=daemon.sm.health()["worker"],
        connections=sizes.connections,
        seconds=sizes.load_seconds,
        targets=daemon.targets,
    )


def _check(daemon: _Daemon) -> None:
    """Every hook that was answered must be in the store."""
    taken = sum(report.taken for report in daemon.reports)
    refused = sum(report.refused for report in daemon.reports)
    kept = _kept(daemon.sm)
    assert refused == 0, f"{refused} hooks were refused"
    assert kept == taken, f"{taken} hooks were answered, {kept} are stored"


def _generate(job: Job) -> Report:
    done = subprocess.run(
        [sys.executable, "-m", "bench.load"],
        input=json.dumps(asdict(job)),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        cwd=ROOT,
    )
    return Report(**json.loads(done.stdout))


def _kept(sm: Sm) -> int:
    with closing(sqlite3.connect(sm.home.store)) as store:
        query = "SELECT count(*) FROM event WHERE kind IN ('ToolStarted', 'ToolEnded', 'TurnEnded')"
        return int(store.execute(query).fetchone()[0])


def _figures(daemon: _Daemon, connections: int, shared_commit: float) -> Iterator[Figure]:
    known = f"{daemon.known:,} known"
    yield Figure(
        what=f"hooks over {connections} connections, {known}",
        measured=daemon.rate,
        unit="/s",
        floor=connections / shared_commit,
        floor_is=f"plain SQLite, {connections} rows a commit",
        goal=at_least(3000),
    )
    yield Figure(
        what=f"  p99, {known}",
        measured=quantile(daemon.latencies, 0.99) * 1e3,
        unit="ms",
        floor=shared_commit * 1e3,
        floor_is=f"plain SQLite commit of {connections} rows",
        goal=at_most(20),
    )
    yield Figure(what=f"  daemon CPU per hook, {known}", measured=daemon.cpu, unit="µs")


def _cost(last: _Daemon, first: _Daemon, what: str, measured: float, floor: float) -> Figure:
    return Figure(
        what=f"{what}, {last.known:,} known against {first.known}",
        measured=measured,
        unit="µs",
        floor=floor,
        floor_is=f"the same with {first.known} known",
        goal=at_most_times(1.2),
    )

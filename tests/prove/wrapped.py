"""A worker that begins as `sm run`, in a terminal of somebody's own; killed, it is the daemon's."""

import contextlib
import sqlite3
from dataclasses import dataclass

from sm.adapters.system import ProcessTable
from sm.api.client import Client
from sm.api.runs import Run, home_of_run, runs
from sm.settings.home import Home
from tests.kit.runs import children
from tests.kit.sm import SM
from tests.kit.tmux import Tmux, wait_until
from tests.prove.unattended import Worker


@dataclass(slots=True, kw_only=True)
class Wrapped(Worker):
    terminal: Tmux

    def start(self, delay: float) -> None:
        pane = self.terminal.start(
            [SM, "run", "--name", self.name, "--", "demo", *self.arguments(delay), self.request],
            environment=self.sm.environment,
            cwd=self.sm.work,
        )
        run = wait_until(
            lambda: next((r for r in runs(self.sm.home) if r["name"] == self.name), None),
            30,
            seen=lambda: self.terminal.screen(pane),
        )
        self.id = run["id"]

    @property
    def own(self) -> Home:
        """The run's home inside the home."""
        return home_of_run(self.sm.home, self.id)

    def client(self) -> Client:
        return Client(self.own, start=False) if self.own.socket.exists() else self.sm.client()

    def crashes(self) -> list[float]:
        """Also of the agents the run itself started again; its own end is one, too."""
        with contextlib.closing(sqlite3.connect(self.own.store)) as store:
            rows = store.execute("SELECT at FROM event WHERE kind = 'AgentExited'").fetchall()
        return sorted([*(at for (at,) in rows), *Worker.crashes(self)])


def living(home: Home) -> list[tuple[Run, int | None]]:
    """Runs that go on, each with its agent's pid where there is one."""
    started = ProcessTable().started
    alive = [run for run in runs(home) if started(run["pid"]) == run["started"]]
    return [(run, _agent(run["pid"])) for run in alive]


def _agent(wrapper: int) -> int | None:
    return next((agent for leader in children(wrapper) for agent in children(leader)), None)

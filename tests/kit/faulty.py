"""A daemon that is killed with -9 at a commit point chosen beforehand.

Run as a program it is the parent; it starts itself again as the worker. The commits of all
workers of one home are counted in a file, so that "the 17th commit" is one moment of the run.
"""

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sm.api import starting
from sm.core.journal import Entry
from sm.daemon.logs import configure
from sm.daemon.parent import run as run_parent
from sm.daemon.worker import Worker
from sm.settings.config import load
from sm.settings.home import Home
from tests.kit.sm import Sm
from tests.kit.tmux import wait_until


@dataclass(frozen=True, slots=True)
class Plan:
    """When to die: at which commit, and on which side of it."""

    at: int
    when: str
    """before: the commit never happens. after: it is on the disk, nothing was acted on."""


class KillingStore:
    """The real store, and a hand on the switch."""

    def __init__(self, store: Any, home: Home) -> None:
        self._store = store
        self._counter = home.state / "commits"
        self._plan_file = home.state / "plan.json"

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def commit(self, entries: Sequence[Entry]) -> None:
        number, plan = self._count(entries), self._plan()
        if plan == Plan(number, "before"):
            os.kill(os.getpid(), signal.SIGKILL)
        await self._store.commit(entries)
        if plan == Plan(number, "after"):
            os.kill(os.getpid(), signal.SIGKILL)

    def _plan(self) -> Plan:
        if not self._plan_file.exists():
            return Plan(-1, "before")
        return Plan(**json.loads(self._plan_file.read_text()))

    def _count(self, entries: Sequence[Entry]) -> int:
        kinds = "+".join(type(entry.event).__name__ for entry in entries)
        with self._counter.open("a") as file:
            file.write(f"{kinds}\n")
        return len(self._counter.read_text().splitlines())


@contextlib.contextmanager
def start_faulty(sm: Sm) -> Iterator[None]:
    """Run this daemon in a home; commands find it there and start no other."""
    sm.home.make()
    environment = {**sm.environment, "PYTHONPATH": str(Path(__file__).parents[2])}
    parent = subprocess.Popen([sys.executable, "-m", "tests.kit.faulty"], env=environment)
    try:
        wait_until(lambda: starting.answers(sm.home), 20)
        yield
    finally:
        parent.terminate()
        parent.wait(20)


class FaultyWorker(Worker):
    async def open_store(self) -> Any:
        return KillingStore(await super().open_store(), self.home)


def worker() -> None:
    home = Home.from_environment()
    settings = load(home.config)
    configure(home, settings)
    asyncio.run(FaultyWorker(home, settings).run())


if __name__ == "__main__":
    if sys.argv[1:] == ["worker"]:
        worker()
    else:
        sys.exit(run_parent([sys.executable, "-m", "tests.kit.faulty", "worker"]))

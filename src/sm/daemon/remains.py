"""Tidies up after runs that were killed: what only a living one needs, and nothing else."""

import contextlib
from collections.abc import Callable
from pathlib import Path

from sm.adapters.folders import SessionFolders
from sm.api.runs import home_of_run, runs, write_run
from sm.core.ids import SessionId
from sm.settings.home import Home


def tidy_runs(home: Home, started: Callable[[int], int | None], now: float) -> list[str]:
    """Forget the environment and the socket of every run whose wrapper is gone; their ids.

    What it showed, its journal and its handoffs stay.
    """
    gone = [run for run in runs(home) if started(run["pid"]) != run["started"]]
    for run in gone:
        own = home_of_run(home, run["id"])
        SessionFolders(own).forget_environment(SessionId(run["id"]))
        # On a full disk, the next one does it.
        with contextlib.suppress(OSError):
            Path(run["socket"]).unlink(missing_ok=True)
            write_run(own, {**run, "ended_at": now})
    return [run["id"] for run in gone]

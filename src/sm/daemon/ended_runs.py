"""Runs that are long over: their folders go.

Not of one whose session is the daemon's: that has its files there, and they go with it.
"""

import shutil
from collections.abc import Callable

from sm.api.runs import Run, ended_runs, home_of_run, past_runs, runs
from sm.settings.home import Home

Started = Callable[[int], int | None]


def forget_runs(home: Home, started: Started, before: float) -> list[str]:
    """Remove what is left of runs that were over before this; their ids."""
    over = [*ended_runs(home), *past_runs(home)]
    gone = [run["id"] for run in over if _is_past(home, run, started, before)]
    for run in gone:
        own = home_of_run(home, run)
        shutil.rmtree(own.state, ignore_errors=True)
        # Last: until then it is found again.
        if not own.state.exists():
            shutil.rmtree(own.base, ignore_errors=True)
    return gone


def _is_past(home: Home, run: Run, started: Started, before: float) -> bool:
    ended_at = run["ended_at"]
    is_over = ended_at is not None and ended_at < before and started(run["pid"]) != run["started"]
    # One that was begun by its agent may go on inside it.
    is_alone = not runs(home_of_run(home, run["id"]))
    return is_over and is_alone and not (home.sessions / run["id"]).is_symlink()

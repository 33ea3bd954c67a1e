"""Runs of ``sm run``: what one is asked for, and what is known of those that were begun.

Each has a home of its own in the state's folder, with a file that says who it is.
"""

import json
import os
from pathlib import Path
from typing import TypedDict, cast

from sm.settings.home import Home

RUN_FILE, ENDED_FILE, PAST_FILE = "run.json", "ended.json", "past.json"
"""Of one that goes on, of one that is over, and of one whose session is the daemon's by now: each
kind is found at a glance."""

LARGEST_PID = 2**31 - 1


class RunRequest(TypedDict):
    """What ``sm run`` hands to the wrapper it becomes."""

    id: str
    name: str
    agent: str
    arguments: list[str]
    cwd: str
    channel: str | None
    max_restarts: int | None


class Run(TypedDict):
    """One run, as its file tells."""

    id: str
    name: str
    agent: str
    cwd: str
    pid: int
    started: int
    """The wrapper's start time in clock ticks."""
    socket: str
    began_at: float
    ended_at: float | None
    code: int | None
    """The agent's exit code."""


def home_of_run(home: Home, run: str) -> Home:
    """A home inside the home: its own store, socket and sessions; the configuration is shared."""
    return Home(home.state / "runs" / run, home.config, home.runtime, is_default=False)


def parse_request(text: str) -> RunRequest:
    return cast("RunRequest", json.loads(text))


def write_run(own: Home, run: Run) -> None:
    path = own.base / RUN_FILE
    beside = path.with_name(f".{path.name}")
    beside.write_text(json.dumps(run))
    beside.chmod(0o600)
    beside.replace(path)
    if run["ended_at"] is not None:
        path.replace(path.with_name(ENDED_FILE))


def is_run(home: Home) -> bool:
    """Whether a home is one run's: only the run itself answers there."""
    return any(os.path.exists(home.base / name)  # noqa: PTH110 - every command asks
               for name in (RUN_FILE, ENDED_FILE, PAST_FILE))  # fmt: skip


def runs(home: Home) -> list[Run]:
    """Every run that goes on or was killed, oldest first."""
    return _with_file(home, RUN_FILE)


def ended_runs(home: Home) -> list[Run]:
    """Every run that is over and not yet the daemon's, oldest first."""
    return _with_file(home, ENDED_FILE)


def past_runs(home: Home) -> list[Run]:
    """Every run whose session is the daemon's by now, oldest first."""
    return _with_file(home, PAST_FILE)


def note_past(own: Home) -> None:
    """Of a run that is over: its session is the daemon's."""
    (own.base / ENDED_FILE).replace(own.base / PAST_FILE)


def _with_file(home: Home, name: str) -> list[Run]:
    found = [_read(path) for path in (home.state / "runs").glob(f"*/{name}")]
    return sorted((run for run in found if run is not None), key=lambda run: run["began_at"])


def name_of_run(home: Home, run: str) -> str | None:
    """Of the run with this id, whether it goes on or is over; None where there is none."""
    if not run.isalnum():
        # No path to another file can be spelled.
        return None
    folder = home.state / "runs" / run
    read = (_read(folder / name) for name in (RUN_FILE, ENDED_FILE, PAST_FILE))
    found = next((run for run in read if run is not None), None)
    return None if found is None else found["name"]


def names_of_runs(home: Home) -> dict[str, str]:
    """By their ids, those of runs that are not over: one that was killed may be brought back."""
    return {run["id"]: run["name"] for run in runs(home)}


def _read(path: Path) -> Run | None:
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None
    return cast("Run", found) if _is_whole(found) and found["id"] == path.parent.name else None


def _is_whole(found: object) -> bool:
    """Whether it is what was written: a daemon must start whatever such a file holds."""
    if not isinstance(found, dict):
        return False
    are_right = (
        name in found and isinstance(found[name], float | int if kind is float else kind)
        for name, kind in Run.__annotations__.items()
    )
    # No process has another, and the calls that ask for one would not take it.
    return all(are_right) and 0 < found["pid"] <= LARGEST_PID


def is_left(home: Home) -> bool:
    """Whether there is a run whose wrapper is gone, and that is not the daemon's yet."""
    return any(_is_gone(run["pid"]) for run in runs(home))


def _is_gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, PermissionError):
        # Or it is somebody else's by now.
        return True
    return False


def sockets_of_runs(home: Home) -> dict[str, Run]:
    """Where each run that goes on answers; one that was killed does not."""
    return {
        run["socket"]: run
        for run in runs(home)
        if os.path.exists(run["socket"])  # noqa: PTH110 - one that was killed may have left it
    }

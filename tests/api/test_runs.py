"""What is known of runs, from their files alone."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from sm.api.runs import (
    ENDED_FILE,
    RUN_FILE,
    Run,
    ended_runs,
    home_of_run,
    is_left,
    is_run,
    name_of_run,
    note_past,
    parse_request,
    past_runs,
    runs,
    sockets_of_runs,
    write_run,
)
from sm.settings.home import Home


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "sm", tmp_path / "config.toml", tmp_path / "run", is_default=True)


def _noted(home: Home, name: str, *, began: float = 1.0, code: int | None = None) -> Home:
    own = home_of_run(home, name)
    own.base.mkdir(parents=True)
    run: Run = {
        "id": name,
        "name": name,
        "agent": "demo",
        "cwd": "/",
        "pid": 1,
        "started": 2,
        "socket": str(own.socket),
        "began_at": began,
        "ended_at": None if code is None else 9.0,
        "code": code,
    }
    write_run(own, run)
    return own


def test_a_run_has_a_home_inside_the_home(home: Home) -> None:
    """Its own store and socket; the configuration and the runtime folder are shared."""
    own = home_of_run(home, "0a1b2c3d")

    assert own.base == home.state / "runs" / "0a1b2c3d"
    assert (own.config, own.runtime, own.is_default) == (home.config, home.runtime, False)
    assert own.socket != home.socket
    assert own.store != home.store


def test_a_home_is_a_runs_also_after_its_end(home: Home) -> None:
    """Only the run itself answers there: no command may start a daemon in it."""
    assert not is_run(home)
    assert is_run(_noted(home, "on"))
    assert is_run(_noted(home, "over", code=0))


def test_runs_that_go_on_are_told_from_those_that_are_over(home: Home) -> None:
    _noted(home, "second", began=2.0)
    _noted(home, "first", began=1.0)
    own = _noted(home, "over", code=3)

    assert [run["id"] for run in runs(home)] == ["first", "second"]
    assert [run["id"] for run in ended_runs(home)] == ["over"]
    assert not (own.base / RUN_FILE).exists()
    assert json.loads((own.base / ENDED_FILE).read_text())["code"] == 3


def test_a_run_whose_session_is_the_daemons_is_past(home: Home) -> None:
    """It is still a run, and is called by its name."""
    own = _noted(home, "over", code=0)
    assert ([run["id"] for run in ended_runs(home)], past_runs(home)) == (["over"], [])

    note_past(own)

    assert (ended_runs(home), [run["id"] for run in past_runs(home)]) == ([], ["over"])
    assert is_run(own)
    assert name_of_run(home, "over") == "over"


def test_a_run_without_its_wrapper_is_left(home: Home) -> None:
    """Until the daemon has made its session its own, and noted that it is over."""
    gone = subprocess.Popen(["true"])
    gone.wait()
    own = _noted(home, "killed")
    assert not is_left(home)

    (run,) = runs(home)
    write_run(own, {**run, "pid": gone.pid})
    assert is_left(home)
    write_run(own, {**run, "pid": gone.pid, "ended_at": 9.0})
    assert not is_left(home)


def test_the_file_is_its_owners_alone_and_whole(home: Home) -> None:
    own = _noted(home, "on")

    assert os.listdir(own.base) == [RUN_FILE]  # noqa: PTH208 - names
    assert (own.base / RUN_FILE).stat().st_mode & 0o777 == 0o600


def test_a_file_that_cannot_be_read_is_no_run(home: Home) -> None:
    """A disk that was full left half of it."""
    own = _noted(home, "on")
    (own.base / RUN_FILE).write_text('{"id": "on", "na')

    assert runs(home) == []
    assert sockets_of_runs(home) == {}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("pid", "x"),
        ("pid", None),
        ("pid", 10**30),
        ("pid", -1),
        ("id", "../elsewhere"),
        ("started", [2]),
        ("socket", 5),
        ("began_at", "yesterday"),
        ("ended_at", "never"),
        ("code", "3"),
    ],
)
def test_a_file_that_holds_something_else_is_no_run(home: Home, name: str, value: object) -> None:
    """It keeps no daemon from starting, and nothing is done to whatever it names."""
    own = _noted(home, "on")
    noted = json.loads((own.base / RUN_FILE).read_text())
    (own.base / RUN_FILE).write_text(json.dumps({**noted, name: value}))

    assert runs(home) == []
    assert sockets_of_runs(home) == {}
    assert not is_left(home)


def test_a_run_is_called_by_its_name_also_after_its_end(home: Home) -> None:
    """By its id alone, which is no path to anything else."""
    _noted(home, "0a1b2c3d")
    _noted(home, "over", code=0)

    assert [name_of_run(home, run) for run in ("0a1b2c3d", "over")] == ["0a1b2c3d", "over"]
    for nobody in ("bbbbbbbb", "", "..", "../runs/over", "a" * 999):
        assert name_of_run(home, nobody) is None


def test_whole_seconds_are_a_time_like_others(home: Home) -> None:
    own = _noted(home, "on")
    noted = json.loads((own.base / RUN_FILE).read_text())
    (own.base / RUN_FILE).write_text(json.dumps({**noted, "began_at": 1}))

    assert [run["id"] for run in runs(home)] == ["on"]


def test_only_runs_with_a_socket_answer(home: Home) -> None:
    """One that was killed while its folder was tidied has none."""
    own = _noted(home, "on")
    assert sockets_of_runs(home) == {}

    own.runtime.mkdir(parents=True)
    own.socket.touch()
    assert list(sockets_of_runs(home)) == [str(own.socket)]


def test_a_request_comes_through_an_argument_unchanged() -> None:
    """It is one word of a command line: any text must survive that."""
    asked = {
        "id": "0a1b2c3d", "name": "ada", "agent": "claude", "arguments": ["it's\n«x»", "--", "-p"],
        "cwd": "/a b/\n/ü", "channel": None, "max_restarts": 3,
    }  # fmt: skip

    assert parse_request(json.dumps(asked)) == asked

"""What a killed run leaves behind: its secrets go, its work stays."""

import json
from pathlib import Path

from sm.adapters.folders import SessionFolders
from sm.api.runs import ENDED_FILE, Run, home_of_run, runs, write_run
from sm.core.ids import SessionId
from sm.core.launch import AgentLine
from sm.daemon.remains import tidy_runs
from sm.settings.home import Home

NOW = 1_700_000_000.0


def begun(home: Home, run: str, pid: int) -> Path:
    """A run whose agent was started; the folder of its session."""
    own = home_of_run(home, run)
    own.make()
    own.socket.touch()
    folders = SessionFolders(own)
    line = AgentLine(argv=("agent",), environment={}, files={})
    folders.prepare(SessionId(run), line, {"API_KEY": "secret"}, "/")
    noted: Run = {
        "id": run, "name": run, "agent": "demo", "cwd": "/", "pid": pid, "started": 7,
        "socket": str(own.socket), "began_at": NOW - 9, "ended_at": None, "code": None,
    }  # fmt: skip
    write_run(own, noted)
    return folders.folder(SessionId(run))


def test_a_killed_run_keeps_its_work_and_nothing_that_is_secret(tmp_path: Path) -> None:
    home = Home(tmp_path / "home", tmp_path / "config.toml", tmp_path / "run", is_default=False)
    killed, alive = begun(home, "aaaaaaaa", 1), begun(home, "bbbbbbbb", 2)

    assert tidy_runs(home, {2: 7}.get, NOW) == ["aaaaaaaa"]

    assert not (killed / "launch.json").exists()
    assert (killed / "raw.log").exists()
    assert (alive / "launch.json").exists()
    assert [run["id"] for run in runs(home)] == ["bbbbbbbb"]
    own = home_of_run(home, "aaaaaaaa")
    assert not own.socket.exists()
    assert json.loads((own.base / ENDED_FILE).read_text())["ended_at"] == NOW
    assert tidy_runs(home, {2: 7}.get, NOW) == []


def test_a_pid_that_was_given_again_is_somebody_elses(tmp_path: Path) -> None:
    home = Home(tmp_path / "home", tmp_path / "config.toml", tmp_path / "run", is_default=False)
    begun(home, "aaaaaaaa", 1)

    assert tidy_runs(home, {1: 8}.get, NOW) == ["aaaaaaaa"]

"""What a killed run leaves behind: its secrets go, its work stays."""

from pathlib import Path

from sm.adapters.folders import SessionFolders
from sm.api.runs import Run, home_of_run, write_run
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


def test_a_killed_run_is_not_asked_any_more(tmp_path: Path) -> None:
    """Its socket goes; what it showed and what its agent was started with is for whoever brings
    it back."""
    home = Home(tmp_path / "home", tmp_path / "config.toml", tmp_path / "run", is_default=False)
    killed, alive = begun(home, "aaaaaaaa", 1), begun(home, "bbbbbbbb", 2)

    assert tidy_runs(home, {2: 7}.get) == ["aaaaaaaa"]

    assert (killed / "launch.json").exists()
    assert (alive / "launch.json").exists()
    assert not home_of_run(home, "aaaaaaaa").socket.exists()
    assert home_of_run(home, "bbbbbbbb").socket.exists()


def test_a_pid_that_was_given_again_is_somebody_elses(tmp_path: Path) -> None:
    home = Home(tmp_path / "home", tmp_path / "config.toml", tmp_path / "run", is_default=False)
    begun(home, "aaaaaaaa", 1)

    assert tidy_runs(home, {1: 8}.get) == ["aaaaaaaa"]

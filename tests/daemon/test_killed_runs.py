"""What a killed run leaves behind: its secrets go, its work stays."""

import asyncio
import json
import threading
from dataclasses import replace
from pathlib import Path

from sm.adapters.folders import SessionFolders
from sm.adapters.store import open_store
from sm.api.runs import Run, home_of_run, write_run
from sm.core.crash import Cause, Crash, Recovery, RecoveryState
from sm.core.events import SessionInherited
from sm.core.ids import RecoveryId, SessionId
from sm.core.launch import AgentLine
from sm.core.recovery import TIMER, is_over
from sm.core.session import create
from sm.core.state import Exit, State
from sm.daemon.killed_runs import closed, inherit_runs, let_be, tidy_runs
from sm.settings.home import Home
from tests.core.samples import IDLE
from tests.engine.rig import Rig
from tests.kit.sm import Sm

NOW = 1_700_000_000.0


def noted(own: Home, run: str, pid: int) -> Run:
    return {
        "id": run, "name": run, "agent": "demo", "cwd": "/", "pid": pid, "started": 7,
        "socket": str(own.socket), "began_at": NOW - 9, "ended_at": None, "code": None,
    }  # fmt: skip


def begun(home: Home, run: str, pid: int) -> Path:
    """A run whose agent was started; the folder of its session."""
    own = home_of_run(home, run)
    own.make()
    own.socket.touch()
    folders = SessionFolders(own)
    line = AgentLine(argv=("agent",), environment={}, files={})
    folders.prepare(SessionId(run), line, {"API_KEY": "secret"}, "/")
    write_run(own, noted(own, run, pid))
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


def test_a_run_with_a_damaged_store_keeps_no_daemon_from_starting(fresh: Sm) -> None:
    """It is left as it is, and the log says why."""
    fresh.home.make()
    begun(fresh.home, "aaaaaaaa", 1)
    store = home_of_run(fresh.home, "aaaaaaaa").store
    asyncio.run(_made(store))
    damaged = store.read_bytes().replace(b"CREATE TABLE session", b"CREATE \xff\xfe\xfd session")
    store.write_bytes(damaged)

    fresh.run("daemon", "start")

    assert fresh.health()["restarts"] == 0
    logged = [json.loads(line) for line in fresh.home.log.read_text().splitlines()]
    told = [line for line in logged if line["event"] == "A killed run cannot be taken over"]
    assert [(line["run"], str(store) in line["why"]) for line in told] == [("aaaaaaaa", True)]
    assert store.read_bytes() == damaged


async def _made(store: Path) -> None:
    await (await open_store(store)).close()


def test_a_pid_that_was_given_again_is_somebody_elses(tmp_path: Path) -> None:
    home = Home(tmp_path / "home", tmp_path / "config.toml", tmp_path / "run", is_default=False)
    begun(home, "aaaaaaaa", 1)

    assert tidy_runs(home, {1: 8}.get) == ["aaaaaaaa"]


async def test_whoever_looks_for_killed_runs_holds_nobody_up(tmp_path: Path) -> None:
    """The folders are read beside everything else the daemon does."""
    home = Home(tmp_path / "home", tmp_path / "config.toml", tmp_path / "run", is_default=False)
    begun(home, "aaaaaaaa", 1)
    threads = []

    def started(pid: int) -> int:
        threads.append(threading.current_thread())
        return 7

    async with Rig().running() as engine:
        assert await inherit_runs(home, engine, started, NOW) == ([], {})

    assert len(threads) == 1
    assert threads[0] is not threading.main_thread()


def test_a_run_that_was_left_comes_back_for_nobody_but_who_asks() -> None:
    """Neither after the pause it was in, nor because it was just being brought back."""
    end = Exit(status=None, signal=9, intended=False)
    pausing = replace(IDLE, exit=end).with_timer(TIMER, NOW + 60)
    crash = Crash(at=NOW, cause=Cause.SIGNAL, words="signal 9")
    recovery = Recovery(id=RecoveryId("1"), crash=crash, by="sm", asked_at=NOW)
    asked = replace(IDLE, exit=end, state=State.RECOVERING).with_recovery(recovery)

    assert is_over(let_be(pausing, NOW))
    assert is_over(let_be(asked, NOW))
    assert let_be(asked, NOW).recoveries[-1].state is RecoveryState.FAILED
    inherited = SessionInherited(session=let_be(asked, NOW), name="ada", evidence="left", ways=())
    assert create(inherited, NOW)[0].state is State.CRASHED


def test_a_run_that_said_that_it_is_over_has_ended() -> None:
    """Whatever its agent died of, and though its end came too fast to be noted."""
    crashed = replace(IDLE, exit=Exit(status=None, signal=9, intended=False))

    for left in (crashed.with_timer(TIMER, NOW + 60), IDLE):
        over = SessionInherited(session=closed(left, 2, NOW), name="ada", evidence="it ended",
                                ways=())  # fmt: skip
        session, effects = create(over, NOW)
        assert (session.state, effects) == (State.ENDED, ())

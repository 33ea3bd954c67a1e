"""The worker, as the daemon runs it: its order at the start and its end."""

import asyncio
import errno
import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from sm.adapters.store import StoreDamagedError
from sm.core.ids import SessionId
from sm.core.journal import NotStoredError
from sm.daemon.worker import Worker
from sm.settings.config import Settings
from sm.settings.home import Home
from tests.daemon.test_ended_runs import over
from tests.daemon.test_killed_runs import NOW
from tests.engine.rig import FlakyStore, Log, Rig
from tests.engine.timelapse import TimelapseLoop
from tests.kit.sm import Sm
from tests.kit.tmux import wait_until


def test_what_was_queued_before_a_stop_arrives_after_it(fresh: Sm) -> None:
    """A stopped daemon forgets nothing; agents go on without it."""
    fresh.new_demo("ada")
    fresh.run("send", "ada", "%ask touch x", "--wait", "20")
    fresh.wait_state("ada", "waiting")
    fresh.run("send", "ada", "later")
    fresh.run("daemon", "stop")

    assert fresh.json("ls")[0]["queued"] == 1
    fresh.tmux("send-keys", "-t", fresh.pane("ada"), "Enter")

    wait_until(lambda: any("later" in prompt for prompt in fresh.received("ada")), 20)


def test_an_agent_that_died_while_nobody_looked_is_noticed_at_the_start(fresh: Sm) -> None:
    """The first list after the start tells the truth."""
    fresh.new_demo("ada")
    pid = fresh.json("show", "ada")["pid"]
    fresh.run("daemon", "stop")
    os.kill(pid, 9)

    fresh.wait_state("ada", "crashed")

    end = fresh.json("show", "ada")["exit"]
    assert (end["status"], end["signal"], end["intended"]) == (None, 9, False)


def test_the_configured_tmux_socket_and_history_are_used(fresh: Sm) -> None:
    """What config.toml says is what tmux does."""
    fresh.home.make()
    fresh.home.config.write_text('[tmux]\nsocket = "other"\nhistory_limit = 1234\n')
    fresh.new("ada")
    try:
        pane = ["-t", fresh.pane("ada"), "#{history_limit}"]
        shown = fresh.tmux("display-message", "-p", *pane)

        assert fresh.health()["tmux"].endswith(f"/other-{fresh.home.tag}")
        assert shown.strip() == "1234"
    finally:
        # The daemon first: it would start its tmux server again.
        served = fresh.health()["tmux"]
        fresh.run("daemon", "stop")
        subprocess.run(["tmux", "-S", served, "kill-server"], check=True)


def test_no_message_text_is_in_any_log(fresh: Sm) -> None:
    """What people and agents say is in the store and the archive, nowhere else."""
    fresh.home.make()
    fresh.home.config.write_text('[daemon]\nlog_level = "debug"\n')
    fresh.new_demo("ada")
    fresh.run("send", "ada", "the secret word is xylophone", "--wait", "20")
    fresh.run("kill", "ada")
    fresh.run("daemon", "stop")

    logged = b"".join(path.read_bytes() for path in fresh.home.logs.iterdir())

    assert logged.count(b"\n") >= 2
    assert b"xylophone" not in logged
    for line in fresh.home.log.read_text().splitlines():
        assert {"event", "level", "timestamp"} <= set(json.loads(line))


def test_a_crash_leaves_its_traceback_in_the_log(fresh: Sm) -> None:
    """One structured line; here no parent has told the worker what it needs to know."""
    fresh.home.make()

    done = subprocess.run(
        [sys.executable, "-I", "-m", "sm.daemon.worker"], env=fresh.environment, check=False
    )

    [line] = [json.loads(line) for line in fresh.home.log.read_text().splitlines()]
    assert done.returncode == 1
    assert (line["event"], line["level"]) == ("The worker crashed", "critical")
    assert "KeyError: 'SM_LIFELINE_FD'" in line["exception"]


def test_a_store_deleted_under_the_daemon_is_told_once(fresh: Sm) -> None:
    """What is stored from now on would be gone with the daemon."""
    fresh.run("daemon", "start")
    fresh.home.store.unlink()

    wait_until(lambda: "The store was deleted" in fresh.home.log.read_text())
    fresh.home.lock.unlink()
    wait_until(lambda: fresh.home.lock.exists())

    lines = [json.loads(line) for line in fresh.home.log.read_text().splitlines()]
    [told] = [line for line in lines if line["level"] == "error"]
    assert told["place"] == str(fresh.home.store)


class Unprunable(FlakyStore):
    """What is older than anything cannot be dropped."""

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.error = error

    async def prune(self, before: float) -> int:
        raise self.error


@pytest.mark.parametrize(
    "error",
    [
        StoreDamagedError("store.db is not a readable database"),
        OSError(errno.EIO, "Input/output error"),
        NotStoredError("The disk is full"),
    ],
)
def test_a_past_that_cannot_be_dropped_ends_nothing(fresh: Sm, error: Exception) -> None:
    """It is told, and tried again."""
    worker, log = Worker(fresh.home, Settings()), Log()
    worker.log = log

    async def drop() -> None:
        async with Rig(store=Unprunable(error)).running() as engine:
            await worker.forget(engine, 0.0)

    with asyncio.Runner(loop_factory=TimelapseLoop) as runner:
        runner.run(drop())

    assert log.lines == ["The past could not be dropped"]


async def test_runs_go_with_the_rest_of_the_past(tmp_path: Path) -> None:
    """Whatever was over for longer than the retention."""
    home = Home(tmp_path / "home", tmp_path / "config.toml", tmp_path / "run", is_default=False)
    own = over(home)
    async with Rig().running() as engine:
        await Worker(home, Settings()).forget(engine, NOW + 1)

    assert not own.base.exists()


def test_an_agent_that_is_started_while_the_daemon_stops_knows_where_to_report(fresh: Sm) -> None:
    """The sockets are closed by then; who brings agents back is not done yet."""
    worker = Worker(fresh.home, Settings())
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]

    worker.take([listener])
    listener.close()

    assert worker.hook_url(SessionId("ada")) == f"http://127.0.0.1:{port}/hooks/ada"

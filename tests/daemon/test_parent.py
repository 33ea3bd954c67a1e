"""Real parents: killed workers, killed parents, workers no restart can help."""

import os
import signal
import socket
import sqlite3
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from sm.api import starting
from sm.daemon import parent
from sm.settings.errors import HOPELESS
from sm.settings.home import Home
from tests.kit.sm import Sm, sm_home
from tests.kit.tmux import wait_until


@pytest.fixture(scope="module")
def own() -> Iterator[Sm]:
    """One home whose daemon is killed again and again."""
    with sm_home() as sm:
        yield sm


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_killed_worker_is_replaced_and_nothing_is_forgotten(own: Sm) -> None:
    """kill -9: the next command is answered, by another worker of the same parent."""
    session = own.new_demo("ada")
    before = own.health()

    own.kill_worker()

    assert [s["id"] for s in own.json("ls")] == [session]
    after = own.health()
    assert after["pid"] == before["pid"]
    assert after["worker"] != before["worker"]
    assert after["restarts"] == before["restarts"] + 1


def test_callers_wait_while_no_worker_runs(own: Sm) -> None:
    """A connection made while the worker is dead is answered by the next one, never refused."""
    own.run("daemon", "start")
    answers: list[bytes] = []
    with socket.socket(socket.AF_UNIX) as early:
        os.kill(own.health()["worker"], signal.SIGSTOP)
        early.connect(str(own.home.socket))
        early.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
        reader = threading.Thread(target=lambda: answers.append(early.recv(12)))
        reader.start()
        os.kill(_worker_of(own), signal.SIGKILL)
        reader.join(20)

    assert answers == [b"HTTP/1.1 200"]


def _worker_of(sm: Sm) -> int:
    """From the process table: a stopped worker does not answer."""
    pid = int(sm.home.pid.read_text().split()[0])
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return int(children[0])


def test_a_worker_whose_parent_was_killed_makes_room_for_the_next_daemon(own: Sm) -> None:
    """kill -9 of the parent: never two daemons on one store."""
    own.run("daemon", "start")
    before = own.health()

    os.kill(before["pid"], signal.SIGKILL)

    wait_until(lambda: not _is_alive(before["worker"]))
    own.run("ls")
    after = own.health()
    assert after["worker"] != before["worker"]
    assert after["pid"] not in (1, before["pid"])


def test_no_second_daemon_begins_while_an_orphan_still_works(own: Sm) -> None:
    """The lock is held until the last process of the old daemon is gone."""
    own.run("daemon", "start")
    before = own.health()
    os.kill(before["worker"], signal.SIGSTOP)
    os.kill(before["pid"], signal.SIGKILL)
    try:
        wait_until(lambda: not _is_alive(before["pid"]))

        assert starting.is_running(own.home)
    finally:
        os.kill(before["worker"], signal.SIGCONT)
    wait_until(lambda: not starting.is_running(own.home))


def test_a_second_daemon_leaves_at_once(own: Sm) -> None:
    """It finds the lock taken, touches nothing and reports success."""
    own.run("daemon", "start")
    before = own.health()

    second = subprocess.run(
        [sys.executable, "-I", "-m", "sm.daemon"], env=own.environment, capture_output=True
    )

    assert (second.returncode, second.stdout, second.stderr) == (0, b"", b"")
    assert own.health() == {**before, "spool": before["spool"]}


def test_a_deleted_lock_lets_no_second_daemon_in_and_comes_back(own: Sm) -> None:
    """The state's folder is locked too; the pid file is written anew as well."""
    own.run("daemon", "start")
    before = own.health()
    own.home.lock.unlink()
    own.home.pid.unlink()

    second = subprocess.run(
        [sys.executable, "-I", "-m", "sm.daemon"], env=own.environment, timeout=20, check=False
    )
    wait_until(lambda: starting.running_version(own.home) is not None)

    assert second.returncode == 0
    assert own.health()["pid"] == before["pid"] == int(own.home.pid.read_text().split()[0])
    own.run("daemon", "stop")
    wait_until(lambda: not _is_alive(before["pid"]))


def test_a_pid_file_and_a_lock_that_nobody_holds_keep_nobody_out(own: Sm) -> None:
    """Left over by a host that lost its power."""
    own.run("daemon", "stop")
    own.home.lock.touch()
    own.home.pid.write_text("1 9.9.9 /nowhere/sm.sock\n")

    own.run("ls")

    assert int(own.home.pid.read_text().split()[0]) == own.health()["pid"] != 1


def test_a_broken_configuration_ends_the_parent_with_the_reason(fresh: Sm) -> None:
    """No restart can help: the command tells file and key, and nothing is left running."""
    fresh.home.make()
    fresh.home.config.write_text("[tmux]\nhistory_limit = 'many'\n")

    done = fresh.start("ls")

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        f"sm: {fresh.home.config}: tmux.history_limit must be a whole number, "
        "not a text in quotes.\n"
    )
    assert not starting.is_running(fresh.home)


def test_a_store_of_a_newer_version_is_refused_and_left_alone(fresh: Sm) -> None:
    """An older binary must not touch what a newer one wrote."""
    fresh.run("ls")
    fresh.run("daemon", "stop")
    store = sqlite3.connect(fresh.home.store, isolation_level=None)
    store.execute("UPDATE alembic_version SET version_num = '9999'")
    store.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    store.close()
    before = fresh.home.store.read_bytes()

    done = fresh.start("ls")

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("sm: ")
    assert "9999" in done.stderr
    assert done.stderr.count("\n") == 1
    assert fresh.home.store.read_bytes() == before


def test_a_damaged_store_is_told_and_left_alone(fresh: Sm) -> None:
    """Nothing is overwritten."""
    fresh.home.make()
    fresh.home.store.write_bytes(b"this is no database" * 500)

    done = fresh.start("ls")

    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert str(fresh.home.store) in done.stderr
    assert fresh.home.store.read_bytes() == b"this is no database" * 500


def test_a_store_that_cannot_be_opened_is_told_at_once(fresh: Sm) -> None:
    """No restart can help: the command and the log say why, and nothing is left running."""
    fresh.home.make()
    # In the place of what SQLite keeps beside it, so that the store itself is still a file.
    fresh.home.store.with_name("store.db-journal").mkdir()

    done = fresh.start("ls", timeout=15)

    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert done.stderr.startswith(f"sm: {fresh.home.store} cannot be opened: ")
    assert "The store cannot be used" in fresh.home.log.read_text()
    assert not starting.is_running(fresh.home)


def test_a_deleted_socket_comes_back(own: Sm) -> None:
    """Cleaners of /tmp delete it; the same daemon listens anew, without being asked."""
    own.run("daemon", "start")
    before = own.health()

    own.home.socket.unlink()

    wait_until(lambda: own.home.socket.exists() and starting.answers(own.home), 20)
    assert own.health()["pid"] == before["pid"]
    assert stat.S_IMODE(own.home.socket.stat().st_mode) == 0o600


TRIED_TWICE = """
import fcntl
from sm.daemon import parent
from sm.settings.errors import HOPELESS
from sm.settings.home import Home

home = Home.from_environment()
home.make()
worker = ["/bin/sh", "-c", f"exit {HOPELESS}"]
with home.lock.open("w") as asking:
    fcntl.flock(asking, fcntl.LOCK_SH)
    print(parent.run(worker, taken=75))
print(parent.run(worker, taken=75))
"""


def test_a_lock_that_somebody_looked_at_is_taken_at_the_next_try(fresh: Sm) -> None:
    """A command that asks whether a daemon runs holds it for an instant."""
    tried = subprocess.run(
        [sys.executable, "-c", TRIED_TWICE], env=fresh.environment, capture_output=True, text=True
    )

    assert (tried.stdout.split(), tried.stderr) == (["75", str(HOPELESS)], "")


def test_the_socket_is_closed_to_others_and_an_old_one_is_replaced(tmp_path: Path) -> None:
    """Left over from a crash; whatever the umask."""
    home = Home(tmp_path, tmp_path / "c", tmp_path / "r", is_default=False)
    home.make()
    home.socket.write_text("left over")
    before = os.umask(0)
    try:
        with parent.listen_unix(home):
            assert stat.S_IMODE(home.socket.stat().st_mode) == 0o600
            assert stat.S_ISSOCK(home.socket.stat().st_mode)
    finally:
        os.umask(before)


def test_the_port_stays_the_same_once_chosen(tmp_path: Path) -> None:
    """Agents read it once, when they start."""
    home = Home(tmp_path, tmp_path / "c", tmp_path / "r", is_default=False)
    home.make()
    [first] = parent.listen_tcp(home)
    port = first.getsockname()[1]
    first.close()

    [second] = parent.listen_tcp(home)

    with second:
        assert second.getsockname() == ("127.0.0.1", port)
    assert int(home.port.read_text()) == port
    assert stat.S_IMODE(home.port.stat().st_mode) == 0o600


def test_a_port_somebody_else_has_is_done_without(tmp_path: Path) -> None:
    """It is never changed: the next start may have it again."""
    home = Home(tmp_path, tmp_path / "c", tmp_path / "r", is_default=False)
    home.make()
    with socket.create_server(("127.0.0.1", 0)) as other:
        home.port.write_text(str(other.getsockname()[1]))

        assert parent.listen_tcp(home) == []
        assert home.port.read_text() == str(other.getsockname()[1])


@pytest.mark.parametrize("kept", ["", "x", "80", "99999", "-1"])
def test_a_port_file_without_a_usable_port_counts_as_none(tmp_path: Path, kept: str) -> None:
    """A free one is chosen anew."""
    home = Home(tmp_path, tmp_path / "c", tmp_path / "r", is_default=False)
    home.make()
    home.port.write_text(kept)

    assert parent.saved_port(home) is None

"""``python -m sm.daemon --service``, as the system starts it."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sm.api import starting
from tests.kit.sm import Sm
from tests.kit.tmux import wait_until

ARGV = [sys.executable, "-I", "-m", "sm.daemon", "--service"]


@contextmanager
def supervised(sm: Sm, **more: str) -> Iterator["subprocess.Popen[bytes]"]:
    process = subprocess.Popen(ARGV, env={**sm.environment, **more})
    try:
        yield process
    finally:
        process.terminate()
        process.wait(20)


def serves(sm: Sm, process: "subprocess.Popen[bytes]") -> bool:
    """Whether this one does; the one before it may just be closing its connections."""
    try:
        pid = int(sm.home.pid.read_text().split()[0])
    except FileNotFoundError:
        return False
    return pid == process.pid and starting.answers(sm.home)


def test_it_takes_the_place_of_a_daemon_that_a_command_started(fresh: Sm) -> None:
    """And its agent lives on."""
    session = fresh.new_demo("ada")
    before = fresh.health()["pid"]

    with supervised(fresh) as process:
        wait_until(lambda: serves(fresh, process), 20)

        assert [(s["id"], s["state"]) for s in fresh.json("ls")] == [(session, "idle")]
    assert process.returncode == 0
    assert before != process.pid


def test_stopping_it_is_an_end_in_peace(fresh: Sm) -> None:
    """Status 0: the system does not start it again."""
    with supervised(fresh) as process:
        wait_until(lambda: serves(fresh, process), 20)
        fresh.run("daemon", "stop")

        assert process.wait(20) == 0


def test_a_newer_daemon_is_left_alone(fresh: Sm) -> None:
    """Status 0 at once, and that one goes on."""
    fresh.run("daemon", "start")
    before = fresh.health()["pid"]
    fresh.home.pid.write_text(fresh.home.pid.read_text().replace(" 0.", " 99."))

    done = subprocess.run(ARGV, env=fresh.environment, timeout=20, check=False)

    assert (done.returncode, fresh.health()["pid"]) == (0, before)


def test_what_the_manager_knows_is_not_handed_on(fresh: Sm) -> None:
    """A desktop imports its whole environment into its service manager."""
    with supervised(fresh, ANTHROPIC_API_KEY="secret", SSH_AUTH_SOCK="/x") as process:
        wait_until(lambda: serves(fresh, process), 20)
        told = Path(f"/proc/{fresh.health()['worker']}/environ").read_bytes().split(b"\0")

    names = {entry.partition(b"=")[0].decode() for entry in told if entry}
    assert {"ANTHROPIC_API_KEY", "SSH_AUTH_SOCK"} & names == set()
    assert {"SM_HOME", "PATH", "SM_SERVICE"} <= names


def test_a_configuration_that_cannot_be_used_gives_its_own_status(fresh: Sm) -> None:
    """EX_CONFIG: the unit says not to try again."""
    fresh.home.make()
    fresh.home.config.write_text("x = 1\n")

    done = subprocess.run(ARGV, env=fresh.environment, capture_output=True, timeout=20, check=False)

    assert done.returncode == 78

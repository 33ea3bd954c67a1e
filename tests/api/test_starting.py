"""Real daemons, started, replaced and stopped in homes of their own."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from sm.api import starting
from sm.api.errors import StartError
from sm.api.starting import ensure, is_running, running_version, start, stop
from sm.version import VERSION
from tests.kit.sm import SM, Sm, sm_home
from tests.kit.tmux import wait_until

NEEDS_PROC = pytest.mark.skipif(not Path("/proc/self").exists(), reason="asks /proc")


@pytest.fixture
def sm(monkeypatch: pytest.MonkeyPatch) -> Iterator[Sm]:
    """A fresh home, and our own environment pointing to it."""
    with sm_home() as made:
        monkeypatch.setenv("SM_HOME", str(made.base))
        monkeypatch.setenv("XDG_RUNTIME_DIR", str(made.folder))
        yield made


@NEEDS_PROC
def test_of_ten_commands_at_once_exactly_one_starts_the_daemon(sm: Sm) -> None:
    """All ten are answered, and one daemon runs."""
    argv = [str(SM), "daemon", "start", "--json"]
    started = [
        subprocess.Popen(argv, env=sm.environment, stdout=subprocess.PIPE) for _ in range(10)
    ]
    answers = [json.loads(process.communicate(timeout=60)[0]) for process in started]

    assert [process.returncode for process in started] == [0] * 10
    assert len({answer["pid"] for answer in answers}) == 1
    assert len({answer["worker"] for answer in answers}) == 1
    assert _daemons(sm) == [answers[0]["pid"]]


def test_the_daemon_is_that_of_the_home_that_is_meant(
    sm: Sm, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Whatever home the caller's own environment names."""
    monkeypatch.setenv("SM_HOME", str(tmp_path / "other"))

    ensure(sm.home)

    assert sm.health()["version"] == VERSION
    assert not (tmp_path / "other").exists()


@NEEDS_PROC
def test_an_older_daemon_is_replaced(sm: Sm) -> None:
    """After an upgrade the next command brings the new version up."""
    ensure(sm.home)
    before = sm.health()["pid"]
    sm.home.pid.write_text(f"{before} 0.0.9\n")
    assert running_version(sm.home) == "0.0.9"

    ensure(sm.home)

    assert sm.health()["pid"] != before
    assert running_version(sm.home) == VERSION
    wait_until(lambda: _daemons(sm) == [sm.health()["pid"]])


def test_a_newer_daemon_is_left_alone(sm: Sm) -> None:
    """An old binary somewhere on the PATH does not take the new one down."""
    ensure(sm.home)
    before = sm.health()["pid"]
    sm.home.pid.write_text(f"{before} 999.0\n")

    ensure(sm.home)

    assert sm.health()["pid"] == before


def test_stopping_ends_the_daemon_and_nothing_is_left(sm: Sm) -> None:
    """No process, no socket, no pid file; stopping twice is no error."""
    ensure(sm.home)
    assert is_running(sm.home)

    assert stop(sm.home) is True

    assert not is_running(sm.home)
    assert not sm.home.socket.exists()
    assert not sm.home.pid.exists()
    assert stop(sm.home) is False


def test_a_command_with_another_runtime_folder_reaches_the_same_daemon(sm: Sm) -> None:
    """Never two daemons on one state."""
    ensure(sm.home)
    (sm.folder / "other").mkdir()

    told = sm.json("daemon", "start", environment={"XDG_RUNTIME_DIR": str(sm.folder / "other")})

    assert told["pid"] == sm.health()["pid"]


def test_a_pid_file_left_by_a_crash_means_nothing(sm: Sm) -> None:
    """Only the lock tells whether a daemon runs: a number may belong to anybody by now."""
    sm.home.make()
    sm.home.pid.write_text(f"{os.getpid()} {VERSION}\n")
    sm.home.lock.touch()

    assert running_version(sm.home) is None
    assert stop(sm.home) is False


def test_a_daemon_that_cannot_start_says_why_to_every_caller(sm: Sm) -> None:
    """Three commands at once with a broken configuration: three times the reason, at once."""
    sm.home.make()
    sm.home.config.write_text("[tmux]\nsoket = 1\n")
    argv = [str(SM), "ls"]
    started = [
        subprocess.Popen(argv, env=sm.environment, stderr=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    told = {process.communicate(timeout=15)[1] for process in started}

    reason = "unknown key tmux.soket. See the configuration reference for what exists."
    assert told == {f"sm: {sm.home.config}: {reason}\n"}
    assert [process.returncode for process in started] == [2] * 3


def test_an_old_reason_is_not_told_again(sm: Sm) -> None:
    """What an earlier start complained about is not the reason of this one."""
    sm.home.make()
    (sm.home.logs / "start.log").write_text("an old complaint\n")
    sm.home.config.write_text("[daemon]\nlog_level = 'loud'\n")

    with pytest.raises(StartError) as refused:
        start(sm.home)

    assert str(refused.value) == (
        f"{sm.home.config}: daemon.log_level must be debug, info, warning or error."
    )
    assert (sm.home.logs / "start.log").read_text().startswith("an old complaint\n")


def test_a_home_that_cannot_be_used_is_told_before_anything_starts(sm: Sm) -> None:
    """The reason is the home's own."""
    sm.base.write_text("in the way")

    with pytest.raises(StartError, match="is not a folder"):
        ensure(sm.home)


@pytest.mark.parametrize(
    "script", ['shift 8; exec "$@"', "echo Failed to connect to bus >&2; exit 1"]
)
def test_where_a_scope_cannot_be_had_the_daemon_starts_without(sm: Sm, script: str) -> None:
    """It is asked for once, and nobody is told: the daemon is there either way."""
    program, noted = sm.folder / "bin" / "systemd-run", sm.folder / "noted"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\necho "$@" >> {noted}\n{script}\n')
    program.chmod(0o700)
    (sm.folder / "systemd").mkdir()
    (sm.folder / "systemd" / "private").touch()
    path = f"{program.parent}:{sm.environment['PATH']}"

    done = sm.start("ls", environment={"PATH": path, "SM_SERVICE": "1"})

    assert (done.returncode, done.stderr) == (0, "")
    [line] = noted.read_text().splitlines()
    assert line.startswith("--user --scope --quiet --collect ")
    assert line.endswith(f"-- {sys.executable} -I -m sm.daemon")


@NEEDS_PROC
def test_the_daemon_inherits_no_secret_and_nobodys_identity(sm: Sm) -> None:
    """An agent's tool call may be what starts the daemon."""
    given = {"ANTHROPIC_API_KEY": "secret", "CLAUDE_SESSION_MANAGER_ID": "0a1b2c3d", "LC_X": "y"}
    sm.run("daemon", "start", environment=given)

    entries = _words(Path(f"/proc/{sm.health()['worker']}/environ"))
    names = {entry.partition(b"=")[0].decode() for entry in entries}
    assert names - {"SM_LISTEN_FDS", "SM_LIFELINE_FD", "SM_RESTARTS"} == {
        "PATH", "HOME", "SM_HOME", "XDG_RUNTIME_DIR", "LANG", "LC_X",
    }  # fmt: skip


def test_what_is_kept_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """What tmux, the shell and the locale need; the rest is dropped."""
    kept = {"PATH": "/bin", "TZ": "UTC", "LC_ALL": "C", "XDG_STATE_HOME": "/x", "SM_HOME": "/h"}
    for name in list(os.environ):
        monkeypatch.delenv(name)
    for name, value in {**kept, "AWS_SECRET_ACCESS_KEY": "x", "TMUX": "y"}.items():
        monkeypatch.setenv(name, value)

    usual = ":".join(["/bin", *starting._USUAL_PLACES])
    assert starting.clean_environment() == {**kept, "PATH": usual}


def test_an_empty_home_is_unset_for_the_daemon_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """It would be the folder the daemon works in."""
    monkeypatch.setenv("SM_HOME", "")

    assert "SM_HOME" not in starting.clean_environment()


def test_a_relative_home_means_the_same_folder_to_the_daemon(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The daemon works in another directory than whoever started it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SM_HOME", "here")

    assert starting.clean_environment()["SM_HOME"] == str(tmp_path / "here")


@pytest.mark.parametrize(
    ("running", "ours", "older"),
    [("0.1.0", "0.1.0", False), ("0.1.0", "0.2.0", True), ("0.9.0", "0.10.0", True),
     ("1.0", "0.9.9", False), ("junk", "0.1.0", True)],
)  # fmt: skip
def test_versions_are_compared_by_their_numbers(running: str, ours: str, older: bool) -> None:
    """0.10 is newer than 0.9."""
    assert starting.is_older(running, ours) is older


def test_importing_it_loads_nothing_slow() -> None:
    """A command whose daemon already runs must not pay for starting one."""
    slow = ["asyncio", "subprocess", "http", "msgspec", "dataclasses"]
    code = f"import sys, sm.api.client; print(*[m for m in {slow} if m in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True
    )

    assert done.stdout.split() == []


def _daemons(sm: Sm) -> list[int]:
    """Parents that run for this home, by the process table."""
    here = f"SM_HOME={sm.base}".encode()
    return [
        int(process.name)
        for process in Path("/proc").glob("[0-9]*")
        if _words(process / "cmdline")[-2:] == [b"-m", b"sm.daemon"]
        and here in _words(process / "environ")
    ]


def _words(file: Path) -> list[bytes]:
    try:
        return file.read_bytes().removesuffix(b"\0").split(b"\0")
    except OSError:
        return []

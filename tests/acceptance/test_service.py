"""The service under a real systemd user manager: boot, stop, restart, upgrade, and its end."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from sm.api import service
from sm.settings.home import Home
from tests.kit.systemd import UserManager, user_manager
from tests.kit.tmux import wait_until

UNIT = "sm.service"


@dataclass
class Stage:
    """A host on which the service is installed and ada runs."""

    host: UserManager
    tmux: int
    """The tmux server."""
    agent: int

    @property
    def daemon(self) -> int:
        """What the unit runs; 0 if nothing."""
        return int(self.host.unit(UNIT, "MainPID"))

    @property
    def pid_file(self) -> Path:
        return next(self.host.folder.glob(".local/state/sm/*/daemon.pid"))

    def serves(self) -> bool:
        return bool(self.daemon) and self.host.start("sm", "daemon", "status").returncode == 0

    def assert_agent_lives(self) -> None:
        assert self.host.is_alive(self.agent)
        assert [s["pid"] for s in [self.host.json("show", "ada")]] == [self.agent]


def agent_of(host: UserManager, name: str) -> tuple[int, int]:
    """The pids of its tmux server and of the agent."""
    host.sm("new", name, "--agent", "demo", "--", "--delay", "0")
    host.sm("wait", name, "--timeout", "30")
    socket = host.json("daemon", "status")["tmux"]
    server = host.run("tmux", "-S", socket, "display-message", "-p", "#{pid}")
    return int(server), int(host.json("show", name)["pid"])


@pytest.fixture(scope="module")
def stage() -> Iterator[Stage]:
    with user_manager() as host:
        host.sm("install", "--yes", "--service")
        tmux, agent = agent_of(host, "ada")
        yield Stage(host, tmux, agent)


@pytest.fixture(autouse=True)
def _serving(stage: Stage) -> None:
    stage.host.run("systemctl", "--user", "reset-failed")
    stage.host.run("systemctl", "--user", "enable", "--now", UNIT)
    wait_until(stage.serves)


def test_the_daemon_has_a_cgroup_of_its_own_and_so_have_the_agents(stage: Stage) -> None:
    """What happens to the one does not happen to the others."""
    assert stage.host.cgroup(stage.daemon).endswith(f"/{UNIT}")
    assert stage.host.cgroup(stage.tmux).endswith(".scope")
    assert stage.host.cgroup(stage.agent) == stage.host.cgroup(stage.tmux)
    # When all ends together, the daemon has to end first: it sees nobody die.
    assert UNIT in stage.host.unit(Path(stage.host.cgroup(stage.tmux)).name, "Before").split()


def test_stopping_the_service_ends_no_agent(stage: Stage) -> None:
    """And the next command starts the daemon by the service again."""
    stage.host.run("systemctl", "--user", "stop", UNIT)
    assert (stage.daemon, stage.host.is_alive(stage.agent)) == (0, True)

    stage.host.sm("ls")

    assert stage.host.json("daemon", "status")["pid"] == stage.daemon != 0
    stage.assert_agent_lives()


def test_a_killed_daemon_comes_back_without_anybody_asking(stage: Stage) -> None:
    """kill -9 of the parent."""
    before = stage.daemon
    stage.host.kill(before)

    wait_until(lambda: stage.daemon not in (0, before) and stage.serves(), 20)

    stage.assert_agent_lives()


def test_a_daemon_that_was_stopped_stays_stopped(stage: Stage) -> None:
    """The service does not fight "sm daemon stop"."""
    stage.host.sm("daemon", "stop")
    wait_until(lambda: stage.host.unit(UNIT, "ActiveState") == "inactive")

    # Restart= would have scheduled it in this very moment; a restart that waits is "activating".
    assert stage.host.unit(UNIT, "Result") == "success"
    assert stage.host.unit(UNIT, "SubState") == "dead"
    assert stage.host.is_alive(stage.agent)


def test_the_service_takes_the_place_of_a_daemon_that_a_command_started(stage: Stage) -> None:
    """That one would be looked after by nobody."""
    stage.host.run("systemctl", "--user", "disable", "--now", UNIT)
    stage.host.sm("ls")
    own = stage.host.json("daemon", "status")["pid"]
    assert stage.daemon == 0

    stage.host.run("systemctl", "--user", "enable", "--now", UNIT)
    wait_until(stage.serves, 20)

    assert stage.host.json("daemon", "status")["pid"] == stage.daemon != own
    assert not stage.host.is_alive(own)
    stage.assert_agent_lives()


def test_the_service_leaves_a_newer_daemon_alone(stage: Stage) -> None:
    """Another installation's, started by its own command."""
    stage.host.run("systemctl", "--user", "disable", "--now", UNIT)
    stage.host.sm("ls")
    own = stage.host.json("daemon", "status")["pid"]
    stage.pid_file.write_text(stage.pid_file.read_text().replace(" 0.", " 99."))

    stage.host.run("systemctl", "--user", "start", UNIT)
    wait_until(lambda: stage.host.unit(UNIT, "SubState") == "dead")

    assert (stage.host.unit(UNIT, "Result"), stage.host.is_alive(own)) == ("success", True)
    stage.host.sm("daemon", "stop")


def test_an_upgrade_restarts_the_service_and_nothing_is_fought(stage: Stage) -> None:
    """A newer command stops the older daemon and has the service start the new one."""
    before = stage.daemon
    stage.pid_file.write_text(stage.pid_file.read_text().replace(" 0.", " 0.0."))

    stage.host.sm("ls")

    assert stage.host.json("daemon", "status")["pid"] == stage.daemon != before
    stage.assert_agent_lives()


def test_a_configuration_that_cannot_be_used_is_not_tried_for_ever(stage: Stage) -> None:
    """The unit fails once, and the command tells why."""
    config = stage.host.folder / ".config" / "sm" / "config.toml"
    stage.host.sm("daemon", "stop")
    config.parent.mkdir()
    config.write_text("x = 1\n")
    try:
        done = stage.host.start("sm", "ls")
    finally:
        config.unlink()
        config.parent.rmdir()

    assert (done.returncode, done.stderr.count("unknown key x")) == (2, 1)
    assert stage.host.unit(UNIT, "ActiveState") == "failed"
    assert stage.host.unit(UNIT, "NRestarts") == "0"


@pytest.mark.parametrize(("mode", "lives"), [("", True), ("KillMode=control-group", False)])
def test_without_a_scope_the_kill_mode_alone_saves_the_agents(
    stage: Stage, mode: str, lives: bool
) -> None:
    """With systemd's usual mode, the same agent dies: that is what the line is there for."""
    host, socket = stage.host, f"sm-{lives}"
    drop_in = host.folder / ".config/systemd/user/sm.service.d/test.conf"
    drop_in.parent.mkdir(exist_ok=True)
    # An agent that was started in the daemon's own cgroup, as where systemd-run is not there.
    cgroup = host.unit(UNIT, "ControlGroup")
    drop_in.write_text(f"[Service]\n{mode}\n")
    try:
        host.run("systemctl", "--user", "daemon-reload")
        enter = f"echo $$ > /sys/fs/cgroup{cgroup}/cgroup.procs; exec tmux -L {socket} new -d cat"
        host.run("sh", "-c", enter)
        server = int(host.run("tmux", "-L", socket, "display-message", "-p", "#{pid}"))
        assert host.cgroup(server) == cgroup

        host.run("systemctl", "--user", "stop", UNIT)

        assert host.is_alive(server) is lives
    finally:
        host.start("tmux", "-L", socket, "kill-server")
        drop_in.unlink()
        drop_in.parent.rmdir()
        host.run("systemctl", "--user", "daemon-reload")


def test_after_a_reboot_the_daemon_is_there_before_anybody_asks() -> None:
    """And knows what ran before; it had stopped before the agents did, and saw nobody die."""
    with user_manager() as host:
        host.sm("install", "--yes", "--service")
        _, agent = agent_of(host, "ada")
        host.shut_down()
        log = next(host.folder.glob(".local/state/sm/*/logs/daemon.log")).read_text()
        assert not host.is_alive(agent)
        assert '"event": "Stopped"' in log

        host.boot()
        wait_until(lambda: host.unit(UNIT, "ActiveState") == "active")
        wait_until(lambda: host.start("sm", "daemon", "status").returncode == 0)

        events = [e["kind"] for e in host.json("explain", "ada")["recent"]]
        assert host.json("daemon", "status")["pid"] == int(host.unit(UNIT, "MainPID"))
        assert host.json("show", "ada")["state"] == "crashed"
        assert events.index("DaemonStarted") < events.index("AgentExited")


def test_taken_back_nothing_is_left() -> None:
    """No file, no folder, no link; the manager knows nothing of it any more."""
    with user_manager() as host:
        before = sorted(host.folder.rglob(".config/**/*"))
        host.sm("install", "--yes", "--service")
        wait_until(lambda: host.start("sm", "daemon", "status").returncode == 0)
        assert (host.folder / ".config/systemd/user/default.target.wants/sm.service").is_symlink()
        os.sync()
        told = host.sm("uninstall", "--yes", "--service").splitlines()[-1]

        file = host.folder / ".config/systemd/user/sm.service"
        assert told == f"Deleted {file}. Agents go on; the next command starts the daemon again."
        assert sorted(host.folder.rglob(".config/**/*")) == before
        assert host.unit(UNIT, "LoadState") == "not-found"
        host.sm("ls")
        host.sm("daemon", "stop")


def test_systemd_reads_awkward_paths_as_they_were_meant(tmp_path: Path) -> None:
    """Quotes, percent signs, dollars: the program, its arguments and its environment."""
    awkward = 'a b/100%h/it\'s "q"/$HOME $$/\\n'
    with user_manager() as host:
        home = Home(host.folder / awkward, tmp_path, tmp_path, is_default=False)
        python = host.folder / awkward / "python"
        python.parent.mkdir(parents=True)
        python.write_text(f'#!/bin/sh\nprintf "%s|" "$0" "$@" "$SM_HOME" > {host.folder}/told\n')
        python.chmod(0o700)
        file = host.folder / ".config/systemd/user" / service.unit_name(home)
        file.parent.mkdir(parents=True)
        own = service.of(home, environment={"XDG_CONFIG_HOME": str(host.folder / ".config")})
        assert own.file == file
        file.write_text(service.text(own, home, environment={}, python=str(python)))

        host.run("systemctl", "--user", "daemon-reload")
        host.run("systemctl", "--user", "start", own.name)
        wait_until((host.folder / "told").exists)
        wait_until(lambda: host.unit(own.name, "SubState") == "dead")

        told = (host.folder / "told").read_text()
        assert told == f"{python}|-I|-m|sm.daemon|--service|{home.base}|"


def test_for_a_user_that_lingers_a_command_starts_the_daemon_in_a_scope() -> None:
    """Without any service: an agent's tool call may be what starts it."""
    with user_manager() as host:
        host.run("mount", "-t", "tmpfs", "none", "/var/lib/systemd")
        linger = "/var/lib/systemd/linger"
        host.run("sh", "-c", f"mkdir {linger}; touch {linger}/$(id -un)")
        tmux, agent = agent_of(host, "ada")

        places = {host.cgroup(pid) for pid in (host.json("daemon", "status")["worker"], tmux)}
        assert len(places) == 2
        assert all(place.endswith(".scope") for place in places)
        assert host.cgroup(agent) == host.cgroup(tmux)
        host.sm("daemon", "stop")
        assert host.is_alive(agent)

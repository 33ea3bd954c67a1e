"""When something is started in a cgroup of its own, and when that would only do harm."""

import os
import pwd
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from sm.api.scope import SERVICE, lingers, words

USER = pwd.getpwuid(os.geteuid()).pw_name


@dataclass
class Host:
    """A host with a user manager at which nobody has a say yet."""

    folder: Path
    environment: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        program = self.folder / "bin" / "systemd-run"
        program.parent.mkdir()
        program.touch(mode=0o700)
        (self.folder / "run" / "systemd").mkdir(parents=True)
        (self.folder / "run" / "systemd" / "private").touch()
        self.linger = self.folder / "linger"
        self.linger.mkdir()
        self.cgroups = self.folder / "cgroup"
        self.cgroups.write_text("0::/user.slice/user-1000.slice/session-3.scope\n")
        self.environment = {
            "PATH": str(program.parent),
            "XDG_RUNTIME_DIR": str(self.folder / "run"),
        }

    def words(self) -> tuple[str, ...]:
        return words(
            before="sm.service",
            environment=self.environment,
            cgroups=self.cgroups,
            linger=self.linger,
        )


@pytest.fixture
def host(tmp_path: Path) -> Host:
    return Host(tmp_path)


def test_in_a_login_there_is_none(host: Host) -> None:
    """At the logout the user manager ends, and a scope of its own with it; the login's does not."""
    assert host.words() == ()


def test_a_service_has_one(host: Host) -> None:
    """It ends with the user manager anyway."""
    host.environment[SERVICE] = "1"

    program, *rest = host.words()
    assert program == str(host.folder / "bin" / "systemd-run")
    assert rest[:2] == ["--user", "--scope"]
    assert "--property=Before=sm.service" in rest
    assert rest[-1] == "--"


def test_what_runs_in_the_user_manager_has_one(host: Host) -> None:
    """As the terminals of a desktop do."""
    host.cgroups.write_text(
        f"1:name=systemd:/\n0::/user.slice/user@{os.geteuid()}.service/app.slice/x.scope\n"
    )
    assert host.words() != ()

    host.cgroups.write_text("0::/user.slice/user@4242.service/app.slice/x.scope\n")
    assert host.words() == ()


def test_a_user_that_lingers_has_one(host: Host) -> None:
    """Its manager never ends."""
    (host.linger / USER).touch()

    assert lingers(host.linger)
    assert host.words() != ()


@pytest.mark.parametrize("missing", ["bin/systemd-run", "run/systemd/private"])
def test_without_systemd_there_is_none(host: Host, missing: str) -> None:
    """No program, or no manager that listens."""
    (host.linger / USER).touch()
    (host.folder / missing).unlink()

    assert host.words() == ()


def test_without_a_runtime_folder_or_cgroups_there_is_none(host: Host) -> None:
    """A job without a login; a system that is no Linux."""
    del host.environment["XDG_RUNTIME_DIR"]
    host.cgroups.unlink()

    assert host.words() == ()

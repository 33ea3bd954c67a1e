"""What stands in a service's file, as the programs that read it understand it."""

import plistlib
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from sm.api import service
from sm.api.service import MARKER, Service, ServiceError
from sm.settings.errors import HOPELESS
from sm.settings.home import Home

AWKWARD = '/opt/a b/100%/it\'s "q"/\\n$HOME $$/ü/python'
ENVIRONMENT = {
    "PATH": "/usr/bin:relative:/usr/bin:/a b/%h",
    "LANG": "C.UTF-8",
    "LC_TIME": "de_DE.UTF-8",
    "TMUX_TMPDIR": "/var/tmp",
    "TZ": "",
    "ANTHROPIC_API_KEY": "secret",
    "XDG_SESSION_ID": "3",
    "SSH_AUTH_SOCK": "/tmp/x",
}


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """A home in a folder of its own, as SM_HOME makes one."""
    return Home(tmp_path / "h %", tmp_path / "c", tmp_path / "r", is_default=False)


@pytest.fixture
def usual(tmp_path: Path) -> Home:
    return Home(tmp_path / "state", tmp_path / "c", tmp_path / "r", is_default=True)


def systemd(home: Home) -> Service:
    return service.of(home, environment={"XDG_CONFIG_HOME": "/conf"}, platform="linux")


def launchd(home: Home) -> Service:
    return service.of(home, environment={}, platform="darwin")


def unit(home: Home, python: str = "/usr/bin/python3") -> str:
    return service.text(systemd(home), home, environment=ENVIRONMENT, python=python)


def plist(home: Home, python: str = "/usr/bin/python3") -> str:
    return service.text(launchd(home), home, environment=ENVIRONMENT, python=python)


def test_each_home_has_a_service_of_its_own(home: Home, usual: Home) -> None:
    """The usual one is called sm; two homes never share one."""
    assert systemd(usual).file == Path("/conf/systemd/user/sm.service")
    assert systemd(home).name == f"sm-{home.tag}.service"
    assert launchd(usual).file == Path.home() / "Library/LaunchAgents/agent-sm.plist"
    assert launchd(home).name == f"agent-sm.{home.tag}"


def test_without_xdg_folders_it_is_in_the_usual_place(usual: Home) -> None:
    found = service.of(usual, environment={"XDG_CONFIG_HOME": "relative"}, platform="linux")

    assert found.file == Path.home() / ".config/systemd/user/sm.service"


def test_the_unit_tells_of_the_environment_only_what_lasts(home: Home) -> None:
    """No secret, nothing of one login, and not the caller's own folder."""
    lines = [line for line in unit(home).splitlines() if line.startswith("Environment=")]

    assert lines == [
        "Environment=LANG=C.UTF-8",
        "Environment=LC_TIME=de_DE.UTF-8",
        'Environment="PATH=/usr/bin:/a b/%%h"',
        "Environment=TMUX_TMPDIR=/var/tmp",
        f'Environment="SM_HOME={str(home.base).replace("%", "%%")}"',
    ]


def test_a_session_s_own_folder_of_programs_is_left_out(home: Home) -> None:
    """It is where an agent that installs the service has its sm from."""
    environment = {"PATH": f"{home.bin / 'path'}:/usr/bin"}
    written = service.text(systemd(home), home, environment=environment)

    assert "Environment=PATH=/usr/bin\n" in written


def test_the_unit_never_ends_what_it_did_not_start(home: Home) -> None:
    """Each of these lines is one way in which agents would die, or a daemon be fought for."""
    lines = unit(home).splitlines()

    assert {"KillMode=process", "OOMPolicy=continue", "Restart=on-failure",
            f"RestartPreventExitStatus={HOPELESS}"} <= set(lines)  # fmt: skip
    assert lines[:2] == [
        f"# {MARKER}; to undo: sm uninstall --service",
        f"# Home: {home.tag}",
    ]


@pytest.mark.parametrize("python", ["/usr/bin/python3", AWKWARD, "/a\tb\nc\x7f", "/x/%%/$$"])
def test_the_interpreter_is_found_again_whatever_it_is_called(home: Home, python: str) -> None:
    """By us; whether systemd finds the same is tried below."""
    assert service.interpreter(systemd(home), unit(home, python)) == python


def test_the_property_list_says_the_same(home: Home) -> None:
    """And is one for Apple's format: paths and all."""
    job = plistlib.loads(plist(home, AWKWARD).encode())

    assert job["Label"] == f"agent-sm.{home.tag}"
    assert job["ProgramArguments"] == [AWKWARD, "-I", "-m", "sm.daemon", "--service"]
    assert job["EnvironmentVariables"] == {
        "LANG": "C.UTF-8", "LC_TIME": "de_DE.UTF-8", "PATH": "/usr/bin:/a b/%h",
        "TMUX_TMPDIR": "/var/tmp", "SM_HOME": str(home.base),
    }  # fmt: skip
    assert (job["RunAtLoad"], job["KeepAlive"]) == (True, {"SuccessfulExit": False})
    assert job["AbandonProcessGroup"] is True
    assert service.interpreter(launchd(home), plist(home, AWKWARD)) == AWKWARD
    assert service.is_ours(plist(home))


def test_what_no_service_can_hold_is_refused(home: Home) -> None:
    """Bytes that are no UTF-8, and in XML control characters."""
    with pytest.raises(ServiceError, match="is not UTF-8"):
        unit(home, b"/M\xfcll/python".decode(errors="surrogateescape"))
    with pytest.raises(ServiceError, match="control character"):
        plist(home, "/a\x01b")


def test_a_file_is_ours_for_this_home_and_this_python_or_not(home: Home, usual: Home) -> None:
    """By another home's, or another installation's, this one is not started."""
    own = systemd(home)
    ours = service.text(own, home, environment={})

    assert service.starts_us(own, ours)
    assert not service.starts_us(own, ours.replace(sys.executable, "/other/python"))
    assert not service.starts_us(own, service.text(systemd(usual), usual, environment={}))
    assert not service.starts_us(own, f"[Service]\nExecStart={sys.executable}\n")
    assert not service.is_ours("[Service]\n")
    assert service.starts_us(launchd(home), service.text(launchd(home), home, environment={}))


def test_a_broken_property_list_starts_nothing(home: Home) -> None:
    assert service.interpreter(launchd(home), "<plist") is None
    assert service.interpreter(systemd(home), "[Service]\n") is None


def test_two_terminals_environments_make_no_difference(home: Home) -> None:
    """Else the service would be out of date in every other terminal."""
    for own in (systemd(home), launchd(home)):
        first = service.text(own, home, environment={"PATH": "/a"})
        second = service.text(own, home, environment={"LANG": "x"})
        other = service.text(own, home, environment={}, python="/other")

        told = [service.without_environment(own, text) for text in (first, second, other)]
        assert (told[0] == told[1], told[0] == told[2]) == (True, False)


def test_without_a_service_nothing_is_started(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home.base))

    assert service.start(home) is None


def test_a_manager_that_is_not_there_refuses(monkeypatch: pytest.MonkeyPatch, home: Home) -> None:
    """In words; and so does one that fails."""
    monkeypatch.setenv("PATH", str(home.base))
    assert service.systemctl("start", "x") == "there is no systemctl here"
    assert service.main_pid("x") is None

    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    assert service.told_manager(["sh", "-c", "echo so >&2; exit 1"]) == "so"
    assert service.told_manager(["sh", "-c", "exit 3"]) == "exit code 3"
    assert service.told_manager(["sh", "-c", "sleep 60"], within=0.1) is not None
    assert service.told_manager(["true"]) is None


ANALYZE = shutil.which("systemd-analyze")


@pytest.mark.skipif(ANALYZE is None, reason="needs systemd-analyze")
def test_systemd_itself_understands_the_unit(home: Home, tmp_path: Path) -> None:
    """Every line of it, with the most awkward paths."""
    assert ANALYZE is not None
    (tmp_path / "run").mkdir()
    unit_file = tmp_path / systemd(home).name
    for name in ("plain", "a b/100%/x", 'it\'s "q"', "$x $$", "\\n", "tab\there"):
        python = tmp_path / "p" / name / "python"
        python.parent.mkdir(parents=True)
        python.symlink_to("/bin/true")
        unit_file.write_text(unit(home, str(python)))
        done = subprocess.run(
            [ANALYZE, "--user", "verify", "--man=no", str(unit_file)],
            env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path),
                 "XDG_RUNTIME_DIR": str(tmp_path / "run"), "SYSTEMD_LOG_LEVEL": "warning"},
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        about_us = [line for line in done.stderr.splitlines() if unit_file.name in line]
        assert about_us == []

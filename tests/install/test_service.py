"""The service's file on the real disk: written, left alone, taken back."""

import os
import sys
from pathlib import Path

import pytest

from sm.api.runs import write_run
from sm.install import service
from sm.install.files import InstallError
from sm.install.service import Told
from sm.settings.home import Home

LINUX = pytest.mark.skipif(sys.platform == "darwin", reason="about systemd's place")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    return Home(tmp_path / "state", tmp_path / "c", tmp_path / "r", is_default=True)


def installed(home: Home) -> service.Plan:
    plan = service.plan_install(home)
    service.install(home, plan)
    return plan


def everything(folder: Path) -> list[str]:
    return sorted(str(path) for path in folder.rglob("*") if "state" not in path.parts)


def test_installing_again_changes_nothing(home: Home) -> None:
    """The plan is empty, and the file the very same."""
    first = installed(home)
    assert (first.is_change, first.before.content) == (True, None)
    file = first.service.file
    before = file.stat()

    again = installed(home)

    assert (again.is_change, again.diff()) == (False, [])
    assert (file.stat().st_ino, file.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert file.stat().st_mode & 0o777 == 0o644


@LINUX
def test_taken_back_nothing_is_left(home: Home, tmp_path: Path) -> None:
    """Folders we had to make go too; a link its manager left does as well."""
    home.make()
    before = everything(tmp_path)
    plan = installed(home)
    link = plan.service.link
    assert link is not None
    link.parent.mkdir()
    link.symlink_to(f"../{plan.service.name}")

    for _ in range(2):
        service.uninstall(home, service.plan_uninstall(home))

    assert everything(tmp_path) == before


@LINUX
def test_a_person_s_own_folder_stays(home: Home, tmp_path: Path) -> None:
    """What was there before is there afterwards, and what came meanwhile too."""
    (tmp_path / ".config" / "systemd").mkdir(parents=True)
    plan = installed(home)
    (plan.service.file.parent / "mine.service").touch()

    service.uninstall(home, service.plan_uninstall(home))

    assert [p.name for p in plan.service.file.parent.iterdir()] == ["mine.service"]


def test_a_file_of_somebody_else_is_refused(home: Home) -> None:
    """For both; it is not touched."""
    file = service.plan_install(home).service.file
    file.parent.mkdir(parents=True)
    file.write_text("[Service]\nExecStart=/bin/true\n")

    for plan in (service.plan_install, service.plan_uninstall):
        with pytest.raises(InstallError, match=r"was not written by sm and stays.*move it away"):
            plan(home)
    assert file.read_text() == "[Service]\nExecStart=/bin/true\n"


def test_a_masked_service_is_refused(home: Home) -> None:
    """A link to nowhere, by which a person keeps it from ever starting."""
    file = service.plan_install(home).service.file
    file.parent.mkdir(parents=True)
    file.symlink_to(os.devnull)

    with pytest.raises(InstallError, match="is not a file"):
        service.plan_install(home)


def test_a_changed_file_of_ours_is_shown_and_brought_up_to_date(home: Home) -> None:
    """By hand, or by another version."""
    file = installed(home).service.file
    wanted = file.read_text()
    file.write_text(wanted.replace("sm.daemon", "sm.nothing"))

    plan = service.plan_install(home)
    assert len([line for line in plan.diff() if line.startswith("-")]) == 2
    service.install(home, plan)

    assert file.read_text() == wanted


def test_a_run_has_no_service(home: Home) -> None:
    """It ends with its terminal."""
    home.base.mkdir()
    write_run(home, {"id": "r", "name": "r", "agent": "demo", "cwd": "/", "pid": 1, "started": 1,
                     "socket": "", "began_at": 0.0, "ended_at": None, "code": None})  # fmt: skip

    with pytest.raises(InstallError, match="A run ends with its terminal"):
        service.plan_install(home)


@LINUX
def test_what_the_manager_is_told(home: Home) -> None:
    """Read it, enable it, start it; and again if the file of a running one was changed."""
    plan = service.plan_install(home)
    lines = [Told(command=command).line for command in service.commands_to_install(plan)]
    assert lines == [
        "systemctl --user daemon-reload",
        "systemctl --user enable --now sm.service",
    ]

    file = installed(home).service.file
    file.write_text(file.read_text() + "# changed\n")
    last = service.commands_to_install(service.plan_install(home))[-1]
    assert last == ("systemctl", "--user", "restart", "sm.service")


def test_nobody_is_told_more_after_a_refusal() -> None:
    """Each step needs the one before."""
    told = service.tell([("true",), ("false",), ("true",)])
    assert [one.refused for one in told] == [None, "exit code 1"]
    assert [one.is_refused for one in told] == [False, True]

    [absent] = service.tell([("no-such-program",)])
    assert (absent.is_absent, absent.is_refused) == (True, False)


@LINUX
def test_the_condition_is_told(home: Home) -> None:
    """For sm doctor: whatever can be wrong with it."""
    assert service.condition(home).kind == "not installed"
    own = installed(home).service
    assert service.condition(home).kind == "not enabled"
    assert own.link is not None
    own.link.parent.mkdir()
    own.link.symlink_to(own.file)
    assert service.condition(home).kind == "installed"

    wanted = own.file.read_text()
    own.file.write_text(wanted.replace("KillMode=process\n", ""))
    assert service.condition(home).kind == "outdated"

    gone = "/gone/python"
    own.file.write_text(wanted.replace(sys.executable, gone))
    found = service.condition(home)
    assert (found.kind, found.python) == ("broken", gone)

    own.file.write_text("[Service]\n")
    assert service.condition(home).kind == "foreign"


@LINUX
def test_another_terminals_path_makes_no_service_outdated(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Installing from there would show the difference."""
    own = installed(home).service
    assert own.link is not None
    own.link.parent.mkdir()
    own.link.symlink_to(own.file)
    monkeypatch.setenv("PATH", "/somewhere/else")

    assert service.condition(home).kind == "installed"
    assert service.plan_install(home).is_change

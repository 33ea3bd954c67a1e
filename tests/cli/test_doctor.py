"""sm doctor"""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sm.cli.doctor import of_disk
from tests.kit.sm import SM, Sm, sm_home
from tests.kit.tmux import wait_until


@pytest.fixture
def own() -> Iterator[Sm]:
    """A home that may be ill."""
    with sm_home() as made:
        yield made


def _findings(sm: Sm, *arguments: str, **options: Any) -> dict[str, dict[str, str]]:
    done = sm.start("doctor", "--json", *arguments, **options)
    return {f["what"]: f for f in json.loads(done.stdout)}


def test_a_healthy_home_has_nothing_bad(sm: Sm) -> None:
    """Each thing looked at, with a mark; exit 0."""
    done = sm.start("doctor")

    assert done.returncode == 0
    assert [line[0] for line in done.stdout.splitlines() if line[0] == "✗"] == []
    looked_at = [line[2:].partition(":")[0] for line in done.stdout.splitlines() if line[0] in "✓·"]
    assert {"python", "tmux", "agent demo", "folders", "config", "disk", "daemon", "store", "port",
            "tmux server", "hooks"} <= set(looked_at)  # fmt: skip


def test_json_has_the_same_findings(sm: Sm) -> None:
    """what, verdict, says, remedy."""
    findings = _findings(sm)

    assert list(findings["tmux"]) == ["what", "verdict", "says", "remedy"]
    assert {f["verdict"] for f in findings.values()} <= {"ok", "note"}


def test_without_a_daemon_it_says_so_and_starts_none(own: Sm) -> None:
    """Looking changes nothing; --fix starts it."""
    finding = _findings(own)["daemon"]

    assert (finding["verdict"], finding["says"]) == ("note", "not running")
    assert finding["remedy"] == "Any command starts it; or: sm daemon start"
    assert not own.home.state.exists()
    assert _findings(own, "--fix")["daemon"]["verdict"] == "ok"
    assert own.health()["pid"]


def test_open_files_are_found_and_closed(own: Sm) -> None:
    """Exit 1 with the remedy; the remedy works."""
    own.home.make()
    own.home.state.chmod(0o755)

    ill = own.start("doctor")
    mended = own.start("doctor", "--fix")

    assert ill.returncode == 1
    assert f"✗ permissions: {own.home.state} is open to others\n" in ill.stdout
    assert "    Close it with: sm doctor --fix\n" in ill.stdout
    assert f"✓ permissions: mended: {own.home.state} is open to others\n" in mended.stdout
    assert own.home.state.stat().st_mode & 0o777 == 0o700


def test_all_that_is_kept_is_closed_to_others(own: Sm) -> None:
    """Whatever the umask: nothing is left to be closed."""
    steps = ("install --yes", "new ada", "wait ada", "send ada hello --wait 20")
    line = " && ".join(["umask 0", *(f"'{SM}' {step}" for step in steps)])
    subprocess.run(["sh", "-c", line], env=own.environment, cwd=own.work, check=True)
    wait_until(lambda: list(own.base.rglob("projects")))
    made = [own.base, *own.base.rglob("*")]

    assert [path for path in made if path.lstat().st_mode & 0o077 and not path.is_symlink()] == []
    assert {"install.lock", "demo"} <= {path.name for path in made}


def test_a_folder_in_place_of_a_file_is_found(own: Sm) -> None:
    """It is taken away if nothing is in it."""
    own.home.make()
    own.home.port.mkdir()
    says = f"{own.home.port} is a folder, and sm keeps a file there"
    assert _findings(own)["files"]["says"] == says

    (own.home.port / "kept").touch()
    assert "could not be mended" in _findings(own, "--fix")["files"]["says"]
    assert own.start("ls").stderr == f"sm: {says}. Move it away.\n"

    (own.home.port / "kept").unlink()
    assert _findings(own, "--fix")["files"]["verdict"] == "ok"
    own.run("ls")


def test_scripts_that_are_gone_are_found_and_written(own: Sm) -> None:
    """Also by the next session."""
    own.new("ada")
    shutil.rmtree(own.home.bin)

    found = _findings(own)["scripts"]
    assert (found["verdict"], found["says"]) == (
        "bad", f"{own.home.bin / 'hook'} is missing: agents cannot call sm",
    )  # fmt: skip
    assert _findings(own, "--fix")["scripts"]["verdict"] == "ok"
    assert "scripts" not in _findings(own)

    shutil.rmtree(own.home.bin)
    own.new("bob")
    assert own.state("bob") == "idle"


def test_a_broken_configuration_is_found(own: Sm) -> None:
    """File, key and what to do."""
    own.home.make()
    own.home.config.write_text("x = 1\n")

    finding = _findings(own)["config"]

    assert finding["verdict"] == "bad"
    assert finding["says"].startswith(f"{own.home.config}: unknown key x.")
    assert finding["remedy"] == f"Edit {own.home.config}"


def test_a_home_with_too_long_a_name_is_found(own: Sm) -> None:
    """One finding among those that need no home."""
    environment = {"SM_HOME": "/tmp/" + "y" * 300}
    for arguments in ((), ("--fix",)):
        found = _findings(own, *arguments, environment=environment)["folders"]
        assert found["verdict"] == "bad"
        assert found["says"].endswith(" is too long")
        assert found["remedy"] == "Set SM_HOME to a shorter one."


@pytest.mark.parametrize(
    ("free", "verdict", "says"),
    [
        (4_096, "bad", "4 KB"),
        (19_600_000, "note", "20 MB"),
        (499_000_000, "ok", "499 MB"),
        (12_340_000_000, "ok", "12.3 GB"),
    ],
)
def test_a_disk_is_judged_by_what_is_free(free: int, verdict: str, says: str) -> None:
    """In the unit that fits; a small one is not full."""
    found = of_disk(free, Path("/home"))

    assert (found.verdict, found.says) == (verdict, f"{says} free at /home")
    assert bool(found.remedy) == (verdict != "ok")


def test_missing_programs_are_found(own: Sm) -> None:
    """tmux is needed; an agent more or less is not."""
    empty = own.folder / "empty"
    empty.mkdir()
    findings = _findings(own, environment={"PATH": str(empty)})

    assert (findings["tmux"]["verdict"], findings["tmux"]["says"]) == ("bad", "not installed")
    assert findings["agent claude"]["verdict"] == "note"


def test_hooks_set_aside_are_shown(sm: Sm) -> None:
    """With where they are kept."""
    sm.home.spool.joinpath(f"{0:020d}-torn.hook").write_text("torn")
    wait_until(lambda: sm.health()["spool"]["bad"])
    finding = _findings(sm)["hooks"]

    assert finding["verdict"] == "note"
    assert finding["says"].startswith("1 set aside, last: ")
    assert finding["remedy"] == f"They are kept in {sm.home.spool / 'bad'}"


@pytest.mark.parametrize(
    ("told", "verdict", "says"),
    [
        ("2.1.197 (Claude Code)", "ok", "2.1.197 (Claude Code) at PROGRAM"),
        ("3.0", "ok", "3.0 at PROGRAM"),
        ("2.0.76 (Claude Code)", "note",
         "2.0.76 (Claude Code) at PROGRAM is old: states and messages may be missed"),
        ("hello", "note", "PROGRAM tells no version: 'hello'"),
    ],
)  # fmt: skip
def test_an_old_client_is_noted(own: Sm, told: str, verdict: str, says: str) -> None:
    """With what to do; other agents need it not."""
    program = own.folder / "bin" / "claude"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\necho '{told}'\n")
    program.chmod(0o700)
    path = f"{program.parent}:{own.environment['PATH']}"
    finding = _findings(own, environment={"PATH": path})["agent claude"]

    assert (finding["verdict"], finding["says"]) == (verdict, says.replace("PROGRAM", str(program)))
    assert ("claude update" in finding["remedy"]) == (verdict == "note")


def _of_hooks(sm: Sm) -> tuple[str, str, str]:
    finding = _findings(sm)["installed hooks (claude)"]
    return finding["verdict"], finding["says"], finding["remedy"]


def test_the_installed_hooks_are_looked_at(own: Sm) -> None:
    """Not installed, installed, partly, outdated, without a script, unheeded, unreadable."""
    file = own.folder / ".claude" / "settings.json"
    remedy = "Only needed for agents you start without sm: sm install"
    assert _of_hooks(own) == ("note", f"not installed in {file}", remedy)

    own.run("install", "--yes")
    installed = file.read_text()
    assert _of_hooks(own) == ("ok", f"in {file}", "")

    found = json.loads(installed)
    del found["hooks"]["Stop"], found["hooks"]["SessionEnd"]
    file.write_text(json.dumps(found))
    says = f"partly in {file}; missing: SessionEnd, Stop"
    again = "Put them back with: sm uninstall, then sm install"
    assert _of_hooks(own) == ("note", says, again)

    file.write_text(installed)
    for record in (own.home.state / "installed").iterdir():
        record.unlink()
    file.write_text(installed.replace('"timeout": 10', '"timeout": 11'))
    newer = "Bring them up to date with: sm install"
    assert _of_hooks(own) == ("note", f"outdated in {file}", newer)

    file.write_text("// mine\n" + installed)
    verdict, says, remedy = _of_hooks(own)
    assert (verdict, remedy) == ("bad", f"Remove them from {file}")
    assert says.startswith(f"in {file}, but claude skips a settings file with comments")

    file.write_text(installed.replace("{", '{"disableAllHooks": true,', 1))
    verdict, says, remedy = _of_hooks(own)
    assert (verdict, remedy) == ("bad", f"Remove disableAllHooks from {file}")
    assert says == f"in {file}, but disableAllHooks is true in line 1: claude runs no hook at all."

    (own.home.bin / "hook").unlink()
    says = f"in {file}, but the script they call is missing"
    assert _of_hooks(own) == ("bad", says, "Make it again with: sm install")

    file.write_text("{")
    verdict, says, _ = _of_hooks(own)
    assert verdict == "note"
    assert says.startswith(f"{file}, line 1, column 2: it ends too early. Mend the file")


def test_the_service_is_looked_at(own: Sm) -> None:
    """Whether it is there, current and enabled, each with the remedy."""
    found = _findings(own)["service"]
    assert (found["verdict"], found["remedy"]) == (
        "note", "To have the daemon started after a reboot: sm install --service",
    )  # fmt: skip

    own.start("install", "--yes", "--service", environment={"PATH": str(own.folder)})
    [unit] = (own.folder / ".config" / "systemd" / "user").glob("sm-*.service")
    found = _findings(own)["service"]
    assert (found["verdict"], found["says"]) == ("note", f"{unit} is there, but not enabled")
    assert found["remedy"] == f"Enable it with: systemctl --user enable --now {unit.name}"

    (unit.parent / "default.target.wants").mkdir()
    (unit.parent / "default.target.wants" / unit.name).symlink_to(unit)
    found = _findings(own)["service"]
    assert found["verdict"] == "ok"
    assert found["says"].startswith(f"{unit} starts the daemon at ")

    written = unit.read_text()
    unit.write_text(written.replace("OOMPolicy=continue\n", ""))
    assert _findings(own)["service"]["says"] == f"{unit} is not what this sm would write"

    unit.write_text(written.replace(f"ExecStart={sys.executable}", "ExecStart=/gone/python"))
    found = _findings(own)["service"]
    assert (found["verdict"], found["says"]) == (
        "bad", f"{unit} starts /gone/python, which is not there",
    )  # fmt: skip

    unit.write_text("[Service]\n")
    assert _findings(own)["service"]["says"] == f"{unit} was not written by sm"
    unit.unlink()
    unit.mkdir()
    assert _findings(own)["service"]["says"].startswith(f"{unit} is not a file.")

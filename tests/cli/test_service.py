"""sm install --service, and its undoing, beside service managers of all kinds."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import refusal
from tests.kit.sm import Sm, sm_home

pytestmark = pytest.mark.skipif(sys.platform == "darwin", reason="about systemd's place")


@pytest.fixture
def own() -> Iterator[Sm]:
    with sm_home() as made:
        yield made


def unit(sm: Sm) -> Path:
    return sm.folder / ".config" / "systemd" / "user" / f"sm-{sm.home.tag}.service"


def manager(sm: Sm, script: str) -> dict[str, str]:
    """An environment in which this is systemctl; what it is asked stands in ``asked``."""
    program = sm.folder / "bin" / "systemctl"
    program.parent.mkdir(exist_ok=True)
    program.write_text(f'#!/bin/sh\necho "$*" >> {sm.folder}/asked\n{script}\n')
    program.chmod(0o700)
    return {"PATH": f"{program.parent}:{sm.environment['PATH']}"}


def asked(sm: Sm) -> list[str]:
    lines = (sm.folder / "asked").read_text().splitlines()
    (sm.folder / "asked").unlink()
    return lines


def enabling(sm: Sm) -> str:
    """What a real manager does on the disk."""
    wants = unit(sm).parent / "default.target.wants"
    return (
        f'case "$*" in *enable*--now*) mkdir -p {wants}; ln -sf {unit(sm)} {wants};; esac\n'
        f'case "$*" in *disable*) rm -rf {wants};; esac'
    )


def without_manager(sm: Sm) -> dict[str, str]:
    """A PATH with Python and nothing else of the system."""
    program = sm.folder / "none"
    program.mkdir(exist_ok=True)
    return {"PATH": str(program)}


def test_the_unit_is_shown_written_and_enabled(own: Sm) -> None:
    """The diff, then what was done; a second time says so and asks nobody."""
    given = manager(own, enabling(own))
    lines = own.run("install", "--yes", "--service", environment=given).splitlines()

    assert lines[:2] == [f"--- {unit(own)}", f"+++ {unit(own)}"]
    assert f"+Environment=SM_HOME={own.base}" in lines
    assert f"Wrote {unit(own)}." in lines
    told = f"{unit(own).name} starts the daemon from now on. To undo: sm uninstall --service"
    assert told in lines
    assert asked(own) == [
        "--user daemon-reload",
        f"--user enable --now {unit(own).name}",
    ]

    again = own.run("install", "--yes", "--service", environment=given)
    assert again == f"The service {unit(own).name} is already installed in {unit(own)}.\n"
    assert not (own.folder / "asked").exists()


def test_a_dry_run_writes_nothing_and_tells_what_would_run(own: Sm) -> None:
    """Neither the unit nor our own folders."""
    given = manager(own, "")
    shown = own.run("install", "--service", "--dry-run", environment=given)

    assert shown.endswith(
        "then would run:\n    systemctl --user daemon-reload\n"
        f"    systemctl --user enable --now {unit(own).name}\n"
    )
    assert not own.base.exists()
    assert not unit(own).exists()
    assert not (own.folder / "asked").exists()


def test_without_a_manager_the_unit_waits_for_one(own: Sm) -> None:
    """Exit 0, with what to run where there is one."""
    lines = own.run("install", "--yes", "--service", environment=without_manager(own)).splitlines()

    at = lines.index("There is no systemctl here. Where there is one, run:")
    assert lines[at + 1 : at + 3] == [
        "    systemctl --user daemon-reload",
        f"    systemctl --user enable --now {unit(own).name}",
    ]
    assert unit(own).exists()


def test_a_manager_that_refuses_is_quoted(own: Sm) -> None:
    """Exit 1, the unit is there, and what is left to do is told; the next time it is tried."""
    refusing = manager(own, "echo 'Failed to connect to bus' >&2; exit 1")
    done = own.start("install", "--yes", "--service", environment=refusing)

    assert done.returncode == 1
    assert "systemctl says: Failed to connect to bus. The service is there, but" in done.stdout
    assert done.stdout.count("    systemctl --user ") == 2
    assert unit(own).exists()

    told = own.run("install", "--yes", "--service", environment=manager(own, enabling(own)))
    assert told.startswith(f"{unit(own).name} starts the daemon from now on.")


def test_a_manager_that_refuses_everything_is_quoted_once(own: Sm) -> None:
    """The file goes all the same."""
    own.run("install", "--yes", "--service", environment=manager(own, enabling(own)))
    refusing = manager(own, "echo 'Failed to connect to bus' >&2; exit 1")

    told = own.run("uninstall", "--yes", "--service", environment=refusing)

    assert told.count("Failed to connect to bus. A daemon it started may still run.") == 1
    assert "systemctl --user disable --now" in told.splitlines()[-1]
    assert not unit(own).exists()


def test_json_tells_the_same(own: Sm) -> None:
    """What was told to whom, and what is left."""
    planned = own.json("install", "--service", "--dry-run", environment=manager(own, ""))
    done = own.json("install", "--service", environment=manager(own, enabling(own)))
    gone = own.json("uninstall", "--service", environment=manager(own, enabling(own)))

    assert list(done) == ["service", "file", "changed", "dry_run", "told", "to_run", "diff"]
    assert (planned["changed"], planned["told"], len(planned["to_run"])) == (False, [], 2)
    assert [one["refused"] for one in done["told"]] == [None, None]
    assert (done["changed"], done["to_run"], done["file"]) == (True, [], str(unit(own)))
    assert [one["command"].split()[2] for one in gone["told"]] == ["disable", "daemon-reload"]


def test_taking_it_back_leaves_nothing(own: Sm) -> None:
    """The manager is told first, then the file goes; a second time says so."""
    given = manager(own, enabling(own))
    own.run("install", "--yes", "--service", environment=given)
    asked(own)
    lines = own.run("uninstall", "--yes", "--service", environment=given).splitlines()

    told = f"Deleted {unit(own)}. Agents go on; the next command starts the daemon again."
    assert lines[-1] == told
    assert asked(own) == [f"--user disable --now {unit(own).name}", "--user daemon-reload"]
    assert not (own.folder / ".config").exists()

    again = own.run("uninstall", "--yes", "--service", environment=given)
    assert again == f"Nothing to do: there is no service of this sm in {unit(own)}.\n"


def test_taking_back_only_to_look_changes_nothing(own: Sm) -> None:
    given = manager(own, enabling(own))
    own.run("install", "--yes", "--service", environment=given)
    shown = own.run("uninstall", "--service", "--dry-run", environment=given)

    assert "-KillMode=process" in shown.splitlines()
    assert unit(own).exists()


def test_somebody_elses_service_is_refused(own: Sm) -> None:
    """Exit 1 and one line; nothing is told to anybody."""
    unit(own).parent.mkdir(parents=True)
    unit(own).write_text("[Service]\n")

    code, words = refusal(own, "install", "--yes", "--service")
    assert code == 1
    assert words == (
        f"{unit(own)} was not written by sm and stays as it is. "
        "If you do not need it, move it away and try again."
    )
    assert refusal(own, "uninstall", "--yes", "--service")[0] == 1


def test_an_agents_settings_and_the_service_are_two_commands(own: Sm) -> None:
    done = own.start("install", "--yes", "--service", "--agent", "claude")

    assert done.returncode == 2
    assert "not allowed with argument" in done.stderr

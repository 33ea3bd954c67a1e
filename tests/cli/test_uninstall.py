"""sm uninstall"""

import json

from tests.cli.conftest import refusal
from tests.cli.test_install import COUNT, USERS, own, settings
from tests.kit.sm import Sm

__all__ = ["own"]


def test_everything_is_as_it_was(own: Sm) -> None:
    """The change is shown, and told in one line."""
    settings(own).write_text(USERS)
    own.run("install", "--yes")
    lines = own.run("uninstall", "--yes").splitlines()

    assert settings(own).read_text() == USERS
    assert lines[2].endswith(" +1,3 @@")
    told = f"Took the hooks out of {settings(own)}: it is byte for byte what it was."
    assert lines[-1] == told


def test_a_file_of_ours_is_deleted(own: Sm) -> None:
    """It held nothing else."""
    own.run("install", "--yes")
    told = own.run("uninstall", "--yes").splitlines()[-1]

    assert told == f"Deleted {settings(own)}: sm had created it, and it held nothing else."
    assert not settings(own).exists()


def test_changes_since_then_stay(own: Sm) -> None:
    """And what a person removed is told."""
    own.run("install", "--yes")
    found = json.loads(settings(own).read_text())
    del found["hooks"]["Stop"]
    settings(own).write_text(json.dumps({**found, "model": "x"}))

    assert own.run("uninstall", "--yes").splitlines()[-2:] == [
        f"Took the hooks out of {settings(own)}; what else was changed since stays.",
        "You had removed some yourself: Stop.",
    ]
    assert settings(own).read_text() == '{"model": "x"}'


def test_without_an_installation_there_is_nothing_to_do(own: Sm) -> None:
    """Said, and no mistake."""
    told = f"Nothing to do: no hooks of this sm are installed in {settings(own)}.\n"

    assert own.run("uninstall", "--yes") == told
    assert own.json("uninstall")["changed"] is False


def test_a_dry_run_only_shows(own: Sm) -> None:
    """The hooks stay."""
    own.run("install", "--yes")
    before = settings(own).read_bytes()
    shown = own.run("uninstall", "--dry-run")

    assert shown.endswith("\nNothing was written. Without --dry-run, this is what would change.\n")
    assert settings(own).read_bytes() == before


def test_json_tells_the_same(own: Sm) -> None:
    """What was removed, and whether all is as it was."""
    settings(own).write_text(USERS)
    own.run("install", "--yes")
    done = own.json("uninstall", "--agent", "claude", "--yes")

    assert (done["changed"], done["restored"], len(done["removed"])) == (True, True, COUNT)


def test_a_broken_file_is_refused(own: Sm) -> None:
    """Nothing is removed from what cannot be read."""
    settings(own).write_text("[")

    code, words = refusal(own, "uninstall", "--yes")
    assert code == 1
    assert words.startswith(f"{settings(own)}, line 1, column 2: it ends too early. ")

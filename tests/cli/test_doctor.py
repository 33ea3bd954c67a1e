"""sm doctor"""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.kit.sm import Sm, sm_home
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


def test_a_broken_configuration_is_found(own: Sm) -> None:
    """File, key and what to do."""
    own.home.make()
    own.home.config.write_text("x = 1\n")

    finding = _findings(own)["config"]

    assert finding["verdict"] == "bad"
    assert finding["says"].startswith(f"{own.home.config}: unknown key x.")
    assert finding["remedy"] == f"Edit {own.home.config}"


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

"""sm install"""

import json
import os
import pty
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from sm.install.agents import AGENTS
from tests.cli.conftest import refusal
from tests.kit.sm import SM, Sm, sm_home

COUNT = len(AGENTS["claude"].entries(""))
WARNING = (
    "claude skips a settings file with comments or trailing commas as a whole, "
    "and the hooks with it; the first is in line 1."
)
USERS = '{\n  "model": "opus"\n}\n'


@pytest.fixture
def own() -> Iterator[Sm]:
    """A person's home; no daemon is ever started in it."""
    with sm_home() as made:
        yield made
        assert not made.home.pid.exists()


def settings(sm: Sm) -> Path:
    (sm.folder / ".claude").mkdir(exist_ok=True)
    return sm.folder / ".claude" / "settings.json"


def at_a_terminal(
    sm: Sm, *arguments: str, answer: bytes, environment: Mapping[str, str] | None = None
) -> tuple[int, str]:
    """Run a command on a terminal of its own and answer its question."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [SM, *arguments],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**sm.environment, **(environment or {})},
    )
    os.close(theirs)
    os.write(ours, answer)
    shown = b""
    while chunk := _read(ours):
        shown += chunk
    os.close(ours)
    return process.wait(20), shown.decode().replace("\r\n", "\n")


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 1 << 16)
    except OSError:  # the other side was closed
        return b""


def test_the_change_is_shown_written_and_told(own: Sm) -> None:
    """The diff, what was done, and what to do next."""
    settings(own).write_text(USERS)
    lines = own.run("install", "--yes").splitlines()

    assert lines[:2] == [f"--- {settings(own)}", f"+++ {settings(own)}"]
    assert lines[2].startswith("@@ -1,3 +1,")
    assert lines[3:6] == [" {", '-  "model": "opus"', '+  "model": "opus",']
    assert lines[-2:] == [
        f"Installed the hooks for claude in {settings(own)}: {COUNT} added.",
        "Agents that are running use them at once. To undo: sm uninstall",
    ]
    assert json.loads(settings(own).read_text())["model"] == "opus"


@pytest.mark.parametrize("command", ["install", "install --service"])
def test_without_a_terminal_it_must_be_told_to_write(own: Sm, command: str) -> None:
    """An answer from a pipe is none."""
    done = own.start(*command.split(), input="n\n")

    assert done.returncode == 1
    assert done.stderr == (
        "sm: Nothing was changed: without a terminal nobody can be asked. To write it, say --yes.\n"
    )
    assert not (own.folder / ".claude" / "settings.json").exists()
    assert not (own.folder / ".config").exists()


def test_a_second_time_says_so(own: Sm) -> None:
    """One line, nothing written."""
    own.run("install", "--yes")
    before = _touched(settings(own))

    told = f"The hooks for claude are already installed in {settings(own)}.\n"
    assert own.run("install", "--yes") == told
    assert _touched(settings(own)) == before


def _touched(file: Path) -> tuple[int, int, int]:
    found = file.stat()
    return found.st_ino, found.st_mtime_ns, found.st_ctime_ns


def test_a_dry_run_only_shows(own: Sm) -> None:
    """Neither the settings nor our own folders are made."""
    shown = own.run("install", "--dry-run")

    assert shown.startswith("--- ")
    assert shown.endswith("\nNothing was written. Without --dry-run, this is what would change.\n")
    assert not own.home.base.exists()
    assert list(settings(own).parent.iterdir()) == []


def test_json_tells_the_same(own: Sm) -> None:
    """With the diff as text, and never asking."""
    settings(own).write_text(USERS)
    planned = own.json("install", "--dry-run")
    done = own.json("install")
    again = own.json("install", "--agent", "claude")

    assert list(done) == ["agent", "file", "changed", "dry_run", "added", "updated", "removed",
                          "left_out", "kept", "warning", "restored", "diff"]  # fmt: skip
    assert (done["agent"], done["file"]) == ("claude", str(settings(own)))
    assert planned == {**done, "changed": False, "dry_run": True}
    assert (done["changed"], len(done["added"]), done["warning"]) == (True, COUNT, None)
    assert done["diff"].startswith(f"--- {settings(own)}\n")
    assert (again["changed"], again["added"], again["diff"]) == (False, [], "")


def test_the_callers_configuration_is_the_one_that_counts(own: Sm) -> None:
    """As it does for the client."""
    own.run("install", "--yes", environment={"CLAUDE_CONFIG_DIR": str(own.folder / "conf")})

    assert (own.folder / "conf" / "settings.json").exists()
    assert not settings(own).exists()


def test_on_a_terminal_it_asks_first(own: Sm) -> None:
    """Only a yes is one; in colour."""
    settings(own).write_text(USERS)
    status, shown = at_a_terminal(own, "install", answer=b"\n")
    assert status == 1
    assert shown.endswith("Write this? [y/N] sm: Nothing was changed.\n")
    assert '\x1b[32m+  "model": "opus",\x1b[0m\n' in shown
    assert settings(own).read_text() == USERS

    assert at_a_terminal(own, "install", "--yes", answer=b"")[0] == 0
    assert at_a_terminal(own, "uninstall", answer=b"y\n")[0] == 0
    assert settings(own).read_text() == USERS


def test_what_a_person_did_by_hand_is_told(own: Sm) -> None:
    """What is left out, what is kept, and what the agent will not heed."""
    own.run("install", "--yes")
    found = json.loads(settings(own).read_text())
    del found["hooks"]["Stop"]
    found["hooks"]["SessionEnd"][0]["hooks"][0]["timeout"] = 1
    settings(own).write_text(f"// mine\n{json.dumps(found)}")

    assert own.run("install", "--yes").splitlines()[1:] == [
        "Left out, as you removed them: Stop. To have them back: sm uninstall, then sm install",
        "Kept as you changed them: SessionEnd.",
        f"Beware: {WARNING} Remove them from {settings(own)}",
    ]


def test_a_broken_file_is_refused(own: Sm) -> None:
    """File, line, column, and what to do."""
    settings(own).write_text('{\n  "a" 1}')

    code, words = refusal(own, "install", "--yes")
    assert code == 1
    assert words == (
        f"{settings(own)}, line 2, column 7: a colon is missing. "
        "Mend the file and try again; nothing was changed."
    )


def test_a_read_only_file_is_refused_before_asking(own: Sm) -> None:
    """Also when only looking."""
    settings(own).write_text(USERS)
    settings(own).chmod(0o444)

    code, words = refusal(own, "install", "--dry-run")
    assert (code, words.split(". ")[0]) == (1, f"{settings(own)} is read-only")


def test_two_at_once_give_one_installation(own: Sm) -> None:
    """Each says it is installed, or to try again; nothing is doubled or lost."""
    settings(own).write_text(USERS)
    running = [
        subprocess.Popen([SM, "install", "--yes"], env=own.environment, stdout=subprocess.DEVNULL)
        for _ in range(4)
    ]
    assert [process.wait(60) for process in running] == [0] * 4
    hooks = json.loads(settings(own).read_text())["hooks"]

    assert {len(groups) for groups in hooks.values()} == {1}
    own.run("uninstall", "--yes")
    assert settings(own).read_text() == USERS

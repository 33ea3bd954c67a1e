"""sm snapshot"""

import re
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from sm.api.types import SnapshotText, SnapshotView
from tests.cli.conftest import refusal
from tests.kit.sm import Sm, sm_home
from tests.kit.tmux import wait_until

HEAD = re.compile(r"NAME +AGE +LINES +SIZE +WHY")
ROW = re.compile(r"\d{8}T\d{6}\.\d{3}Z-[a-z-]+-\d+-lines +\d+[smhd] +\d+ +\d+ K?B +[a-z ]+")


def test_one_is_kept_and_its_path_printed(sm: Sm) -> None:
    """A file for its owner alone, with what the terminal holds."""
    printed = sm.run("snapshot", "bob")

    file = Path(printed.rstrip("\n"))
    assert printed == f"{file}\n"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert " Do you want to proceed?\n" in file.read_text()
    assert sm.run("snapshot", "bob") == printed


def test_those_that_are_kept_are_listed(sm: Sm) -> None:
    """Each with its age, its size and what it was taken for."""
    sm.run("snapshot", "bob")
    head, *rows = sm.run("snapshot", "bob", "--list").splitlines()

    assert HEAD.fullmatch(head)
    assert rows
    assert all(ROW.fullmatch(row) for row in rows)
    assert [s["name"] for s in sm.json("snapshot", "bob", "--list")] == [
        row.split()[0] for row in rows
    ]


def test_a_turns_end_is_kept_without_being_asked_for(sm: Sm) -> None:
    wait_until(lambda: sm.json("snapshot", "ada", "--list") != [])

    assert "turn end" in {s["why"] for s in sm.json("snapshot", "ada", "--list")}


def test_one_is_printed(sm: Sm) -> None:
    """The newest, or the one that is named: by the beginning of its name, or by its path."""
    path = sm.run("snapshot", "bob").rstrip("\n")
    text = Path(path).read_text()

    assert sm.run("snapshot", "bob", "--show") == text
    assert sm.run("snapshot", "bob", "--show", "newest") == text
    assert sm.run("snapshot", "bob", "--show", Path(path).stem[:22]) == text
    assert sm.run("snapshot", "bob", "--show", path) == text


def test_json_has_exactly_the_documented_keys(sm: Sm) -> None:
    taken = sm.json("snapshot", "bob")
    shown = sm.json("snapshot", "bob", "--show")

    assert list(taken) == list(SnapshotView.__annotations__)
    assert sm.json("snapshot", "bob", "--list")[0] == taken
    assert set(shown) == set(SnapshotText.__annotations__)
    assert {**taken, "text": Path(taken["path"]).read_text()} == shown


@pytest.fixture
def own() -> Iterator[Sm]:
    """A home begun now: no heartbeat keeps a snapshot beside those that are asked for."""
    with sm_home() as sm:
        yield sm


def test_a_terminal_that_is_gone_shows_its_last_one(own: Sm) -> None:
    """And says so, in place of taking one."""
    sm = own
    sm.run("new", "late", "--agent", "sh -c 'echo my last words; sleep 1000'")
    wait_until(lambda: "my last words" in sm.run("tail", "late"))
    assert refusal(sm, "snapshot", "late", "--show") == (
        1, "No snapshot of late was kept. What it showed: sm log late",
    )  # fmt: skip
    assert sm.run("snapshot", "late", "--list") == "No snapshots.\n"
    sm.run("snapshot", "late")
    sm.run("kill", "late")

    assert refusal(sm, "snapshot", "late") == (
        1,
        (
            "No snapshot of late can be taken: its terminal is gone."
            " The last one that was kept: sm snapshot late --show"
        ),
    )
    assert sm.run("snapshot", "late", "--show") == "my last words\n"
    assert refusal(sm, "snapshot", "late", "--show", "1999") == (
        1, "No snapshot of late begins with '1999'. See: sm snapshot late --list",
    )  # fmt: skip


def test_wrong_usage(sm: Sm) -> None:
    """Exit 2 for two things at once, 1 for nobody's snapshots."""
    assert sm.start("snapshot").returncode == 2
    assert sm.start("snapshot", "bob", "--list", "--show").returncode == 2
    code, words = refusal(sm, "snapshot", "nobody")
    assert (code, "nobody" in words) == (1, True)

"""sm show"""

from pathlib import Path

import pytest

from sm.api.types import ExitView, SessionDetail
from sm.cli.show import ended
from tests.cli.conftest import refusal, shape
from tests.cli.test_handoff import inside
from tests.kit.sm import Sm
from tests.kit.tmux import wait_until


def test_everything_about_a_session_is_shown(sm: Sm) -> None:
    """The whole page."""
    shown = shape(sm, sm.run("show", "bob"))
    told = dict(
        line.split(" ", 1) for line in shown.splitlines() if line[:4] not in ("last", "raw ")
    )

    assert [line.split(" ")[0] for line in shown.splitlines()] == [
        "session", "agent", "state", "directory", "parent", "children", "started", "process",
        "tmux", "context", "usage", "compacted", "transcript", "queued", "last", "raw",
    ]  # fmt: skip
    assert told["session"] == "bob (ID)"
    assert told["agent"] == "demo --delay 0"
    assert told["state"] == "waiting for AGE"
    assert told["directory"] == "HERE/work"
    assert told["context"] == "1 (UUID)"
    assert told["queued"] == "1"
    assert told["parent"] == "ada"


def test_an_ended_session_tells_how_it_ended(sm: Sm) -> None:
    """Asked for, or not."""
    assert sm.run("show", "gone").rstrip().splitlines()[-1].startswith("ended       as asked, ")


@pytest.mark.parametrize(
    ("status", "number", "intended", "words"),
    [
        (0, None, True, "as asked, status 0"),
        (3, None, False, "unasked, status 3"),
        (None, 9, False, "unasked, signal 9"),
        (None, None, False, "unasked, status not known"),
    ],
)
def test_an_end_is_told_as_far_as_it_is_known(
    status: int | None, number: int | None, intended: bool, words: str
) -> None:
    how: ExitView = {
        "status": status, "signal": number, "intended": intended, "cause": None, "evidence": "",
    }  # fmt: skip
    assert ended(how) == words


def test_reminders_are_shown(sm: Sm) -> None:
    """With their ids, to cancel them."""
    reminder = sm.run("remind", "ada", "look at the build", "--in", "1h").strip()
    shown = sm.run("show", "ada")
    sm.run("remind", "--cancel", reminder)

    assert f"reminder {reminder}  look at the build\n" in shown


def test_the_contexts_before_and_the_handoff_under_way_are_shown(sm: Sm, tmp_path: Path) -> None:
    """How a session came to where it is."""
    document = tmp_path / "handoff.md"
    document.write_text("# Goal\nthe shop\n")
    sm.new_demo("zoe")
    handoff = sm.json("handoff", str(document), environment=inside(sm, "zoe"))["id"]
    wait_until(lambda: sm.json("handoffs", "show", handoff)["state"] == "done")
    sm.run("send", "zoe", "%ask touch y", "--wait", "20", "--no-notify")
    sm.wait_state("zoe", "waiting")
    second = sm.json("handoff", str(document), environment=inside(sm, "zoe"))["id"]
    shown = sm.run("show", "zoe")
    sm.run("kill", "zoe")

    assert f"handoff     {second} is under way: sm handoffs show {second}\n" in shown
    (past,) = [line for line in shown.splitlines() if line.startswith("context 1")]
    assert shape(sm, past) == "context 1 handoff HANDOFF AGE ago (UUID)"


def test_json_has_exactly_the_documented_keys(sm: Sm) -> None:
    """All of the list's, and more."""
    assert set(sm.json("show", "ada")) == set(SessionDetail.__annotations__)


def test_an_id_a_prefix_and_a_name_mean_the_same(sm: Sm) -> None:
    """SESSION = id, unique id prefix, or name."""
    session = sm.json("show", "ada")["id"]

    assert sm.json("show", session)["name"] == sm.json("show", session[:6])["name"] == "ada"


def test_a_session_that_is_not_there_is_refused(sm: Sm) -> None:
    """With what to do."""
    assert refusal(sm, "show", "eve") == (1, "There is no session 'eve'. See: sm ls --all")


@pytest.mark.parametrize("command", ["show", "explain", "kill", "log", "tail", "wait", "attach"])
def test_an_empty_name_is_refused(sm: Sm, command: str) -> None:
    """It is a script's unset variable."""
    assert refusal(sm, command, "") == (
        1, "An empty name means nothing. See what there is with: sm ls --all",
    )  # fmt: skip

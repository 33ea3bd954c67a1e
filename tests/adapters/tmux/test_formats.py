"""Reading tmux's answers, and asking it the right questions."""

import pytest

from sm.adapters.tmux.formats import (
    LISTED,
    VIEWED,
    Listed,
    absent,
    is_untold,
    ours,
    read_listed,
    read_view,
    typable,
)
from sm.core.ids import PaneId, SessionId
from sm.core.terminal import PaneStatus, View

from .rig import ADA, BOB, Rig, until_true

LIVE = "home1:ada00001:0:::0:80:24:3:4:p.1:e.1:i.1:4711:"


def view(line: str) -> View:
    found = read_view(line, ["hello", ""], home="home1")
    assert found is not None
    return found


def test_a_listed_pane_is_read_field_by_field() -> None:
    assert read_listed("home1:ada00001:ada00001:%7:4711:0:::ada") == Listed(
        home="home1",
        in_own_session=True,
        status=PaneStatus(
            id=PaneId("%7"),
            sm_session=ADA,
            tmux_session="ada",
            pid=4711,
            dead=False,
            exit_status=None,
            exit_signal=None,
        ),
    )


def test_a_pane_listed_under_another_session_is_told_apart() -> None:
    """Somebody moved the pane, or looks at it from a session of their own."""
    assert not read_listed("home1:ada00001::%7:4711:0:::mine").in_own_session
    assert not read_listed("home1:ada00001:b0b00002:%7:4711:0:::bob").in_own_session


@pytest.mark.parametrize(
    ("how", "dead", "status", "signal"),
    [
        ("0::", False, None, None),
        # tmux before 3.4 says nothing where later ones say 0.
        ("::", False, None, None),
        ("1:0:", True, 0, None),
        ("1:3:", True, 3, None),
        ("1::9", True, None, 9),
        ("1::", True, None, None),
    ],
)
def test_how_a_process_ended_is_read_alike_in_a_list_and_a_view(
    how: str, dead: bool, status: int | None, signal: int | None
) -> None:
    """A clean end is 0, which is not the same as not knowing."""
    listed = read_listed(f"home1:ada00001:ada00001:%7:4711:{how}:ada").status
    viewed = view(f"home1:ada00001:{how}:0:80:24:0:0::::4711:")

    for seen in (listed, viewed):
        assert (seen.dead, seen.exit_status, seen.exit_signal) == (dead, status, signal)
        assert is_untold(seen) == (how == "1::")


def test_a_view_is_read_field_by_field() -> None:
    assert view(LIVE) == View(
        lines=("hello", ""),
        cursor_x=3,
        cursor_y=4,
        title="",
        in_mode=False,
        width=80,
        height=24,
        dead=False,
        exit_status=None,
        exit_signal=None,
        pasted="p.1",
        entered="e.1",
        interrupted="i.1",
        session=SessionId("ada00001"),
        pid=4711,
    )


@pytest.mark.parametrize("title", ["a: title", ":::", " ✳ work: 1:2 ", "1:1:1:"])
def test_a_title_may_be_anything(title: str) -> None:
    """Agents put what they like into it; it shifts no other field."""
    assert (view(LIVE + title).title, view(LIVE + title).interrupted) == (title, "i.1")


@pytest.mark.parametrize(
    ("count", "in_mode"), [("", False), ("0", False), ("1", True), ("2", True)]
)
def test_one_mode_upon_another_is_a_mode(count: str, in_mode: bool) -> None:
    """A menu opened in copy mode counts as two."""
    assert view(f"home1:ada00001:0:::{count}:80:24:0:0::::4711:").in_mode == in_mode


@pytest.mark.parametrize("tags", ["home2:ada00001", "home1:", ":ada00001"])
def test_a_pane_that_is_not_an_agents_of_this_home_has_no_view(tags: str) -> None:
    assert read_view(f"{tags}:0:::0:80:24:0:0::::4711:", [], home="home1") is None


@pytest.fixture
def pane(rig: Rig) -> str:
    """An agent's pane as a launch leaves it, beside one that is nobody's."""
    made = ("-P", "-F", "#{pane_id}")
    pane = rig.tmux("new-session", "-d", *made, "-s", "ada", "-x", "80", "-y", "24", "cat")
    rig.tmux("new-session", "-d", "-s", "stranger", "cat")
    rig.tmux("set-option", "-t", "ada", "@sm_session", ADA)
    rig.tmux("set-option", "-p", "-t", pane, "@sm_home", "home1")
    rig.tmux("set-option", "-p", "-t", pane, "@sm_pane", ADA)
    return pane


def asked(rig: Rig, target: str, question: str) -> str:
    return rig.tmux("display-message", "-p", "-t", target, question)


async def test_what_tmux_answers_can_be_read(rig: Rig, pane: str) -> None:
    """A stranger's pane on the same server is listed too, and is nobody's."""
    rig.tmux("select-pane", "-t", pane, "-T", "a:b; 日本")
    rig.tmux("set-option", "-p", "-t", pane, "@sm_entered", "e.1")

    listed = [read_listed(line) for line in rig.tmux("list-panes", "-a", "-F", LISTED).split("\n")]
    found = view(asked(rig, pane, VIEWED))

    assert [(p.home, p.status.sm_session, p.status.tmux_session) for p in listed] == [
        ("home1", ADA, "ada"),
        ("", "", "stranger"),
    ]
    assert listed[0].status.id == pane
    assert listed[0].in_own_session
    assert (found.title, found.entered, found.pasted) == ("a:b; 日本", "e.1", "")
    assert (found.width, found.dead, found.in_mode) == (80, False, False)


async def test_ours_is_an_agents_pane_of_this_home_alone(rig: Rig, pane: str) -> None:
    beside = rig.tmux("split-window", "-t", pane, "-P", "-F", "#{pane_id}", "cat")
    rig.tmux("set-option", "-p", "-t", beside, "@sm_home", "home1")

    assert asked(rig, pane, ours("home1")) == "1"
    assert asked(rig, pane, ours("home2")) == "0"
    assert asked(rig, beside, ours("home1")) == "0"
    assert asked(rig, "stranger:", ours("home1")) == "0"


async def test_a_dead_pane_is_ours_but_not_typable(rig: Rig, pane: str) -> None:
    """A paste into it would end the server with every agent in it."""
    assert asked(rig, pane, typable("home1")) == "1"
    rig.tmux("set-option", "-p", "-t", pane, "remain-on-exit", "on")
    rig.tmux("send-keys", "-t", pane, "C-d")
    await until_true(lambda: asked(rig, pane, "#{pane_dead}") == "1")

    assert (asked(rig, pane, ours("home1")), asked(rig, pane, typable("home1"))) == ("1", "0")


async def test_a_session_is_absent_when_no_pane_of_the_server_is_its(rig: Rig, pane: str) -> None:
    """Asked from anywhere: also from a session that is not the agent's."""
    for target in (pane, "stranger:"):
        assert asked(rig, target, absent("home1", ADA)) == "0"
        assert asked(rig, target, absent("home1", BOB)) == "1"
        assert asked(rig, target, absent("home2", ADA)) == "1"
        assert asked(rig, target, absent("home1", SessionId("ada0000"))) == "1"

"""sm ls"""

import re

from sm.api.types import ContextView, SessionView, TmuxView
from tests.cli.conftest import shape
from tests.kit.sm import Sm, sm_home


def test_the_list_shows_what_runs_in_which_state(sm: Sm) -> None:
    """Living sessions, oldest first; a parent by its name."""
    # How full ada's context is may be told by now.
    lines = re.sub(r" \d+ % ", " - ", shape(sm, sm.run("ls"))).splitlines()

    assert lines[:3] == [
        "ID NAME AGENT STATE FOR FULL QUEUED PARENT DIRECTORY",
        "ID ada demo idle AGE - - - HERE/work",
        "ID bob demo waiting AGE - 1 ada HERE/work",
    ]


def test_all_shows_ended_sessions_too(sm: Sm) -> None:
    """Nothing is forgotten."""
    assert "ID gone cat ended AGE - - - HERE/work" in shape(sm, sm.run("ls", "--all"))
    assert " gone " not in sm.run("ls")


def test_json_has_exactly_the_documented_keys(sm: Sm) -> None:
    """Scripts rely on them."""
    listed = sm.json("ls", "--all")

    for session in listed:
        assert list(session) == list(SessionView.__annotations__)
        assert list(session["context"]) == list(ContextView.__annotations__)
        assert list(session["tmux"]) == list(TmuxView.__annotations__)


def test_nothing_running_is_told_with_what_to_do() -> None:
    """In words; in JSON an empty list."""
    with sm_home() as empty:
        assert empty.run("ls") == "No sessions. Start one with: sm new ada --agent demo\n"
        assert empty.json("ls") == []

"""sm explain"""

import re
from typing import get_args

from sm.api.types import Explanation, SightingView
from sm.core.events import Event
from tests.cli.conftest import refusal, shape
from tests.kit.sm import Sm


def test_the_state_is_explained_by_evidence_source_and_age(sm: Sm) -> None:
    """Which source said what, how long ago; then what is held to be true; then the last events."""
    told = shape(sm, sm.run("explain", "bob")).splitlines()

    assert told[0] == "bob is waiting for AGE"
    # A while after the question the client says once more that it waits.
    said = r"because hook said '(PermissionRequest|Notification)', \d+\.\d s ago"
    assert re.fullmatch(said, told[1])
    table = told[told.index("SOURCE SAYS AGE") + 1 :]
    assert {row.split(" ")[0] for row in table[: table.index("")] if row[0] != "-"} >= {
        "hook", "tmux", "person",
    }  # fmt: skip
    assert "- a dialog is open: Bash: touch x" in told
    events = told[told.index("SEQ TIME EVENT WHAT") + 1 :]
    assert {e.split(" ")[1] for e in events} == {"TIME"}
    kinds = {e.split(" ")[2] for e in events}
    assert kinds
    assert kinds <= {kind.__name__ for kind in get_args(Event)}


def test_json_has_exactly_the_documented_keys(sm: Sm) -> None:
    """Every piece of evidence with source, words, time and age."""
    why = sm.json("explain", "ada")

    assert list(why) == list(Explanation.__annotations__)
    assert list(why["because"]) == list(SightingView.__annotations__)
    assert why["because"]["age"] >= 0


def test_a_session_that_is_not_there_is_refused(sm: Sm) -> None:
    """With what to do."""
    assert refusal(sm, "explain", "eve") == (1, "There is no session 'eve'. See: sm ls --all")

"""What the core knows, in the contract's keys and types."""

from typing import Any

import msgspec
import pytest

from sm.api import types
from tests.web.conftest import Web


@pytest.mark.parametrize(
    ("path", "contract"),
    [
        ("/health", types.Health),
        ("/sessions?all=true", list[types.SessionView]),
        ("/sessions/ada", types.SessionDetail),
        ("/sessions/{gone}", types.SessionDetail),
        ("/sessions/ada/explain", types.Explanation),
        ("/sessions/{gone}/explain", types.Explanation),
        ("/sessions/ada/timeline", list[types.StoredEvent]),
        ("/sessions/ada/screen", types.ScreenView),
        ("/sessions/ada/log", types.LogView),
        ("/messages", list[types.MessageView]),
        ("/reminders", list[types.ReminderView]),
    ],
)
def test_an_answer_has_exactly_the_keys_of_its_contract(web: Web, path: str, contract: Any) -> None:
    """No key is missing, none is undocumented, every type fits."""
    answer = web.call("GET", path.format(gone=web.gone))

    decoded = msgspec.json.decode(answer.content, type=contract)
    assert answer.status == 200
    assert decoded == answer.json


def test_an_explanation_gives_source_age_and_the_newest_first(web: Web) -> None:
    """Why we believe it, by whom, and how long ago."""
    why = web.get("/sessions/ada/explain")

    ages = [evidence["age"] for evidence in why["evidence"]]
    assert ages == sorted(ages)
    assert {"hook", "tmux", "person"} <= {evidence["source"] for evidence in why["evidence"]}
    assert why["because"]["source"] == "hook"
    assert any(fact.startswith("pane %") for fact in why["facts"])
    assert 1 < len(why["recent"]) <= 12


def test_an_ended_session_tells_how_it_ended(web: Web) -> None:
    """Asked for by a person; no process any more."""
    gone = web.get(f"/sessions/{web.gone}")

    assert (gone["state"], gone["pid"]) == ("ended", None)
    assert gone["exit"]["intended"] is True
    assert web.get(f"/sessions/{web.gone}/explain")["because"]["says"]

"""What the core knows, in the contract's keys and types."""

from dataclasses import replace
from typing import Any

import msgspec
import pytest

from sm.api import types
from sm.core.crash import Cause
from sm.core.state import Exit
from sm.web.views import exit_view, explanation
from tests.core.samples import IDLE, NOON
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
    assert (gone["exit"]["intended"], gone["exit"]["cause"]) == (True, None)
    assert web.get(f"/sessions/{web.gone}/explain")["because"]["says"]


def test_an_end_nobody_asked_for_has_a_cause_and_its_evidence() -> None:
    """Also where it is not known: then that is what is said."""
    told = exit_view(
        Exit(status=None, signal=9, intended=False, cause=Cause.MEMORY, evidence="the kernel…")
    )
    unknown = exit_view(Exit(status=None, signal=None, intended=False))

    assert (told["cause"], told["evidence"]) == ("out_of_memory", "the kernel…")
    assert (unknown["cause"], unknown["evidence"]) == ("unknown", "")


def test_an_explanation_names_the_cause_of_an_end() -> None:
    """Beside the state, what took the agent and what speaks for it."""
    end = Exit(status=1, signal=None, intended=False, cause=Cause.LIMIT, evidence="rate_limit")
    gone = replace(IDLE, exit=end, last_words="the agent ended with exit code 1")

    facts = explanation(gone, [], NOON)["facts"]

    assert "cause: api_limit (rate_limit)" in facts
    asked = replace(gone, exit=replace(end, intended=True))
    assert not any(fact.startswith("cause") for fact in explanation(asked, [], NOON)["facts"])

"""sm context"""

from sm.api.types import ContextUsage
from tests.cli.conftest import shape
from tests.kit.sm import Sm, sm_home
from tests.kit.tmux import wait_until


def test_every_living_session_is_listed(sm: Sm) -> None:
    """With dashes where nothing is known."""
    lines = shape(sm, sm.run("context")).splitlines()

    assert lines[0] == "SESSION CONTEXT TOKENS WINDOW FULL COMPACTS AT COMPACTED SOURCE AGE"
    assert [line.split()[0] for line in lines[1:3]] == ["ada", "bob"]
    assert not any(line.startswith("gone ") for line in lines)


def test_one_can_be_named_and_inside_a_session_it_is_that_one(sm: Sm) -> None:
    inside = {"CLAUDE_SESSION_MANAGER_ID": sm.json("show", "ada")["id"]}

    (named,) = sm.json("context", "ada")
    (own,) = sm.json("context", environment=inside)

    assert named["name"] == own["name"] == "ada"
    assert set(named) == set(ContextUsage.__annotations__)


def test_tokens_are_those_the_agent_reports() -> None:
    with sm_home() as sm:
        sm.new_demo("ada")
        sm.run("send", "ada", "hello", "--wait", "10")

        wait_until(lambda: sm.json("context", "ada")[0]["tokens"])

        assert " tokens" in sm.run("show", "ada")


def test_an_unknown_session_is_refused(sm: Sm) -> None:
    refused = sm.start("context", "nobody")

    assert refused.returncode == 1
    assert "nobody" in refused.stderr


def test_nothing_running_is_told_with_what_to_do() -> None:
    with sm_home() as empty:
        assert empty.run("context").startswith("No sessions.")
        assert empty.json("context") == []

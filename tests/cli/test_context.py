"""sm context"""

import pytest

from sm.api.types import ContextUsage, ThresholdView
from sm.cli import context
from tests.cli.conftest import refusal, shape
from tests.kit.sm import Sm, sm_home
from tests.kit.tmux import wait_until


def test_every_living_session_is_listed(sm: Sm) -> None:
    """With dashes where nothing is known."""
    lines = shape(sm, sm.run("context")).splitlines()

    heads = "SESSION CONTEXT TOKENS WINDOW FULL LEVEL COMPACTS AT COMPACTED SOURCE AGE"
    assert lines[0] == heads
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


def test_one_context_is_shown_with_its_levels_history_and_forecast(sm: Sm) -> None:
    """The whole page."""
    wait_until(lambda: sm.json("context", "ada")[0]["tokens"])
    shown = shape(sm, sm.run("context", "ada"))
    told = dict(_row(line) for line in shown.splitlines())

    assert list(told) == [
        "session", "context", "usage", "level", "monitor", "early_warn", "warn", "critical",
        "compacts at", "compacted", "history", "forecast",
    ]  # fmt: skip
    assert told["session"] == "ada (ID)"
    assert told["usage"].endswith(" %), AGE ago by its statusline")
    assert (told["level"], told["monitor"]) == ("OK", "on")
    assert told["early_warn"] == "at 80,000 tokens"
    assert told["critical"] == "at 130,000 tokens"
    assert told["compacted"] == "-"


def _row(line: str) -> tuple[str, str]:
    key = "compacts at" if line.startswith("compacts at") else line.split(" ")[0]
    return key, line.removeprefix(key).strip()


def test_a_session_can_be_left_alone_and_watched_again(sm: Sm) -> None:
    """Said where it is asked for and in the list."""
    off = sm.run("context", "ada", "--off")
    assert "off: its agent is not warned. Switch it on with: sm context ada --on\n" in off
    assert " (off) " in next(x for x in sm.run("context").splitlines() if x.startswith("ada "))

    assert sm.json("context", "ada", "--on")[0]["opted_out"] is False
    assert "monitor      on\n" in sm.run("context", "ada")


def test_a_switch_needs_a_session(sm: Sm) -> None:
    """All at once is the configuration's business."""
    assert refusal(sm, "context", "--off") == (
        2, "Name the session to switch: sm context SESSION --on|--off",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("seconds", "words"), [(40, "40 s"), (720, "12 min"), (9_000, "2 h"), (400_000, "5 days")]
)
def test_a_forecast_is_rough(seconds: float, words: str) -> None:
    """It is a guess; nobody needs its seconds."""
    told = context._forecast({"level": "WARN", "seconds": seconds})

    assert told == f"WARN in about {words} at the present pace"


def test_a_moved_threshold_says_from_where_and_why() -> None:
    moved: ThresholdView = {
        "level": "CRITICAL", "tokens": 158_650, "wanted": 650_000, "reached": True,
        "moved": "below the agent's own compaction at 167,000",
    }  # fmt: skip

    assert context._threshold(moved) == (
        "at 158,650 tokens instead of 650,000: below the agent's own compaction at 167,000, reached"
    )
    unknown: ThresholdView = {**moved, "wanted": None, "moved": "the window is not known"}
    assert context._threshold(unknown) == "at 158,650 tokens: the window is not known, reached"


def test_where_the_monitor_is_switched_off_for_all_it_says_so() -> None:
    with sm_home() as sm:
        sm.base.mkdir(parents=True)
        sm.home.config.write_text("[context_monitor]\nenabled = false\n")
        sm.new_demo("ada")

        assert "off: context_monitor.enabled is false in config.toml" in sm.run("context", "ada")
        assert sm.json("context", "ada")[0]["opted_out"] is False


def test_an_unknown_session_is_refused(sm: Sm) -> None:
    refused = sm.start("context", "nobody")

    assert refused.returncode == 1
    assert "nobody" in refused.stderr


def test_nothing_running_is_told_with_what_to_do() -> None:
    with sm_home() as empty:
        assert empty.run("context").startswith("No sessions.")
        assert empty.json("context") == []

"""What does not work with an agent is said, in one line each."""

from dataclasses import replace
from typing import Any

import pytest

from sm.core.message import Route, Way
from sm.core.monitor import SILENT_FOR
from sm.core.state import Exit, Session, State, Usage, WalkAway
from sm.core.usage import OVERDUE_TOOLS, STATUSLINE, TRANSCRIPT
from sm.engine.degraded import PATIENCE, degraded
from tests.core.samples import ADA, GENERIC, IDLE, NOON, after, brought_back, stopped
from tests.engine.dialects import ScriptedDialect
from tests.engine.world import World

WELL = replace(IDLE, ways=tuple(Way(route=route) for route in Route), bell=True)
SAMPLE = Usage(tokens=5, window=9, model="", source=STATUSLINE, at=NOON)


def told(session: Session, *, keeps_status: bool = True, at: float = NOON) -> list[str]:
    world = World(lambda: NOON)
    world.add(ADA).waits = keeps_status
    lines = degraded(session, ScriptedDialect(world, "scripted", proves=True), at)
    return [line.partition(":")[0] for line in lines]


def with_context(session: Session, **changes: Any) -> Session:
    return replace(session, context=replace(session.context, **changes))


def test_of_an_agent_that_has_all_nothing_is_said() -> None:
    assert told(with_context(WELL, usage=SAMPLE)) == []
    assert told(WELL) == []


@pytest.mark.parametrize(
    ("session", "keeps_status", "what"),
    [
        (replace(WELL, bell=False), True, ["doorbell"]),
        (WELL, False, ["status file"]),
        (with_context(WELL, usage=replace(SAMPLE, source=TRANSCRIPT)), True, ["status line"]),
        (replace(WELL, bell=False), False, ["doorbell", "status file"]),
        (replace(WELL, walkaway=WalkAway(over="it leads nowhere")), True, ["walk-away mode"]),
        (replace(WELL, walkaway=WalkAway()), True, []),
    ],
)
def test_each_thing_that_is_missing_is_named(
    session: Session, keeps_status: bool, what: list[str]
) -> None:
    assert told(session, keeps_status=keeps_status) == what


def test_a_route_that_is_switched_off_is_not_missing() -> None:
    assert told(replace(IDLE, bell=False)) == []


def test_an_agent_that_was_just_brought_back_has_had_no_occasion_yet() -> None:
    """What is known of its context is from before its crash."""
    read = with_context(WELL, usage=replace(SAMPLE, source=TRANSCRIPT))
    back = replace(brought_back(read, at=NOON), bell=True)

    assert told(back) == []
    assert told(after(back, stopped(1, at=NOON + 1))) == ["status line"]


def test_silence_and_an_unknown_screen_are_given_time() -> None:
    silent = with_context(WELL, transcript=None)
    assert (told(silent), told(silent, at=NOON + PATIENCE + 1)) == ([], ["hooks"])

    unknown = replace(WELL, state=State.UNKNOWN)
    assert (told(unknown), told(unknown, at=NOON + PATIENCE + 1)) == ([], ["screen"])


def test_a_window_nobody_tells_is_missed_where_thresholds_are_parts_of_it() -> None:
    sample = replace(SAMPLE, source=TRANSCRIPT, window=None)

    assert told(with_context(WELL, usage=sample)) == ["status line", "window"]
    opted_out = replace(WELL, monitored=False)
    assert told(with_context(opted_out, usage=sample)) == ["status line"]


def test_an_agent_that_works_without_telling_its_usage_is_named() -> None:
    """Long enough, and once: it is shown where people look, nothing is sent."""
    working = replace(WELL, state=State.WORKING, tools=OVERDUE_TOOLS)

    assert told(working, at=NOON + SILENT_FOR - 1) == []
    assert told(working, at=NOON + SILENT_FOR) == ["usage"]


def test_nothing_is_expected_of_an_agent_that_reports_nothing_or_is_gone() -> None:
    gone = replace(WELL, bell=False, exit=Exit(status=1, signal=None, intended=False))

    assert told(GENERIC, keeps_status=False) == []
    assert told(gone, keeps_status=False) == []

"""The values of a story."""

import dataclasses
from dataclasses import replace

import pytest

from sm.core.exchange import Deed, Exchange, Result, Role
from sm.core.story import (
    AGENT,
    Command,
    Decision,
    Failure,
    Request,
    Story,
    Summary,
    Todo,
    Trouble,
    Unfinished,
    Utterance,
    with_ended,
)


def test_a_story_of_nothing_says_nothing() -> None:
    empty = Story()

    assert not empty.requests
    assert not empty.unfinished
    assert empty.is_answered


def test_a_story_does_not_change() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        Request(text="go", at=1.0).text = "stop"  # type: ignore[misc]


def test_every_text_can_be_changed_at_once() -> None:
    """A text that was forgotten would be shortened with its secrets in it."""
    story = Story(
        requests=(Request(text="a", at=1.0),),
        todos=(Todo(text="a"),),
        decisions=(Decision(text="a", at=1.0),),
        commands=(Command(line="a", at=1.0, said="a"),),
        failures=(Failure(what="a", error="a", at=1.0),),
        troubles=(Trouble(text="a", at=1.0),),
        unfinished=(Unfinished(kind="call", what="a", at=1.0),),
        last=(Utterance(who=AGENT, text="a"),),
        earlier=("a",),
        last_words="a",
        summaries=(Summary(text="a", at=1.0),),
    )

    changed = repr(story.mapped(str.upper))

    assert "='a'" not in changed
    assert "('a'" not in changed
    assert story.mapped(str) == story


MAKE = Exchange(
    role=Role.CALLED,
    tool="Bash",
    text="make all",
    at=5.0,
    deed=Deed.COMMAND,
    call="t1",
    result=Result(is_recorded=False),
)
HALF = Unfinished(kind="tool call without a result", what="make all", at=4.0, call="t1")


def test_what_a_transcript_does_not_know_yet_was_done() -> None:
    """It lags a moment behind the hooks: a step that is left out is done once more."""
    asked = Story(ended_at=4.0)

    unknown = with_ended(asked, [MAKE])
    begun = with_ended(replace(asked, ended_at=9.0, unfinished=(HALF,)), [MAKE])

    done = (Command(line="make all", at=5.0),)
    assert (unknown.commands, unknown.unfinished) == (done, ())
    assert (begun.commands, begun.unfinished) == (done, ())


def test_what_a_transcript_knows_is_not_told_twice() -> None:
    known = Command(line="make all", at=4.9, said="ok")
    story = Story(ended_at=4.9, commands=(known,), unfinished=(replace(HALF, call=""),))

    assert with_ended(story, [MAKE]) == story
    assert with_ended(replace(story, commands=(), ended_at=6.0), [MAKE]).commands == ()


def test_a_command_that_was_run_again_has_its_last_outcome() -> None:
    before = Command(line="make all", at=1.0, runs=2, failures=1, status=0)
    failed = replace(MAKE, result=Result(is_failed=True, is_recorded=False))

    (again,) = with_ended(Story(ended_at=1.0, commands=(before,)), [failed]).commands

    assert (again.runs, again.failures, again.is_failed, again.status) == (3, 2, True, None)

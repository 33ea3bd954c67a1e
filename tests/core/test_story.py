"""The values of a story."""

import dataclasses

import pytest

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

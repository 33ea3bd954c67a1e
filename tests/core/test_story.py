"""The values of a story."""

import dataclasses

import pytest

from sm.core.story import Request, Story


def test_a_story_of_nothing_says_nothing() -> None:
    empty = Story()

    assert not empty.requests
    assert not empty.unfinished
    assert empty.is_answered


def test_a_story_does_not_change() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        Request(text="go", at=1.0).text = "stop"  # type: ignore[misc]

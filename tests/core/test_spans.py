"""Lengths of time, put into words."""

import pytest

from sm.core.spans import exactly, roughly


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (-1, "0 seconds"), (0.9, "0 seconds"), (1.9, "1 second"), (59.9, "59 seconds"),
        (60, "1 minute"), (120, "2 minutes"), (7300, "2 hours"), (200_000, "2 days"),
    ],
)  # fmt: skip
def test_times_are_as_rough_as_people_say_them(seconds: float, words: str) -> None:
    assert roughly(seconds) == words


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.5, "0.5 seconds"), (1, "1 second"), (60, "1 minute"), (90, "90 seconds"),
        (900, "15 minutes"), (5400, "90 minutes"), (86_400, "1 day"),
    ],
)  # fmt: skip
def test_a_setting_is_told_as_it_was_meant(seconds: float, words: str) -> None:
    """Nothing of it is rounded away."""
    assert exactly(seconds) == words

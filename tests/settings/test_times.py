"""Times as people write them."""

import pytest

from sm.settings.times import seconds


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("45s", 45),
        ("30m", 1800),
        ("1.5h", 5400),
        (" 2 d ", 172_800),
        ("1w", 604_800),
        ("1h30m", 5400),
        ("1d 2h 3s", 93_603),
    ],
)
def test_a_number_and_a_unit_are_a_time(text: str, value: float) -> None:
    """The same in the configuration and on the command line."""
    assert seconds(text) == value


@pytest.mark.parametrize(
    "text", ["", "5", "d", "-5s", "1y", "nan", "1e3s", "1 2s", "１s", "٣m", "30m1h", "1s1s", "1h30"]
)
def test_anything_else_is_none(text: str) -> None:
    """Nothing is guessed."""
    with pytest.raises(ValueError, match=r".*"):
        seconds(text)

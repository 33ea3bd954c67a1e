"""Names that callers choose."""

import pytest

from sm.api.ids import is_handoff_id, new_handoff_id


def test_a_handoffs_id_tells_the_moment_in_utc() -> None:
    first, second = new_handoff_id(1_770_014_730.9), new_handoff_id(1_770_014_730.9)

    assert first.startswith("HO-20260202-064530-")
    assert first != second
    assert is_handoff_id(first)


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ("HO-20260202-064530-1a2b3c4d", True),
        ("0123456789ab", True),
        ("HO-20260202-064530-1A2B3C4D", False),
        ("HO-20260202-064530-1a2b3c4d\n", False),
        ("HO-２０２６0202-064530-1a2b3c4d", False),
        ("../0123456789", False),
        ("", False),
    ],
)
def test_other_words_are_none(text: str, is_one: bool) -> None:
    """Also of the form they had before."""
    assert is_handoff_id(text) is is_one

"""What a terminal shows, in words a person understands and values a store keeps."""

import pytest

from sm.core.terminal import Obstacle, Place, Sign, View


@pytest.mark.parametrize("obstacle", list(Obstacle))
def test_every_obstacle_has_words_for_a_person(obstacle: Obstacle) -> None:
    """Stored as one plain word, shown as a sentence."""
    assert obstacle.value.replace("_", "").isalpha()
    assert " " in obstacle.words


def test_signs_and_places_read_back_from_what_is_stored() -> None:
    """A stored value is the same value again."""
    assert [Sign(sign.value) for sign in Sign] == list(Sign)
    assert [Place(place.value) for place in Place] == list(Place)


def test_a_pane_that_carries_no_mark_of_an_escape_has_an_empty_one() -> None:
    """An empty mark equals no try's mark."""
    view = View(
        lines=(), cursor_x=0, cursor_y=0, title="", in_mode=False, width=80, height=24,
        dead=False, exit_status=None, exit_signal=None, pasted="", entered="",
    )  # fmt: skip

    assert view.interrupted == ""

"""A handoff as a value: its states, its mark and its trail."""

import pytest

from sm.core.message import Receipt
from sm.core.passage import MOVING, OPEN, HandoffState
from tests.core.samples import HANDOFF, NOON, handoff


@pytest.mark.parametrize("state", HandoffState)
def test_a_handoff_is_open_until_it_is_over(state: HandoffState) -> None:
    over = {
        HandoffState.DONE,
        HandoffState.FAILED,
        HandoffState.CANCELLED,
        HandoffState.SUPERSEDED,
    }

    assert handoff(state=state).is_open is (state not in over)


def test_a_session_is_on_its_way_from_the_turns_end() -> None:
    """While the turn still runs, it works; nothing has moved."""
    assert not handoff().is_moving
    assert [state for state in OPEN if handoff(state=state).is_moving] == list(MOVING)


def test_each_try_at_clearing_has_a_mark_of_its_own() -> None:
    assert [handoff(tries=n).mark for n in (1, 2)] == [f"{HANDOFF}.1", f"{HANDOFF}.2"]


def test_a_move_and_a_note_each_leave_a_line_in_the_trail() -> None:
    """Only the move changes the state."""
    noted = handoff().noted("held", NOON, "a dialog is open")
    assert (noted.state, noted.steps) == (
        HandoffState.REQUESTED,
        (Receipt(step="held", at=NOON, evidence="a dialog is open"),),
    )

    moved = noted.moved(HandoffState.FAILED, NOON + 1, "failed", "the agent is gone")
    assert moved.state is HandoffState.FAILED
    assert [step.step for step in moved.steps] == ["held", "failed"]

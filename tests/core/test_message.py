"""Messages and the trail of receipts behind them."""

from dataclasses import replace

import pytest

from sm.core.message import MessageState, Mode, Receipt, queue_order
from tests.core.samples import HELLO, NOON, message


def test_each_move_leaves_a_receipt() -> None:
    """The trail says what happened, when and on which evidence."""
    moved = HELLO.noted("queued", NOON, "stored by sm").moved(
        MessageState.OFFERED, NOON + 1, "paste"
    )

    assert moved.state is MessageState.OFFERED
    assert moved.receipts == (
        Receipt(step="queued", at=NOON, evidence="stored by sm"),
        Receipt(step="offered", at=NOON + 1, evidence="paste"),
    )


def test_a_message_that_moves_is_no_longer_held() -> None:
    """Yesterday's obstacle is not shown beside today's state."""
    held = replace(HELLO, held="a dialog is open")

    assert held.noted("entered", NOON, "Enter 1").held == "a dialog is open"
    assert held.moved(MessageState.OFFERED, NOON, "paste").held is None


@pytest.mark.parametrize("state", list(MessageState))
def test_sm_has_to_do_something_about_open_messages_only(state: MessageState) -> None:
    """Queued, offered and accepted ones are open; the others are over."""
    is_open = state in {MessageState.QUEUED, MessageState.OFFERED, MessageState.ACCEPTED}

    assert replace(HELLO, state=state).is_open is is_open


def test_an_unproved_message_is_over_once_it_was_offered() -> None:
    """A generic agent reports nothing, so there is nothing to wait for."""
    assert not replace(HELLO, state=MessageState.OFFERED, unproved=True).is_open


def test_urgent_goes_before_important_before_sequential_each_in_order() -> None:
    """The mode decides first, then who came first."""
    sent = [
        message(n, number=n, mode=mode)
        for n, mode in enumerate(
            [Mode.SEQUENTIAL, Mode.URGENT, Mode.IMPORTANT, Mode.SEQUENTIAL, Mode.URGENT]
        )
    ]

    assert [m.number for m in sorted(sent, key=queue_order)] == [1, 4, 2, 0, 3]

"""Which messages wait, and which of them comes next."""

from dataclasses import replace

from sm.core.message import MessageState, Mode
from sm.core.waiting import is_overdue, is_waiting, waiting
from tests.core.samples import IDLE, NOON, message

FIRST = replace(message(1), number=0)
URGENT = replace(message(2), number=1, mode=Mode.URGENT)


def test_the_urgent_one_comes_first() -> None:
    session = IDLE.with_message(FIRST).with_message(URGENT)

    assert waiting(session, NOON) == [URGENT, FIRST]


def test_from_its_deadline_on_a_message_is_not_given() -> None:
    """Whenever its timer rings."""
    late = replace(FIRST, expires_at=NOON)

    assert is_overdue(late, NOON)
    assert not is_overdue(late, NOON - 0.1)
    assert waiting(IDLE.with_message(late), NOON) == []
    assert waiting(IDLE.with_message(late), NOON - 0.1) == [late]


def test_what_was_offered_waits_no_more() -> None:
    given = replace(FIRST, state=MessageState.OFFERED)

    assert is_waiting(IDLE, FIRST)
    assert not is_waiting(IDLE, given)

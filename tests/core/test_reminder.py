"""Reminders: set, fired, repeated, withdrawn."""

from dataclasses import replace

from sm.core.events import (
    AgentExited,
    ReminderCancelled,
    ReminderSet,
)
from sm.core.ids import ReminderId
from sm.core.state import State
from tests.core.samples import NOON, WORKING, after, due, fired

TEA = ReminderSet(
    id=ReminderId("tea"), text="look at the tests", due=NOON + 60, every=None, sender_name="you"
)
HOURLY = replace(TEA, every=3600.0)
RING = fired("reminder:tea")


def test_a_reminder_becomes_a_message_when_it_is_due() -> None:
    """Once, in the queue like any other message."""
    session = after(WORKING, TEA)
    assert due(session, "reminder:tea") == NOON + 60

    session = after(session, RING, at=NOON + 60)
    assert [m.text for m in session.messages] == ["[sm reminder] look at the tests"]
    assert (session.reminders, due(session, "reminder:tea")) == ((), None)


def test_a_repeating_reminder_keeps_its_rhythm_and_skips_missed_rounds() -> None:
    """The daemon slept through three rounds: ada is reminded once, the next is on the hour."""
    session = after(WORKING, HOURLY)

    session = after(session, RING, at=NOON + 60 + 3.5 * 3600)

    assert len(session.messages) == 1
    assert due(session, "reminder:tea") == NOON + 60 + 4 * 3600


def test_each_round_is_a_message_of_its_own() -> None:
    """Two rounds are two messages; one round told twice is one."""
    session = after(WORKING, HOURLY)
    once = after(session, RING, at=NOON + 60)
    taken = replace(once, messages=())

    twice = after(taken, RING, at=NOON + 60 + 3600)

    assert twice.messages[0].id != once.messages[0].id
    assert after(session, RING, at=NOON + 61).messages[0].id == once.messages[0].id


def test_rounds_do_not_pile_up_while_the_last_one_waits() -> None:
    """An agent that is stuck for a night is reminded once, not once an hour."""
    session = after(WORKING, HOURLY)
    for hour in range(5):
        session = after(session, RING, at=NOON + 60 + hour * 3600)

    assert len(session.messages) == 1
    assert due(session, "reminder:tea") == NOON + 60 + 5 * 3600


def test_a_reminder_set_again_replaces_the_first() -> None:
    """The same id is the same reminder."""
    session = after(WORKING, TEA, replace(TEA, due=NOON + 90))

    assert (len(session.reminders), due(session, "reminder:tea")) == (1, NOON + 90)


def test_a_withdrawn_reminder_does_not_ring() -> None:
    """Not even if its alarm was already on the way."""
    session = after(WORKING, TEA, ReminderCancelled(id=TEA.id))

    assert (session.reminders, session.timers) == ((), ())
    assert after(session, RING, at=NOON + 60).messages == ()


def test_an_ended_session_is_not_reminded() -> None:
    """A repeating reminder would otherwise ring for ever with nobody there."""
    session = after(WORKING, HOURLY, AgentExited(status=0, signal=None, evidence="dead"))

    assert session.state is State.ENDED
    assert (session.reminders, session.timers) == ((), ())


def test_a_crashed_session_keeps_its_reminders() -> None:
    """It may come back."""
    session = after(WORKING, HOURLY, AgentExited(status=1, signal=None, evidence="dead"))

    assert due(session, "reminder:tea") == NOON + 60

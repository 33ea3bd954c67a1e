"""What is committed for one event, as a value."""

from sm.core.effects import CheckPane
from sm.core.events import DaemonStarted
from sm.core.journal import Entry, PendingEffect, Recorded
from tests.core.samples import ADA, IDLE, NOON


def test_an_entry_holds_an_event_and_everything_it_led_to() -> None:
    """The unit that is stored whole or not at all; two equal ones are the same."""
    event = DaemonStarted(version="1")
    asked = PendingEffect(id=1, session=ADA, effect=CheckPane())

    def entry() -> Entry:
        return Entry(
            session=IDLE, event=event, at=NOON, hook=None, messages=(), asked=(asked,),
            finished=None,
        )  # fmt: skip

    assert entry() == entry()
    assert Recorded(seq=1, session=ADA, at=NOON, event=event).event == entry().event

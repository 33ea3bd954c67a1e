"""A session as a value: what it holds, and that changing it makes another one."""

from dataclasses import replace

from sm.core.message import MessageState, Route
from sm.core.state import Attempt, Exit, Sighting, Source, Step, Timer
from tests.core.samples import ENTERED, HELLO, IDLE, MARK, NOON, held, message


def test_a_mark_names_one_try_at_one_message() -> None:
    """What tmux keeps beside the pane."""
    attempt = Attempt(message=HELLO.id, number=3, route=Route.PASTE, step=Step.PASTING, since=NOON)

    assert attempt.mark == f"{HELLO.id}.3"
    assert ENTERED.attempt is not None
    assert ENTERED.attempt.mark == MARK


def test_a_session_lives_while_it_has_a_pane_and_no_end() -> None:
    """Before its launch and after its exit nobody is there."""
    assert IDLE.alive
    assert not replace(IDLE, pane=None).alive
    assert not replace(IDLE, exit=Exit(status=0, signal=None, intended=True)).alive


def test_messages_stand_in_the_order_of_their_numbers() -> None:
    """However they were put in."""
    session = IDLE.with_message(message(2, number=2)).with_message(message(1, number=1))

    assert [m.number for m in session.messages] == [1, 2]
    changed = session.with_message(replace(message(1, number=1), held="x"))
    assert (len(changed.messages), held(changed).held) == (2, "x")


def test_pruning_lets_go_of_closed_messages_only() -> None:
    """An unchanged session stays the very same value."""
    session = IDLE.with_message(HELLO)

    assert session.pruned() is session
    closed = session.with_message(replace(HELLO, state=MessageState.DONE))
    assert closed.pruned().messages == ()


def test_a_timer_is_set_moved_and_taken_away() -> None:
    """One wait per key."""
    session = IDLE.with_timer("retry", NOON).with_timer("confirm", NOON + 1)
    session = session.with_timer("retry", NOON + 2)

    assert session.timers == (Timer(key="confirm", due=NOON + 1), Timer(key="retry", due=NOON + 2))
    assert session.with_timer("retry", None).timer("retry") is None
    assert IDLE.with_timer("retry", None) is IDLE


def test_the_newest_evidence_of_each_source_is_kept() -> None:
    """One line per source for ``sm explain``."""
    first = Sighting(source=Source.HOOK, says="Stop", at=NOON)
    other = Sighting(source=Source.SCREEN, says="busy", at=NOON)
    newer = replace(first, says="PreToolUse")

    session = IDLE
    for sighting in (first, other, newer):
        session = replace(session, sightings=session.sightings_with(sighting))
    assert session.sightings == (other, newer)


def test_fresh_evidence_alone_makes_no_difference() -> None:
    """A tool call that tells nothing new costs no row; anything else does."""
    fresh = Sighting(source=Source.HOOK, says="PostToolUse", at=NOON + 9)
    later = replace(IDLE, sightings=IDLE.sightings_with(fresh), verdict=fresh)

    assert not later.differs(IDLE)
    assert replace(later, dialog="rm x?").differs(IDLE)
    assert later.with_message(HELLO).differs(IDLE)

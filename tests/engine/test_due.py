"""When a session's next snapshot is due, moment by moment."""

from dataclasses import replace

from sm.core.snapshot import Why
from sm.core.state import Context, Exit, State
from sm.engine.due import DRAWN, PAUSE, RETRY, Due
from tests.core.samples import NOON, WORKING, brought_back

IDLE = replace(WORKING, turn=None, state=State.IDLE, context=Context(number=1, turns=0))


def ended(turns: int, *, context: int = 1) -> Due:
    """Seen before its turns, and after them at moment 100."""
    due = Due(seen=IDLE)
    due.note(replace(IDLE, context=Context(number=context, turns=turns)), 100.0)
    return due


def test_nothing_is_due_where_nothing_happened() -> None:
    due = Due(seen=IDLE)
    due.note(IDLE, 100.0)
    due.note(replace(IDLE, last_words="hi"), 100.0)

    assert due.when is None


def test_a_turns_end_is_due_once_it_is_drawn() -> None:
    """However it was told of."""
    reported = Due(seen=IDLE)
    reported.note(replace(IDLE, turn_ended_at=IDLE.turn_ended_at + 1), 100.0)

    assert reported.when == ended(1).when == 100 + DRAWN
    assert reported.why is Why.TURN_END


def test_a_context_that_begins_ends_no_turn() -> None:
    """Nor does a clear; a turn that ended in it meanwhile does."""
    assert ended(0, context=2).when is None
    assert ended(1, context=2).when == 100 + DRAWN


def test_a_session_nobody_saw_before_may_have_ended_a_turn() -> None:
    fresh, worked = Due(), Due()
    fresh.note(replace(IDLE, turn_ended_at=0.0), 100.0)
    worked.note(replace(IDLE, turn_ended_at=5.0), 100.0)

    assert (fresh.when, worked.when) == (None, 100 + DRAWN)


def test_an_agent_that_is_brought_back_ends_no_turn() -> None:
    """Also where both came between two looks."""
    due = Due(seen=IDLE)
    due.note(brought_back(IDLE, at=NOON + 9), 100.0)

    assert due.when is None


def test_ends_that_follow_each_other_do_not_put_the_first_off() -> None:
    due = ended(1)
    for turn in range(2, 50):
        due.note(replace(IDLE, context=Context(turns=turn)), 100 + turn / 10)

    assert due.when == 100 + DRAWN


def test_an_end_that_was_not_drawn_yet_is_due_again() -> None:
    """A pause later; one that was drawn is not."""
    due = ended(1)
    due.cover(7, 100 + DRAWN)
    assert due.when is None

    due.note(replace(IDLE, context=Context(turns=2)), 103.0)
    due.note(replace(IDLE, context=Context(turns=3)), 105.9)
    due.cover(7, 106.0)
    assert due.when == 106 + PAUSE
    due.cover(7, 106 + PAUSE)
    assert due.when is None


def test_a_heartbeat_is_due_at_once_but_for_the_pause() -> None:
    due = Due(seen=IDLE, beats=True)
    assert due.when == 0.0
    due.cover(7, 100.0)
    due.beats = True

    assert due.when == 100 + PAUSE


def test_a_crash_is_due_at_once() -> None:
    """Whatever was kept a moment before; and no more when the agent is back."""
    due = ended(1)
    due.cover(7, 100 + DRAWN)
    due.note(replace(IDLE, state=State.CRASHED), 102.0)
    assert (due.when, due.why) == (102.0, Why.CRASH)

    due.note(IDLE, 102.5)
    assert due.when is None


def test_what_failed_is_tried_again_where_that_may_help() -> None:
    due = ended(1)
    due.fail(110.0, again=True)
    assert due.when == 110 + RETRY
    due.fail(150.0, again=False)
    assert due.when is None


def test_only_a_terminal_that_may_be_there_can_be_seen() -> None:
    living, crashed = IDLE, replace(IDLE, state=State.CRASHED)
    assert all(Due(seen=session).can_be_seen for session in (living, crashed))
    unseen = (
        replace(IDLE, pane=None),
        replace(IDLE, lost=True),
        replace(crashed, pane=None),
        replace(IDLE, exit=Exit(status=0, signal=None, intended=True), state=State.ENDED),
    )

    assert not any(due.can_be_seen for due in (Due(), *(Due(seen=s) for s in unseen)))

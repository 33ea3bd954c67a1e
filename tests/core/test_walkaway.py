"""ada works and nobody is there: the rungs from a warning to a handoff that sm makes for her."""

import re
from dataclasses import replace
from typing import Any

import pytest

from sm.core import walkaway
from sm.core.effects import CaptureArtifacts, ClearContext, Effect, QueueNotice
from sm.core.events import (
    ArtifactsCaptured,
    ClearTyped,
    DaemonStarted,
    HandoffCancelled,
    MonitorSwitched,
    UsageSeen,
)
from sm.core.ids import ContextId
from sm.core.message import TYPING, MessageState
from sm.core.passage import AUTO, SELF, Handoff, HandoffState
from sm.core.reports import CompactionBegun, ContextCompacted, ContextStarted, ToolEnded
from sm.core.state import Context, Session, State, Usage, WalkAway
from sm.core.walkaway import AGAIN_AFTER, TIMER, is_cut, is_held
from tests.core.samples import (
    BOB,
    CONTEXT,
    HANDOFF,
    IDLE,
    NOON,
    WORKING,
    after,
    asked,
    captured,
    due,
    fired,
    hook,
    prompted,
    queued,
    requested,
    started,
    stopped,
    through,
)

RULES = WalkAway(deadline=600.0, cooldown=120.0)
LATER = NOON + RULES.deadline


def full(tokens: int = 190_000, context: ContextId | None = CONTEXT, at: float = NOON) -> UsageSeen:
    usage = Usage(tokens=tokens, window=200_000, model="m", source="statusline", at=at)
    return UsageSeen(context=context, usage=usage)


def tool(
    nth: int = 1, *, at: float = NOON + 1, answerable: bool = True, **changes: Any
) -> ToolEnded:
    told = replace(hook(f"PostToolUse {nth}", 0, at), answerable=answerable)
    return ToolEnded(hook=told, tool="Bash", failed=False, **changes)


def compacting(nth: int = 1, trigger: str = "auto", *, answerable: bool = True) -> CompactionBegun:
    told = replace(hook(f"PreCompact {nth}", 0, NOON + 2), answerable=answerable)
    return CompactionBegun(hook=told, trigger=trigger)


ALONE = replace(WORKING, walkaway=RULES)
"""ada at work in walk-away mode."""
ASKED = after(ALONE, full())
"""Her context is full, and she was asked to hand over."""
TAKEN = after(ASKED, fired(TIMER), at=LATER)
"""She did not: sm does it, when her turn is over."""


def passing(session: Session) -> Handoff:
    found = session.handoff
    assert found is not None
    return found


def written(session: Session, *, at: float) -> Session:
    """sm's document is written, and she is told to clear."""
    told = captured(passing(session).id)
    session = after(session, told, at=at)
    return after(session, ClearTyped(mark=passing(session).mark, evidence="/clear"), at=at)


def rotated(session: Session, *, at: float, number: int = 2) -> Session:
    """From a handoff that waits for the turn's end to her next context, at work in it."""
    session = written(after(session, stopped(0, at=at), at=at), at=at)
    here = ContextId(f"context-{number}")
    session = after(session, started("clear", context=here, at=at), at=at)
    (first,) = [m for m in session.messages if m.handoff == passing(session).id]
    begun = prompted(number, of=first, at=at)
    return after(session, replace(begun, hook=replace(begun.hook, context=here)), at=at)


def notices(effects: list[Effect]) -> list[str]:
    return [effect.message.text for effect in effects if isinstance(effect, QueueNotice)]


# --- asked, and taken over -------------------------------------------------------------------


def test_an_agent_whose_context_is_full_has_its_time() -> None:
    """The last level begins the wait; nothing is taken from her before."""
    assert after(ALONE, full(120_000)).context.asked is None
    assert ASKED.context.asked is not None
    assert due(ASKED, TIMER) == LATER
    assert ASKED.handoff is None


def test_a_session_that_is_watched_by_a_person_is_left_alone() -> None:
    session = after(WORKING, full())

    assert session.context.asked is None
    assert after(session, compacting(), tool()).handoff is None
    assert not is_held(after(session, compacting()), compacting().hook)


def test_after_the_deadline_sm_hands_over() -> None:
    """Its document comes from the record; when and why stands in the handoff."""
    taken = passing(TAKEN)

    assert (taken.kind, taken.state, taken.source) == (AUTO, HandoffState.REQUESTED, "the record")
    assert re.fullmatch(r"HO-\d{8}-\d{6}-[0-9a-f]{8}", taken.id)
    assert taken.steps[0].evidence == "by sm: the time for its own handoff is over"
    assert (taken.overdue, taken.document) == (True, "")
    assert TAKEN.walkaway == replace(RULES, rotated_at=LATER)


def test_when_the_turn_is_over_the_document_is_written() -> None:
    session, effects = through(TAKEN, stopped(0, at=LATER), at=LATER)

    assert effects == [CaptureArtifacts(handoff=passing(TAKEN).id)]
    session, effects = through(session, captured(passing(session).id), at=LATER)
    assert [type(effect) for effect in effects] == [ClearContext]


def test_two_turns_without_a_handoff_are_enough() -> None:
    """Before the deadline, as soon as the second one is over."""
    once = after(ASKED, stopped(0))
    assert once.handoff is None

    again = after(once, prompted(1, at=NOON + 6))
    assert again.handoff is None
    twice = after(again, stopped(1, at=NOON + 7), at=NOON + 7)

    assert passing(twice).steps[0].evidence == "by sm: 2 turns ended without its own handoff"


def test_a_handoff_of_her_own_ends_the_ladder() -> None:
    """In time: sm makes none, and the next context begins below."""
    session = after(ASKED, requested())
    assert passing(session).kind == SELF

    session = rotated(session, at=NOON + 8)

    assert (session.handoff, session.context.asked, session.context.number) == (None, None, 2)
    assert after(session, fired(TIMER), at=LATER).handoff is None
    assert session.walkaway == RULES


def test_a_turn_that_runs_on_past_the_deadline_is_ended_though_she_asked_herself() -> None:
    """What she wrote is taken as it is."""
    session = after(ASKED, requested(), tool(1))
    assert not passing(session).overdue

    session = after(session, fired(TIMER), at=LATER)
    assert (passing(session).id, passing(session).overdue) == (HANDOFF, True)
    last = tool(2, at=LATER + 1)
    assert is_cut(after(session, last, at=LATER + 1), last.hook)


def test_one_that_replaces_sms_has_its_time_too() -> None:
    """She writes her own after all; if her turn runs on, it is ended after another while."""
    session = after(TAKEN, requested(), at=LATER + 1)

    assert (passing(session).kind, passing(session).overdue) == (SELF, False)
    assert due(session, TIMER) == LATER + 1 + RULES.deadline
    assert passing(after(session, fired(TIMER), at=LATER + 700)).overdue


# --- the turn that does not end --------------------------------------------------------------


def test_a_running_turn_is_ended_at_its_next_tool_result() -> None:
    """By the answer to the report of it, and by nothing that is typed."""
    result = tool(at=LATER + 1)
    session, effects = through(TAKEN, result, at=LATER + 1)

    assert is_cut(session, result.hook)
    assert not is_cut(session, tool(2).hook)
    assert effects == []


@pytest.mark.parametrize(
    "result",
    [tool(at=LATER + 1, subagent=True), tool(at=LATER + 1, answerable=False)],
    ids=["a sub-agent's", "one nobody waits for"],
)
def test_another_result_is_not_answered_so(result: ToolEnded) -> None:
    session = after(TAKEN, result, at=LATER + 1)

    assert not is_cut(session, result.hook)


def test_before_the_deadline_no_turn_is_ended() -> None:
    assert not is_cut(after(ASKED, tool()), tool().hook)
    assert not is_cut(after(ASKED, requested(), tool()), tool().hook)


def test_the_answer_that_ends_a_turn_carries_no_message() -> None:
    """A message that waits goes to the next context, not into the one that is left."""
    result = tool(at=LATER + 1)
    session = after(TAKEN, queued(), result, at=LATER + 1)

    assert is_cut(session, result.hook)
    assert session.attempt is None


def test_an_open_dialog_is_waited_for() -> None:
    """Nobody is there to answer it, and nothing is typed into it."""
    session = after(ASKED, asked(0))
    session, effects = through(session, fired(TIMER), at=LATER)

    assert (session.state, passing(session).state) == (State.WAITING, HandoffState.REQUESTED)
    assert effects == []
    result = tool(at=LATER + 5)
    assert is_cut(after(session, result, at=LATER + 5), result.hook)


# --- compaction ------------------------------------------------------------------------------


def test_a_compaction_is_held_back_and_handed_over_instead() -> None:
    """Also in a context nobody has measured."""
    session = after(ALONE, compacting())

    assert is_held(session, compacting().hook)
    assert passing(session).steps[0].evidence == "by sm: it was about to compact"
    assert is_cut(after(session, tool(at=NOON + 3)), tool(at=NOON + 3).hook)


def test_the_second_compaction_of_a_stretch_is_let_through() -> None:
    """An agent that cannot go on otherwise must be able to."""
    session = after(ALONE, compacting(1), compacting(2))

    assert not is_held(session, compacting(2).hook)


def test_after_a_compaction_the_next_one_is_held_back_again() -> None:
    done = ContextCompacted(hook=hook("PostCompact", 0, NOON + 3), trigger="auto")
    session = after(ALONE, compacting(1), compacting(2), done)
    assert session.context.asked is None

    assert is_held(after(session, compacting(3), at=NOON + 500), compacting(3).hook)


def test_a_compaction_a_person_asks_for_is_theirs() -> None:
    session = after(ALONE, compacting(trigger="manual"))

    assert (session.handoff, session.context.asked) == (None, None)
    assert not is_held(session, compacting().hook)


def test_a_compaction_hastens_a_handoff_of_her_own() -> None:
    session = after(ALONE, requested(), compacting())

    assert is_held(session, compacting().hook)
    assert (passing(session).id, passing(session).overdue) == (HANDOFF, True)


def test_one_that_waits_for_no_answer_is_handed_over_all_the_same() -> None:
    session = after(ALONE, compacting(answerable=False))

    assert passing(session).kind == AUTO
    assert session.context.held is None


def test_a_compaction_just_after_a_handoff_is_not_held_back() -> None:
    """Nothing would come of it: the next handoff has to wait."""
    session = replace(ALONE, walkaway=replace(RULES, rotations=1, rotated_at=NOON - 60))
    session = after(session, compacting())

    assert (session.handoff, session.context.held) == (None, None)
    assert due(session, TIMER) == NOON + 60


# --- where it ends ---------------------------------------------------------------------------


def test_handoffs_keep_their_distance() -> None:
    """One that is due too soon is made as soon as it may be."""
    rules = replace(RULES, deadline=0.0, rotations=1, rotated_at=NOON - 10)
    session = after(replace(ALONE, walkaway=rules), full(), fired(TIMER))

    assert session.handoff is None
    assert due(session, TIMER) == NOON + 110
    assert passing(after(session, fired(TIMER), at=NOON + 110)).kind == AUTO


def test_one_that_failed_is_tried_again_after_a_while() -> None:
    """She goes on in her context meanwhile, and is told."""
    nothing = ArtifactsCaptured(
        handoff=passing(TAKEN).id, document=None, dump=None, artifacts=None, evidence="nothing"
    )
    session, effects = through(TAKEN, stopped(0, at=LATER), nothing, at=LATER)

    assert session.handoff is None
    assert not any(isinstance(effect, ClearContext) for effect in effects)
    assert "sm's handoff for you" in session.messages[-1].text
    assert due(session, TIMER) == LATER + RULES.deadline
    again = after(session, fired(TIMER), at=LATER + RULES.deadline)
    assert passing(again).id != passing(TAKEN).id


def test_without_a_deadline_it_is_still_not_tried_over_and_over() -> None:
    """A disk that is full stays full for a while: turns that end meanwhile change nothing."""
    rules = replace(RULES, deadline=0.0, cooldown=0.0)
    session = after(replace(ALONE, walkaway=rules), full(), fired(TIMER))
    over = replace(passing(session), state=HandoffState.FAILED)
    session = after(session.with_handoff(over), stopped(0))

    assert session.handoff is None
    assert due(session, TIMER) == NOON + AGAIN_AFTER


def test_nor_after_every_turn() -> None:
    """Two more of them end before it is tried again."""
    rules = replace(RULES, deadline=900.0, cooldown=0.0)
    session = after(replace(ALONE, walkaway=rules), full(), stopped(0))
    session = after(session, prompted(1, at=NOON + 6), stopped(1, at=NOON + 7), at=NOON + 7)
    assert session.timer(TIMER) is None
    over = replace(passing(session), state=HandoffState.FAILED)
    session = after(session.with_handoff(over), prompted(2, at=NOON + 8), at=NOON + 8)

    session = after(session, stopped(2, at=NOON + 9), at=NOON + 9)
    assert session.handoff is None
    session = after(session, prompted(3, at=NOON + 10), stopped(3, at=NOON + 11), at=NOON + 11)
    assert passing(session).kind == AUTO


def test_one_that_a_person_withdraws_comes_back_only_after_a_while() -> None:
    session = after(TAKEN, HandoffCancelled(id=passing(TAKEN).id, by="you"), at=LATER + 1)

    assert session.handoff is None
    assert due(session, TIMER) == LATER + 1 + RULES.deadline


def test_who_switches_the_monitor_off_is_left_alone() -> None:
    """Before and after she was asked; switched on again, her time begins anew."""
    off, on = MonitorSwitched(on=False), MonitorSwitched(on=True)
    assert after(ALONE, off, full(), compacting()).handoff is None

    session = after(ASKED, off)
    assert (session.context.asked, due(session, TIMER)) == (None, None)
    assert after(session, fired(TIMER), stopped(0), at=LATER).handoff is None
    assert due(after(session, on, at=NOON + 50), TIMER) == NOON + 50 + RULES.deadline


def test_a_limit_is_kept_and_told_once() -> None:
    rules = replace(RULES, limit=1, rotations=1)
    session = replace(after(replace(ALONE, walkaway=rules), full()), parent=BOB)
    session, effects = through(session, fired(TIMER), at=LATER)

    assert session.handoff is None
    (words,) = notices(effects)
    assert words == (
        "[sm] ada is not handed over any more: it was handed over as often as max_restarts"
        " allows (1). If it shall be: sm context ada --on"
    )
    again = (full(195_000, at=LATER + 1), fired(TIMER), compacting(), stopped(0, at=LATER + 2))
    assert notices(through(session, *again, at=LATER + 2)[1]) == []
    assert not is_held(after(session, compacting(), at=LATER + 2), compacting().hook)


def fruitless(number: int, rules: WalkAway) -> Session:
    """In her nth context, which was full before anything was done in it."""
    context = Context(id=CONTEXT, transcript="/transcripts/ada", number=number)
    fresh = replace(WORKING, context=context, walkaway=rules, parent=BOB)
    return after(fresh, full())


def test_contexts_that_fill_before_anything_is_done_end_it() -> None:
    """The next one would be the same: said to her parent, and no more handed over."""
    first = after(fruitless(2, RULES), fired(TIMER), at=LATER)
    assert passing(first).kind == AUTO
    assert first.walkaway is not None

    session, effects = through(fruitless(3, first.walkaway), fired(TIMER), at=LATER + 999)

    assert (session.handoff, session.timer(TIMER)) == (None, None)
    (words,) = notices(effects)
    assert "its new contexts fill up before anything is done in them" in words


def test_a_person_who_has_looked_may_let_it_go_on() -> None:
    """What was counted until then counts no more."""
    session = after(fruitless(3, replace(RULES, fruitless=1, rotations=5)), fired(TIMER), at=LATER)
    assert session.walkaway is not None
    assert session.walkaway.over

    session = after(session, MonitorSwitched(on=True), at=LATER)

    assert session.walkaway == RULES
    assert due(session, TIMER) == LATER + RULES.deadline


@pytest.mark.parametrize("done", [(tool(),), (stopped(0), prompted(1, at=NOON + 6))])
def test_a_context_in_which_something_was_done_counts_for_nothing(done: tuple[Any, ...]) -> None:
    session = fruitless(3, replace(RULES, fruitless=1))
    session = after(session, *done, at=NOON + 6)
    session = after(session, fired(TIMER), at=LATER)

    assert passing(session).kind == AUTO
    assert session.walkaway == replace(RULES, fruitless=0, rotated_at=LATER)


def test_the_first_context_may_be_full_from_the_start() -> None:
    """A person's first prompt may bring it all."""
    session = after(fruitless(1, replace(RULES, fruitless=1)), fired(TIMER), at=LATER)

    assert passing(session).kind == AUTO


def test_a_session_that_ended_is_not_handed_over() -> None:
    session = replace(ASKED, pane=None)

    assert walkaway.timer_fired(session, LATER) == (session, ())


def test_a_new_daemon_brings_its_rules_and_keeps_what_was_counted() -> None:
    rules = WalkAway(deadline=5.0, cooldown=7.0)
    session = after(TAKEN, DaemonStarted(version="2", ways=TYPING, walkaway=rules), at=LATER)

    assert session.walkaway == replace(rules, rotated_at=LATER)
    told = DaemonStarted(version="2", ways=TYPING, walkaway=rules)
    assert after(IDLE, told).walkaway is None


# --- the whole way ---------------------------------------------------------------------------


def test_the_next_context_is_told_to_go_on_and_may_be_handed_over_in_its_turn() -> None:
    """Its first prompt tells where the document is, and that sm wrote it."""
    session = rotated(TAKEN, at=LATER + 1)
    first = next(m for m in session.messages if m.handoff == passing(TAKEN).id)

    assert first.text.startswith("Continue from where you left off. Your work so far was loaded")
    assert "sm wrote the document in context 1" in first.text
    assert first.state is MessageState.ACCEPTED
    assert (session.context.number, session.context.asked, session.tools) == (2, None, 0)

    here = session.context.id
    again = after(session, full(context=here, at=LATER + 50), at=LATER + 50)
    assert due(again, TIMER) == LATER + 50 + RULES.deadline
    second = after(again, fired(TIMER), at=LATER + 900)
    assert passing(second).context == 2
    assert passing(second).id != passing(TAKEN).id


def test_a_context_cleared_by_somebody_else_ends_the_wait() -> None:
    cleared = ContextStarted(
        hook=hook("SessionStart", None, NOON + 9, ContextId("theirs")),
        source="clear",
        transcript="/transcripts/theirs",
    )
    session = after(TAKEN, stopped(0, at=LATER), cleared, at=LATER)

    assert (session.handoff, session.context.asked) == (None, None)

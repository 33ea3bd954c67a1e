"""The gentle routes to ada: the answer to a turn's end, a tool's result, a note in the inbox."""

from dataclasses import replace

import pytest

from sm.core.delivery import (
    ANSWER_WITHIN,
    MISSES_ALLOWED,
    NOTE_TAKEN_WITHIN,
    RECORDED,
    STOP_REPLIES_ALLOWED,
)
from sm.core.effects import InterruptTurn, PasteText, QueueNotice, RingBell, SeekMessage
from sm.core.envelope import length
from sm.core.events import (
    AgentExited,
    AgentKilled,
    BellRung,
    DaemonStarted,
    EffectFailed,
    Event,
    KillRequested,
    MessageCancelled,
    MessageSought,
    StatusSeen,
    TypingRefused,
)
from sm.core.ids import PromptId
from sm.core.message import TYPING, Message, MessageState, Mode, Route, Way
from sm.core.reasons import why_waiting
from sm.core.reports import ContextEnded, ToolEnded, ToolStarted, TurnEnded, TurnFailed
from sm.core.state import Session, State, Step
from sm.core.terminal import AgentStatus, Obstacle, Place, Sign
from tests.core.samples import (
    BOB,
    CONTEXT,
    HELLO,
    IDLE,
    MARK,
    NOON,
    after,
    due,
    fired,
    held,
    hook,
    message,
    prompted,
    queued,
    started,
    stopped,
    through,
    tool,
)

FITS = length(HELLO)
ALL = tuple(Way(route=route) for route in Route)
READY = replace(IDLE, ways=ALL, bell=True)
WORKING = after(READY, prompted(0))
URGENT = queued(mode=Mode.URGENT)
AGAIN = f"{HELLO.id}.2"
DIED = AgentExited(status=None, signal=9, evidence="gone")


def only(*routes: Route, limit: int | None = None) -> tuple[Way, ...]:
    return tuple(Way(route=route, limit=limit) for route in routes)


def stop(prompt: int | None = 0, *, at: float = NOON + 5, answerable: bool = True) -> TurnEnded:
    """A turn's end whose agent waits for our answer."""
    told = replace(hook("Stop", prompt, at), answerable=answerable)
    return TurnEnded(hook=told, last_words="done so far")


def tool_end(
    prompt: int | None = 0,
    *,
    at: float = NOON + 2,
    answerable: bool = True,
    subagent: bool = False,
    call: str = "A",
) -> ToolEnded:
    told = replace(hook("PostToolUse", prompt, at), answerable=answerable)
    return ToolEnded(hook=told, tool="Bash", failed=False, tool_use=call, subagent=subagent)


def sought(place: Place, mark: str = MARK) -> MessageSought:
    return MessageSought(mark=mark, place=place, evidence="looked")


def refused(obstacle: Obstacle, mark: str = MARK) -> TypingRefused:
    return TypingRefused(mark=mark, obstacle=obstacle)


def answered(session: Session, event: Event, at: float = NOON + 5) -> Message | None:
    """The message a report is answered with."""
    after_it = after(session, event, at=at)
    attempt = after_it.attempt
    is_answer = attempt is not None and attempt.hook == event.hook.id  # type: ignore[union-attr]
    return after_it.message(attempt.message) if attempt and is_answer else None


def missed(session: Session, times: int, mark: str = MARK) -> Session:
    return after(session, *[sought(Place.NOWHERE, mark)] * times)


REPLIED = after(WORKING, queued(), stop(), at=NOON + 5)
"""HELLO keeps ada's turn going; she has not recorded it yet."""
RIDING = after(WORKING, URGENT, tool_end(), at=NOON + 2)
RINGING = after(READY, queued(), refused(Obstacle.DRAFT))
RUNG = after(RINGING, BellRung(mark=AGAIN))


# --- the answer to a turn's end ------------------------------------------------------------


def test_a_turns_end_is_answered_with_the_next_message() -> None:
    """Nothing is typed; ada's turn goes on under the same prompt id."""
    session, effects = through(WORKING, queued(), stop(), at=NOON + 5)

    assert effects == []
    assert (held(session).state, held(session).route) == (MessageState.OFFERED, Route.STOP_REPLY)
    assert session.state is State.WORKING
    assert session.turn is not None
    assert session.turn.prompt == PromptId("P0")
    assert session.attempt is not None
    assert session.attempt.step is Step.REPLIED
    assert due(session, "confirm") == NOON + 5 + RECORDED[0]


def test_the_most_urgent_message_is_the_answer() -> None:
    session = after(WORKING, queued(1), queued(2, mode=Mode.IMPORTANT))

    answer = answered(session, stop())
    assert answer is not None
    assert answer.id == message(2).id


def test_without_a_message_ada_simply_stops() -> None:
    session, effects = through(WORKING, stop(), at=NOON + 5)

    assert (session.state, session.attempt, effects) == (State.IDLE, None, [])


def test_the_messages_of_the_ended_turn_are_done_and_their_senders_told() -> None:
    """Though the agent goes on: what they asked for was answered."""
    asked = queued(1, sender=BOB, sender_name="bob")
    session = after(IDLE, DaemonStarted(version="1", ways=ALL), prompted(0))
    session = after(session, asked, prompted(1, of=HELLO, at=NOON + 1), at=NOON + 1)
    assert held(session).state is MessageState.ACCEPTED

    session, effects = through(session, queued(2), stop(1), at=NOON + 5)

    assert held(session, 1).state is MessageState.DONE
    assert held(session, 2).state is MessageState.OFFERED
    (notice,) = effects
    assert isinstance(notice, QueueNotice)
    assert (notice.to, notice.message.text) == (BOB, "[sm] ada stopped: done so far")


def test_a_report_nobody_waits_for_is_not_answered() -> None:
    """It was spooled: the agent has stopped long ago, and the message is typed."""
    session, effects = through(WORKING, queued(), stop(answerable=False), at=NOON + 5)

    assert effects == [PasteText(mark=MARK, message=HELLO.id)]
    assert session.state is State.IDLE


@pytest.mark.parametrize(("late", "is_answered"), [(-0.01, True), (0.0, False), (60.0, False)])
def test_a_report_that_came_too_late_is_not_answered(late: float, is_answered: bool) -> None:
    """The hook is about to give up: an answer now could be lost."""
    session = after(WORKING, queued())

    answer = answered(session, stop(), at=NOON + 5 + ANSWER_WITHIN + late)

    assert (answer is not None) is is_answered


def test_an_agent_that_leaves_or_is_to_be_ended_is_not_kept() -> None:
    leaving = ContextEnded(hook=hook("SessionEnd", 0, NOON), reason="exit", leaving=True)

    assert answered(after(WORKING, leaving, queued()), stop()) is None
    assert answered(after(WORKING, KillRequested(by="you"), queued()), stop()) is None
    assert answered(after(WORKING, queued(), DIED), stop()) is None


def test_a_failed_turn_is_not_answered() -> None:
    """The client does not read an answer to that report."""
    told = replace(hook("StopFailure", 0, NOON + 5), answerable=True)

    _, effects = through(WORKING, queued(), TurnFailed(hook=told, error="x"), at=NOON + 5)

    assert effects == [PasteText(mark=MARK, message=HELLO.id)]


def test_another_clients_report_is_not_answered() -> None:
    told = stop()
    foreign = replace(told, hook=replace(told.hook, context=CONTEXT + "x"))  # type: ignore[arg-type]

    assert answered(after(WORKING, queued()), foreign) is None


@pytest.mark.parametrize(("limit", "is_answered"), [(FITS, True), (FITS - 1, False)])
def test_an_answer_is_no_longer_than_the_agent_takes_whole(limit: int, is_answered: bool) -> None:
    """The envelope counts, too. A longer message is typed."""
    ways = (*only(Route.STOP_REPLY, Route.TOOL_RESULT, limit=limit), *TYPING)
    session = after(replace(WORKING, ways=ways), queued())

    assert (answered(session, stop()) is not None) is is_answered
    urgent = after(replace(WORKING, ways=ways), URGENT)
    assert (answered(urgent, tool_end(), at=NOON + 2) is not None) is is_answered


def test_a_route_that_is_switched_off_is_not_taken() -> None:
    session = after(replace(WORKING, ways=TYPING), URGENT)

    assert answered(session, tool_end(), at=NOON + 2) is None
    assert answered(session, stop()) is None


def test_only_so_many_ends_in_a_row_are_answered() -> None:
    """The agent would override one more; a prompt begins the count anew."""
    session = WORKING
    for nth in range(1, STOP_REPLIES_ALLOWED + 1):
        at = NOON + 10 * nth
        session = after(session, queued(nth), stop(at=at), at=at)
        assert held(session, nth).state is MessageState.OFFERED
        session = after(session, sought(Place.TRANSCRIPT, f"{message(nth).id}.1"), at=at + 1)
        assert held(session, nth).state is MessageState.ACCEPTED
    at = NOON + 10 * (STOP_REPLIES_ALLOWED + 1)

    more = queued(STOP_REPLIES_ALLOWED + 1)
    assert answered(after(session, more, at=at), stop(at=at), at=at) is None
    session = after(session, stop(at=at), prompted(7, at=at + 1), at=at + 1)
    assert answered(after(session, more), stop(7, at=at + 2), at=at + 2) is not None


def test_the_same_turn_can_be_answered_again() -> None:
    """One end after the other carries one message after the other; each is proved first."""
    session = after(REPLIED, sought(Place.TRANSCRIPT), queued(2), at=NOON + 6)

    session, effects = through(session, stop(at=NOON + 9), at=NOON + 9)

    assert held(session, 1).state is MessageState.DONE
    assert (held(session, 2).state, held(session, 2).route) == (
        MessageState.OFFERED,
        Route.STOP_REPLY,
    )
    assert effects == []


def test_two_messages_are_never_in_hand() -> None:
    """What ada was answered is not proved yet: her next end gets no second answer."""
    session, effects = through(REPLIED, queued(2), stop(at=NOON + 5.1), at=NOON + 5.1)

    assert session.attempt is not None
    assert session.attempt.message == HELLO.id
    assert (held(session, 2).state, effects) == (MessageState.QUEUED, [])


def test_the_same_report_again_does_not_end_the_turn_it_keeps_going() -> None:
    """Recognised by its time: the turn goes on from when it was answered."""
    replied = after(WORKING, queued(), stop(), at=NOON + 5.1)

    assert after(replied, stop(), at=NOON + 6) == replied


def test_a_tool_of_the_turn_that_goes_on_is_its_own() -> None:
    """Its prompt id was that of an ended turn, and is alive again: also where its tool's
    beginning was never heard of."""
    assert REPLIED.ended_prompts == ()
    urgent = after(REPLIED, sought(Place.TRANSCRIPT), queued(2, mode=Mode.URGENT), at=NOON + 5.5)
    assert answered(urgent, tool_end(at=NOON + 6), at=NOON + 6) is not None
    session = after(REPLIED, tool(0, at=NOON + 6), at=NOON + 6)

    assert session.turn is not None
    assert (session.state, session.turn.acted) == (State.WORKING, True)
    assert after(REPLIED, tool(0, at=NOON + 4), at=NOON + 6).turn == REPLIED.turn, "a late one"


# --- what became of an answer --------------------------------------------------------------


def test_the_agents_own_record_proves_an_answer() -> None:
    session, effects = through(REPLIED, fired("confirm"), at=NOON + 6)
    assert effects == [SeekMessage(mark=MARK, message=HELLO.id)]

    session = after(session, sought(Place.TRANSCRIPT), at=NOON + 6)
    assert (held(session).state, session.attempt) == (MessageState.ACCEPTED, None)
    assert held(session).prompt == PromptId("P0")

    done = after(session, stop(at=NOON + 9), at=NOON + 9)
    assert (held(done).state, done.state) == (MessageState.DONE, State.IDLE)


def test_an_answer_found_after_its_turn_is_done_at_once() -> None:
    over = after(REPLIED, stop(at=NOON + 5.5), at=NOON + 5.5)
    assert held(over).state is MessageState.OFFERED

    found = after(over, sought(Place.TRANSCRIPT), at=NOON + 6)

    assert (held(found).state, found.state) == (MessageState.DONE, State.IDLE)


def test_while_the_turn_runs_an_unrecorded_answer_is_waited_for() -> None:
    """Looked for less and less often; never given a second time."""
    session, looks = REPLIED, []
    for _ in range(20):
        session = after(session, sought(Place.CANNOT_LOOK), at=NOON + 6)
        looks.append((due(session, "confirm") or 0) - NOON - 6)

    assert held(session).state is MessageState.OFFERED
    assert looks[:3] == pytest.approx(RECORDED[1:4])
    assert looks[-1] == RECORDED[-1]
    assert looks == sorted(looks)


def test_a_lost_answer_is_noticed_and_the_message_typed() -> None:
    """The daemon died between the disk and the answer: ada stopped, and says so."""
    idle = AgentStatus(sign=Sign.PROMPT, at=NOON + 5.2, detail="idle")
    session = after(REPLIED, StatusSeen(status=idle), at=NOON + 7)
    assert session.state is State.IDLE

    session = missed(session, MISSES_ALLOWED - 1)
    assert held(session).state is MessageState.OFFERED
    session, effects = through(session, sought(Place.NOWHERE), at=NOON + 9)
    assert held(session).state is MessageState.QUEUED
    assert held(session).receipts[-1].step == "lost"

    _, effects = through(session, fired("retry"), at=NOON + 60)
    assert effects == [PasteText(mark=AGAIN, message=HELLO.id)]


def test_an_agent_that_dies_with_an_answer_is_searched_before_all_is_over() -> None:
    session, effects = through(REPLIED, DIED, at=NOON + 6)
    assert SeekMessage(mark=MARK, message=HELLO.id) in effects

    assert held(after(session, sought(Place.TRANSCRIPT))).state is MessageState.DONE
    assert held(missed(session, 2)).state is MessageState.QUEUED


def test_a_message_that_was_answered_with_cannot_be_withdrawn() -> None:
    assert after(REPLIED, MessageCancelled(message=HELLO.id), at=NOON + 6) == REPLIED


def test_a_killed_session_keeps_nothing_in_hand() -> None:
    session = after(REPLIED, KillRequested(by="you"), AgentKilled(evidence="ended"), at=NOON + 6)

    assert (session.attempt, session.timers) == (None, ())
    assert held(session).state is MessageState.REFUSED


# --- beside a tool's result ----------------------------------------------------------------


def test_urgent_news_rides_on_the_next_tool_result() -> None:
    """In the middle of the turn, and nobody is interrupted."""
    waiting, effects = through(WORKING, tool(0), URGENT)
    assert effects == []
    assert "next tool result" in (why_waiting(waiting, held(waiting)) or "")

    session, effects = through(waiting, tool_end(), at=NOON + 2)

    assert effects == []
    assert (held(session).state, held(session).route) == (MessageState.OFFERED, Route.TOOL_RESULT)
    assert session.attempt is not None
    assert (session.attempt.tool_use, session.attempt.prompt) == ("A", PromptId("P0"))


@pytest.mark.parametrize("mode", [Mode.SEQUENTIAL, Mode.IMPORTANT])
def test_what_is_not_urgent_waits_for_the_turns_end(mode: Mode) -> None:
    session = after(WORKING, queued(mode=mode))

    assert answered(session, tool_end(), at=NOON + 2) is None
    assert answered(session, stop()) is not None


def test_a_sub_agents_tool_carries_nothing() -> None:
    """Its result goes to another model."""
    assert answered(after(WORKING, URGENT), tool_end(subagent=True), at=NOON + 2) is None


def test_a_late_tool_report_carries_nothing() -> None:
    session = after(READY, prompted(0), stopped(0), prompted(1, at=NOON + 6), URGENT, at=NOON + 6)

    assert answered(session, tool_end(0, at=NOON + 4), at=NOON + 6) is None
    assert answered(session, tool_end(1, at=NOON + 7, answerable=False), at=NOON + 7) is None


def test_tools_that_end_side_by_side_carry_one_message_each_or_none() -> None:
    session = after(RIDING, queued(2, mode=Mode.URGENT))

    session, _ = through(session, tool_end(call="B", at=NOON + 2.1), at=NOON + 2.1)

    assert session.attempt is not None
    assert (session.attempt.message, session.attempt.tool_use) == (HELLO.id, "A")
    assert held(session, 2).state is MessageState.QUEUED


def test_a_turn_that_was_only_seen_is_named_by_its_tool() -> None:
    """Else what rides on it would look as if its turn were over."""
    busy = StatusSeen(status=AgentStatus(sign=Sign.BUSY, at=NOON))
    session = after(READY, busy, URGENT, tool_end(3), at=NOON + 2)

    assert session.turn is not None
    assert session.attempt is not None
    assert session.turn.prompt == session.attempt.prompt == PromptId("P3")


def test_a_result_that_was_passed_over_is_given_with_the_next() -> None:
    """The model was asked again without it: the answer was lost on its way."""
    session = after(missed(RIDING, MISSES_ALLOWED), at=NOON + 9)
    assert held(session).state is MessageState.QUEUED

    assert answered(session, tool_end(at=NOON + 9, call="B"), at=NOON + 9) is not None


def test_what_no_tool_result_carried_comes_at_the_turns_end() -> None:
    assert answered(after(WORKING, URGENT), stop()) is not None


def test_urgent_news_never_interrupts_where_a_tool_result_can_carry_it() -> None:
    busy = after(WORKING, tool(0))
    interrupt = [InterruptTurn(mark=MARK, prompt=PromptId("P0"))]

    assert through(busy, URGENT)[1] == []
    for ways, effects in [
        ((*only(Route.TOOL_RESULT, limit=FITS - 1), *TYPING), interrupt),
        (TYPING, interrupt),
        (only(Route.PASTE), []),
        (only(Route.DOORBELL, Route.PASTE), [RingBell(mark=MARK, message=HELLO.id)]),
    ]:
        assert through(replace(busy, ways=ways), URGENT)[1] == effects


# --- the doorbell --------------------------------------------------------------------------


@pytest.mark.parametrize("obstacle", [Obstacle.DRAFT, Obstacle.COPY_MODE])
def test_where_typing_would_disturb_a_person_the_bell_rings(obstacle: Obstacle) -> None:
    session, effects = through(READY, queued(), refused(obstacle))

    assert effects == [
        PasteText(mark=MARK, message=HELLO.id),
        RingBell(mark=AGAIN, message=HELLO.id),
    ]
    assert session.attempt is not None
    assert (session.attempt.step, held(session).route) == (Step.RINGING, Route.DOORBELL)


@pytest.mark.parametrize(
    "session",
    [
        replace(READY, bell=False),
        replace(READY, ways=TYPING),
        replace(READY, ways=(Way(route=Route.DOORBELL, limit=FITS - 1), *TYPING)),
    ],
    ids=["not watched", "switched off", "too long"],
)
def test_where_no_bell_can_ring_the_message_waits(session: Session) -> None:
    session, effects = through(session, queued(), refused(Obstacle.DRAFT))

    assert effects == [PasteText(mark=MARK, message=HELLO.id)]
    assert held(session).held == Obstacle.DRAFT.words
    assert due(session, "retry") is not None


def test_a_dialog_is_not_rung_at() -> None:
    _, effects = through(READY, queued(), refused(Obstacle.DIALOG))

    assert effects == [PasteText(mark=MARK, message=HELLO.id)]


def test_where_typing_is_switched_off_an_idle_agent_is_rung() -> None:
    quiet = replace(READY, ways=only(Route.DOORBELL))

    assert through(quiet, queued())[1] == [RingBell(mark=MARK, message=HELLO.id)]


def test_a_note_that_was_left_is_offered_and_looked_for() -> None:
    assert held(RUNG).state is MessageState.OFFERED
    assert due(RUNG, "confirm") == NOON + NOTE_TAKEN_WITHIN

    assert through(RUNG, fired("confirm"), at=NOON + 5)[1] == [
        SeekMessage(mark=AGAIN, message=HELLO.id)
    ]


def test_a_woken_agent_proves_its_note() -> None:
    session = after(RUNG, prompted(1, of=HELLO, at=NOON + 1), at=NOON + 1)

    assert (held(session).state, session.attempt) == (MessageState.ACCEPTED, None)


def test_a_note_taken_in_a_running_turn_is_proved_by_the_record() -> None:
    """No hook tells of it; the turn goes on, and its end is the message's end."""
    ways = only(Route.DOORBELL, Route.PASTE)
    session = after(replace(WORKING, ways=ways), URGENT, BellRung(mark=MARK), at=NOON + 1)
    session = after(session, sought(Place.TRANSCRIPT), at=NOON + 3)
    assert (held(session).state, session.state) == (MessageState.ACCEPTED, State.WORKING)

    assert held(after(session, stopped(0), at=NOON + 5)).state is MessageState.DONE


def test_a_note_that_nobody_took_is_typed_instead() -> None:
    """The inbox is not watched after all, until ada is told again to watch it."""
    session = after(RUNG, sought(Place.WITHDRAWN, AGAIN), at=NOON + 3)
    assert (held(session).state, session.bell) == (MessageState.QUEUED, False)

    session, effects = through(session, fired("retry"), at=NOON + 60)
    (paste,) = effects
    assert isinstance(paste, PasteText)
    told = replace(started("clear", context="c2", at=NOON + 60), bell=True)
    assert after(session, told, at=NOON + 60).bell


def test_a_note_nobody_took_is_rung_again_where_nothing_may_be_typed() -> None:
    """It lay there before the agent began to watch: its inbox is watched all the same."""
    hooks = tuple(way for way in RUNG.ways if way.route is not Route.PASTE)
    alone = replace(RUNG, ways=hooks)

    session = after(alone, sought(Place.WITHDRAWN, AGAIN), at=NOON + 3)

    assert (held(session).state, session.bell) == (MessageState.QUEUED, True)
    (ring,) = through(session, fired("retry"), at=NOON + 60)[1]
    assert isinstance(ring, RingBell)


def test_a_note_that_was_taken_is_never_given_again_while_its_agent_lives() -> None:
    session = RUNG
    for _ in range(50):
        session = after(session, sought(Place.CANNOT_LOOK, AGAIN), at=NOON + 9)

    assert held(session).state is MessageState.OFFERED
    assert session.attempt is not None


def test_a_note_that_died_with_its_agent_is_kept_for_another() -> None:
    session, effects = through(RUNG, DIED, at=NOON + 1)
    assert SeekMessage(mark=AGAIN, message=HELLO.id) in effects

    assert held(missed(session, 2, AGAIN)).state is MessageState.QUEUED
    assert held(after(session, sought(Place.TRANSCRIPT, AGAIN))).state is MessageState.DONE


def test_an_agent_that_dies_while_the_note_is_written_is_asked_afterwards() -> None:
    """The effect is under way: its outcome comes first."""
    session, effects = through(RINGING, DIED, at=NOON + 1)
    assert SeekMessage(mark=AGAIN, message=HELLO.id) not in effects

    session = after(session, BellRung(mark=AGAIN), at=NOON + 1)
    assert due(session, "confirm") is not None


def test_a_note_that_could_not_be_written_is_asked_for_again() -> None:
    failed = after(RINGING, EffectFailed(effect="RingBell", error="disk full"))
    at = due(failed, "confirm")
    assert at is not None

    assert through(failed, fired("confirm"), at=at)[1] == [RingBell(mark=AGAIN, message=HELLO.id)]


def test_an_outcome_of_an_earlier_try_changes_nothing() -> None:
    assert after(RUNG, BellRung(mark=MARK)) == RUNG
    assert after(RUNG, sought(Place.WITHDRAWN, MARK)) == RUNG
    assert after(RUNG, BellRung(mark=AGAIN)) == RUNG


# --- records -------------------------------------------------------------------------------


def test_a_message_is_looked_for_in_every_record_since_it_was_given() -> None:
    """A /clear begins another one; a second /clear does not hide what stands between."""
    session = after(
        RUNG,
        started("clear", context="c2", at=NOON + 1),
        started("clear", context="c3", at=NOON + 2),
        started("clear", context="c3", at=NOON + 2),
        at=NOON + 2,
    )

    assert session.attempt is not None
    assert session.attempt.transcripts == (
        "/transcripts/ada",
        "/transcripts/c2",
        "/transcripts/c3",
    )


def test_a_clear_ends_the_turn_an_answer_kept_going() -> None:
    session = after(REPLIED, started("clear", context="c2", at=NOON + 6), at=NOON + 6)

    assert (session.turn, session.attempt is not None) == (None, True)
    assert held(after(session, sought(Place.TRANSCRIPT), at=NOON + 6)).state is MessageState.DONE


# --- somebody else's hook ------------------------------------------------------------------


def test_an_agent_kept_going_by_somebody_elses_hook_works_on() -> None:
    """Its end was reported, then a tool of the same turn began."""
    idle = after(READY, prompted(0), stop(), at=NOON + 5)
    assert idle.state is State.IDLE

    kept = after(idle, tool(0, at=NOON + 6), at=NOON + 6)

    assert (kept.state, kept.ended_prompts) == (State.WORKING, ())
    assert after(kept, stop(at=NOON + 9), at=NOON + 9).state is State.IDLE


@pytest.mark.parametrize(
    "late",
    [
        tool(0, at=NOON + 4),
        tool(9, at=NOON + 4),
        ToolStarted(hook=hook("PreToolUse", 0, NOON + 6), tool="Bash", subagent=True),
    ],
    ids=["of before the end", "of an older turn", "of a sub-agent"],
)
def test_a_late_report_does_not_set_an_idle_agent_to_work(late: ToolStarted) -> None:
    idle = after(READY, prompted(9), prompted(0), stop(), at=NOON + 5)

    assert after(idle, late, at=NOON + 6).state is State.IDLE


def test_routes_may_change_with_the_daemon() -> None:
    """The configuration was edited; a message in hand stays on its way."""
    session = after(REPLIED, DaemonStarted(version="2", ways=TYPING), at=NOON + 6)

    assert session.ways == TYPING
    assert session.attempt == REPLIED.attempt

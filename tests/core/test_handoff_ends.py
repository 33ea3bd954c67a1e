"""How ada's handoff ends: her first prompt is reported, or all is as before and she is told."""

from dataclasses import replace

import pytest

from sm.core import envelope
from sm.core.delivery import MISSES_ALLOWED
from sm.core.effects import ClearContext, Effect, EraseCommand, PasteText, QueueNotice, RingBell
from sm.core.events import (
    AgentExited,
    AgentKilled,
    ClearRefused,
    DaemonStarted,
    EnterPressed,
    HandoffCancelled,
    KillRequested,
    MessageCancelled,
    MessageSought,
    TextPasted,
    TimerFired,
    TypingRefused,
)
from sm.core.handoff import DEADLINE, GIVE_UP_AFTER, REVIVED_WITHIN, first_words, why_open
from sm.core.message import MessageState, Mode, Route, Way
from sm.core.passage import HandoffState
from sm.core.reports import TurnEnded
from sm.core.state import Session, State
from sm.core.terminal import Obstacle, Place
from tests.core.samples import (
    BOB,
    CAPTURING,
    CLEAR_MARK,
    CLEARED,
    CLEARING,
    EVE,
    HANDOFF,
    HELLO,
    IDLE,
    NOON,
    PROMPTING,
    REQUESTED,
    TYPED,
    after,
    captured,
    closed,
    due,
    fired,
    handoff,
    held,
    hook,
    in_next,
    message,
    passing,
    prompted,
    queued,
    requested,
    stopped,
    through,
    wake,
    woken,
)

ALL = tuple(Way(route=route) for route in Route)
DIED = AgentExited(status=None, signal=9, evidence="gone")
PASTE = PasteText(mark=f"{wake(PROMPTING).id}.1", message=wake(PROMPTING).id)
ENTERED = after(
    PROMPTING, TextPasted(mark=PASTE.mark), EnterPressed(mark=PASTE.mark, evidence=""), at=NOON + 6
)
"""Enter was pressed for the first prompt; ada has not reported it."""


def stop(prompt: int, at: float) -> TurnEnded:
    """A turn's end in the next context, whose agent waits for our answer."""
    told = TurnEnded(hook=replace(hook("Stop", prompt, at), answerable=True), last_words="all done")
    end = in_next(told)
    assert isinstance(end, TurnEnded)
    return end


def sought(place: Place) -> MessageSought:
    return MessageSought(mark=PASTE.mark, place=place, evidence="looked")


def notices(effects: list[Effect]) -> list[tuple[str, str]]:
    return [(e.to, e.message.text) for e in effects if isinstance(e, QueueNotice)]


# --- the first prompt ----------------------------------------------------------------------


def test_the_first_prompt_is_never_left_as_a_note() -> None:
    """With a draft in the box it waits, and is pasted when that may be put aside."""
    ready = replace(PROMPTING, ways=ALL, bell=True)
    draft = TypingRefused(mark=PASTE.mark, obstacle=Obstacle.DRAFT, draft="buy milk")
    session, effects = through(ready, draft, at=NOON + 6)
    assert not any(isinstance(effect, RingBell) for effect in effects)

    at = due(session, "retry")
    assert at is not None
    (paste,) = through(session, fired("retry"), at=at)[1]
    assert isinstance(paste, PasteText)
    assert (paste.message, paste.stash) == (wake(session).id, "buy milk")


def test_the_first_prompt_is_never_an_answer() -> None:
    """A person was first: when their turn ends, the prompt is typed as a prompt."""
    draft = TypingRefused(mark=PASTE.mark, obstacle=Obstacle.BUSY)
    session = after(replace(PROMPTING, ways=ALL), draft, at=NOON + 6)
    session = after(session, in_next(prompted(1, at=NOON + 7)), at=NOON + 7)
    assert (session.state, passing(session).state) == (State.WORKING, HandoffState.PROMPTING)

    session, effects = through(session, stop(1, NOON + 9), at=NOON + 9)
    assert session.turn is None
    assert [type(effect) for effect in effects] == [PasteText]


def test_the_agents_report_of_its_prompt_ends_the_handoff() -> None:
    session = woken(ENTERED)

    assert closed(session) == (HandoffState.DONE, "context 2 goes on with it")
    assert (session.state, session.timer("handoff")) == (State.WORKING, None)
    assert wake(session).state is MessageState.ACCEPTED
    assert [step.step for step in passing(session).steps] == [
        "requested", "ended", "captured", "entered", "cleared", "prompted", "accepted", "done",
    ]  # fmt: skip
    assert session.last_handoff == HANDOFF


def test_a_prompt_that_was_typed_is_in_the_trail_before_it_is_reported() -> None:
    assert [step.step for step in passing(ENTERED).steps].count("prompted") == 1
    assert (passing(ENTERED).state, ENTERED.state) == (HandoffState.PROMPTING, State.ROTATING)


def test_the_agents_record_ends_the_handoff_where_no_report_came() -> None:
    session = after(ENTERED, sought(Place.TRANSCRIPT), at=NOON + 9)

    assert closed(session)[0] is HandoffState.DONE
    assert [s.evidence for s in passing(session).steps if s.step == "accepted"] == ["looked"]


def test_a_report_that_comes_after_its_turns_end_ends_all() -> None:
    """Also what the old context had taken: nothing runs any more."""
    taken = message(1, sender=BOB).moved(MessageState.ACCEPTED, NOON, "reported")
    session = ENTERED.with_message(taken)
    session = after(session, stop(9, NOON + 8), at=NOON + 8)
    assert held(session).state is MessageState.ACCEPTED

    late = in_next(prompted(9, of=wake(session), at=NOON + 7))
    session, effects = through(session, late, at=NOON + 9)

    assert (closed(session)[0], session.state) == (HandoffState.DONE, State.IDLE)
    assert {m.state for m in session.messages} == {MessageState.DONE}
    assert [to for to, _ in notices(effects)] == [BOB]


def test_a_lost_prompt_is_typed_again_after_a_search() -> None:
    session = ENTERED
    for _ in range(MISSES_ALLOWED):
        session = after(session, sought(Place.NOWHERE), at=NOON + 20)
    at = due(session, "retry")
    assert at is not None

    _, effects = through(session, fired("retry"), at=at)

    assert effects == [PasteText(mark=f"{PASTE.message}.2", message=PASTE.message)]


def test_a_new_context_that_takes_no_prompt_lets_the_others_through() -> None:
    """In time; the prompt itself still comes first, when it can."""
    session = after(PROMPTING, queued(1, mode=Mode.SEQUENTIAL), at=NOON + 6)
    draft = TypingRefused(mark=PASTE.mark, obstacle=Obstacle.NO_BOX)
    session = after(session, draft, at=NOON + GIVE_UP_AFTER)
    assert passing(session).is_open

    session = after(session, fired(DEADLINE), at=NOON + 6 + GIVE_UP_AFTER)
    assert closed(session) == (
        HandoffState.FAILED,
        "the new context did not take its first prompt in time",
    )
    assert len(session.messages) == 2, "ada is not told to go on in the same context"
    session, effects = through(session, fired("retry"), at=NOON + 7 + GIVE_UP_AFTER)
    assert [e.message for e in effects if isinstance(e, PasteText)] == [PASTE.message]


def test_a_prompt_that_a_person_withdraws_ends_the_handoff() -> None:
    session = after(
        PROMPTING, TypingRefused(mark=PASTE.mark, obstacle=Obstacle.NO_BOX), at=NOON + 6
    )

    session = after(session, MessageCancelled(message=PASTE.message), at=NOON + 7)

    assert closed(session) == (HandoffState.FAILED, "its first prompt was cancelled")


def test_a_prompt_that_came_too_late_does_not_follow_the_next_handoff() -> None:
    """It tells of an older document."""
    refused = TypingRefused(mark=PASTE.mark, obstacle=Obstacle.NO_BOX)
    session = after(PROMPTING, refused, at=NOON + GIVE_UP_AFTER)
    session = after(session, fired(DEADLINE), at=NOON + 6 + GIVE_UP_AFTER)

    session = after(session, requested("b" * 12), at=NOON + 7 + GIVE_UP_AFTER)

    assert wake(session).state is MessageState.CANCELLED


# --- the end of an agent -------------------------------------------------------------------

OPEN = [REQUESTED, CAPTURING, CLEARING, TYPED, PROMPTING, ENTERED]


@pytest.mark.parametrize("session", OPEN)
def test_an_agent_that_dies_ends_its_handoff(session: Session) -> None:
    session, effects = through(replace(session, parent=BOB), DIED, at=NOON + 8)

    assert closed(session) == (HandoffState.FAILED, "the agent is gone")
    assert (session.state, session.timer("handoff")) == (State.CRASHED, None)
    assert not any(isinstance(effect, ClearContext | PasteText) for effect in effects)
    failed = [text for to, text in notices(effects) if to == BOB and "handoff" in text]
    assert failed == [
        f"[sm] ada's handoff failed: the agent is gone. See: sm handoffs show {HANDOFF}"
    ]


@pytest.mark.parametrize("session", OPEN)
def test_a_session_that_is_ended_cancels_its_handoff(session: Session) -> None:
    session = after(session, KillRequested(by="you"), at=NOON + 8)
    assert closed(session) == (HandoffState.CANCELLED, "the session is ended")

    session = after(session, AgentKilled(evidence="gone"), at=NOON + 8)
    assert (session.state, session.timers, session.handoff) == (State.ENDED, (), None)
    assert not any(m.is_open for m in session.messages)


@pytest.mark.parametrize("session", OPEN)
def test_a_new_daemon_goes_on_where_the_old_one_was(session: Session) -> None:
    """What was asked for is stored, and so is every wait: nothing is begun a second time."""
    again, effects = through(session, DaemonStarted(version="2", ways=session.ways), at=NOON + 8)

    assert (again.handoff, again.attempt) == (session.handoff, session.attempt)
    assert not any(isinstance(effect, ClearContext | PasteText) for effect in effects)


# --- who is told ---------------------------------------------------------------------------


WITH_MESSAGE = after(
    IDLE, queued(1, sender=BOB), prompted(0, of=HELLO), requested(), stopped(0), at=NOON + 5
)
"""ada hands over in a turn that took a message of bob's."""


def test_a_sender_is_told_once_when_the_work_stops_in_the_next_context() -> None:
    """The rotation itself is no stop."""
    session, effects = through(WITH_MESSAGE, captured(), CLEARED, at=NOON + 6)
    assert (held(session).state, notices(effects)) == (MessageState.ACCEPTED, [])
    session = woken(session)

    session, effects = through(session, stop(9, NOON + 9), at=NOON + 9)
    assert held(session).state is MessageState.DONE
    assert notices(effects) == [(BOB, "[sm] ada stopped: all done")]
    assert notices(through(session, stop(9, NOON + 9), at=NOON + 10)[1]) == []


def test_a_message_found_in_the_record_of_a_turn_that_handed_over_is_no_stop_either() -> None:
    """Its turn is over, its work is not."""
    busy = after(replace(IDLE, ways=ALL), prompted(0))
    replied = after(
        busy,
        queued(1, sender=BOB),
        TurnEnded(hook=replace(hook("Stop", 0, NOON + 1), answerable=True), last_words=""),
        requested(),
        stopped(0, at=NOON + 2),
        at=NOON + 2,
    )
    assert replied.attempt is not None
    found = MessageSought(mark=replied.attempt.mark, place=Place.TRANSCRIPT, evidence="there")

    session, effects = through(replied, found, at=NOON + 3)

    assert (held(session).state, notices(effects)) == (MessageState.ACCEPTED, [])
    assert passing(session).state is HandoffState.CAPTURING


@pytest.mark.parametrize(
    ("event", "at"),
    [
        (fired(DEADLINE), NOON + 5 + GIVE_UP_AFTER),
        (CLEARED, NOON + 6),
        (HandoffCancelled(id=HANDOFF, by="you"), NOON + 6),
    ],
    ids=["failed", "cleared by somebody", "withdrawn"],
)
def test_a_sender_is_told_when_the_handoff_comes_to_nothing(
    event: TimerFired | HandoffCancelled, at: float
) -> None:
    """Then the turn that took the message was the last of it."""
    is_late = isinstance(event, TimerFired)
    session = after(WITH_MESSAGE, captured(), at=NOON + 5) if is_late else WITH_MESSAGE

    session, effects = through(session, event, at=at)

    assert held(session).state is MessageState.DONE
    assert [to for to, _ in notices(effects)] == [BOB]


def test_a_handoff_withdrawn_in_its_turn_tells_nobody_yet() -> None:
    session = after(IDLE, queued(1, sender=BOB), prompted(0, of=HELLO), requested())
    session, effects = through(session, HandoffCancelled(id=HANDOFF, by="you"))
    assert (held(session).state, effects) == (MessageState.ACCEPTED, [])

    assert [to for to, _ in notices(through(session, stopped(0), at=NOON + 5)[1])] == [BOB]


def test_of_a_failure_the_agent_and_its_parent_are_told() -> None:
    """ada goes on where she was; her messages flow."""
    session = after(replace(CLEARING, parent=EVE), queued(1), at=NOON + 5)
    refused = ClearRefused(mark=CLEAR_MARK, obstacle=Obstacle.DRAFT)
    session = after(session, refused, at=NOON + 6)
    session, effects = through(session, fired(DEADLINE), at=NOON + 5 + GIVE_UP_AFTER)

    reason = f"its context was not cleared in time: {Obstacle.DRAFT.words}"
    told = [m for m in session.messages if m.id != HELLO.id]
    assert [m.text for m in told] == [
        (
            f"[sm handoff] Your handoff {HANDOFF} was not carried out: {reason}. "
            "You go on in the same context; run `sm handoff <path>` again when you want to."
        )
    ]
    assert notices(effects) == [
        (EVE, f"[sm] ada's handoff failed: {reason}. See: sm handoffs show {HANDOFF}")
    ]
    assert [e.message for e in effects if isinstance(e, PasteText)] == [HELLO.id]
    assert effects[0] == EraseCommand(mark=CLEAR_MARK), "before anything else is typed"


def test_a_clear_that_takes_effect_after_the_failure_goes_on() -> None:
    """Its context has the prompt after all; ada is not told that she goes on where she was."""
    session = after(TYPED, queued(1), fired(DEADLINE), at=NOON + 6 + GIVE_UP_AFTER)
    assert closed(session)[0] is HandoffState.FAILED

    session = after(session, CLEARED, at=NOON + 8 + GIVE_UP_AFTER)

    assert passing(session).state is HandoffState.PROMPTING
    assert [s.step for s in passing(session).steps][-3:] == ["failed", "revived", "cleared"]
    assert session.lineage[-1].how == f"handoff {HANDOFF}"
    failure = next(m for m in session.messages if "was not carried out" in m.text)
    assert failure.state is MessageState.CANCELLED


def test_a_clear_long_after_the_failure_is_somebody_elses() -> None:
    session = after(TYPED, fired(DEADLINE), at=NOON + 6 + GIVE_UP_AFTER)

    session = after(session, CLEARED, at=NOON + 7 + GIVE_UP_AFTER + REVIVED_WITHIN)

    assert (session.handoff, session.given_up) == (None, None)
    assert session.lineage[-1].how == "cleared"


# --- its effects afterwards ----------------------------------------------------------------


@pytest.mark.parametrize(
    "event",
    [
        captured(),
        ClearRefused(mark=CLEAR_MARK, obstacle=Obstacle.DRAFT),
        HandoffCancelled(id=HANDOFF, by="you"),
    ],
    ids=lambda event: type(event).__name__,
)
def test_what_comes_after_its_end_changes_nothing(event: ClearRefused | HandoffCancelled) -> None:
    failed = after(TYPED, fired(DEADLINE), at=NOON + 6 + GIVE_UP_AFTER)
    assert closed(failed)[0] is HandoffState.FAILED
    over = after(failed, DaemonStarted(version="2", ways=failed.ways), at=NOON + 7 + GIVE_UP_AFTER)

    assert through(over, event, at=NOON + 8 + GIVE_UP_AFTER) == (over, [])


# --- words ---------------------------------------------------------------------------------


def test_the_first_prompt_says_what_to_read_and_what_only_to_search() -> None:
    text = first_words(PROMPTING, replace(passing(PROMPTING), tasks=("npm test", "make")))

    assert text == (
        f"Read /kept/{HANDOFF}/handoff.md and continue from where you left off.\n"
        "\n"
        "Full session log (complete since start, raw bytes): /logs/ada/raw.log\n"
        "Don't read this file — search it only if you need a specific detail: "
        'grep -a "keyword" /logs/ada/raw.log\n'
        f"Readable terminal transcript of your last context: /kept/{HANDOFF}/dump.txt\n"
        "Don't read this proactively — grep it if needed.\n"
        "Still running in the background then: npm test; make\n"
        "This is context 2 of session ada; you wrote the document in context 1 "
        f"(handoff {HANDOFF})."
    )


def test_what_was_not_captured_is_not_spoken_of() -> None:
    text = first_words(PROMPTING, handoff(context=1, log="/my logs/raw.log"))

    assert "transcript of your last context" not in text
    assert "background" not in text
    assert "grep -a \"keyword\" '/my logs/raw.log'" in text


def test_the_first_prompt_proves_itself_and_begins_with_its_own_words() -> None:
    prompt = envelope.carry(wake(PROMPTING))

    assert prompt.startswith("Read ")
    assert envelope.message_in(prompt) == wake(PROMPTING).id
    assert (wake(PROMPTING).sender_name, wake(PROMPTING).notify) == ("sm", False)


def test_why_a_handoff_waits_is_known_as_long_as_it_is_open() -> None:
    assert why_open(CLEARING, passing(CLEARING)) is None
    done = woken(ENTERED)
    assert why_open(done, passing(done)) is None

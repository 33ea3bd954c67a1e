"""When ada is given a message, step by step, and what proves that it arrived."""

from dataclasses import replace

import pytest

from sm.core import delivery
from sm.core.delivery import (
    ASK_AGAIN_AFTER,
    CONFIRM_WITHIN,
    ENTERS_ALLOWED,
    INTERRUPT_WITHIN,
    MISSES_ALLOWED,
    PAUSES,
    UNPROVED_PAUSE,
)
from sm.core.effects import (
    CheckPane,
    InterruptTurn,
    PasteText,
    PressEnter,
    QueueNotice,
    ReadActivity,
    SeekMessage,
)
from sm.core.events import (
    AgentExited,
    AgentKilled,
    EffectFailed,
    EnterPressed,
    Event,
    MessageCancelled,
    MessageSought,
    TextPasted,
    TurnInterrupted,
    TypingRefused,
)
from sm.core.ids import MessageId, PromptId
from sm.core.message import MessageState, Mode
from sm.core.state import Session, State, Step
from sm.core.terminal import Obstacle, Place, Sign
from tests.core.samples import (
    ADA,
    BOB,
    ENTERED,
    ENTERING,
    EVE,
    GENERIC,
    HELLO,
    IDLE,
    MARK,
    NOON,
    PASTING,
    WORKING,
    after,
    due,
    fired,
    held,
    message,
    prompted,
    queued,
    screen,
    stopped,
    through,
    tool,
)

AGAIN = f"{HELLO.id}.2"
URGENT = queued(mode=Mode.URGENT)


def refused(obstacle: Obstacle, mark: str = MARK) -> TypingRefused:
    return TypingRefused(mark=mark, obstacle=obstacle)


def sought(place: Place, mark: str = MARK) -> MessageSought:
    return MessageSought(mark=mark, place=place, evidence="looked")


def enter(mark: str = MARK) -> EnterPressed:
    return EnterPressed(mark=mark, evidence="Enter")


# --- the straight way ----------------------------------------------------------------------


def test_an_idle_agent_is_given_a_message_in_steps() -> None:
    """Paste, Enter, the agent's own report, the turn's end: each step asks for the next."""
    session, effects = through(IDLE, queued())
    assert effects == [PasteText(mark=MARK, message=HELLO.id)]

    session, effects = through(session, TextPasted(mark=MARK))
    assert effects == [PressEnter(mark=MARK, message=HELLO.id, number=1)]
    assert held(session).state is MessageState.OFFERED

    session, effects = through(session, enter())
    assert effects == []
    assert due(session, "confirm") == NOON + CONFIRM_WITHIN

    session, effects = through(session, prompted(1, of=HELLO))
    assert held(session).state is MessageState.ACCEPTED
    assert (session.attempt, due(session, "confirm")) == (None, None)

    session, effects = through(session, stopped(1))
    steps = [receipt.step for receipt in held(session).receipts]
    assert steps == ["queued", "offered", "entered", "accepted", "done"]


def test_a_working_agent_is_left_alone_until_its_turn_ends() -> None:
    """A sequential message waits, and is given at the Stop."""
    waiting, effects = through(WORKING, queued())
    assert effects == []

    _, effects = through(waiting, stopped(0))
    assert effects == [PasteText(mark=MARK, message=HELLO.id)]


def test_messages_are_given_one_at_a_time_in_the_order_of_their_modes() -> None:
    """While one is in hand the others wait; then urgent, important, sequential."""
    session, effects = through(
        PASTING, queued(2), queued(3, mode=Mode.IMPORTANT), queued(4, mode=Mode.URGENT)
    )
    assert effects == []

    given = []
    for turn, first in enumerate([HELLO, message(4), message(3), message(2)], start=1):
        assert session.attempt is not None
        given.append(session.attempt.message)
        session = after(
            session,
            prompted(turn, of=first, at=NOON + 10 * turn),
            stopped(turn, at=NOON + 10 * turn + 5),
        )

    assert given == [message(n).id for n in (1, 4, 3, 2)]


def test_a_message_sent_again_is_the_same_message() -> None:
    """A repeated send changes nothing."""
    assert through(PASTING, queued()) == (PASTING, [])


def test_a_report_before_our_own_outcome_is_enough() -> None:
    """The agent's hook overtook the outcome of the Enter: the outcome is ignored."""
    accepted = after(ENTERING, prompted(1, of=HELLO))

    assert through(accepted, enter()) == (accepted, [])
    assert through(accepted, TextPasted(mark=MARK)) == (accepted, [])


@pytest.mark.parametrize(
    "event",
    [
        TextPasted(mark=AGAIN),
        enter(AGAIN),
        refused(Obstacle.DIALOG, AGAIN),
        sought(Place.NOWHERE, AGAIN),
        TurnInterrupted(mark=AGAIN),
    ],
)
def test_the_outcome_of_another_try_changes_nothing(event: Event) -> None:
    """Each try has its own mark; an old one's outcome is not this one's."""
    assert through(ENTERED, event) == (ENTERED, [])


# --- obstacles -----------------------------------------------------------------------------


def test_a_dialog_keeps_the_message_and_is_shown() -> None:
    """Nothing is typed into a dialog: ada waits for a person, the message for ada."""
    session, effects = through(PASTING, refused(Obstacle.DIALOG))

    assert (session.state, session.attempt, effects) == (State.WAITING, None, [])
    assert held(session).state is MessageState.QUEUED
    assert held(session).held == Obstacle.DIALOG.words
    answered = after(session, screen(Sign.PROMPT), at=NOON + 1)
    _, effects = through(answered, fired("retry"), at=NOON + PAUSES[0])
    assert effects == [PasteText(mark=AGAIN, message=HELLO.id)]


def test_the_pause_after_refusals_grows() -> None:
    """A person who writes a long draft is not asked every second."""
    session, now, pauses = PASTING, NOON, []
    for attempt in range(1, len(PAUSES) + 2):
        session = after(session, refused(Obstacle.DRAFT, f"{HELLO.id}.{attempt}"), at=now)
        until = due(session, "retry")
        assert until is not None
        pauses.append(until - now)
        now = until
        session = after(session, fired("retry"), at=now)

    assert pauses == [*PAUSES, PAUSES[-1]]
    assert after(session, TextPasted(mark=f"{HELLO.id}.8")).refusals == 0


def test_an_urgent_message_does_not_wait_for_the_pause() -> None:
    """The pause of a refused message is not the urgent one's."""
    paused = after(PASTING, refused(Obstacle.DRAFT))

    _, effects = through(paused, queued(2, mode=Mode.URGENT))

    assert effects == [PasteText(mark=f"{message(2).id}.1", message=message(2).id)]


def test_a_paste_that_tmux_did_not_answer_is_asked_for_under_the_same_mark() -> None:
    """tmux may have carried it out: only the same mark keeps it from being pasted twice."""
    session, effects = through(PASTING, refused(Obstacle.UNREACHABLE))

    assert effects == [CheckPane()]
    assert due(session, "confirm") == NOON + ASK_AGAIN_AFTER
    _, effects = through(session, fired("confirm"), at=NOON + ASK_AGAIN_AFTER)
    assert effects == [PasteText(mark=MARK, message=HELLO.id)]


@pytest.mark.parametrize("obstacle", [Obstacle.AGENT_GONE, Obstacle.PANE_GONE])
def test_where_nobody_is_the_pane_is_checked(obstacle: Obstacle) -> None:
    """An agent that seems gone is asked after; the message waits."""
    session, effects = through(PASTING, refused(obstacle))

    assert effects == [CheckPane()]
    assert held(session).state is MessageState.QUEUED


@pytest.mark.parametrize("obstacle", list(Obstacle))
def test_an_enter_that_was_not_pressed_is_followed_by_a_search(obstacle: Obstacle) -> None:
    """The text is in the box, or was: nothing is typed again before it was looked for."""
    session = after(ENTERING, refused(obstacle))

    assert session.attempt is not None
    assert session.attempt.step is Step.ENTERED
    _, effects = through(session, fired("confirm"), at=NOON + CONFIRM_WITHIN)
    assert effects == [SeekMessage(mark=MARK, message=HELLO.id)]


def test_a_lost_terminal_starts_no_delivery() -> None:
    """While tmux does not answer nothing is begun."""
    lost = replace(IDLE, lost=True, state=State.UNKNOWN)

    assert through(lost, queued())[1] == []


def test_a_paste_that_went_through_means_tmux_is_back() -> None:
    """The doubt about tmux ends with its first answer."""
    lost = replace(PASTING, lost=True, state=State.UNKNOWN)

    assert after(lost, TextPasted(mark=MARK)).state is State.IDLE


@pytest.mark.parametrize("session", [PASTING, ENTERING, ENTERED])
def test_a_step_that_broke_is_asked_for_again(session: Session) -> None:
    """An error nobody foresaw must not leave the message in hand for ever."""
    session = session.with_timer("confirm", None)

    broken = after(session, EffectFailed(effect="PasteText", error="TmuxError: oops"))

    _, effects = through(broken, fired("confirm"), at=NOON + CONFIRM_WITHIN)
    assert [getattr(effect, "mark", None) for effect in effects] == [MARK]


def test_an_error_elsewhere_does_not_move_a_wait() -> None:
    """A rename that broke has nothing to do with the message in hand."""
    assert after(ENTERED, EffectFailed(effect="RenameTmux", error="oops")) == ENTERED


# --- searching -----------------------------------------------------------------------------


def test_an_agent_that_does_not_report_is_searched() -> None:
    """After the time to confirm, the agent's record and box are looked at."""
    _, effects = through(ENTERED, fired("confirm"), at=NOON + CONFIRM_WITHIN)

    assert effects == [SeekMessage(mark=MARK, message=HELLO.id)]


def test_a_message_in_the_agents_own_record_has_arrived() -> None:
    """No hook came, but the transcript shows it: accepted, and ada is at work."""
    session = after(ENTERED, sought(Place.TRANSCRIPT))

    assert held(session).state is MessageState.ACCEPTED
    assert session.state is State.WORKING
    over, effects = through(session, screen(Sign.PROMPT), at=NOON + 10)
    assert (over.state, effects) == (State.IDLE, [ReadActivity()])


def test_a_turn_that_late_hooks_told_of_is_not_the_messages_own() -> None:
    """An old tool call made ada seem at work; the turn that took HELLO has shown nothing yet."""
    session = after(ENTERED, tool(0, at=NOON - 5), sought(Place.TRANSCRIPT))
    assert session.state is State.WORKING

    assert through(session, queued(2, mode=Mode.URGENT))[1] == [], "HELLO would be undone"
    own = after(ENTERED, tool(1, at=NOON + 1), sought(Place.TRANSCRIPT))
    assert own.turn is not None
    assert own.turn.prompt == "P1"


def test_a_swallowed_enter_is_pressed_once_more() -> None:
    """The text still stands in the box: one more Enter, with its own number."""
    session, effects = through(ENTERED, sought(Place.BOX))

    assert effects == [PressEnter(mark=MARK, message=HELLO.id, number=2)]
    session = after(session, enter())
    assert session.attempt is not None
    assert (session.attempt.step, session.attempt.enters) == (Step.ENTERED, 2)


def test_so_many_enters_and_no_more() -> None:
    """A box that never lets go is left to a person, and the message says so."""
    session = ENTERED
    for _ in range(ENTERS_ALLOWED - 1):
        session = after(session, sought(Place.BOX), enter())

    session, effects = through(session, sought(Place.BOX))

    assert effects == []
    assert held(session).held == "looked"
    assert due(session, "confirm") is not None, "it is looked for again"
    accepted = after(session, prompted(1, of=HELLO))
    assert held(accepted).state is MessageState.ACCEPTED


def test_a_lost_message_is_typed_again_only_after_enough_searches() -> None:
    """A person cleared the box: after the last search in vain it is pasted under a new mark."""
    session, now = ENTERED, NOON
    for search in range(1, MISSES_ALLOWED):
        session, effects = through(session, sought(Place.NOWHERE), at=now)
        assert (effects, held(session).state) == ([], MessageState.OFFERED), search

    session = after(session, sought(Place.NOWHERE), at=now)
    assert held(session).state is MessageState.QUEUED
    assert [r.step for r in held(session).receipts][-1] == "lost"
    _, effects = through(session, fired("retry"), at=now + PAUSES[0])
    assert effects == [PasteText(mark=AGAIN, message=HELLO.id)]


def test_a_search_that_could_not_look_counts_for_nothing() -> None:
    """Behind a dialog or without tmux nothing is known, however often one looks."""
    session = ENTERED
    for _ in range(3 * MISSES_ALLOWED):
        session = after(session, sought(Place.CANNOT_LOOK))

    assert held(session).state is MessageState.OFFERED


def test_a_lost_message_that_is_reported_after_all_is_accepted() -> None:
    """The hook was slower than every search: it is believed, nothing is typed again."""
    session = ENTERED
    for _ in range(MISSES_ALLOWED):
        session = after(session, sought(Place.NOWHERE))

    session = after(session, prompted(1, of=HELLO))

    assert held(session).state is MessageState.ACCEPTED
    assert through(session, fired("retry"), stopped(1), at=NOON + 99)[1] == []


def test_the_agents_death_is_followed_by_a_search_in_its_record() -> None:
    """ada died with HELLO in hand: her transcript decides what became of it."""
    dead, effects = through(ENTERED, AgentExited(status=1, signal=None, evidence="gone"))
    assert SeekMessage(mark=MARK, message=HELLO.id) in effects

    assert held(after(dead, sought(Place.TRANSCRIPT))).state is MessageState.DONE
    again = after(dead, sought(Place.NOWHERE), sought(Place.NOWHERE))
    assert (held(again).state, again.state) == (MessageState.QUEUED, State.CRASHED)


def test_a_dead_agent_whose_record_is_not_known_is_not_searched_for_ever() -> None:
    """It may have taken the message, so it is not typed again; the receipt says what is known."""
    session = after(ENTERED, AgentExited(status=1, signal=None, evidence="gone"))
    for _ in range(MISSES_ALLOWED):
        session = after(session, sought(Place.CANNOT_LOOK))
        assert held(session).state is MessageState.OFFERED

    session = after(session, sought(Place.CANNOT_LOOK))

    assert held(session).state is MessageState.REFUSED
    assert held(session).receipts[-1].evidence == "never reported: looked"
    assert session.attempt is None


# --- urgent --------------------------------------------------------------------------------


def test_an_urgent_message_interrupts_a_turn_that_has_used_a_tool() -> None:
    """Escape first, then as idle: paste under the same mark when the turn is seen to be over."""
    session, effects = through(WORKING, tool(0), URGENT)
    assert effects == [InterruptTurn(mark=MARK, prompt=PromptId("P0"))]

    session = after(session, TurnInterrupted(mark=MARK))
    assert due(session, "confirm") == NOON + INTERRUPT_WITHIN
    session, effects = through(session, screen(Sign.PROMPT), at=NOON + 2.5)
    assert effects == [PasteText(mark=MARK, message=HELLO.id)]
    assert due(session, "confirm") is None


def test_a_turn_that_has_shown_nothing_is_not_interrupted() -> None:
    """Its prompt would be put back into the box: the first tool call is soon enough."""
    waiting, effects = through(WORKING, URGENT)
    assert effects == []

    _, effects = through(waiting, tool(0))
    assert [type(effect) for effect in effects] == [InterruptTurn]


def test_a_tool_of_an_earlier_turn_does_not_open_this_one_to_interruption() -> None:
    """A late report of another turn's tool says nothing about what this turn has shown."""
    working = after(IDLE, prompted(2, at=NOON + 10), URGENT)

    assert through(working, tool(1, at=NOON + 9))[1] == []


def test_an_interrupt_without_effect_is_tried_again_later() -> None:
    """Escape did not end the turn in time: pause, then a new try with its own mark."""
    session = after(WORKING, tool(0), URGENT, TurnInterrupted(mark=MARK))

    session = after(session, fired("confirm"), at=NOON + INTERRUPT_WITHIN)
    assert session.attempt is None
    _, effects = through(session, fired("retry"), at=NOON + INTERRUPT_WITHIN + PAUSES[0])
    assert [getattr(effect, "mark", None) for effect in effects] == [AGAIN]


def test_an_important_message_interrupts_nothing() -> None:
    """Only urgent ones may."""
    assert through(WORKING, tool(0), queued(mode=Mode.IMPORTANT))[1] == []


def test_an_interrupt_that_came_too_late_gives_the_message_as_usual() -> None:
    """The turn was over when Escape was to be pressed: none was, and the message follows."""
    session = after(WORKING, tool(0), URGENT, refused(Obstacle.TURN_OVER))

    assert through(session, stopped(0))[1] == [PasteText(mark=AGAIN, message=HELLO.id)]


# --- withdrawing ---------------------------------------------------------------------------


def test_a_waiting_message_can_be_withdrawn() -> None:
    """Nothing of it was given to ada."""
    session = after(WORKING, queued(), MessageCancelled(message=HELLO.id))

    assert held(session).state is MessageState.CANCELLED
    assert through(session, stopped(0))[1] == []


@pytest.mark.parametrize("session", [PASTING, ENTERING, ENTERED])
def test_a_message_in_hand_can_no_longer_be_withdrawn(session: Session) -> None:
    """ada may have it already; neither a person nor a deadline takes it back."""
    cancelled = after(session, MessageCancelled(message=HELLO.id))
    late = session.with_message(replace(held(session), expires_at=NOON))

    assert cancelled == session
    assert delivery.overdue_expired(late, NOON) == late


def test_withdrawing_an_unknown_message_changes_nothing() -> None:
    """It may have been closed long ago."""
    unknown = MessageCancelled(message=MessageId("ffffffffffff"))

    assert through(IDLE, unknown) == (IDLE, [])


def test_a_message_expires_while_it_waits() -> None:
    """Its deadline passes before ada is free."""
    session = after(WORKING, queued(expires_at=NOON + 60))
    key = f"expire:{HELLO.id}"

    assert held(after(session, fired(key), at=NOON + 59)).state is MessageState.QUEUED
    assert held(after(session, fired(key), at=NOON + 60)).state is MessageState.EXPIRED


def test_a_message_is_not_given_after_its_deadline_though_its_timer_has_not_rung() -> None:
    """sm or the whole machine slept through it, and the turn's end is heard first."""
    session = after(WORKING, queued(expires_at=NOON + 2))

    session, effects = through(session, stopped(0), at=NOON + 5)

    assert (held(session).state, effects) == (MessageState.EXPIRED, [])


def test_no_turn_is_interrupted_for_a_message_that_has_expired() -> None:
    """Escape was asked for and not pressed yet: the next message is not held up by it."""
    session = after(WORKING, tool(0), queued(mode=Mode.URGENT, expires_at=NOON + 2))
    assert session.attempt is not None

    session, effects = through(session, stopped(0), at=NOON + 5)

    assert (session.attempt, held(session).state) == (None, MessageState.EXPIRED)
    assert effects == []


@pytest.mark.parametrize("step", [Step.PASTING, Step.RINGING])
def test_a_message_that_is_too_late_to_be_given_expires(step: Step) -> None:
    """It was in hand at its deadline, and nothing of it had been given."""
    session = PASTING.with_message(replace(held(PASTING), expires_at=NOON + 2))
    assert session.attempt is not None
    session = replace(session, attempt=replace(session.attempt, step=step))

    session = after(session, refused(Obstacle.TOO_LATE), at=NOON + 3)

    assert (session.attempt, held(session).state) == (None, MessageState.EXPIRED)


# --- telling the senders -------------------------------------------------------------------


def texts(effects: list[object]) -> list[tuple[str, str]]:
    return [(e.to, e.message.text) for e in effects if isinstance(e, QueueNotice)]


def test_each_sender_is_told_once_when_the_turn_ends() -> None:
    """bob sent two messages and eve one; each hears once, with ada's last words."""
    session = replace(IDLE, messages=())
    for nth, sender in enumerate([BOB, BOB, EVE], start=1):
        session = replace(
            session,
            messages=(*session.messages, message(nth, sender=sender, state=MessageState.ACCEPTED)),
        )

    session, effects = through(session, stopped(1, words="All  tests\npass."))

    words = "[sm] ada stopped: All  tests\npass."
    assert texts([*effects]) == [(BOB, words), (EVE, words)]
    assert texts([*through(session, stopped(1))[1]]) == []


@pytest.mark.parametrize(
    "changes", [{"sender": None}, {"sender": ADA}, {"sender": BOB, "notify": False}]
)
def test_nobody_is_told_who_did_not_ask(changes: dict[str, object]) -> None:
    """A person, ada herself, and a sender who wants no notice hear nothing."""
    session = after(IDLE, queued(**changes), prompted(1, of=HELLO))

    assert texts([*through(session, stopped(1))[1]]) == []


def test_long_last_words_are_cut_by_whoever_takes_secrets_out_of_them() -> None:
    """A notice is a line, not a report; what was cut off a secret is not recognised any more."""
    session = after(IDLE, queued(sender=BOB), prompted(1, of=HELLO))

    _, effects = through(session, stopped(1, words=f"Did\nit: {'x' * 500} but it failed"))

    [told] = [effect for effect in effects if isinstance(effect, QueueNotice)]
    assert told.message.text == f"[sm] ada stopped: Did\nit: {'x' * 500} but it failed"
    assert told.longest == len("[sm] ada stopped: ") + 200


# --- agents that report nothing, and ends --------------------------------------------------


def test_a_generic_agent_is_given_messages_unproved() -> None:
    """No report will come: the message stays offered, marked unproved, and the next follows."""
    session, effects = through(GENERIC, queued(), queued(2), TextPasted(mark=MARK), enter())
    assert [type(effect).__name__ for effect in effects] == ["PasteText", "PressEnter"]
    assert (held(session).state, held(session).unproved) == (MessageState.OFFERED, True)

    session, effects = through(session, fired("retry"), at=NOON + UNPROVED_PAUSE)
    assert effects == [PasteText(mark=f"{message(2).id}.1", message=message(2).id)]


def test_a_generic_agents_enter_is_asked_for_until_it_can_be_pressed() -> None:
    """There is nothing to search: the same Enter is tried again, and the queue goes on."""
    session = after(GENERIC, queued(), TextPasted(mark=MARK))

    session = after(session, refused(Obstacle.NOT_FOREGROUND))
    session, effects = through(session, fired("confirm"), at=NOON + CONFIRM_WITHIN)

    assert effects == [PressEnter(mark=MARK, message=HELLO.id, number=1)]
    assert held(after(session, enter())).unproved


def test_an_ended_session_refuses_what_waits() -> None:
    """The session is over on purpose: nobody will take the messages."""
    session = after(WORKING, queued(), AgentKilled(evidence="killed"))
    assert (held(session).state, session.state) == (MessageState.REFUSED, State.ENDED)

    session = after(session, queued(2))
    assert held(session, 2).state is MessageState.REFUSED


def test_an_ended_session_refuses_what_was_offered_and_never_reported() -> None:
    """It may have arrived; the receipt says what is known."""
    session = after(ENTERED, AgentKilled(evidence="killed"))

    assert held(session).receipts[-1].evidence == "the session ended before the agent reported it"


def test_a_crashed_session_keeps_its_messages() -> None:
    """A crash is not the end: what waits, waits for recovery."""
    session = after(WORKING, queued(), AgentExited(status=1, signal=None, evidence="gone"))

    assert held(session).state is MessageState.QUEUED

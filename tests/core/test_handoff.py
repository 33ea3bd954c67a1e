"""ada's passage to her next context: each step has its proof, its deadline and its way back."""

from dataclasses import replace

import pytest

from sm.core.effects import (
    CaptureArtifacts,
    CheckPane,
    ClearContext,
    PasteText,
    SeekMessage,
)
from sm.core.events import (
    AgentExited,
    BellRung,
    ClearRefused,
    ClearTyped,
    EffectFailed,
    EnterPressed,
    HandoffCancelled,
    HandoffRequested,
    MessageSought,
    TextPasted,
    TurnInterrupted,
)
from sm.core.handoff import (
    CLEARED_WITHIN,
    DEADLINE,
    ENTERS_ALLOWED,
    GIVE_UP_AFTER,
    PAUSES,
    TASKS_WITHIN,
    why_open,
)
from sm.core.ids import ContextId, HandoffId
from sm.core.message import MessageState, Mode, Route, Way
from sm.core.passage import HandoffState
from sm.core.reasons import why_waiting
from sm.core.reports import ToolEnded, TurnEnded
from sm.core.state import PastContext, Session, State, Step
from sm.core.terminal import AgentStatus, Obstacle, Place, Sign
from sm.core.turn import REMEMBERED_CONTEXTS
from tests.core.samples import (
    CAPTURING,
    CLEAR_MARK,
    CLEARED,
    CLEARING,
    CONTEXT,
    HANDOFF,
    HELLO,
    IDLE,
    MARK,
    NEXT,
    NOON,
    PROMPTING,
    REQUESTED,
    TYPED,
    WORKING,
    after,
    captured,
    closed,
    due,
    fired,
    handoff,
    held,
    hook,
    message,
    passing,
    prompted,
    queued,
    requested,
    screen,
    started,
    stopped,
    through,
    tool,
    wake,
    woken,
)

SECOND = "b" * 12
ALL = tuple(Way(route=route) for route in Route)
DIED = AgentExited(status=None, signal=9, evidence="gone")
CAPTURE = CaptureArtifacts(handoff=HANDOFF)
CLEAR = ClearContext(mark=CLEAR_MARK, number=1)
PASTE = PasteText(mark=f"{wake(PROMPTING).id}.1", message=wake(PROMPTING).id)


def refused(obstacle: Obstacle, *, draft: str = "", mark: str = CLEAR_MARK) -> ClearRefused:
    return ClearRefused(mark=mark, obstacle=obstacle, draft=draft)


def stop(*tasks: str, prompt: int = 0, at: float = NOON + 5) -> TurnEnded:
    """A turn's end whose agent waits for our answer, with what still runs beside it."""
    told = replace(hook("Stop", prompt, at), answerable=True)
    return TurnEnded(hook=told, last_words="handed over", tasks=tasks)


def steps(session: Session) -> list[str]:
    return [step.step for step in passing(session).steps]


# --- asked for -----------------------------------------------------------------------------


def test_a_handoff_is_kept_with_the_context_it_leaves() -> None:
    """Nothing happens yet: the turn goes on."""
    session, effects = through(WORKING, requested())

    assert (session.state, effects) == (State.WORKING, [])
    assert passing(session) == handoff(
        context=1, context_id=CONTEXT, transcript="/transcripts/ada"
    ).noted("requested", NOON, "by the agent itself, with /shop/handoff.md")
    assert session.last_handoff == HANDOFF
    assert why_open(session, passing(session)) == "the turn is not over"


def test_the_last_of_several_requests_holds() -> None:
    """The one before it is recorded as superseded, and forgotten with the next event."""
    session = after(REQUESTED, requested(SECOND), at=NOON + 1)

    first, second = session.handoffs
    assert (first.state, second.state) == (HandoffState.SUPERSEDED, HandoffState.REQUESTED)
    assert first.steps[-1].evidence == f"the agent asked again: {SECOND}"
    assert (session.handoff, session.last_handoff) == (second, SECOND)
    _, effects = through(session, stopped(0), at=NOON + 5)
    assert effects == [CaptureArtifacts(handoff=HandoffId(SECOND))]


def test_the_same_request_again_changes_nothing() -> None:
    assert after(REQUESTED, requested(), at=NOON + 1) == REQUESTED
    done = after(woken(PROMPTING), tool(9, at=NOON + 8), at=NOON + 8)
    assert (done.handoffs, after(done, requested(), at=NOON + 9)) == ((), done)


@pytest.mark.parametrize("session", [CAPTURING, CLEARING, TYPED, PROMPTING])
def test_no_request_comes_between_the_steps(session: Session) -> None:
    assert after(session, requested(SECOND), at=NOON + 6).handoff == session.handoff


def test_an_idle_agents_request_is_carried_out_at_once() -> None:
    """A script it left behind may ask, too."""
    assert through(IDLE, requested())[1] == [CAPTURE]


# --- withdrawn -----------------------------------------------------------------------------


@pytest.mark.parametrize("session", [REQUESTED, CAPTURING])
def test_a_handoff_can_be_withdrawn_before_the_clear(session: Session) -> None:
    session, effects = through(session, HandoffCancelled(id=HANDOFF, by="you"), at=NOON + 5)

    assert closed(session) == (HandoffState.CANCELLED, "by you")
    assert (due(session, "handoff"), session.lineage) == (None, ())
    assert not any(isinstance(effect, ClearContext) for effect in effects)
    (told,) = [m for m in session.messages if "was not carried out" in m.text]
    assert "it was withdrawn by you" in told.text


PUT_OFF = after(TYPED, prompted(3, at=NOON + 6), at=NOON + 6)
"""The command was sent off; then a turn was seen to run."""


@pytest.mark.parametrize("session", [CLEARING, TYPED, PUT_OFF, PROMPTING])
def test_what_may_be_on_its_way_cannot_be_withdrawn(session: Session) -> None:
    assert after(session, HandoffCancelled(id=HANDOFF, by="you"), at=NOON + 6) == session


def test_only_the_handoff_that_is_meant_is_withdrawn() -> None:
    assert after(REQUESTED, HandoffCancelled(id=HandoffId(SECOND), by="you")) == REQUESTED
    assert after(WORKING, HandoffCancelled(id=HANDOFF, by="you")) == WORKING


# --- all other messages wait ---------------------------------------------------------------


@pytest.mark.parametrize("mode", Mode)
def test_no_message_comes_between_request_and_first_prompt(mode: Mode) -> None:
    """No answer to a tool or to the turn's end, no note, no paste; then all in their order."""
    ready = replace(REQUESTED, ways=ALL, bell=True)
    tool_end = ToolEnded(
        hook=replace(hook("PostToolUse", 0, NOON + 2), answerable=True), tool="Bash", failed=False
    )
    session, effects = through(
        ready, queued(1, mode=mode), queued(2, mode=mode), tool(0), tool_end, at=NOON + 2
    )
    assert (session.attempt, effects) == (None, [])
    assert "handoff" in (why_waiting(session, held(session)) or "")

    session, effects = through(session, stop(), at=NOON + 5)
    assert (session.attempt, effects) == (None, [CAPTURE])
    session, effects = through(
        session, captured(), ClearTyped(mark=CLEAR_MARK, evidence=""), at=NOON + 5
    )
    assert (session.attempt, effects) == (None, [CLEAR])
    session, effects = through(session, CLEARED, at=NOON + 6)
    assert effects == [PASTE]
    session, effects = through(session, TextPasted(mark=PASTE.mark), at=NOON + 6)
    assert [held(session, n).state for n in (1, 2)] == [MessageState.QUEUED] * 2

    session = woken(session)
    assert session.handoff is None
    end = stop(prompt=9, at=NOON + 9)
    session = after(session, replace(end, hook=replace(end.hook, context=NEXT)), at=NOON + 9)
    assert session.attempt is not None
    assert session.attempt.message == message(1).id
    assert (held(session).route, held(session, 2).state) == (
        Route.STOP_REPLY,
        MessageState.QUEUED,
    )


def test_an_urgent_message_that_was_about_to_interrupt_waits_too() -> None:
    """Nothing of it was given: the turn that hands over may end by itself."""
    session = after(WORKING, tool(0), queued(mode=Mode.URGENT))
    assert session.attempt is not None
    assert session.attempt.step is Step.INTERRUPTING

    session = after(session, requested(), at=NOON + 2)
    assert session.attempt is None
    session, effects = through(session, TurnInterrupted(mark=MARK), stopped(0), at=NOON + 5)
    assert (session.attempt, effects) == (None, [CAPTURE])


def test_a_message_half_given_is_awaited_before_the_clear() -> None:
    """Its turn begins: the handoff waits for the end of that."""
    session, effects = through(IDLE, queued(), requested())
    assert (passing(session).state, session.attempt is not None) == (HandoffState.REQUESTED, True)
    assert CAPTURE not in effects

    session = after(
        session, TextPasted(mark=MARK), EnterPressed(mark=MARK, evidence=""), prompted(1, of=HELLO)
    )
    assert (passing(session).state, session.state) == (HandoffState.REQUESTED, State.WORKING)
    assert through(session, stopped(1), at=NOON + 5)[1] == [CAPTURE]


def test_a_typed_message_is_not_given_up_faster_than_ever() -> None:
    """Its agent may take its time to report it."""
    session = after(
        IDLE, queued(), TextPasted(mark=MARK), EnterPressed(mark=MARK, evidence=""), requested()
    )
    assert (due(session, "confirm") or 0) > NOON


RUNG = after(
    replace(WORKING, ways=(Way(route=Route.DOORBELL), Way(route=Route.PASTE)), bell=True),
    queued(mode=Mode.URGENT),
    BellRung(mark=MARK),
    requested(),
)
"""A note lies in ada's inbox when she asks for a handoff."""


def test_a_note_nobody_took_is_withdrawn_before_the_clear() -> None:
    """At once when the turn ends. The inbox is watched all the same: the bell stays."""
    session, effects = through(RUNG, stopped(0), at=NOON + 1)
    assert (due(session, "confirm"), CAPTURE in effects) == (NOON + 1, False)
    session, effects = through(session, fired("confirm"), at=NOON + 1)
    assert effects == [SeekMessage(mark=MARK, message=HELLO.id)]
    assert due(session, "confirm") is None, "it is being looked for, once"

    sought = MessageSought(mark=MARK, place=Place.WITHDRAWN, evidence="nobody took it")
    session, effects = through(session, sought, at=NOON + 1)

    assert (effects, session.bell) == ([CAPTURE], True)
    assert held(session).state is MessageState.QUEUED


def test_a_note_that_was_taken_is_awaited_before_the_clear() -> None:
    """Looked for less and less often, not in a spin; the turn it wakes ada for defers the rest."""
    session = after(RUNG, stopped(0, at=NOON + 1), at=NOON + 1)
    sought = MessageSought(mark=MARK, place=Place.CANNOT_LOOK, evidence="just taken")
    looks = []
    for _ in range(8):
        session, effects = through(session, sought, at=NOON + 1)
        looks.append((due(session, "confirm") or 0) - NOON - 1)
        assert effects == []
    assert looks == sorted(looks)
    assert looks[-1] > 5

    session = after(session, prompted(1, of=HELLO, at=NOON + 2), at=NOON + 2)
    assert (passing(session).state, session.attempt) == (HandoffState.REQUESTED, None)


# --- what runs in the background -----------------------------------------------------------


def test_what_runs_in_the_background_gets_a_while() -> None:
    session, effects = through(REQUESTED, stop("npm test"), at=NOON + 5)
    assert (passing(session).state, effects) == (HandoffState.REQUESTED, [])
    assert due(session, "handoff") == NOON + 5 + TASKS_WITHIN
    assert why_open(session, passing(session)) == "still running: npm test"
    assert through(session, queued(), at=NOON + 6)[1] == []

    session, effects = through(session, fired("handoff"), at=NOON + 40)
    assert (passing(session).tasks, effects) == (("npm test",), [CAPTURE])


def test_a_task_that_comes_back_is_waited_for_anew() -> None:
    """It starts a turn; when that ends with another task running, the wait begins again."""
    session = after(REQUESTED, stop("npm test"), prompted(1, at=NOON + 8), at=NOON + 8)
    assert (due(session, "handoff"), session.state) == (None, State.WORKING)

    again = after(session, stop("make", prompt=1, at=NOON + 20), at=NOON + 20)
    assert due(again, "handoff") == NOON + 20 + TASKS_WITHIN
    _, effects = through(session, stop(prompt=1, at=NOON + 20), at=NOON + 20)
    assert effects == [CAPTURE]


def test_a_dialog_in_the_wait_is_waited_for_without_a_new_wait() -> None:
    session = after(REQUESTED, stop("npm test"), screen(Sign.DIALOG), at=NOON + 5)
    assert why_open(session, passing(session)) == Obstacle.DIALOG.words

    session, effects = through(session, fired("handoff"), at=NOON + 40)
    assert (passing(session).state, effects) == (HandoffState.REQUESTED, [])
    assert through(session, screen(Sign.PROMPT), at=NOON + 41)[1] == [CAPTURE]


# --- captured ------------------------------------------------------------------------------


def test_what_was_shown_is_captured_before_the_clear() -> None:
    assert (CAPTURING.state, passing(CAPTURING).state) == (State.ROTATING, HandoffState.CAPTURING)
    session, effects = through(CAPTURING, captured(), at=NOON + 5)

    over = passing(session)
    assert (over.state, effects) == (HandoffState.CLEARING, [CLEAR])
    assert (over.dump, over.artifacts) == (
        f"/kept/{HANDOFF}/dump.txt",
        f"/kept/{HANDOFF}/artifacts.json",
    )


def test_a_failed_capture_never_fails_the_handoff() -> None:
    failed = EffectFailed(effect="CaptureArtifacts", error="OSError: no space left")
    session, effects = through(CAPTURING, failed, at=NOON + 5)

    assert (effects, passing(session).dump) == ([CLEAR], None)
    assert passing(session).steps[-1].evidence == "nothing: OSError: no space left"
    assert passing(session).document == f"/kept/{HANDOFF}/handoff.md"


def test_a_capture_without_a_newer_copy_keeps_the_one_there_is() -> None:
    session = after(CAPTURING, replace(captured(), document=None, dump=None), at=NOON + 5)

    assert (passing(session).document, passing(session).dump) == (
        f"/kept/{HANDOFF}/handoff.md",
        None,
    )


@pytest.mark.parametrize("session", [REQUESTED, CLEARING, PROMPTING])
def test_a_capture_that_nobody_waits_for_changes_nothing(session: Session) -> None:
    assert after(session, captured(), at=NOON + 6) == session
    failed = EffectFailed(effect="CaptureArtifacts", error="late")
    assert after(session, failed, at=NOON + 6) == session
    assert after(CAPTURING, captured(SECOND), at=NOON + 6) == CAPTURING


# --- deferred ------------------------------------------------------------------------------


@pytest.mark.parametrize("session", [CAPTURING, CLEARING])
def test_a_turn_that_begins_before_the_clear_defers_it(session: Session) -> None:
    """Captured again when that turn has ended."""
    session, effects = through(session, prompted(1, at=NOON + 6), at=NOON + 6)

    assert (passing(session).state, session.state) == (HandoffState.REQUESTED, State.WORKING)
    assert passing(session).steps[-1].evidence == "a turn began before the clear"
    assert (effects, due(session, "handoff")) == ([], None)
    assert through(session, stopped(1, at=NOON + 9), at=NOON + 9)[1] == [CAPTURE]


@pytest.mark.parametrize("session", [CAPTURING, CLEARING])
def test_a_dialog_before_the_clear_defers_it(session: Session) -> None:
    session = after(session, screen(Sign.DIALOG), at=NOON + 6)

    assert (passing(session).state, session.state) == (HandoffState.REQUESTED, State.WAITING)
    assert passing(session).steps[-1].evidence == "a dialog came before the clear"
    assert through(session, screen(Sign.PROMPT), at=NOON + 9)[1] == [CAPTURE]


def test_the_next_try_has_another_mark() -> None:
    session = after(CLEARING, prompted(1, at=NOON + 6), at=NOON + 6)
    session = after(session, stopped(1, at=NOON + 9), at=NOON + 9)
    again = f"{HANDOFF}.2"

    session, effects = through(session, captured(), at=NOON + 9)
    assert effects == [ClearContext(mark=again, number=1)]
    assert after(session, ClearTyped(mark=CLEAR_MARK, evidence=""), at=NOON + 9) == session
    assert after(session, refused(Obstacle.DRAFT), at=NOON + 9) == session
    typed = after(session, ClearTyped(mark=again, evidence=""), at=NOON + 9)
    assert due(typed, "handoff") == NOON + 9 + CLEARED_WITHIN


def test_a_clear_that_takes_effect_after_all_is_ours() -> None:
    """The agent showed a turn or a dialog while it cleared: its new context is the one we want."""
    session = after(TYPED, screen(Sign.BUSY), at=NOON + 6)
    assert passing(session).state is HandoffState.REQUESTED

    session, effects = through(session, replace(CLEARED, hook=replace(CLEARED.hook, at=NOON + 7)),
                               at=NOON + 7)  # fmt: skip

    assert (passing(session).state, effects) == (HandoffState.PROMPTING, [PASTE])
    assert session.lineage[-1].how == f"handoff {HANDOFF}"


def test_the_next_request_inherits_a_clear_that_may_still_take_effect() -> None:
    session = after(TYPED, screen(Sign.BUSY), requested(SECOND), at=NOON + 6)
    session = after(session, replace(CLEARED, hook=replace(CLEARED.hook, at=NOON + 7)),
                    at=NOON + 7)  # fmt: skip

    assert session.handoff is not None
    assert (session.handoff.id, session.handoff.state) == (SECOND, HandoffState.PROMPTING)


# --- the clear is refused ------------------------------------------------------------------


@pytest.mark.parametrize(
    "obstacle",
    [o for o in Obstacle if o not in (Obstacle.NOT_SHOWN, Obstacle.DIALOG, Obstacle.TURN_OVER)],
)
def test_an_obstacle_is_named_and_looked_at_again(obstacle: Obstacle) -> None:
    """Less and less often, and each in the trail once."""
    session, pauses = CLEARING, []
    for n in range(12):
        at = NOON + 5 + n
        session = after(session, refused(obstacle), at=at)
        pauses.append((due(session, "handoff") or 0) - at)

    assert steps(session).count("held") == 1
    assert why_open(session, passing(session)) == obstacle.words
    assert pauses == sorted(pauses)
    assert pauses[-1] == pytest.approx(PAUSES[-1])
    again = due(session, "handoff")
    assert again is not None
    assert through(session, fired("handoff"), at=again)[1] == [CLEAR]


@pytest.mark.parametrize("obstacle", [Obstacle.BUSY, Obstacle.NO_BOX])
def test_a_box_that_is_just_being_drawn_is_waited_for_briefly(obstacle: Obstacle) -> None:
    session = after(CLEARING, refused(obstacle), at=NOON + 5)

    assert due(session, "handoff") == pytest.approx(NOON + 5 + PAUSES[0])


@pytest.mark.parametrize(
    "obstacle", [Obstacle.AGENT_GONE, Obstacle.PANE_GONE, Obstacle.UNREACHABLE]
)
def test_a_pane_that_does_not_answer_is_asked_about(obstacle: Obstacle) -> None:
    assert through(CLEARING, refused(obstacle), at=NOON + 5)[1] == [CheckPane()]


def test_a_dialog_in_the_way_defers_the_clear() -> None:
    session = after(CLEARING, refused(Obstacle.DIALOG), at=NOON + 5)

    assert (passing(session).state, session.state) == (HandoffState.REQUESTED, State.WAITING)


def test_a_draft_that_nobody_goes_on_with_may_be_put_aside() -> None:
    """It is given back with the next try, for the typist to compare."""
    session = after(CLEARING, refused(Obstacle.DRAFT, draft="buy milk"), at=NOON + 5)
    at = due(session, "handoff")
    assert at is not None
    assert at - NOON - 5 >= 1

    session, effects = through(session, fired("handoff"), at=at)
    assert effects == [ClearContext(mark=CLEAR_MARK, number=1, stash="buy milk")]
    typed = after(session, ClearTyped(mark=CLEAR_MARK, evidence=""), at=at)
    assert passing(typed).draft == ""


def test_a_command_that_vanished_is_typed_again_under_another_mark() -> None:
    session, marks = CLEARING, []
    for _ in range(2):
        session, effects = through(
            session, refused(Obstacle.NOT_SHOWN, mark=passing(session).mark), at=NOON + 9
        )
        marks += effects
    assert marks == [ClearContext(mark=f"{HANDOFF}.{n}", number=1) for n in (2, 3)]

    session = after(session, refused(Obstacle.NOT_SHOWN, mark=f"{HANDOFF}.3"), at=NOON + 9)
    assert closed(session) == (
        HandoffState.FAILED,
        "the agent does not take the command to clear",
    )


def test_tries_that_a_turn_deferred_do_not_count() -> None:
    session = replace(CLEARING, handoffs=(replace(passing(CLEARING), tries=7),))
    mark = f"{HANDOFF}.7"

    session, effects = through(session, refused(Obstacle.NOT_SHOWN, mark=mark), at=NOON + 9)

    assert effects == [ClearContext(mark=f"{HANDOFF}.8", number=1)]


def test_what_stands_in_the_way_for_too_long_ends_the_handoff() -> None:
    late = due(CLEARING, DEADLINE)
    assert late == NOON + 5 + GIVE_UP_AFTER
    session = after(CLEARING, refused(Obstacle.DRAFT), at=late - 1)
    assert passing(session).is_open

    session = after(session, fired(DEADLINE), at=late)
    assert closed(session) == (
        HandoffState.FAILED,
        f"its context was not cleared in time: {Obstacle.DRAFT.words}",
    )
    assert (session.state, session.timer("handoff")) == (State.IDLE, None)


def test_an_error_nobody_foresaw_is_asked_again_but_not_for_ever() -> None:
    failed = EffectFailed(effect="ClearContext", error="KeyError: x")
    session = after(CLEARING, failed, at=NOON + 5)
    at = due(session, "handoff")
    assert at == NOON + 5 + CLEARED_WITHIN
    assert through(session, fired("handoff"), at=at)[1] == [CLEAR]
    assert after(CAPTURING, failed, at=NOON + 6) == CAPTURING

    late = after(session, fired(DEADLINE), at=NOON + 6 + GIVE_UP_AFTER)
    assert closed(late)[0] is HandoffState.FAILED


def test_a_dialog_that_stays_open_ends_the_handoff_in_time() -> None:
    """Also where it came while the command was to be typed."""
    session = after(CLEARING, refused(Obstacle.DIALOG), at=NOON + 6)
    assert (passing(session).state, session.state) == (HandoffState.REQUESTED, State.WAITING)
    assert due(session, DEADLINE) == NOON + 5 + GIVE_UP_AFTER

    session = after(session, fired(DEADLINE), at=NOON + 5 + GIVE_UP_AFTER)

    assert closed(session) == (
        HandoffState.FAILED,
        f"its context was not cleared in time: {Obstacle.DIALOG.words}",
    )


def test_a_message_that_stays_half_given_ends_the_handoff_in_time() -> None:
    session = after(RUNG, stopped(0, at=NOON + 1), at=NOON + 1)
    assert why_open(session, passing(session)) == f"message {HELLO.id} is half given"

    session = after(session, fired(DEADLINE), at=NOON + 1 + GIVE_UP_AFTER)

    assert closed(session)[0] is HandoffState.FAILED


def test_a_turn_that_begins_takes_its_own_time() -> None:
    session = after(CAPTURING, prompted(3, at=NOON + 6), at=NOON + 6)

    assert (passing(session).state, due(session, DEADLINE)) == (HandoffState.REQUESTED, None)


# --- the Enter is swallowed ----------------------------------------------------------------


def test_an_enter_that_came_to_nothing_is_pressed_again() -> None:
    """So often and no more; the context is as it was, and ada is told."""
    session = TYPED
    for n in range(2, ENTERS_ALLOWED + 1):
        at = due(session, "handoff")
        assert at is not None
        session, effects = through(session, fired("handoff"), at=at)
        assert effects == [ClearContext(mark=CLEAR_MARK, number=n)]
        session = after(session, ClearTyped(mark=CLEAR_MARK, evidence=f"Enter {n}"), at=at)

    at = due(session, "handoff")
    assert at is not None
    session, effects = through(session, fired("handoff"), at=at)
    assert closed(session)[0] is HandoffState.FAILED
    assert not any(isinstance(effect, ClearContext) for effect in effects)


# --- the new context -----------------------------------------------------------------------


def test_the_agents_own_report_proves_the_clear() -> None:
    """Its first prompt is pasted, and nothing else."""
    session, effects = through(TYPED, CLEARED, at=NOON + 6)

    assert (session.state, session.context.number) == (State.ROTATING, 2)
    assert (passing(session).state, effects) == (HandoffState.PROMPTING, [PASTE])
    assert passing(session).steps[-1].evidence == "SessionStart(clear) of context context-"
    assert passing(session).message == wake(session).id
    assert due(session, DEADLINE) == NOON + 6 + GIVE_UP_AFTER


def test_a_report_that_overtakes_the_typists_word_counts() -> None:
    session = after(CLEARING, CLEARED, at=NOON + 6)
    assert passing(session).state is HandoffState.PROMPTING

    assert after(session, ClearTyped(mark=CLEAR_MARK, evidence=""), at=NOON + 6) == session
    assert after(session, refused(Obstacle.BUSY), at=NOON + 6) == session
    failed = EffectFailed(effect="ClearContext", error="KeyError: x")
    assert after(session, failed, at=NOON + 6) == session


def test_the_agents_state_file_proves_the_clear_where_no_hook_came() -> None:
    status = AgentStatus(sign=Sign.PROMPT, at=NOON + 6, context=NEXT, transcript="/t/2")
    typed = ClearTyped(mark=CLEAR_MARK, evidence="it says so itself", status=status)

    session, effects = through(CLEARING, typed, at=NOON + 6)
    assert (session.context.id, session.context.number, effects) == (NEXT, 2, [PASTE])
    late = after(session, CLEARED, at=NOON + 7)
    assert (late.context.number, len(late.messages)) == (2, 1)


def test_a_state_file_that_lags_behind_moves_nobody_back() -> None:
    """It follows a moment after the report: what it says of the context before is old."""
    old = AgentStatus(sign=Sign.PROMPT, at=NOON + 6, context=CONTEXT, transcript="/t/1")
    typed = ClearTyped(mark=CLEAR_MARK, evidence="it says so itself", status=old)

    assert after(PROMPTING, typed, at=NOON + 6) == PROMPTING
    assert after(CLEARING, typed, at=NOON + 6) == CLEARING
    older = PastContext(
        number=0, id=ContextId("older"), transcript=None, tokens=None, ended_at=NOON, how="cleared"
    )
    twice = replace(CLEARING, lineage=(older,))
    typed = replace(typed, status=replace(old, context=ContextId("older")))
    assert after(twice, typed, at=NOON + 6) == twice


def test_the_same_report_again_prompts_no_second_time() -> None:
    again, effects = through(PROMPTING, CLEARED, at=NOON + 7)

    assert (effects, again.messages, again.context) == ([], PROMPTING.messages, PROMPTING.context)


@pytest.mark.parametrize("session", [REQUESTED, CAPTURING])
def test_somebody_elses_clear_before_ours_cancels_the_handoff(session: Session) -> None:
    """A person began anew: ada's document is kept, she is not prompted with it."""
    session, effects = through(session, CLEARED, at=NOON + 6)

    assert closed(session) == (
        HandoffState.CANCELLED,
        "somebody else cleared the context first",
    )
    assert (effects, session.state, session.lineage[-1].how) == ([], State.IDLE, "cleared")


def test_a_compaction_is_no_new_context() -> None:
    session = after(TYPED, started("compact", at=NOON + 6), at=NOON + 6)

    assert passing(session).state is HandoffState.CLEARING


def test_a_person_who_clears_once_more_only_moves_the_prompt() -> None:
    third = started("clear", context="context-3", at=NOON + 7)
    session = after(PROMPTING, third, at=NOON + 7)

    assert (session.handoff is not None, session.context.number) == (True, 3)
    assert [past.how for past in session.lineage] == [f"handoff {HANDOFF}", "cleared"]
    assert len([m for m in session.messages if m.handoff]) == 1


@pytest.mark.parametrize(
    ("redacted", "words"),
    [(0, ""), (1, "; 1 secret was taken out"), (2, "; 2 secrets were taken out")],
)
def test_what_was_taken_out_of_a_document_is_told(redacted: int, words: str) -> None:
    asked = HandoffRequested(handoff=handoff(redacted=redacted))

    assert passing(after(WORKING, asked)).steps[0].evidence == (
        f"by the agent itself, with /shop/handoff.md{words}"
    )


def test_of_many_contexts_the_first_and_the_latest_are_remembered() -> None:
    """The first holds what all the others are about."""
    old = PastContext(number=1, id=None, transcript=None, tokens=None, ended_at=NOON, how="cleared")
    many = tuple(replace(old, number=n) for n in range(1, REMEMBERED_CONTEXTS + 1))

    numbers = [past.number for past in after(replace(TYPED, lineage=many), CLEARED).lineage]

    assert len(numbers) == REMEMBERED_CONTEXTS
    assert numbers[:2] == [1, 3]


def test_lineage_tells_the_contexts_before_this_one() -> None:
    (past,) = PROMPTING.lineage

    assert (past.number, past.id, past.transcript) == (1, CONTEXT, "/transcripts/ada")
    assert (past.ended_at, past.how) == (NOON + 6, f"handoff {HANDOFF}")

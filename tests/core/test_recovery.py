"""A session whose agent died: when it is brought back, how, and what proves it."""

from dataclasses import replace

import pytest

from sm.core.crash import Cause, Manner, Recovery, RecoveryRules, RecoveryState
from sm.core.effects import KillAgent, PasteText, QueueNotice, RecoverAgent, TellPerson
from sm.core.events import (
    AgentExited,
    AgentRecovered,
    DaemonStarted,
    EffectFailed,
    KillRequested,
    LaunchFailed,
    MessageCancelled,
    RecoveryFailed,
    RecoveryRequested,
    SessionInherited,
    SessionRequested,
    TerminalLost,
    TypingRefused,
)
from sm.core.ids import ContextId, RecoveryId
from sm.core.message import Message, MessageState, Route
from sm.core.passage import Filed
from sm.core.reasons import why_waiting
from sm.core.recovery import (
    AFTER_LIMIT,
    ASK_AGAIN,
    ASK_AGAIN_AFTER,
    DEADLINE,
    GIVE_UP_AFTER,
    PAUSES,
    TIMER,
    chosen,
    is_over,
)
from sm.core.session import create
from sm.core.state import Adoption, Attempt, Session, State, Step, Usage
from sm.core.terminal import Obstacle, Sign
from tests.core.samples import (
    BOB,
    CAPTURING,
    CLEARING,
    CONTEXT,
    GENERIC,
    HANDOFF,
    HELLO,
    IDLE,
    NEXT,
    NOON,
    PANE,
    PROMPTING,
    REQUESTED,
    TYPED,
    WORKING,
    after,
    asked,
    due,
    filed_by,
    fired,
    held,
    prompted,
    queued,
    requested,
    screen,
    started,
    stopped,
    through,
    wake,
)

ID = RecoveryId("r1")
KILLED = AgentExited(status=None, signal=9, evidence="pane %1 is dead", cause=Cause.SIGNAL)
SERVER = AgentExited(status=None, signal=None, evidence="gone", cause=Cause.SERVER)
NEXT_PANE = replace(PANE, pid=200, started=9)
BACK = AgentRecovered(
    recovery=ID, pane=NEXT_PANE, manner=Manner.RESUME, context=CONTEXT, told="go on", evidence="p"
)
CRASHED = after(WORKING, KILLED, at=NOON + 10)
WANTED = RecoveryRequested(id=ID, by="you")
ASKED = after(CRASHED, WANTED, at=NOON + 20)
STARTED = after(ASKED, BACK, at=NOON + 21)
READY = started("resume", at=NOON + 22)
RINGING = Attempt(message=HELLO.id, number=1, route=Route.DOORBELL, step=Step.RINGING, since=NOON)
AUTO = RecoveryRules(auto=True, crashes=3, within=60.0)
UNWATCHED = replace(WORKING, rescue=AUTO)
ADOPTED = replace(UNWATCHED, adoption=Adoption(pane=PANE, logged=True))


def last(session: Session) -> Recovery:
    return session.recoveries[-1]


def told(session: Session) -> Message:
    """What the agent is told first; it must be there."""
    (found,) = [m for m in session.messages if m.recovery is not None]
    return found


def notices(effects: list[object]) -> list[str]:
    return [e.message.text for e in effects if isinstance(e, QueueNotice)]


# --- a crash -------------------------------------------------------------------------------


def test_a_crash_keeps_what_it_cut() -> None:
    """Why, and what was going on: afterwards nobody could tell."""
    took = replace(HELLO, state=MessageState.ACCEPTED)
    session = after(WORKING.with_message(took), asked(0), KILLED, at=NOON + 10)

    assert session.state is State.CRASHED
    crash = session.crash
    assert crash is not None
    assert (crash.cause, crash.words) == (Cause.SIGNAL, "the agent was ended by signal 9")
    assert (crash.busy, crash.dialog, crash.taken) == (True, "Bash: rm x", (HELLO.id,))
    assert after(IDLE, KILLED).crash is not None
    assert not after(IDLE, KILLED).crash.busy  # type: ignore[union-attr] # seen the line before


@pytest.mark.parametrize(
    "end",
    [
        replace(KILLED, signal=None, status=0),
        replace(KILLED, left=True),
    ],
)
def test_an_end_on_purpose_is_no_crash(end: AgentExited) -> None:
    """Nobody is brought back who wanted to go."""
    session = after(UNWATCHED, end)

    assert session.state is State.ENDED
    assert session.crash is None
    assert due(session, TIMER) is None
    assert through(session, WANTED) == (session, [])


def test_a_killed_session_stays_ended() -> None:
    session = after(UNWATCHED, KillRequested(by="you"), KILLED)

    assert session.state is State.ENDED
    assert due(session, TIMER) is None


def test_nobody_is_brought_back_unasked_unless_the_configuration_says_so() -> None:
    assert due(CRASHED, TIMER) is None
    assert due(after(UNWATCHED, KILLED), TIMER) == NOON


# --- asked for -----------------------------------------------------------------------------


def test_a_crashed_session_is_brought_back_when_asked() -> None:
    session, effects = through(CRASHED, WANTED, at=NOON + 20)

    assert effects == [RecoverAgent(recovery=ID)]
    assert session.state is State.RECOVERING
    assert session.recovery is not None
    assert session.recovery.crash == CRASHED.crash


def test_the_same_request_again_is_the_same() -> None:
    """Sent again after a broken connection, it starts nothing twice; and not beside another."""
    assert through(ASKED, WANTED)[1] == []
    assert through(ASKED, replace(WANTED, id=RecoveryId("r2")))[1] == []
    done = after(STARTED, READY, prompted(7, of=told(STARTED), at=NOON + 23), at=NOON + 23)
    crashed = after(done, KILLED, at=NOON + 30)
    assert through(crashed, WANTED, at=NOON + 31)[1] == []


def test_a_session_that_runs_is_not_brought_back() -> None:
    assert through(IDLE, WANTED) == (IDLE, [])


def test_a_session_that_never_came_to_life_can_be_tried_again() -> None:
    """Its program was not there: now it is."""
    new = SessionRequested(
        id=IDLE.id, name="ada", agent="claude", arguments=(), cwd="/", parent=None, proves=True,
        context=CONTEXT, rescue=AUTO,
    )  # fmt: skip
    session = after(create(new, NOON)[0], LaunchFailed(reason="claude is not on your PATH"))

    assert session.crash is not None
    assert session.crash.cause is Cause.START
    assert due(session, TIMER) is None, "whoever asked is told, and tries again"
    assert through(session, WANTED)[1] == [RecoverAgent(recovery=ID)]


# --- in which way --------------------------------------------------------------------------


def _usage(tokens: int | None, *, compacts_at: int | None = None) -> Usage:
    return Usage(
        tokens=tokens, window=200_000, model="", source="", at=NOON, compacts_at=compacts_at
    )


@pytest.mark.parametrize(
    ("usage", "manner", "why"),
    [
        (None, Manner.RESUME, "its record is whole"),
        (_usage(None), Manner.RESUME, "its record is whole"),
        (_usage(100_000), Manner.RESUME, "its record is whole, 50 % full"),
        (_usage(160_001), Manner.FRESH, "its context is 80 % full"),
        (_usage(100_000, compacts_at=120_000), Manner.FRESH, "its context is 50 % full"),
    ],
)
def test_a_record_with_room_is_gone_on_with(usage: Usage | None, manner: Manner, why: str) -> None:
    """A full context would end at its limit, or be compacted, a moment later."""
    assert chosen(IDLE, None, hindrance=None, usage=usage) == (manner, why)


def test_what_was_insisted_on_is_done_if_it_can_be() -> None:
    full = _usage(190_000)
    assert chosen(IDLE, Manner.RESUME, hindrance=None, usage=full)[0] is Manner.RESUME
    assert chosen(IDLE, Manner.FRESH, hindrance=None, usage=None)[0] is Manner.FRESH
    torn = chosen(IDLE, Manner.RESUME, hindrance="its record is torn", usage=None)
    assert torn == (Manner.FRESH, "its record is torn")


def test_a_context_that_was_to_be_left_is_left() -> None:
    """Resumed, an agent that had handed over and stopped would wait for ever."""
    usage = _usage(100_000)
    cut = chosen(IDLE, None, hindrance=None, usage=usage, handoff=HANDOFF)
    assert cut == (Manner.FRESH, f"its context was being handed over ({HANDOFF})")
    asked = chosen(IDLE, Manner.RESUME, hindrance=None, usage=usage, handoff=HANDOFF)
    assert asked[0] is Manner.RESUME


def test_without_a_record_there_is_nothing_to_go_on_with() -> None:
    silent = replace(IDLE, context=replace(IDLE.context, transcript=None))
    assert chosen(silent, None, hindrance=None, usage=None)[0] is Manner.FRESH


@pytest.mark.parametrize("passing", [REQUESTED, CAPTURING, CLEARING, TYPED, PROMPTING])
def test_a_crash_keeps_the_handoff_it_cut(passing: Session) -> None:
    """Also where the agent dies once more before it was told."""
    crash = after(passing, KILLED, at=NOON + 10).crash
    assert crash is not None
    assert crash.handoff == HANDOFF

    again = after(passing, KILLED, WANTED, BACK, KILLED, at=NOON + 21).crash
    assert again is not None
    assert again.handoff == HANDOFF


def test_a_handoff_whose_document_was_told_waits_for_nobody_else() -> None:
    """Another session in its channel would do the same work again."""
    crashed = after(CAPTURING, KILLED, WANTED, at=NOON + 20)
    back = after(crashed, replace(BACK, manner=Manner.FRESH, context=NEXT), at=NOON + 21)
    up = after(back, started("startup", context=NEXT, at=NOON + 22), at=NOON + 22)
    took = prompted(7, of=told(up), at=NOON + 23)
    took = replace(took, hook=replace(took.hook, context=NEXT))

    assert filed_by(up, took, at=NOON + 23) == [Filed.CLEARED.value]


def test_a_fresh_context_is_not_told_of_its_handoff_twice() -> None:
    """The document stands in what it is told; resumed, it is still to be given its prompt."""
    fresh = replace(BACK, manner=Manner.FRESH, context=ContextId("context-3"))
    assert PROMPTING.attempt is not None
    refused = TypingRefused(mark=PROMPTING.attempt.mark, obstacle=Obstacle.AGENT_GONE)
    session = after(PROMPTING, KILLED, refused, WANTED, at=NOON + 20)

    assert wake(after(session, fresh, at=NOON + 21)).state is MessageState.CANCELLED
    assert wake(after(session, BACK, at=NOON + 21)).state is MessageState.QUEUED


# --- under way -----------------------------------------------------------------------------


def test_a_resumed_agent_keeps_its_context() -> None:
    """The same conversation in a new process; what the dead one reports late is of before."""
    assert (STARTED.pane, STARTED.context) == (NEXT_PANE, ASKED.context)
    assert STARTED.exit is None
    assert STARTED.state is State.RECOVERING
    late = after(STARTED, stopped(0, at=NOON + 9), at=NOON + 21)
    assert late.state is State.RECOVERING
    assert last(STARTED).manner is Manner.RESUME


def test_a_fresh_context_is_counted_and_the_old_one_remembered() -> None:
    fresh = replace(BACK, manner=Manner.FRESH, context=NEXT)
    session = after(ASKED, fresh, started("startup", context=NEXT, at=NOON + 22), at=NOON + 22)

    assert (session.context.number, session.context.id) == (2, NEXT)
    (past,) = session.lineage
    assert (past.id, past.how) == (CONTEXT, f"recovery {ID}")


@pytest.mark.parametrize(
    ("manner", "context", "source"),
    [(Manner.FRESH, NEXT, "startup"), (Manner.RESUME, CONTEXT, "resume")],
)
def test_an_agent_that_reports_before_its_start_is_known_is_heard(
    manner: Manner, context: ContextId, source: str
) -> None:
    """The daemon died when it had started it: without its record no message can be proved."""
    early = replace(started(source, context=context, at=NOON + 20.5), bell=True)
    back = replace(BACK, manner=manner, context=context)

    session = after(ASKED, early, back, at=NOON + 21)

    assert session.context.transcript == f"/transcripts/{context}"
    assert session.context.id == context
    assert (session.ready, session.bell) == (True, True)
    assert isinstance(through(after(ASKED, early, at=NOON + 20.6), back)[1][-1], PasteText)


def test_what_the_dead_agent_reports_late_is_not_the_next_ones_word() -> None:
    late = started("startup", context=NEXT, at=NOON + 5)
    fresh = replace(BACK, manner=Manner.FRESH, context=NEXT)
    assert after(ASKED, late, fresh, at=NOON + 21).context.transcript is None


def test_it_is_told_what_happened_before_anything_else() -> None:
    """Messages that waited for it follow; an urgent one, too."""
    session = after(CRASHED, queued(1, mode="urgent"), WANTED, BACK, at=NOON + 21)
    session, effects = through(session, READY, at=NOON + 22)

    first = told(session)
    assert [e.message for e in effects if isinstance(e, PasteText)] == [first.id]
    assert "being brought back" in (why_waiting(session, held(session)) or "")
    session, effects = through(session, prompted(7, of=first, at=NOON + 23), at=NOON + 23)
    assert last(session).state is RecoveryState.DONE
    assert session.state is State.WORKING


def test_the_title_of_the_dead_one_does_not_make_the_next_one_work() -> None:
    """A terminal keeps its title; only an agent that is there has a turn."""
    assert after(STARTED, screen(Sign.BUSY), at=NOON + 22).state is State.RECOVERING
    assert after(STARTED, READY, screen(Sign.BUSY), at=NOON + 23).turn is not None


def test_nothing_is_typed_before_the_agent_is_ready() -> None:
    assert not any(isinstance(e, PasteText) for e in through(ASKED, BACK)[1])


def test_only_the_agents_own_report_proves_that_it_is_back() -> None:
    session = after(STARTED, READY, at=NOON + 22)
    assert last(session).state is RecoveryState.STARTED
    assert session.state is State.RECOVERING

    session = after(session, prompted(7, of=told(session), at=NOON + 23), at=NOON + 23)

    assert last(session).state is RecoveryState.DONE
    assert [step.step for step in last(session).steps] == ["asked", "started", "done"]
    assert last(session).ended_at == NOON + 23
    assert due(session, DEADLINE) is None


def test_an_idle_agent_that_remembers_all_is_told_nothing() -> None:
    """A word would set it to work."""
    session = after(ASKED, replace(BACK, told=""), at=NOON + 21)
    assert not session.messages
    assert session.state is State.RECOVERING

    assert after(session, READY, at=NOON + 22).state is State.IDLE
    seen = after(session, screen(Sign.PROMPT), at=NOON + 22)
    assert last(seen).steps[-1].evidence == "the agent is ready"


def test_an_agent_that_reports_nothing_is_back_when_it_was_started() -> None:
    crashed = after(GENERIC, KILLED)
    session = after(crashed, WANTED, replace(BACK, told="", context=None), at=NOON + 1)

    assert last(session).state is RecoveryState.DONE
    assert session.state is State.UNKNOWN


def test_an_agent_that_does_not_report_in_time_holds_nothing_up() -> None:
    """A question at its start, perhaps: a person must see to it, and messages flow again."""
    session = after(STARTED, queued(), at=NOON + 22)
    late = NOON + 21 + GIVE_UP_AFTER
    session = after(session, fired(DEADLINE), at=late)

    assert last(session).state is RecoveryState.FAILED
    assert told(session).state is MessageState.QUEUED, "it is told, however late"
    assert not session.recovery


def test_a_handoff_that_was_asked_for_ends_with_its_agent() -> None:
    session = after(REQUESTED, KILLED, WANTED, BACK, at=NOON + 21)

    assert session.handoff is None
    assert session.state is State.RECOVERING


def test_what_the_agent_is_told_can_be_withdrawn() -> None:
    session = after(STARTED, MessageCancelled(message=told(STARTED).id), at=NOON + 22)

    assert last(session).state is RecoveryState.FAILED
    assert last(session).steps[-1].evidence == "what it was to be told was cancelled"


# --- when it does not work ------------------------------------------------------------------


def test_an_agent_that_cannot_be_started_stays_as_it_was() -> None:
    failed = RecoveryFailed(recovery=ID, reason="claude is not on your PATH")
    session = after(ASKED, failed, at=NOON + 21)

    assert session.state is State.CRASHED
    assert last(session).steps[-1].evidence == "claude is not on your PATH"
    assert session.last_words == "claude is not on your PATH"
    again = RecoveryRequested(id=RecoveryId("r2"), by="you")
    assert through(session, again)[1] == [RecoverAgent(recovery=RecoveryId("r2"))]


def test_an_error_nobody_foresaw_is_a_failure() -> None:
    broke = EffectFailed(effect="RecoverAgent", error="KeyError: 'x'")
    assert last(after(ASKED, broke)).state is RecoveryState.FAILED


def test_tmux_that_does_not_answer_is_asked_again() -> None:
    """It may have started the agent all the same: the same recovery looks first."""
    session = after(ASKED, TerminalLost(reason="no answer"), at=NOON + 21)
    assert session.state is State.RECOVERING
    assert due(session, ASK_AGAIN) == NOON + 21 + ASK_AGAIN_AFTER

    effects = through(session, fired(ASK_AGAIN), at=NOON + 22)[1]

    assert effects == [RecoverAgent(recovery=ID)]


def test_a_session_that_is_ended_on_the_way_is_not_brought_back() -> None:
    session, effects = through(ASKED, KillRequested(by="you"), at=NOON + 21)
    assert last(session).state is RecoveryState.FAILED
    assert session.state is State.ENDED
    assert KillAgent() in effects

    session = after(session, BACK, at=NOON + 22)
    assert session.pane == PANE, "its pane is found by its tag, and ended"


def test_an_agent_that_dies_again_fails_the_recovery() -> None:
    """What it was to be told is told by the next one."""
    session = after(STARTED, KILLED, at=NOON + 30)

    assert session.state is State.CRASHED
    assert last(session).state is RecoveryState.FAILED
    assert told(session).state is MessageState.CANCELLED


def test_what_a_crash_cut_is_known_until_the_agent_was_told_of_it() -> None:
    """It dies a second time at once: the work of the first time is not forgotten."""
    took = replace(HELLO, state=MessageState.ACCEPTED)
    first = after(WORKING.with_message(took), asked(0), KILLED, WANTED, at=NOON + 10)
    again = after(first, BACK, KILLED, at=NOON + 21)
    back = after(STARTED, READY, at=NOON + 22)
    over = after(back, prompted(7, of=told(back)), stopped(7), KILLED, at=NOON + 23)

    crash = again.crash
    assert crash is not None
    assert (crash.busy, crash.dialog, crash.taken) == (True, "Bash: rm x", (HELLO.id,))
    assert over.crash is not None
    assert not over.crash.busy


def test_what_a_crash_cut_is_owed_though_its_recovery_was_given_up() -> None:
    """The agent stood at a question for so long, and then the host went down."""
    took = replace(HELLO, state=MessageState.ACCEPTED)
    asking = after(WORKING.with_message(took), KILLED, WANTED, BACK, at=NOON + 21)
    given_up = after(asking, fired(DEADLINE), at=NOON + 21 + GIVE_UP_AFTER)
    answered = after(given_up, READY, prompted(7, of=told(given_up)), stopped(7), at=NOON + 700)

    crash, later = after(given_up, SERVER).crash, after(answered, SERVER).crash

    assert crash is not None
    assert (crash.busy, crash.taken) == (True, (HELLO.id,))
    assert later is not None
    assert (later.busy, later.taken) == (False, ())


def test_what_it_was_told_of_an_earlier_crash_is_not_owed_to_it() -> None:
    """It is told anew, of this one: the old words would only lead it astray."""
    back = after(STARTED, READY, at=NOON + 22)
    back = after(back, prompted(7, of=told(back), at=NOON + 23), at=NOON + 23)
    assert told(back).state is MessageState.ACCEPTED

    crash = after(back, KILLED, at=NOON + 24).crash

    assert crash is not None
    assert (crash.busy, crash.taken) == (True, ())


def test_an_answer_for_another_recovery_changes_nothing() -> None:
    other = replace(BACK, recovery=RecoveryId("r9"))
    assert after(ASKED, other, at=NOON + 21).exit is not None
    failed = RecoveryFailed(recovery=RecoveryId("r9"), reason="x")
    assert after(ASKED, failed, at=NOON + 21).recovery is not None


def test_whoever_insists_on_a_way_gets_no_other() -> None:
    """Another would have begun at once, and by itself."""
    insisted = replace(WANTED, manner=Manner.RESUME)
    failed = RecoveryFailed(recovery=ID, reason="its record is torn")
    session = after(UNWATCHED, KILLED, insisted, failed, at=NOON + 20)

    assert session.state is State.CRASHED
    assert due(session, TIMER) is None
    assert due(after(UNWATCHED, KILLED, WANTED, failed, at=NOON + 20), TIMER) is not None


def test_an_agent_that_leaves_before_it_has_reported_ends_its_recovery() -> None:
    """Nobody waits for the word of one that was quit."""
    session = after(STARTED, AgentExited(status=0, signal=None, evidence="gone"), at=NOON + 22)

    assert session.state is State.ENDED
    assert is_over(session)
    assert last(session).steps[-1].evidence == "its agent ended"
    assert due(session, DEADLINE) is None


# --- by itself -----------------------------------------------------------------------------


def test_the_pauses_grow_and_the_budget_ends() -> None:
    """Three times in a minute: the third time it is left alone, and that is said once."""
    session, pauses, said = replace(UNWATCHED, parent=BOB), [], []
    for nth in range(4):
        at = NOON + 5 * nth
        session, effects = through(session, KILLED, at=at)
        said += notices(list(effects))
        pauses.append(due(session, TIMER) and due(session, TIMER) - at)  # type: ignore[operator] # just seen
        if pauses[-1] is None:
            continue
        session, effects = through(session, fired(TIMER), at=at + 4)
        (asked_for,) = [e for e in effects if isinstance(e, RecoverAgent)]
        session = after(session, replace(BACK, recovery=asked_for.recovery), at=at + 4)

    assert pauses == [PAUSES[0], PAUSES[1], None, None]
    assert session.hopeless == "it crashed 3 times in 1 minute and is not brought back any more"
    assert sum("is not brought back any more" in words for words in said) == 1


def test_a_person_may_try_again_what_is_hopeless() -> None:
    hopeless = replace(CRASHED, rescue=AUTO, hopeless="it crashed 3 times", crashes=(NOON,) * 3)
    session = after(hopeless, WANTED, at=NOON + 20)

    assert (session.hopeless, session.crashes) == ("", ())


def test_crashes_of_long_ago_do_not_count() -> None:
    old = replace(UNWATCHED, crashes=(NOON - 100, NOON - 90, NOON - 80))

    session = after(old, KILLED)

    assert not session.hopeless
    assert due(session, TIMER) == NOON


def test_what_took_everything_is_nobodys_fault() -> None:
    """A tmux server that ends: all come back at once, and nobody is told forty times."""
    before = replace(UNWATCHED, parent=BOB, crashes=(NOON, NOON))

    session, effects = through(before, SERVER)

    assert due(session, TIMER) == NOON
    assert not session.hopeless
    assert notices(list(effects)) == []


def test_a_server_that_ends_each_time_is_not_started_for_ever() -> None:
    """Just after they came back: something they do may end it."""
    session = replace(UNWATCHED, launched_at=NOON - 5, recoveries=(last(STARTED),))

    assert len(after(session, SERVER).crashes) == 1


def test_a_limit_of_the_models_service_is_waited_for() -> None:
    session = after(UNWATCHED, replace(KILLED, cause=Cause.LIMIT))
    assert due(session, TIMER) == NOON + AFTER_LIMIT


def test_one_crash_is_answered_once() -> None:
    """The timer fires again after a restart of the daemon: still the same recovery."""
    crashed = after(UNWATCHED, KILLED)
    session, effects = through(crashed, fired(TIMER))
    assert [type(e) for e in effects] == [RecoverAgent]

    assert through(session, fired(TIMER))[1] == []


def test_a_start_that_fails_by_itself_is_tried_again_within_the_budget() -> None:
    session = after(UNWATCHED, KILLED)
    for nth in range(3):
        session, effects = through(session, fired(TIMER), at=NOON + 20 * nth + 19)
        recoveries = [e.recovery for e in effects if isinstance(e, RecoverAgent)]
        if not recoveries:
            break
        failed = RecoveryFailed(recovery=recoveries[0], reason="no such folder")
        session = after(session, failed, at=NOON + 20 * nth + 19)

    assert session.hopeless
    assert len({r.id for r in session.recoveries}) == len(session.recoveries) == 2


def test_a_switched_off_rescue_stands_still() -> None:
    """The configuration was changed while it waited."""
    crashed = after(UNWATCHED, KILLED)
    ruled = after(crashed, DaemonStarted(version="1", rescue=RecoveryRules(auto=False)))

    assert through(ruled, fired(TIMER))[1] == []
    assert ruled.state is State.CRASHED


def test_an_adopted_agent_is_not_brought_back_by_itself() -> None:
    """How it was started is not known."""
    assert due(after(ADOPTED, KILLED), TIMER) is None


def test_an_adopted_agent_that_went_with_its_server_is_not_promised_back() -> None:
    """`sm recover --all` passes over it."""
    (person,) = [e for e in through(ADOPTED, SERVER)[1] if isinstance(e, TellPerson)]
    assert "Start it again, and adopt it: sm adopt" in person.words
    assert not person.for_all


def test_the_parent_is_told_of_the_crash_and_of_the_return() -> None:
    child = replace(UNWATCHED, parent=BOB)
    session, effects = through(child, KILLED)
    assert notices(list(effects)) == ["[sm] ada crashed: the agent was ended by signal 9"]

    session, effects = through(session, fired(TIMER), at=NOON + 1)
    back = replace(BACK, recovery=last(session).id, told="", context=ContextId(CONTEXT))
    session, effects = through(session, back, READY, at=NOON + 22)
    assert notices(list(effects)) == ["[sm] ada is back (its conversation goes on)"]


# --- owed, told and late ---------------------------------------------------------------------


def test_somebody_is_told_of_an_agent_that_does_not_report() -> None:
    """Nothing else would say that it runs and does nothing."""
    effects = through(STARTED, fired(DEADLINE), at=NOON + 21 + GIVE_UP_AFTER)[1]
    (told_person,) = [e for e in effects if isinstance(e, TellPerson)]
    assert "has not reported what it was told" in told_person.words


def test_a_server_that_ends_is_one_notice_whether_they_come_back_or_not() -> None:
    by_hand = through(WORKING, SERVER)[1]
    (one,) = [e for e in by_hand if isinstance(e, TellPerson)]
    assert one.for_all
    assert "bring them back with: sm recover --all" in one.words
    (other,) = [e for e in through(UNWATCHED, SERVER)[1] if isinstance(e, TellPerson)]
    assert "they are brought back: sm ls" in other.words
    assert one.about == other.about


def test_tmux_that_does_not_answer_is_told_of_once() -> None:
    session, effects = through(ASKED, TerminalLost(reason="no answer"), at=NOON + 21)
    assert any(isinstance(e, TellPerson) for e in effects)
    assert last(session).steps[-1].step == "held"
    session = after(session, fired(ASK_AGAIN), at=NOON + 23)
    effects = through(session, TerminalLost(reason="no answer"), at=NOON + 24)[1]
    assert not any(isinstance(e, TellPerson) for e in effects)


def test_a_late_failure_does_not_end_a_recovery_that_has_started() -> None:
    session = after(STARTED, RecoveryFailed(recovery=ID, reason="late"), at=NOON + 22)
    assert last(session).state is RecoveryState.STARTED


def test_a_handoff_asked_for_before_the_note_was_read_waits_for_it() -> None:
    """Otherwise each would wait for the other."""
    session = after(STARTED, READY, prompted(8, at=NOON + 23), requested(), at=NOON + 23)
    session = after(session, stopped(8, at=NOON + 24), at=NOON + 24)
    first = told(session)
    assert session.attempt is not None
    assert session.attempt.message == first.id


def test_what_was_only_to_be_typed_into_the_dead_one_waits_behind_the_note() -> None:
    session = after(IDLE, queued(), KILLED, WANTED, BACK, READY, at=NOON + 22)
    assert session.attempt is not None
    assert session.attempt.message == told(session).id


def test_an_agent_that_could_not_be_started_for_its_next_context_is_brought_back() -> None:
    """It was ended for that; nobody else would start it again."""
    failed = LaunchFailed(reason="no space left on device")
    session = after(UNWATCHED, failed)
    assert session.crash is not None
    assert (session.crash.cause, due(session, TIMER)) == (Cause.START, NOON)
    passing = after(CLEARING, failed).crash
    assert passing is not None
    assert passing.handoff == HANDOFF, "its context was to be left"


def test_a_run_that_was_killed_while_it_was_brought_back_is_brought_back_still() -> None:
    """Its wrapper's effects lay in a store of its own."""
    inherited = SessionInherited(
        session=replace(ASKED, wrapped=True), name="ada", evidence="killed", ways=ASKED.ways,
        rescue=AUTO,
    )  # fmt: skip
    session, effects = create(inherited, NOON + 30)
    assert session.state is State.RECOVERING
    assert RecoverAgent(recovery=ID) in effects
    ringing = replace(WORKING, wrapped=True, attempt=RINGING)
    crashed = create(replace(inherited, session=ringing), NOON + 30)[0]
    assert crashed.timer("confirm") is not None

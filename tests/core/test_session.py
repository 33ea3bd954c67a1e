"""ada's life from her launch to her end: events in, her state and her wishes out."""

from dataclasses import replace

import pytest

from sm.core.effects import CheckPane, KillAgent, LaunchAgent, QueueNotice, RenameTmux
from sm.core.events import (
    AgentExited,
    AgentKilled,
    AgentStarted,
    DaemonStarted,
    EffectFailed,
    KillRequested,
    LaunchFailed,
    NoticeDropped,
    NoticeQueued,
    PaneSeen,
    Renamed,
    SessionRequested,
    TerminalLost,
    TimerFired,
    TmuxRenamed,
)
from sm.core.message import MessageState
from sm.core.reports import ContextEnded, HookNoticed
from sm.core.session import ASK_AGAIN_AFTER, create
from sm.core.state import Session, Source, State
from sm.core.terminal import Sign
from tests.core.samples import (
    ADA,
    BOB,
    CONTEXT,
    HELLO,
    IDLE,
    NOON,
    PANE,
    WORKING,
    after,
    due,
    held,
    hook,
    prompted,
    queued,
    screen,
    started,
    through,
)

REQUEST = SessionRequested(
    id=ADA, name="ada", agent="claude", arguments=(), cwd="/shop", parent=BOB, proves=True,
    context=CONTEXT,
)  # fmt: skip
NEW, _ = create(REQUEST, NOON)
CRASH = AgentExited(status=1, signal=None, evidence="pane %1 is dead")


def test_a_new_session_asks_for_its_agent() -> None:
    """It is starting until the agent shows itself."""
    session, effects = create(REQUEST, NOON)

    assert effects == (LaunchAgent(),)
    assert session.state is State.STARTING
    assert after(session, AgentStarted(pane=PANE)).state is State.STARTING
    assert after(session, AgentStarted(pane=PANE), started()).state is State.IDLE


def test_a_first_message_waits_for_the_agent() -> None:
    """Sent with the session, given when the agent is ready."""
    session, effects = through(NEW, queued(), AgentStarted(pane=PANE))
    assert effects == []

    session, effects = through(session, screen(Sign.PROMPT))
    assert session.attempt is not None


def test_a_hook_may_come_before_we_know_the_pane() -> None:
    """The agent reports faster than its launch is committed."""
    session = after(NEW, started())

    assert session.state is State.STARTING
    assert after(session, AgentStarted(pane=PANE)).state is State.IDLE


def test_an_agent_that_could_not_start_has_crashed() -> None:
    """And says why."""
    session = after(NEW, LaunchFailed(reason="no such folder"))

    assert session.state is State.CRASHED
    assert session.verdict.says == "could not start: no such folder"


def test_a_launch_that_broke_does_not_leave_the_session_starting() -> None:
    """An error nobody foresaw is an end like any other: it can be killed and seen."""
    session = after(NEW, EffectFailed(effect="LaunchAgent", error="OSError: disk full"))
    assert (session.state, session.last_words) == (State.CRASHED, "OSError: disk full")

    assert through(session, KillRequested(by="you"))[1] == [KillAgent()]
    killed = after(NEW, KillRequested(by="you"), EffectFailed(effect="LaunchAgent", error="x"))
    assert killed.state is State.ENDED


def test_a_launch_that_tmux_did_not_answer_is_asked_for_again() -> None:
    """It may have run: nothing failed, and the next try finds what was started."""
    session = after(NEW, TerminalLost(reason="no answer"))
    assert session.state is State.STARTING

    session, effects = through(session, TimerFired(key="launch"), at=NOON + ASK_AGAIN_AFTER)
    assert effects == [LaunchAgent()]
    assert after(session, AgentStarted(pane=PANE), started()).state is State.IDLE


# --- ends ----------------------------------------------------------------------------------


def test_a_kill_ends_the_session_with_everything_it_waited_for() -> None:
    """No timer and no reminder of an ended session remains."""
    session, effects = through(WORKING.with_timer("retry", NOON + 9), KillRequested(by="you"))
    assert effects == [KillAgent()]

    session = after(session, AgentKilled(evidence="ended"))
    assert (session.state, session.timers, session.reminders) == (State.ENDED, (), ())
    assert session.verdict.source is Source.TMUX


def test_a_kill_during_the_launch_waits_for_the_pane() -> None:
    """Nothing to kill yet: the agent is ended as soon as it is there."""
    session, effects = through(NEW, KillRequested(by="you"))
    assert effects == []

    assert through(session, AgentStarted(pane=PANE))[1] == [KillAgent()]
    assert after(session, LaunchFailed(reason="x")).state is State.ENDED


def test_a_kill_that_broke_is_asked_for_again() -> None:
    """An intended end is not forgotten because tmux was silent."""
    session = after(IDLE, KillRequested(by="you"), EffectFailed(effect="KillAgent", error="x"))

    _, effects = through(session, TimerFired(key="kill"), at=NOON + ASK_AGAIN_AFTER)

    assert effects == [KillAgent()]
    assert after(session, AgentKilled(evidence="ended")).timers == ()


@pytest.mark.parametrize(
    ("status", "signal", "words"),
    [
        (1, None, "the agent ended with exit code 1"),
        (None, 9, "the agent was ended by signal 9"),
        (None, None, "the agent is gone (pane %1 is dead)"),
    ],
)
def test_a_crash_is_told_to_the_parent(status: int | None, signal: int | None, words: str) -> None:
    """bob started ada; he hears how she died, once."""
    child = replace(WORKING, parent=BOB)
    exited = AgentExited(status=status, signal=signal, evidence="pane %1 is dead")

    session, effects = through(child, exited)

    assert (session.state, session.last_words) == (State.CRASHED, words)
    assert [(e.to, e.message.text) for e in effects if isinstance(e, QueueNotice)] == [
        (BOB, f"[sm] ada crashed: {words}")
    ]
    assert through(session, exited) == (session, [])


@pytest.mark.parametrize(
    "session",
    [
        after(IDLE, KillRequested(by="you")),
        after(IDLE, ContextEnded(hook=hook("SessionEnd", None, NOON), reason="x", leaving=True)),
    ],
)
def test_an_intended_end_is_no_crash(session: Session) -> None:
    """Killed, or told to exit by a person: whatever the exit code, nobody is alarmed."""
    session, effects = through(replace(session, parent=BOB), CRASH)

    assert session.state is State.ENDED
    assert effects == []


def test_an_agent_that_ended_well_has_ended() -> None:
    """Exit code 0 is a decision."""
    session = after(IDLE, AgentExited(status=0, signal=None, evidence="dead"))

    assert session.state is State.ENDED


def test_a_message_in_a_turn_that_died_is_done() -> None:
    """The agent took it; how the turn ended is in the receipt."""
    session = after(IDLE, queued(), prompted(1, of=HELLO), CRASH)

    assert held(session).state is MessageState.DONE
    assert held(session).receipts[-1].evidence == "the agent ended with exit code 1"


def test_a_crashed_session_can_still_be_ended() -> None:
    """Its dead pane is cleared away."""
    session, effects = through(after(IDLE, CRASH), KillRequested(by="you"))

    assert effects == [KillAgent()]
    assert after(session, AgentKilled(evidence="ended")).state is State.ENDED


# --- tmux, names, daemons ------------------------------------------------------------------


def test_a_terminal_that_does_not_answer_is_not_a_death() -> None:
    """Unknown until tmux is back, never crashed."""
    lost = after(IDLE, TerminalLost(reason="no answer"))

    assert (lost.state, lost.verdict.says) == (State.UNKNOWN, "unreachable: no answer")
    assert after(lost, PaneSeen(evidence="there")).state is State.IDLE
    assert after(lost, prompted(1)).state is State.WORKING


def test_a_rename_reaches_tmux_while_the_agent_lives() -> None:
    """The session has its new name at once; tmux follows."""
    session, effects = through(IDLE, Renamed(name="grace"))

    assert (session.name, effects) == ("grace", [RenameTmux(name="grace")])
    moved = replace(PANE, session="grace")
    assert after(session, TmuxRenamed(pane=moved)).pane == moved
    assert through(after(IDLE, CRASH), Renamed(name="grace"))[1] == []


def test_a_new_daemon_asks_after_living_agents() -> None:
    """What the last one knew may be old."""
    assert through(IDLE, DaemonStarted(version="1"))[1] == [CheckPane()]
    assert through(after(IDLE, CRASH), DaemonStarted(version="1"))[1] == []


@pytest.mark.parametrize(
    "event",
    [
        REQUEST,
        NoticeQueued(message=HELLO.id),
        NoticeDropped(reason="ended"),
        EffectFailed(effect="CheckPane", error="x"),
        TimerFired(key="confirm"),
        TimerFired(key="no such kind"),
    ],
)
def test_some_events_are_only_for_the_record(event: NoticeQueued) -> None:
    """They stand in the log and change nothing."""
    assert through(IDLE, event) == (IDLE, [])


def test_a_timer_that_was_moved_does_not_ring_early() -> None:
    """The old alarm may still go off; the stored time decides."""
    session = IDLE.with_timer("retry", NOON + 10)

    assert due(after(session, TimerFired(key="retry"), at=NOON + 9), "retry") == NOON + 10
    assert due(after(session, TimerFired(key="retry"), at=NOON + 10), "retry") is None


# --- evidence ------------------------------------------------------------------------------


def test_a_state_says_what_it_rests_on() -> None:
    """The verdict is the evidence that changed the state, renewed by its own source."""
    session = after(IDLE, prompted(1))
    assert (session.verdict.source, session.verdict.says) == (Source.HOOK, "UserPromptSubmit")

    session = after(session, screen(Sign.BUSY), at=NOON + 3)
    assert session.verdict.says == "UserPromptSubmit", "the screen only agrees"
    noticed = HookNoticed(hook=hook("SubagentStop", 1, NOON + 4))
    assert after(session, noticed).verdict.says == "SubagentStop"


def test_closed_messages_are_let_go_by_the_next_event() -> None:
    """A session carries its open messages, and for one event those that were just closed."""
    done = after(IDLE, queued(), prompted(1, of=HELLO), CRASH)
    assert held(done).state is MessageState.DONE

    assert after(done, DaemonStarted(version="1")).messages == ()

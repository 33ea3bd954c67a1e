"""A session for an agent that somebody else started: nothing is launched, and nothing is theirs."""

from dataclasses import replace
from typing import Any

from sm.core.adoption import limits
from sm.core.effects import KillAgent, LetGoPane, PasteText, ReadUsage, TakePane, TellPerson
from sm.core.events import (
    AgentExited,
    AgentKilled,
    AgentStarted,
    KillRequested,
    LaunchFailed,
    MessageQueued,
    Renamed,
    SessionAdopted,
    StatusSeen,
    TerminalLost,
    TimerFired,
)
from sm.core.ids import ContextId
from sm.core.message import Mode, Route, Way
from sm.core.session import advance, create
from sm.core.state import Adoption, Session, State
from sm.core.terminal import AgentStatus, Sign
from tests.core.samples import ADA, CONTEXT, HELLO, NOON, PANE, stopped, tool

WAYS = tuple(Way(route=route) for route in Route)
FOUND = SessionAdopted(
    id=ADA, name="ada", agent="claude", arguments=("--fast",), cwd="/shop", parent=None,
    proves=True, context=CONTEXT, transcript="/transcripts/context-1.jsonl",
    adoption=Adoption(pane=PANE, logged=True), ways=WAYS,
)  # fmt: skip


def status(sign: Sign, at: float = NOON, **more: Any) -> StatusSeen:
    detail = {Sign.PROMPT: "idle", Sign.BUSY: "busy"}.get(sign, sign.value)
    return StatusSeen(status=AgentStatus(sign=sign, at=at, detail=detail, **more))


def adopted() -> Session:
    session, _ = create(FOUND, NOON)
    session, _ = advance(session, AgentStarted(pane=PANE), NOON)
    return advance(session, status(Sign.PROMPT), NOON)[0]


def test_nothing_is_launched() -> None:
    """Its pane is taken, and then its own word tells what it is doing."""
    session, effects = create(FOUND, NOON)
    assert (session.state, session.adopted, effects) == (State.STARTING, True, (TakePane(),))

    session, _ = advance(session, AgentStarted(pane=PANE), NOON)
    busy, _ = advance(session, status(Sign.BUSY), NOON)
    idle, _ = advance(session, status(Sign.PROMPT), NOON)

    assert (busy.state, idle.state) == (State.WORKING, State.IDLE)
    assert idle.verdict.says == "it says it is idle"
    assert (idle.context.id, idle.arguments) == (CONTEXT, ("--fast",))


def test_a_pane_that_cannot_be_reached_is_taken_later() -> None:
    """The same request again, not a launch."""
    session, _ = create(FOUND, NOON)
    session, _ = advance(session, TerminalLost(reason="no answer"), NOON)

    session, effects = advance(session, TimerFired(key="launch"), NOON + 10)

    assert effects == (TakePane(),)
    session, _ = advance(session, LaunchFailed(reason="it is gone"), NOON + 10)
    assert session.state is State.CRASHED


def test_how_full_it_is_is_asked_at_once() -> None:
    """No report will come by itself."""
    _, effects = advance(adopted(), TimerFired(key="usage"), NOON + 5)

    assert effects == (ReadUsage(),)


def test_its_turns_are_known_without_a_hook() -> None:
    """A message waits for the turn's end that only its own file tells."""
    working, _ = advance(adopted(), status(Sign.BUSY, NOON + 1), NOON + 1)
    queued, effects = advance(working, MessageQueued(message=HELLO), NOON + 2)
    assert effects == ()

    typing, effects = advance(queued, status(Sign.PROMPT, NOON + 3), NOON + 3)

    assert [type(effect) for effect in effects] == [PasteText]
    assert typing.message(HELLO.id) is not None


def test_only_typing_works_until_its_hooks_are_heard() -> None:
    """Then answers to hooks work, too; an inbox was never watched."""
    quiet = adopted()
    heard, _ = advance(quiet, tool(1), NOON)

    assert [r for r in Route if quiet.allows(r)] == [Route.PASTE, Route.INTERRUPT]
    assert [r for r in Route if heard.allows(r)] == [
        Route.STOP_REPLY, Route.TOOL_RESULT, Route.PASTE, Route.INTERRUPT,
    ]  # fmt: skip


def test_an_urgent_message_does_not_wait_for_a_tool_result_that_never_comes() -> None:
    """Without hooks it is typed as soon as the turn is over."""
    working, _ = advance(adopted(), status(Sign.BUSY, NOON + 1), NOON + 1)
    urgent = replace(HELLO, mode=Mode.URGENT)
    queued, _ = advance(working, MessageQueued(message=urgent), NOON + 2)

    _, effects = advance(queued, status(Sign.PROMPT, NOON + 3), NOON + 3)

    assert [type(effect) for effect in effects] == [PasteText]


def test_a_cleared_context_is_followed() -> None:
    """Its own file tells of it; the message's proof is then sought in the new transcript."""
    working, _ = advance(adopted(), status(Sign.BUSY, NOON + 1), NOON + 1)
    new = {"context": ContextId("context-2"), "transcript": "/transcripts/context-2.jsonl"}

    cleared, _ = advance(working, status(Sign.PROMPT, NOON + 2, **new), NOON + 2)

    assert cleared.state is State.IDLE
    assert (cleared.context.number, cleared.context.id) == (2, "context-2")
    assert cleared.context.transcript == "/transcripts/context-2.jsonl"
    again, _ = advance(cleared, status(Sign.PROMPT, NOON + 2, **new), NOON + 3)
    assert again.context == cleared.context


def test_a_managed_session_is_not_moved_by_its_file() -> None:
    """Its hooks tell of a new context, with more than a file could."""
    managed = replace(adopted(), adoption=None)

    after, _ = advance(managed, status(Sign.PROMPT, context=ContextId("context-2")), NOON + 1)

    assert after.context == managed.context


def test_a_hook_of_another_client_changes_nothing() -> None:
    """A client that the agent itself started has an id of its own."""
    session = adopted()
    hook = replace(stopped(1).hook, context=ContextId("nested"))

    assert advance(session, replace(stopped(1), hook=hook), NOON)[0] == session


def test_its_tmux_session_keeps_its_name() -> None:
    """It is somebody else's."""
    renamed, effects = advance(adopted(), Renamed(name="bob"), NOON)

    assert (renamed.name, effects) == ("bob", ())


def test_when_it_is_gone_its_pane_is_let_go() -> None:
    """A shell may live on there; one that took its leave is no crash."""
    gone = AgentExited(status=None, signal=None, evidence="process 100 is gone")

    crashed, effects = advance(adopted(), gone, NOON)
    left, _ = advance(adopted(), replace(gone, left=True), NOON)

    let_go, told = effects
    assert (crashed.state, let_go) == (State.CRASHED, LetGoPane())
    assert isinstance(told, TellPerson)
    assert told.words.endswith("Start it again, and adopt it: sm adopt")
    assert left.state is State.ENDED


def test_one_that_is_let_go_ends_without_its_agent() -> None:
    """The session is over; whoever carries it out knows that the process is to be spared."""
    asked, effects = advance(adopted(), KillRequested(by="a person", spare=True), NOON)
    assert (asked.spared, effects) == (True, (KillAgent(),))

    over, _ = advance(asked, AgentKilled(evidence="it was let go"), NOON)

    assert over.state is State.ENDED


def test_what_cannot_be_promised_is_told() -> None:
    """Three sentences, by what is so."""
    quiet, heard = limits(heard=False, logged=True), limits(heard=True, logged=False)

    assert "sm install" in quiet[0]
    assert "draft" in heard[0]
    assert quiet[1].startswith("Its log and scrollback begin at the adoption")
    assert heard[1].startswith("Its log is not kept")
    assert quiet[2] == heard[2]

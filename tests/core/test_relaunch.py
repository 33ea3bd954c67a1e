"""ada in somebody's own terminal: started again for each new context, never typed into."""

from dataclasses import replace

import pytest

from sm.core.effects import CaptureArtifacts, ClearContext, KillAgent, PasteText, RelaunchAgent
from sm.core.events import (
    AgentExited,
    AgentRelaunched,
    EffectFailed,
    HandoffRequested,
    KillRequested,
    LaunchFailed,
    RelaunchRefused,
)
from sm.core.handoff import DEADLINE, GIVE_UP_AFTER, first_prompt, outlived
from sm.core.message import MessageState, Route, Way
from sm.core.passage import HandoffState
from sm.core.state import State
from tests.core.samples import (
    CLEARED,
    HELLO,
    NEXT,
    NOON,
    PANE,
    TYPED,
    WORKING,
    after,
    captured,
    closed,
    filed_by,
    fired,
    handoff,
    in_next,
    passing,
    prompted,
    queued,
    requested,
    started,
    stopped,
    through,
    wake,
)

HOOKS = tuple(Way(route=r) for r in (Route.STOP_REPLY, Route.TOOL_RESULT, Route.DOORBELL))
WRAPPED = replace(WORKING, wrapped=True, ways=HOOKS)
CAPTURING = after(WRAPPED, requested(), stopped(0), at=NOON + 5)
CLEARING = after(CAPTURING, captured(), at=NOON + 5)
NEXT_PANE = replace(PANE, pid=200, started=9)
RELAUNCHED = AgentRelaunched(pane=NEXT_PANE, context=NEXT)
PROMPTING = after(CLEARING, RELAUNCHED, at=NOON + 6)


def test_the_agent_is_started_again_in_place_of_clearing() -> None:
    session, effects = through(CAPTURING, captured(), at=NOON + 5)

    assert effects == [RelaunchAgent(handoff=passing(session).id)]
    assert passing(session).state is HandoffState.CLEARING
    assert not any(isinstance(effect, ClearContext | CaptureArtifacts) for effect in effects)


def test_its_end_on_the_way_is_no_end() -> None:
    """It was we who ended it. One that somebody asked for is an end all the same."""
    died = AgentExited(status=143, signal=None, evidence="gone")

    assert after(CLEARING, died).exit is None
    killed = after(CLEARING, KillRequested(by="you"), died)
    assert killed.exit is not None
    assert through(CLEARING, KillRequested(by="you"))[1] == [KillAgent()]


def test_what_the_agent_still_begins_goes_with_it() -> None:
    """A person may type in the very moment: it is being ended all the same."""
    session, effects = through(CLEARING, prompted(3, at=NOON + 6), at=NOON + 6)

    assert effects == []
    assert passing(session).state is HandoffState.CLEARING
    died = AgentExited(status=143, signal=None, evidence="gone")
    assert after(session, died, at=NOON + 6).exit is None
    assert passing(after(session, died, RELAUNCHED)).state is HandoffState.PROMPTING


def test_an_agent_that_could_not_be_started_again_goes_on_where_it_is() -> None:
    refused = RelaunchRefused(handoff=passing(CLEARING).id, reason="claude is not on your PATH")

    session = after(CLEARING, refused)

    assert session.alive
    assert closed(session) == (HandoffState.FAILED, "claude is not on your PATH")
    assert any("was not carried out" in m.text for m in session.messages)
    assert after(PROMPTING, refused).handoff is not None


def test_the_new_process_is_the_new_context() -> None:
    """Its prompt was given to it at its start, and only its own report proves that."""
    assert (PROMPTING.pane, PROMPTING.context.id) == (NEXT_PANE, NEXT)
    assert PROMPTING.context.number == 2
    assert PROMPTING.state is State.STARTING
    assert passing(PROMPTING).state is HandoffState.PROMPTING
    assert wake(PROMPTING).state is MessageState.QUEUED

    asked = in_next(prompted(2, of=wake(PROMPTING), at=NOON + 8))
    session, effects = through(
        PROMPTING, started("startup", context=NEXT, at=NOON + 7), asked, at=NOON + 8
    )
    done = passing(session)
    assert effects == []
    assert done.state is HandoffState.DONE
    assert [step.step for step in done.steps][-4:] == ["cleared", "prompted", "accepted", "done"]
    assert [s.evidence for s in done.steps if s.step == "prompted"] == ["given to it at its start"]


def test_the_prompt_that_is_given_is_the_one_that_is_waited_for() -> None:
    """It is made before there is a new context, with what outlived the old one."""
    survivors = ("process 7: npm test",)
    ahead = replace(CLEARING, context=replace(CLEARING.context, number=2))
    given = first_prompt(ahead, outlived(passing(CLEARING), survivors), 0.0)

    session = after(CLEARING, replace(RELAUNCHED, survivors=survivors), at=NOON + 6)

    assert (wake(session).id, wake(session).text) == (given.id, given.text)
    assert "Still running in the background then: process 7: npm test" in given.text


def test_its_channel_is_told_at_each_step() -> None:
    """Claimed before anything ends, with its new record as soon as there is one, consumed."""
    began = started("startup", context=NEXT, at=NOON + 7)
    asked = in_next(prompted(2, of=wake(PROMPTING), at=NOON + 8))

    assert filed_by(CAPTURING, captured()) == ["claimed"]
    assert filed_by(CLEARING, RELAUNCHED) == ["claimed"]
    assert filed_by(PROMPTING, began) == ["claimed"]
    assert filed_by(PROMPTING, began, asked, at=NOON + 8) == ["claimed", "consumed"]


@pytest.mark.parametrize(
    "failure",
    [LaunchFailed(reason="claude is gone"), EffectFailed(effect="RelaunchAgent", error="OSError")],
)
def test_an_agent_that_cannot_be_started_again_has_ended(
    failure: LaunchFailed | EffectFailed,
) -> None:
    """Its handoff stays claimed: what its own record says decides."""
    session = after(CLEARING, failure)

    assert session.state is State.CRASHED
    assert passing(session).state is HandoffState.FAILED
    assert filed_by(CLEARING, failure) == []


def test_a_context_that_is_told_of_late_is_not_taken_for_the_one_that_was_asked_for() -> None:
    """An older clear took effect, and the agent asked to hand over there: that one must go too."""
    cleared = started("clear", context=NEXT, at=NOON + 1)
    asked = after(
        WORKING, HandoffRequested(handoff=handoff(requested_at=NOON + 2, tries=1)), at=NOON + 2
    )

    session = after(asked, cleared, at=NOON + 3)

    assert passing(session).state is HandoffState.CAPTURING
    assert (passing(session).context, passing(session).context_id) == (2, NEXT)
    assert passing(session).tries == 0


def test_what_was_about_to_be_typed_goes_behind_a_late_first_prompt() -> None:
    """The clear was given up and took effect after all."""
    late = NOON + 6 + GIVE_UP_AFTER
    session = after(TYPED, queued(1), fired(DEADLINE), at=late)
    assert session.attempt is not None

    session, effects = through(session, CLEARED, at=late + 1)

    (paste,) = [effect for effect in effects if isinstance(effect, PasteText)]
    assert paste.message == wake(session).id
    assert session.message(HELLO.id) is not None

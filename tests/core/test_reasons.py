"""Why a message has not arrived yet."""

from dataclasses import replace

from sm.core.message import MessageState
from sm.core.reasons import what_keeps, why_waiting
from sm.core.state import Adoption, State
from sm.core.terminal import Obstacle
from tests.core.samples import HELLO, IDLE, PANE, WORKING, after, held, message, queued


def test_a_waiting_message_says_why() -> None:
    """In words for a person: the obstacle, the message before it, or what ada is doing."""
    session = after(WORKING, queued(), queued(2))
    first, second = held(session), held(session, 2)

    assert why_waiting(session, first) == "the agent is working; it comes at the turn's end"
    behind = f"behind message {HELLO.id}: the agent is working; it comes at the turn's end"
    assert why_waiting(session, second) == behind
    draft = replace(first, held=Obstacle.DRAFT.words)
    assert why_waiting(session, draft) == Obstacle.DRAFT.words
    assert why_waiting(session, replace(first, state=MessageState.DONE)) is None


def test_what_waits_for_an_adopted_agent_that_died_is_told_that_it_never_arrives() -> None:
    """Nobody knows how it was started, and who adopts it anew has another session."""
    waiting = message()
    crashed = replace(IDLE, state=State.CRASHED, messages=(waiting,))
    assert why_waiting(crashed, waiting) == "the agent died; bring it back with sm recover"

    adoption = Adoption(pane=PANE, logged=True)
    words = why_waiting(replace(crashed, adoption=adoption), waiting)

    assert words is not None
    assert "can never arrive here. Adopt the agent anew (sm adopt)" in words


def test_an_idle_session_tells_which_message_it_has_not_taken() -> None:
    """The first in line, and why; a session that is not idle says so itself."""
    first = replace(message(), held=Obstacle.NO_BOX.words)
    idle = replace(IDLE, messages=(message(2, number=2), first))

    assert what_keeps(idle) == f"message {HELLO.id} is still queued: {Obstacle.NO_BOX.words}"
    assert what_keeps(replace(idle, state=State.WORKING)) is None
    assert what_keeps(replace(idle, messages=())) is None

"""Why a message has not arrived yet."""

from dataclasses import replace

from sm.core.message import MessageState
from sm.core.reasons import why_waiting
from sm.core.terminal import Obstacle
from tests.core.samples import HELLO, WORKING, after, held, queued


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

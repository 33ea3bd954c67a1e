"""Calls that an agent's hooks told the end of."""

import pytest

from sm.core.events import Event
from sm.core.exchange import Deed
from sm.core.ids import ContextId, HookId, SessionId
from sm.core.journal import Recorded
from sm.core.reports import Hook, ToolEnded
from sm.engine.ended_calls import ended_calls
from tests.core.samples import ADA, CONTEXT
from tests.engine.rig import tick

pytestmark = pytest.mark.anyio


def ended(call: str, context: ContextId = CONTEXT, *, subagent: bool = False) -> ToolEnded:
    hook = Hook(id=HookId(call), name="PostToolUse", at=5.0, context=context, prompt=None)
    return ToolEnded(
        hook=hook,
        tool="Bash",
        failed=call == "bad",
        tool_use=call,
        subagent=subagent,
        target=f"run {call}",
        deed=Deed.COMMAND,
    )


async def last(_session: SessionId, _limit: int) -> list[Recorded]:
    events: list[Event] = [
        ended("t0", ContextId("older")),
        tick(),
        ended("t1"),
        ended("theirs", subagent=True),
        ended("bad"),
    ]
    return [Recorded(seq=n, session=ADA, at=5.0, event=event) for n, event in enumerate(events)]


async def test_they_are_told_in_the_order_they_ended() -> None:
    """What a sub-agent did is no step of the session's own."""
    told = await ended_calls(last, ADA)

    assert [one.text for one in told] == ["run t0", "run t1", "run bad"]
    assert all(one.is_unwritten for one in told)
    assert [one.result is not None and one.result.is_failed for one in told] == [False, False, True]


async def test_those_of_one_context_are_told_apart() -> None:
    told = await ended_calls(last, ADA, CONTEXT)

    assert [one.call for one in told] == ["t1", "bad"]

"""Calls of tools whose end an agent's hooks told of, read back from the event log.

The agent's own record is better, but lags a moment behind; whoever is dead, or was just read, may
have done more than it says.
"""

from collections.abc import Awaitable, Callable

from sm.core.exchange import Exchange, Result, Role
from sm.core.ids import ContextId, SessionId
from sm.core.journal import Recorded
from sm.core.reports import ToolEnded

LastEvents = Callable[[SessionId, int], Awaitable[list[Recorded]]]
"""A session's newest, oldest of them first."""
LOOKED_THROUGH = 200


async def ended_calls(
    events: LastEvents, session: SessionId, context: ContextId | None = None
) -> tuple[Exchange, ...]:
    """The last ones, of one context or of any; what sub-agents called is not the session's own."""
    recorded = (one.event for one in await events(session, LOOKED_THROUGH))
    ended = (event for event in recorded if isinstance(event, ToolEnded) and not event.subagent)
    return tuple(_call(event) for event in ended if context in (None, event.hook.context))


def _call(event: ToolEnded) -> Exchange:
    return Exchange(
        role=Role.CALLED,
        text=event.target,
        at=event.hook.at,
        tool=event.tool,
        deed=event.deed,
        call=event.tool_use,
        result=Result(is_failed=event.failed, is_recorded=False),
    )

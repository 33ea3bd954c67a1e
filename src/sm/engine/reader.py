"""Reads what agents write about themselves."""

import asyncio
from dataclasses import replace
from pathlib import Path

from sm.core.events import ActivitySeen, EffectFailed, Event, UsageSeen
from sm.core.state import Session, Usage
from sm.core.usage import TRANSCRIPT
from sm.engine.ports import Clock, Dialects


class Reader:
    def __init__(self, dialects: Dialects, clock: Clock) -> None:
        self._dialects = dialects
        self._clock = clock

    async def activity(self, session: Session) -> Event:
        """Which turn is running and what it does, by the agent's own record."""
        context = session.context
        if context.transcript is None:
            error = "the agent has not named its transcript"
            return EffectFailed(effect="ReadActivity", error=error)
        dialect = self._dialects.named(session.agent)
        found = await asyncio.to_thread(dialect.read_activity, Path(context.transcript))
        return ActivitySeen(context=context.id, activity=found)

    async def usage(self, session: Session) -> Event:
        """How full the context is, by the agent's own record."""
        context = session.context
        if context.transcript is None:
            return EffectFailed(effect="ReadUsage", error="the agent has not named its transcript")
        dialect = self._dialects.named(session.agent)
        found = await asyncio.to_thread(dialect.read_usage, Path(context.transcript))
        sample = found or Usage(tokens=None, window=None, model="", source=TRANSCRIPT, at=0.0)
        known = context.usage.model if context.usage is not None else ""
        point = dialect.compacts_at(session.compaction, sample.model or known)
        usage = replace(sample, at=self._clock.now(), compacts_at=point)
        return UsageSeen(context=context.id, usage=usage)

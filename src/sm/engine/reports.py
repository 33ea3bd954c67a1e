"""Takes in what agents report, and answers those that wait: only after the commit."""

import asyncio
from collections.abc import Callable
from dataclasses import replace

from sm.core import walkaway
from sm.core.envelope import carry
from sm.core.events import StatusSeen, UsageSeen
from sm.core.handoff import LESSON
from sm.core.ids import ContextId, HookId, SessionId
from sm.core.launch import MalformedHookError
from sm.core.message import Route
from sm.core.passage import AUTO
from sm.core.reports import ContextStarted, HookEvent, TurnEnded
from sm.core.state import Session
from sm.core.usage import is_news
from sm.engine.adoption import Adopter
from sm.engine.archivist import Archivist
from sm.engine.loop import Loop, ignore_outcome
from sm.engine.ports import Dialect, Dialects, Inbox


class Reports:
    def __init__(
        self,
        loop: Loop,
        dialects: Dialects,
        adopter: Adopter,
        inbox: Inbox,
        archivist: Archivist,
        *,
        teaches: bool,
        redact: Callable[[str], str],
    ) -> None:
        self._loop = loop
        self._dialects = dialects
        self._adopter = adopter
        self._inbox = inbox
        self._archivist = archivist
        self._redact = redact
        self._teaches = teaches
        """Whether each new context is told how to hand over."""

    async def take(
        self,
        session_id: SessionId,
        payload: bytes,
        *,
        hook: HookId,
        at: float,
        answerable: bool = False,
    ) -> bytes:
        """Take in one report of an agent; what it is to be answered, if it waits for an answer.

        The same hook id again changes nothing.
        """
        session = self._loop.session(session_id)
        dialect = self._dialects.named(session.agent)
        event = dialect.decode_hook(payload, hook=hook, at=at, answerable=answerable)
        if isinstance(event, UsageSeen):
            await self._sampled(session, dialect, event)
            return b""
        if await self._loop.stored(lambda: self._loop.knows_hook(hook)):
            return b""
        if isinstance(event, ContextStarted):
            return await self._greet(session, dialect, event, hook)
        if isinstance(event, TurnEnded) and event.tasks:
            # What runs in the background is told to the next context.
            clean = await asyncio.to_thread(lambda tasks: [*map(self._redact, tasks)], event.tasks)
            event = replace(event, tasks=tuple(clean))
        after = await self._loop.post(session_id, event, hook=hook)
        return _answer(after, dialect, event)

    async def take_stray(
        self, payload: bytes, *, hook: HookId, at: float, answerable: bool = False
    ) -> bytes:
        """Take in a report that names no session of ours, if an adopted agent sent it.

        Any other client's (a nested one, one nobody adopted) changes nothing.
        """
        sessions = list(self._loop.sessions)
        found = self._adopter.owner(self._reporter(payload, hook, at), sessions)
        if found is None:
            return b""
        session, status = found
        if status is not None:
            # Posted in one breath with the report, which would be a stranger's without it.
            ignore_outcome(self._loop.post(session.id, StatusSeen(status=status)))
        return await self.take(session.id, payload, hook=hook, at=at, answerable=answerable)

    def _reporter(self, payload: bytes, hook: HookId, at: float) -> ContextId | None:
        """Whose report it is, by the client's own id."""
        for agent in dict.fromkeys(s.agent for s in self._loop.sessions if s.adopted and s.alive):
            try:
                event = self._dialects.named(agent).decode_hook(
                    payload, hook=hook, at=at, answerable=False
                )
            except MalformedHookError:
                continue
            return event.context if isinstance(event, UsageSeen) else event.hook.context
        return None

    async def _greet(
        self, session: Session, dialect: Dialect, event: ContextStarted, hook: HookId
    ) -> bytes:
        """A context began: its agent is told where its inbox is, and how to hand over."""
        answerable = event.hook.answerable
        event = replace(event, bell=answerable and session.allows(Route.DOORBELL))
        after = await self._loop.post(session.id, event, hook=hook)
        # A client that the agent itself started has no business with its inbox.
        is_own = event.hook.context in (None, after.context.id)
        if not answerable or not is_own:
            return b""
        # An adopted agent cannot hand over: it has no token to prove itself with.
        is_taught = self._teaches and dialect.clear_command is not None and not after.adopted
        inbox = self._inbox.folder(session.id) if event.bell else None
        told = [LESSON] if is_taught else []
        passing = after.handoff
        if passing is not None and passing.kind == AUTO and after.context.number > passing.context:
            told.append(await self._archivist.loaded(after, passing))
        return dialect.greeting(inbox, "\n\n".join(filter(None, told)))

    async def _sampled(self, session: Session, dialect: Dialect, event: UsageSeen) -> None:
        """Take in how full a context is, with the point at which its agent compacts."""
        known = session.context.usage
        model = event.usage.model or (known.model if known is not None else "")
        point = dialect.compacts_at(session.compaction, model)
        event = replace(event, usage=replace(event.usage, compacts_at=point))
        if is_news(session, event):
            await self._loop.post(session.id, event)


ENDED = "sm hands this context over; the work goes on in a fresh one."
HELD = "sm hands this context over before it is compacted."


def _answer(session: Session, dialect: Dialect, event: HookEvent) -> bytes:
    """What the hook is answered with, now that this is on the disk: mostly a message."""
    if walkaway.is_cut(session, event.hook):
        return dialect.halt(ENDED)
    if walkaway.is_held(session, event.hook):
        return dialect.refuse(HELD)
    attempt = session.attempt
    if attempt is None or attempt.hook != event.hook.id:
        return b""
    message = session.message(attempt.message)
    return b"" if message is None else dialect.answer(event, carry(message))

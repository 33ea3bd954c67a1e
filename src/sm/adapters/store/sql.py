"""The store on a SQL database: one thread that writes, one that reads.

Knows how entries become rows and rows become values. Opening, locking and repairing a
particular database is the business of the module that opens it.
"""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from itertools import groupby
from operator import attrgetter
from typing import Any, TypeVar

from sqlalchemy import ColumnElement, Connection, Engine, Row, Select, Table, and_, select
from sqlalchemy.exc import DBAPIError

from sm.adapters.store import schema, statements
from sm.adapters.store.batch import batch_of
from sm.adapters.store.codec import (
    decode_effect,
    decode_event,
    decode_handoff,
    decode_message,
    decode_session,
)
from sm.adapters.store.errors import StoreDamagedError, StoreWriteError
from sm.core.ids import HandoffId, HookId, MessageId, SessionId
from sm.core.journal import Entry, PendingEffect, Recorded
from sm.core.message import Message, MessageState
from sm.core.passage import Handoff
from sm.core.state import Session

T = TypeVar("T")

PRUNED_AT_ONCE = 1000
"""Rows dropped in one transaction: commits of live sessions go in between."""


class _Lane:
    """One thread with one connection; work is done in the order it came."""

    def __init__(self, name: str, connection: Connection) -> None:
        self._connection = connection
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix=name)

    async def run(self, work: Callable[[Connection], T]) -> T:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, self._transact, work)

    async def close(self) -> None:
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(self._thread, self._connection.close)
        self._thread.shutdown()

    def _transact(self, work: Callable[[Connection], T]) -> T:
        with self._connection.begin():
            return work(self._connection)


class SqlStore:
    """Fits ``sm.engine.ports.Store``.

    A cancelled ``commit`` may still happen, as one cut off by a crash may: whole or not at all.
    """

    def __init__(self, engine: Engine, *, place: str) -> None:
        self._engine = engine
        self._place = place
        self._writes = statements.Writes(engine.dialect)
        self._writer = _Lane("store-write", engine.connect())
        self._reader = _Lane("store-read", engine.connect().execution_options(sm_reads=True))
        self._closed = False

    async def commit(self, entries: Sequence[Entry]) -> None:
        if entries:
            await self._write(lambda c: self._writes.commit(c, batch_of(entries)))

    async def sessions(self) -> list[Session]:
        def read(connection: Connection) -> list[Session]:
            bodies = connection.scalars(statements.OPEN_MESSAGES)
            # Asked again: rows of earlier releases tell unproved messages apart in the body alone.
            held = (m for m in map(decode_message, bodies) if m.is_open)
            messages = sorted(held, key=attrgetter("to"))
            queues = {to: tuple(queue) for to, queue in groupby(messages, attrgetter("to"))}
            found = [decode_session(body) for body in connection.scalars(statements.SESSIONS)]
            found.sort(key=attrgetter("created_at", "id"))
            return [replace(s, messages=queues[s.id]) if s.id in queues else s for s in found]

        return await self._read(read)

    async def pending(self) -> list[PendingEffect]:
        return await self._all(statements.EFFECTS, _pending)

    async def message(self, message_id: MessageId) -> Message | None:
        query = select(schema.message.c.body).where(schema.message.c.id == message_id)
        found = await self._all(query, _message)
        return found[0] if found else None

    async def messages(
        self,
        *,
        to: SessionId | None = None,
        state: MessageState | None = None,
        limit: int = 1000,
    ) -> list[Message]:
        message = schema.message.c
        # Within one session the queue's order is exact; between sessions only the clock is left.
        newest = (message.queued_at, message.id) if to is None else (message.number, message.id)
        query = select(message.body).order_by(*(c.desc() for c in newest)).limit(limit)
        if to is not None:
            query = query.where(message.session_id == to)
        if state is not None:
            query = query.where(message.state.in_(statements.searched(state)))
        return (await self._all(query, _message))[::-1]

    async def handoff(self, handoff_id: HandoffId) -> Handoff | None:
        query = select(schema.handoff.c.body).where(schema.handoff.c.id == handoff_id)
        found = await self._all(query, _handoff)
        return found[0] if found else None

    async def handoffs(
        self, *, session: SessionId | None = None, limit: int = 1000
    ) -> list[Handoff]:
        handoff = schema.handoff.c
        query = select(handoff.body).order_by(handoff.requested_at.desc(), handoff.id.desc())
        if session is not None:
            query = query.where(handoff.session_id == session)
        return (await self._all(query.limit(limit), _handoff))[::-1]

    async def events(
        self, *, session: SessionId | None = None, after: int = 0, limit: int = 1000
    ) -> list[Recorded]:
        event = schema.event.c
        query = statements.EVENTS.where(event.seq > after).order_by(event.seq).limit(limit)
        if session is not None:
            query = query.where(event.session_id == session)
        return await self._all(query, _recorded)

    async def last_events(self, session: SessionId, limit: int) -> list[Recorded]:
        event = schema.event.c
        query = statements.EVENTS.where(event.session_id == session)
        newest = query.order_by(event.seq.desc()).limit(limit)
        return (await self._all(newest, _recorded))[::-1]

    async def last_seq(self) -> int:
        return max(await self._all(statements.LAST_SEQ, _first), default=0)

    async def has_hook(self, hook: HookId) -> bool:
        event = schema.event.c
        return bool(await self._all(select(event.seq).where(event.hook_id == hook), _first))

    async def recent_hooks(self, limit: int) -> list[HookId]:
        return (await self._all(statements.HOOKS.limit(limit), _first))[::-1]

    async def last_effect(self) -> int:
        return max(await self._all(statements.LAST_EFFECT, _first), default=0)

    async def prune(self, before: float) -> int:
        event, message = schema.event.c, schema.message.c
        closed = and_(message.queued_at < before, message.state.not_in(statements.OPEN_STATES))
        passed = and_(
            schema.handoff.c.requested_at < before,
            schema.handoff.c.state.not_in(statements.OPEN_HANDOFFS),
        )
        events = await self._drop(schema.event, event.at < before, self._writes.drop_events)
        messages = await self._drop(schema.message, closed, self._writes.drop_messages)
        handoffs = await self._drop(schema.handoff, passed, self._writes.drop_handoffs)
        return events + messages + handoffs

    async def forget(self, sessions: Sequence[SessionId]) -> None:
        for session in sessions:
            await self._write(partial(self._writes.forget, session=session))

    async def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        await self._reader.close()
        await self._writer.close()
        self._engine.dispose()

    async def _drop(self, table: Table, old: ColumnElement[bool], drop: statements.Write) -> int:
        """Looked for by the reader, so that the search holds up no commit."""
        (key,) = table.primary_key
        query = select(key).where(old).order_by(key).limit(PRUNED_AT_ONCE)
        dropped = 0
        found = await self._all(query, _first)
        while found:
            await self._write(partial(drop.run, rows=[{"key": k} for k in found]))
            dropped += len(found)
            found = await self._all(query.where(key > found[-1]), _first)
        return dropped

    async def _all(self, query: Select[Any], made: Callable[[Row[Any]], T]) -> list[T]:
        """Every row as a value, made in the reading thread: the loop has other work."""
        return await self._read(lambda c: [made(row) for row in c.execute(query)])

    async def _read(self, work: Callable[[Connection], T]) -> T:
        try:
            return await self._reader.run(work)
        except DBAPIError as error:
            raise StoreDamagedError(
                f"{self._place} cannot be read: {error.orig}. "
                "Check the disk; if the file is damaged, restore it from a copy."
            ) from error

    async def _write(self, work: Callable[[Connection], None]) -> None:
        try:
            await self._writer.run(work)
        except DBAPIError as error:
            raise StoreWriteError(
                f"{self._place} cannot be written: {error.orig}. Nothing of this was kept. "
                "Check free space and that no other program holds the file."
            ) from error


def _first(row: Row[Any]) -> Any:
    return row[0]


def _message(row: Row[Any]) -> Message:
    return decode_message(row.body)


def _handoff(row: Row[Any]) -> Handoff:
    return decode_handoff(row.body)


def _pending(row: Row[Any]) -> PendingEffect:
    effect = decode_effect(row.kind, row.body)
    return PendingEffect(id=row.id, session=row.session_id, effect=effect)


def _recorded(row: Row[Any]) -> Recorded:
    return Recorded(
        seq=row.seq,
        session=row.session_id,
        at=row.at,
        event=decode_event(row.kind, row.body),
    )

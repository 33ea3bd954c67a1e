"""The store without a disk, for tests of what stands on it. Keeps the same promises but one.

Closing it keeps what it holds: a test hands the same store to the next engine, as the disk
that survived the crash of the first.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from operator import attrgetter
from typing import TypeVar

from sm.adapters.store.errors import StoreWriteError
from sm.core.ids import HandoffId, HookId, MessageId, SessionId
from sm.core.journal import Entry, PendingEffect, Recorded
from sm.core.message import Message, MessageState
from sm.core.passage import Handoff
from sm.core.state import Session

T = TypeVar("T")


class MemoryStore:
    """Fits ``sm.engine.ports.Store``."""

    def __init__(self) -> None:
        self._sessions: dict[SessionId, Session] = {}
        self._messages: dict[MessageId, Message] = {}
        self._handoffs: dict[HandoffId, Handoff] = {}
        self._pending: dict[int, PendingEffect] = {}
        self._events: list[Recorded] = []
        self._hooks: dict[HookId, int] = {}
        """By the number of the event each hook became."""
        self._seq = 0
        self._last_effect = 0

    async def commit(self, entries: Sequence[Entry]) -> None:
        # As with a disk, others run before the commit is done.
        await asyncio.sleep(0)
        self._check(entries)
        # As with rows: a session is written once, as it is at the end, if anything changed it.
        last = {entry.session.id: entry.session for entry in entries}
        for session in {entry.session.id for entry in entries if entry.changed}:
            self._sessions[session] = replace(last[session], messages=())
        for entry in entries:
            self._keep(entry)
        for entry in entries:
            if entry.finished is not None:
                self._pending.pop(entry.finished, None)

    async def sessions(self) -> list[Session]:
        found = sorted(self._sessions.values(), key=attrgetter("created_at", "id"))
        return [replace(s, messages=self._queue(s.id)) for s in found]

    async def pending(self) -> list[PendingEffect]:
        return sorted(self._pending.values(), key=attrgetter("id"))

    async def message(self, message_id: MessageId) -> Message | None:
        return self._messages.get(message_id)

    async def messages(
        self,
        *,
        to: SessionId | None = None,
        state: MessageState | None = None,
        limit: int = 1000,
    ) -> list[Message]:
        found = [
            m
            for m in self._messages.values()
            if (to is None or m.to == to) and (state is None or m.state == state)
        ]
        found.sort(key=attrgetter("queued_at" if to is None else "number", "id"))
        return _newest(found, limit)

    async def handoff(self, handoff_id: HandoffId) -> Handoff | None:
        return self._handoffs.get(handoff_id)

    async def handoffs(
        self, *, session: SessionId | None = None, limit: int = 1000
    ) -> list[Handoff]:
        found = [h for h in self._handoffs.values() if session in (None, h.session)]
        found.sort(key=attrgetter("requested_at", "id"))
        return _newest(found, limit)

    async def events(
        self, *, session: SessionId | None = None, after: int = 0, limit: int = 1000
    ) -> list[Recorded]:
        found = [e for e in self._events if e.seq > after and session in (None, e.session)]
        return found[:limit]

    async def last_events(self, session: SessionId, limit: int) -> list[Recorded]:
        return _newest([e for e in self._events if e.session == session], limit)

    async def last_seq(self) -> int:
        return self._events[-1].seq if self._events else 0

    async def has_hook(self, hook: HookId) -> bool:
        return hook in self._hooks

    async def recent_hooks(self, limit: int) -> list[HookId]:
        return _newest(list(self._hooks), limit)

    async def last_effect(self) -> int:
        return self._last_effect

    async def prune(self, before: float) -> int:
        events = [e for e in self._events if e.at >= before]
        left = {e.seq for e in events}
        messages = {
            key: m for key, m in self._messages.items() if m.is_open or m.queued_at >= before
        }
        handoffs = {
            key: h for key, h in self._handoffs.items() if h.is_open or h.requested_at >= before
        }
        held = len(self._events) + len(self._messages) + len(self._handoffs)
        dropped = held - len(events) - len(messages) - len(handoffs)
        self._events, self._messages, self._handoffs = events, messages, handoffs
        self._hooks = {hook: seq for hook, seq in self._hooks.items() if seq in left}
        return dropped

    async def forget(self, sessions: Sequence[SessionId]) -> None:
        gone = {event.seq for event in self._events if event.session in sessions}
        self._sessions = {s: v for s, v in self._sessions.items() if s not in sessions}
        self._messages = {m: v for m, v in self._messages.items() if v.to not in sessions}
        self._handoffs = {h: v for h, v in self._handoffs.items() if v.session not in sessions}
        self._pending = {p: v for p, v in self._pending.items() if v.session not in sessions}
        self._events = [event for event in self._events if event.seq not in gone]
        self._hooks = {hook: seq for hook, seq in self._hooks.items() if seq not in gone}

    async def close(self) -> None:
        pass

    def _check(self, entries: Sequence[Entry]) -> None:
        """Refuse what the tables of a real store would refuse."""
        known = {*self._sessions, *(entry.session.id for entry in entries if entry.changed)}
        asked = [pending for entry in entries for pending in entry.asked]
        ids = [pending.id for pending in asked]
        named = {message.to for entry in entries for message in entry.messages}
        named |= {handoff.session for entry in entries for handoff in entry.handoffs}
        named |= {pending.session for pending in asked}
        named |= {entry.session.id for entry in entries}
        if len({*ids, *self._pending}) < len(ids) + len(self._pending):
            raise StoreWriteError("An effect id was given out twice. Nothing of this was kept.")
        if not named <= known:
            raise StoreWriteError("The session is not in the store. Nothing of this was kept.")

    def _keep(self, entry: Entry) -> None:
        session = entry.session
        self._seq += 1
        self._messages |= {message.id: message for message in entry.messages}
        self._handoffs |= {handoff.id: handoff for handoff in entry.handoffs}
        self._pending |= {pending.id: pending for pending in entry.asked}
        self._last_effect = max(self._last_effect, *(p.id for p in entry.asked), 0)
        self._events.append(
            Recorded(seq=self._seq, session=session.id, at=entry.at, event=entry.event)
        )
        if entry.hook is not None:
            self._hooks[entry.hook] = self._seq

    def _queue(self, session: SessionId) -> tuple[Message, ...]:
        mine = (m for m in self._messages.values() if m.to == session and m.is_open)
        return tuple(sorted(mine, key=attrgetter("number")))


def _newest(found: list[T], limit: int) -> list[T]:
    return found[max(0, len(found) - limit) :]

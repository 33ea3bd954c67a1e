"""The one loop: every event is advanced, committed together with its consequences, then acted on.

Events of one session are taken in the order they are posted; there are no locks. All events that
wait while a commit is under way share the next one. Nothing is acted on, and nobody is answered,
before the commit that holds it has returned.
"""

import asyncio
import heapq
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from sm.core.crash import Recovery
from sm.core.effects import Effect
from sm.core.events import (
    Event,
    SessionAdopted,
    SessionInherited,
    SessionRequested,
    TimerFired,
)
from sm.core.ids import HookId, SessionId
from sm.core.journal import Entry, PendingEffect
from sm.core.message import Message
from sm.core.passage import Handoff
from sm.core.session import advance, create
from sm.core.state import Session
from sm.engine.ports import Clock, Store

T = TypeVar("T")

REMEMBERED_HOOKS = 20_000
LONGEST_NAP = 60.0
PAUSE_AFTER_FAILURE = 0.2
"""A full disk is asked again this often, not in a spin."""


class UnknownSessionError(LookupError):
    """No session has this id."""


@dataclass(frozen=True, slots=True)
class _Posted:
    entry: Entry
    waiter: asyncio.Future[Session]
    recovered: tuple[Recovery, ...] = ()
    """Recoveries that ended with it."""


@dataclass(slots=True)
class Tally:
    """Plain counters since the daemon started."""

    events: int = 0
    commits: int = 0
    effects: int = 0
    failed_commits: int = 0
    recoveries: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    """Those that are over, by cause, way and outcome."""
    recovering: float = 0.0
    """Seconds they took, all together."""

    def count(self, recovery: Recovery) -> None:
        way = recovery.manner.value if recovery.manner is not None else "none"
        self.recoveries[recovery.crash.cause.value, way, recovery.state.value] += 1
        self.recovering += (recovery.ended_at or recovery.asked_at) - recovery.asked_at


class Loop:
    """Holds every session in memory, exactly as the store has it or is about to have it."""

    def __init__(self, store: Store, clock: Clock, act: Callable[[PendingEffect], None]) -> None:
        self.store = store
        self.clock = clock
        self.tally = Tally()
        self._act = act
        self._sessions: dict[SessionId, Session] = {}
        self._hooks: OrderedDict[HookId, None] = OrderedDict()
        self._posted: list[_Posted] = []
        self._work = asyncio.Event()
        self._bell: asyncio.Future[None] | None = None
        self._last_effect = 0
        self._due: list[tuple[float, SessionId, str]] = []
        self._alarm: asyncio.TimerHandle | None = None
        self._is_ringing = False
        self._posts = 0
        self._settled = 0
        """How many of the posts are committed or undone."""

    async def load(self) -> list[PendingEffect]:
        """Remember what the store knows; the effects whose outcome is still open."""
        self._last_effect = await self.store.last_effect()
        for hook in await self.store.recent_hooks(REMEMBERED_HOOKS):
            self._hooks[hook] = None
        for session in await self.store.sessions():
            self._sessions[session.id] = session
            self._note_timers(None, session)
        return await self.store.pending()

    def start_timers(self) -> None:
        """Let waits that are over ring, once what the agents said meanwhile is taken in."""
        self._is_ringing = True
        self._arm()

    async def run(self) -> None:
        """Commit what is posted, until cancelled."""
        while True:
            await self._work.wait()
            self._work.clear()
            batch, self._posted = self._posted, []
            if batch:
                await self._commit(batch)
                self._settled += len(batch)
                self._ring_bell()

    async def drain(self) -> None:
        """Return when everything posted so far is committed, or has failed to be."""
        last = self._posts
        while self._settled < last:
            await self.next_commit()

    # --- reading -------------------------------------------------------------------------

    @property
    def sessions(self) -> Iterable[Session]:
        return self._sessions.values()

    def session(self, session_id: SessionId) -> Session:
        try:
            return self._sessions[session_id]
        except KeyError:
            raise UnknownSessionError(session_id) from None

    def knows_hook(self, hook: HookId) -> bool:
        return hook in self._hooks

    async def stored(self, known: Callable[[], T]) -> T:
        """What is known and on the disk: a repeated request must not be answered before the
        commit of the first, which may still fail."""
        if known():
            await self.drain()
        return known()

    async def next_commit(self) -> None:
        """Return after the next commit."""
        if self._bell is None or self._bell.done():
            self._bell = asyncio.get_running_loop().create_future()
        await asyncio.shield(self._bell)

    async def wait_until(self, done: Callable[[], bool], within: float) -> bool:
        """Whether something became true in time, looked at after every commit."""
        try:
            async with asyncio.timeout(within):
                while not done():
                    await self.next_commit()
        except TimeoutError:
            return False
        return True

    # --- writing -------------------------------------------------------------------------

    def post(
        self,
        session_id: SessionId,
        event: Event,
        *,
        finished: int | None = None,
        hook: HookId | None = None,
    ) -> asyncio.Future[Session]:
        """Advance a session now; the future is done when the result is on the disk."""
        before = self._sessions.get(session_id)
        entry = self._advanced(before, session_id, event, finished=finished, hook=hook)
        if hook is not None:
            self._remember(hook)
        self._sessions[session_id] = entry.session
        self._note_timers(before, entry.session)
        waiter: asyncio.Future[Session] = asyncio.get_running_loop().create_future()
        self._posted.append(_Posted(entry, waiter, _recovered(before, entry.session)))
        self._posts += 1
        self._work.set()
        return waiter

    def _advanced(
        self,
        before: Session | None,
        session_id: SessionId,
        event: Event,
        *,
        finished: int | None,
        hook: HookId | None,
    ) -> Entry:
        """The event with everything it leads to."""
        now = self.clock.now()
        if isinstance(event, SessionRequested | SessionAdopted | SessionInherited):
            after, effects = create(event, now)
        elif before is None:
            raise UnknownSessionError(session_id)
        else:
            after, effects = advance(before, event, now)
        return Entry(
            session=after,
            event=event,
            at=now,
            hook=hook,
            messages=(*_brought(event).messages, *_changed(before, after)),
            handoffs=(*_brought(event).handoffs, *_passed(before, after)),
            asked=tuple(self._numbered(session_id, effect) for effect in effects),
            finished=finished,
            changed=before is None or after.differs(before),
        )

    async def forget(self, sessions: Sequence[SessionId]) -> None:
        """Let go of sessions for good; from memory first, so that nothing more is posted."""
        for session_id in sessions:
            self._sessions.pop(session_id, None)
        await self.drain()
        await self.store.forget(sessions)

    def _numbered(self, session_id: SessionId, effect: Effect) -> PendingEffect:
        self._last_effect += 1
        return PendingEffect(id=self._last_effect, session=session_id, effect=effect)

    def _remember(self, hook: HookId) -> None:
        self._hooks[hook] = None
        if len(self._hooks) > REMEMBERED_HOOKS:
            self._hooks.popitem(last=False)

    async def _commit(self, batch: list[_Posted]) -> None:
        try:
            await self.store.commit([posted.entry for posted in batch])
        except Exception as error:  # noqa: BLE001 - whatever the disk did, callers must be told
            await self._undo(batch, error)
            return
        self.tally.commits += 1
        self.tally.events += len(batch)
        for posted in batch:
            if not posted.waiter.cancelled():
                posted.waiter.set_result(posted.entry.session)
            for recovery in posted.recovered:
                self.tally.count(recovery)
            for pending in posted.entry.asked:
                self.tally.effects += 1
                self._act(pending)

    def _ring_bell(self) -> None:
        if self._bell is not None and not self._bell.done():
            self._bell.set_result(None)

    async def _undo(self, batch: list[_Posted], error: Exception) -> None:
        """Nothing of this batch was kept, so nothing built on it may stay either."""
        self.tally.failed_commits += 1
        stored = {session.id: session for session in await self.store.sessions()}
        # Only now: what was posted while the store was read stands on the lost batch, too.
        lost, self._posted = [*batch, *self._posted], []
        self._settled += len(lost) - len(batch)
        for posted in lost:
            session_id = posted.entry.session.id
            if session_id in stored:
                self._sessions[session_id] = stored[session_id]
                self._note_timers(None, stored[session_id])
            else:
                self._sessions.pop(session_id, None)
            if posted.entry.hook is not None:
                self._hooks.pop(posted.entry.hook, None)
            if not posted.waiter.cancelled():
                posted.waiter.set_exception(error)
        await asyncio.sleep(PAUSE_AFTER_FAILURE)

    # --- time ----------------------------------------------------------------------------

    def _note_timers(self, before: Session | None, after: Session) -> None:
        if before is not None and before.timers is after.timers:
            return
        known = () if before is None else before.timers
        for timer in after.timers:
            if timer not in known:
                heapq.heappush(self._due, (timer.due, after.id, timer.key))
                if self._due[0][0] == timer.due:
                    self._arm()

    def _arm(self) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
        if self._due and self._is_ringing:
            # Looked at again now and then: a sleeping machine's own clock stands still.
            delay = min(max(0.0, self._due[0][0] - self.clock.now()), LONGEST_NAP)
            self._alarm = asyncio.get_running_loop().call_later(delay, self._ring)

    def _ring(self) -> None:
        """Post every timer that is due and still stands."""
        now = self.clock.now()
        try:
            while self._due and self._due[0][0] <= now:
                _, session_id, key = heapq.heappop(self._due)
                session = self._sessions.get(session_id)
                timer = session.timer(key) if session is not None else None
                if timer is not None and timer.due <= now:
                    ignore_outcome(self.post(session_id, TimerFired(key=key)))
        finally:
            self._arm()


@dataclass(frozen=True, slots=True)
class _Brought:
    messages: tuple[Message, ...] = ()
    handoffs: tuple[Handoff, ...] = ()


def _brought(event: Event) -> _Brought:
    """The past of a session that others kept until now."""
    if isinstance(event, SessionInherited):
        return _Brought(event.messages, event.handoffs)
    return _NOTHING


_NOTHING = _Brought()


def _changed(before: Session | None, after: Session) -> tuple[Message, ...]:
    if before is None:
        return after.messages
    if before.messages is after.messages:
        return ()
    known = {message.id: message for message in before.messages}
    return tuple(m for m in after.messages if known.get(m.id) is not m)


def _recovered(before: Session | None, after: Session) -> tuple[Recovery, ...]:
    if before is None or before.recoveries is after.recoveries:
        return ()
    open_before = {recovery.id for recovery in before.recoveries if recovery.is_open}
    return tuple(r for r in after.recoveries if r.id in open_before and not r.is_open)


def _passed(before: Session | None, after: Session) -> tuple[Handoff, ...]:
    known = () if before is None else before.handoffs
    return () if known is after.handoffs else tuple(h for h in after.handoffs if h not in known)


def ignore_outcome(future: asyncio.Future[Session]) -> None:
    """For what stands again after an undo and comes once more by itself."""
    future.add_done_callback(lambda done: done.cancelled() or done.exception())

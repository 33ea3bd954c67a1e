"""Takes snapshots: what terminals hold is kept while they live, for when they do not.

At each turn's end, when an agent crashed (before it is brought back), and on a heartbeat where
something is new. One after another, and of one session only every few seconds: an end that comes
in between is kept a moment later, never left out. Costs nothing while nobody does anything. What
fails is told once, and tried again later: a session is worth no less for it.
"""

import asyncio
import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from sm.core.ids import SessionId
from sm.core.launch import LaunchFailedError, TerminalUnreachableError
from sm.core.snapshot import Snapshot, Why
from sm.core.state import Session
from sm.engine.actor import Log
from sm.engine.due import DRAWN, Due
from sm.engine.loop import Loop, UnknownSessionError
from sm.engine.naming import NotFoundError, RefusedError
from sm.engine.ports import Snapshots, Terminal

GLANCE = 0.25
"""Between two looks at what was committed: there may be a thousand commits a second."""
LEISURE, LONGEST_REST = 9.0, 2.0
"""After each, so many times as long as it took (and so many seconds at most) belong to others: a
thousand sessions that end their turns must not keep a hook waiting."""
NEWEST = "newest"


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotRules:
    """What the configuration says about snapshots."""

    enabled: bool = True
    interval: float = 300.0
    """Seconds from one heartbeat to the next."""
    lines: int = 10_000
    """The most a snapshot holds."""


class NotTakenError(Exception):
    """There is none to be had; the message says why."""

    def __init__(self, words: str, *, again: bool = False) -> None:
        super().__init__(words)
        self.again = again
        """Another time it may go better."""


class Photographer:
    """The engine's ``snapshots``."""

    def __init__(
        self,
        loop: Loop,
        terminal: Terminal,
        kept: Snapshots,
        rules: SnapshotRules,
        *,
        log: Log,
        log_size: Callable[[SessionId], int | None],
        redact: Callable[[str], str],
    ) -> None:
        """``log_size``: of a session's raw log. What has not grown shows nothing new."""
        self.kept = kept
        self._loop = loop
        self._terminal = terminal
        self._rules = rules
        self._log = log
        self._log_size = log_size
        self._redact = redact
        self._known: dict[SessionId, Due] = {}
        self._one_at_a_time = asyncio.Lock()

    # --- by itself -----------------------------------------------------------------------

    async def run(self) -> None:
        """Take what is due, until cancelled."""
        if not self._rules.enabled:
            return
        await self._recall()
        beat = _now() + self._rules.interval
        while True:
            self._note()
            if _now() >= beat:
                beat = _now() + self._rules.interval
                self._beat()
            # No commit may come between the look and the wait for the next one: a snapshot takes
            # its time, so behind it we look again.
            if not await self._take_one():
                await self._rest(beat)

    async def _recall(self) -> None:
        """A turn may have ended while nobody was there to keep it."""
        for session in list(self._loop.sessions):
            self._known[session.id] = known = Due(seen=session)
            if session.alive and session.turn_ended_at:
                last = await self.last(session.id)
                if last is None or last.at < session.turn_ended_at + DRAWN:
                    known.due = known.drawn = _now()

    def _note(self) -> None:
        living = {session.id: session for session in self._loop.sessions}
        for session in living.values():
            self._known.setdefault(session.id, Due()).note(session, _now())
        for gone in self._known.keys() - living.keys():
            del self._known[gone]

    def _beat(self) -> None:
        for session in self._loop.sessions:
            if session.alive and (session.adoption is None or session.adoption.logged):
                size, known = self._log_size(session.id), self._known[session.id]
                known.beats = size is not None and size != known.size

    def _waiting(self) -> Iterator[tuple[float, SessionId]]:
        """When which session is to have a snapshot."""
        for session_id, known in self._known.items():
            if (when := known.when) is not None and known.can_be_seen:
                yield when, session_id

    async def _take_one(self) -> bool:
        """Whether there was one to be taken."""
        when, session_id = min(self._waiting(), default=(0.0, None))
        if session_id is None or when > _now():
            return False
        known, began = self._known[session_id], _now()
        await self.take(session_id, Why.HEARTBEAT if known.due is None else known.why)
        await asyncio.sleep(min(LEISURE * (_now() - began), LONGEST_REST))
        return True

    async def _rest(self, beat: float) -> None:
        """Until one is due, or something was committed."""
        until = min([beat, *(when for when, _ in self._waiting())])
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(max(0.0, until - _now())):
                await self._loop.next_commit()
                await asyncio.sleep(GLANCE)

    # --- one -----------------------------------------------------------------------------

    async def take(self, session_id: SessionId, why: Why) -> Snapshot | None:
        """Keep what a session's terminal holds; None where that is nothing, or cannot be had."""
        try:
            return await self._taken(session_id, why)
        except NotTakenError as error:
            self._failed(session_id, str(error), again=error.again)
        except Exception as error:  # noqa: BLE001 - one session's oddity must not cost the others'
            self._failed(session_id, repr(error), again=False)
        return None

    async def keep_crash(self, session: Session) -> None:
        """Keep what a dead agent's pane shows before another stands in it, unless that is kept."""
        if not self._rules.enabled or session.pane is None:
            return
        died_at = session.crash.at if session.crash is not None else 0.0
        last = await self.last(session.id)
        if last is None or last.at < died_at:
            await self.take(session.id, Why.CRASH)

    async def ask(self, session: Session) -> Snapshot:
        """The same for a person. Raises RefusedError, with what to do instead."""
        if not self._rules.enabled:
            raise RefusedError(
                "No snapshots are kept: recovery.enabled is false in config.toml."
                f" What it showed: sm log {session.name}"
            )
        try:
            taken = await self._taken(session.id, Why.ASKED)
        except NotTakenError as error:
            instead = f"There is none from before. What it showed: sm log {session.name}"
            if await self.last(session.id) is not None:
                instead = f"The last one that was kept: sm snapshot {session.name} --show"
            words = f"No snapshot of {session.name} can be taken: {error}. {instead}"
            raise RefusedError(words) from None
        if taken is None:
            raise RefusedError(f"{session.name}'s terminal shows nothing. Ask again when it does.")
        return taken

    async def _taken(self, session_id: SessionId, why: Why) -> Snapshot | None:
        # A hundred sessions that end their turns together are taken one after another.
        async with self._one_at_a_time:
            began, at, size = _now(), self._loop.clock.now(), self._log_size(session_id)
            text = await self._dumped(session_id)
            known = self._known.get(session_id, Due())
            # An empty screen tells nothing, and would stand before one that does.
            taken = await self._written(session_id, text, at, why) if text.strip() else None
            known.cover(size, began)
            return taken

    async def _written(self, session_id: SessionId, text: bytes, at: float, why: Why) -> Snapshot:
        try:
            return await asyncio.to_thread(self.kept.keep, session_id, text, at=at, why=why)
        except OSError as error:
            raise NotTakenError(f"it cannot be written ({error.strerror})", again=True) from None

    async def _dumped(self, session_id: SessionId) -> bytes:
        try:
            session = self._loop.session(session_id)
            if session.pane is None:
                raise NotTakenError("it has no terminal")
            text = await self._terminal.dump(
                session.pane.id, of=session_id, lines=self._rules.lines
            )
        except UnknownSessionError:
            raise NotTakenError("it is not known") from None
        except (TerminalUnreachableError, LaunchFailedError, OSError) as error:
            # Of a crashed one there will hardly ever be more.
            words = f"its terminal cannot be read ({error})"
            raise NotTakenError(words, again=session.alive) from None
        if text is None:
            raise NotTakenError("its terminal is gone")
        return text

    def _failed(self, session_id: SessionId, why: str, *, again: bool) -> None:
        known = self._known.get(session_id, Due())
        known.fail(_now(), again=again)
        if why != known.failure:
            known.failure = why
            self._log.warning("No snapshot could be taken", session=session_id, why=why)

    # --- those that are kept ---------------------------------------------------------------

    async def last(self, session_id: SessionId) -> Snapshot | None:
        return await asyncio.to_thread(self.kept.last, session_id)

    async def all(self, session_id: SessionId) -> list[Snapshot]:
        """Newest first."""
        return await asyncio.to_thread(self.kept.all, session_id)

    async def show(self, session: Session, which: str) -> tuple[Snapshot, str]:
        """One of them (by a unique beginning of its name, or ``newest``), without secrets."""
        snapshot = _chosen(session, await self.all(session.id), which)
        try:
            return snapshot, await asyncio.to_thread(self._read, snapshot)
        except OSError as error:
            raise RefusedError(f"{snapshot.path} cannot be read: {error.strerror}.") from None

    def _read(self, snapshot: Snapshot) -> str:
        return self._redact(self.kept.read(snapshot.session, snapshot.name))

    async def forget(self, session_id: SessionId) -> None:
        """Remove all of a session's."""
        await asyncio.to_thread(self.kept.forget, session_id)


def _chosen(session: Session, found: list[Snapshot], which: str) -> Snapshot:
    if not found:
        raise NotFoundError(
            f"No snapshot of {session.name} was kept. What it showed: sm log {session.name}"
        )
    fitting = found[:1] if which == NEWEST else [s for s in found if s.name.startswith(which)]
    if len(fitting) == 1:
        return fitting[0]
    what = "Several snapshots begin" if fitting else f"No snapshot of {session.name} begins"
    raise NotFoundError(f"{what} with {which!r}. See: sm snapshot {session.name} --list")


def _now() -> float:
    return asyncio.get_running_loop().time()

"""The eyes: notices what no hook tells. A turn that ended silently, a dialog, a death.

Looks only at sessions whose state could change without a report; an idle one costs nothing, an
adopted one the reading of a small file. A look is not news by itself: only what contradicts the
claimed state is posted.
"""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from sm.core.events import AgentExited, Event, PaneSeen, ScreenSeen, StatusSeen, TerminalLost
from sm.core.ids import SessionId
from sm.core.launch import TerminalUnreachableError
from sm.core.state import Session, State, Step
from sm.core.terminal import AgentStatus, Screen, Sign
from sm.core.turn import STATUS_FOLLOWS_WITHIN, recently_hooked
from sm.engine.actor import Log
from sm.engine.launcher import Launcher
from sm.engine.looking import look_at
from sm.engine.loop import Loop, UnknownSessionError
from sm.engine.ports import Dialects, Terminal

EVERY = 0.75
HURRIED = 0.1
SETTLED = 0.4
"""A status this young may be a flash; the hook that goes with it may still be on its way."""
STALE, OUTWEIGHED = 60.0, 10.0
"""An agent that says for so long that it is busy, and calls no hook, may only have been unable to
write another word: a disk was full. Its screen outweighs that if it shows the same for so long."""
LINGERS = 5.0
"""A turn that ended so recently may go on: another hook may keep its agent from stopping."""
WATCHED = frozenset({State.STARTING, State.WORKING, State.WAITING, State.UNKNOWN, State.RECOVERING})


class ProcessWatch(Protocol):
    """Calls back once when a process ends."""

    def watch(self, pid: int, started: int, ended: Callable[[], None]) -> None: ...

    def unwatch(self, pid: int, started: int) -> None: ...


class Watch:
    def __init__(
        self,
        loop: Loop,
        terminal: Terminal,
        dialects: Dialects,
        launcher: Launcher,
        processes: ProcessWatch,
        log: Log,
    ) -> None:
        self._log = log
        self._loop = loop
        self._terminal = terminal
        self._dialects = dialects
        self._launcher = launcher
        self._processes = processes
        self._followed: dict[SessionId, tuple[int, int]] = {}
        self._seen: dict[SessionId, tuple[Sign, float]] = {}
        """What each screen shows, and since when."""
        self._deaths: asyncio.Queue[SessionId] = asyncio.Queue()

    async def run(self) -> None:
        """Watch until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._watch_screens())
            tasks.create_task(self._watch_deaths())

    @property
    def remembered(self) -> int:
        """How many sessions something is kept of."""
        return len(self._followed.keys() | self._seen.keys())

    # --- processes -----------------------------------------------------------------------

    def follow(self) -> bool:
        """Be told when an agent's process ends; forget those of finished sessions. False if one
        could not be followed yet."""
        followed = True
        for session in self._loop.sessions:
            process = session.pane and (session.pane.pid, session.pane.started)
            if session.alive and process and self._followed.get(session.id) != process:
                # An agent that came back at once: its death was seen by nobody here.
                self._let_go(session.id)
                followed &= self._follow_one(session.id, process)
            elif session.exit is not None and session.id in self._followed:
                self._let_go(session.id)
                self._seen.pop(session.id, None)
                if session.state is State.ENDED:
                    self._launcher.forget(session.id)
        return followed

    def _follow_one(self, session_id: SessionId, process: tuple[int, int]) -> bool:
        try:
            self._processes.watch(*process, self._died(session_id))
        except OSError as error:
            # No file handle is left, perhaps: that must not end the watching.
            self._log.warning("A process cannot be watched", session=session_id, exc_info=error)
            return False
        self._followed[session_id] = process
        return True

    def _let_go(self, session_id: SessionId) -> None:
        """Of the process that was followed, if one was."""
        process = self._followed.pop(session_id, None)
        if process is not None:
            self._processes.unwatch(*process)

    def _died(self, session_id: SessionId) -> Callable[[], None]:
        return lambda: self._deaths.put_nowait(session_id)

    async def _watch_deaths(self) -> None:
        while True:
            session_id = await self._deaths.get()
            if not await self.inspect(session_id):
                # A process dies once: nobody would tell it again. The others need not wait for it.
                asyncio.get_running_loop().call_later(EVERY, self._died(session_id))

    async def inspect(self, session_id: SessionId) -> bool:
        """Ask whether the agent is there, and tell what is new; False if that could not be asked
        or was not stored."""
        try:
            session = self._loop.session(session_id)
        except UnknownSessionError:
            return True
        if not session.alive:
            return True
        try:
            event = await self._launcher.check(session)
        except Exception as error:  # noqa: BLE001 - one session's oddity must not end the watching
            self._log.warning("A check failed", session=session_id, exc_info=error)
            return False
        checked, session = session.pane, self._loop.session(session_id)
        if not session.alive or session.pane != checked:
            # It ended or was started anew while we asked: the answer is about the past.
            return True
        is_news = isinstance(event, AgentExited | TerminalLost) or session.lost
        if is_news and isinstance(event, AgentExited | TerminalLost | PaneSeen):
            return await self._tell(session_id, event)
        return True

    async def find_closed(self) -> None:
        """Ask after every agent whose pane is not among those there are."""
        try:
            there = {(pane.sm_session, pane.id) for pane in await self._terminal.panes()}
        except TerminalUnreachableError:
            return
        except Exception as error:  # noqa: BLE001 - one odd answer must not end the watching
            self._log.warning("A look for closed panes failed", exc_info=error)
            return
        ours = [s for s in self._loop.sessions if s.alive and not s.adopted]
        for session in ours:
            if session.pane is not None and (session.id, session.pane.id) not in there:
                await self.inspect(session.id)

    async def _tell(self, session_id: SessionId, event: Event) -> bool:
        try:
            await self._loop.post(session_id, event)
        except Exception:  # noqa: BLE001 - a disk that is full now must not end the watching
            return False
        return True

    # --- screens -------------------------------------------------------------------------

    async def _watch_screens(self) -> None:
        while True:
            followed = self.follow()
            now = self._loop.clock.now()
            watched = [s for s in self._loop.sessions if _needs_eyes(s, now)]
            for session in watched:
                if self._is_in_doubt(session):
                    await self._look_safely(session.id)
            hurried = any(_is_interrupting(s) for s in watched)
            if watched or not followed:
                await asyncio.sleep(HURRIED if hurried else EVERY)
            else:
                await self._loop.next_commit()
                # Not at every one of a thousand commits a second.
                await asyncio.sleep(HURRIED)

    def _is_in_doubt(self, session: Session) -> bool:
        """Whether its screen could tell more than its own word does."""
        now = self._loop.clock.now()
        if recently_hooked(session, now) and not _is_interrupting(session):
            return False
        if _has_just_stopped(session, now) and not _may_be_known(session, now):
            return False
        return _needs_eyes(session, now)

    async def _look_safely(self, session_id: SessionId) -> None:
        try:
            patience = await self._look_at_status(self._loop.session(session_id))
            if patience is None:
                self._seen.pop(session_id, None)
            else:
                await self._look(session_id, patience)
        except Exception as error:  # noqa: BLE001 - one session's oddity must not end the watching
            self._log.warning("A look failed", session=session_id, exc_info=error)

    async def _look_at_status(self, session: Session) -> float | None:
        """None if the agent itself says what it is doing: then its screen need not be read. Else
        for how long the screen must show the same."""
        pane, transcript = session.pane, session.context.transcript
        if session.lost or pane is None or transcript is None:
            return 0.0
        dialect = self._dialects.named(session.agent)
        status = dialect.read_status(pane.pid, pane.started, Path(transcript))
        if status is None or status.sign is Sign.UNKNOWN:
            return 0.0
        age = self._loop.clock.now() - status.at
        is_settled = age >= SETTLED
        if (is_settled and _contradicts(status, session)) or _is_elsewhere(status, session):
            await self._tell(session.id, StatusSeen(status=status))
        return OUTWEIGHED if status.sign is Sign.BUSY and age >= STALE else None

    async def _look(self, session_id: SessionId, patience: float) -> None:
        try:
            view = await look_at(self._terminal, self._loop.session(session_id))
        except TerminalUnreachableError:
            return
        if view is None or view.dead or self._loop.session(session_id).lost:
            await self.inspect(session_id)
        # Asked for anew: while we looked it may have moved on, and its own word outdates the view.
        session = self._loop.session(session_id)
        if view is None or view.dead or view.in_mode or not session.proves:
            return
        if not self._is_in_doubt(session):
            return
        screen = self._dialects.named(session.agent).read_screen(view)
        # Twice in a row: a single look may catch a flash between two tool calls.
        now = self._loop.clock.now()
        before, since = self._seen.get(session.id, (None, now))
        self._seen[session.id] = (screen.sign, since if before is screen.sign else now)
        is_same = before is screen.sign and now - since >= patience
        if is_same and _contradicts(screen, session):
            await self._tell(session.id, ScreenSeen(screen=screen))


def _needs_eyes(session: Session, now: float) -> bool:
    """Also a session of any kind that tmux once did not answer for, and an adopted one always:
    nothing but its own file may tell of its turns."""
    in_doubt = session.state in WATCHED or session.adopted or _has_just_stopped(session, now)
    return session.alive and (session.lost or (session.proves and in_doubt))


def _has_just_stopped(session: Session, now: float) -> bool:
    return session.state is State.IDLE and now - session.turn_ended_at < LINGERS


def _may_be_known(session: Session, now: float) -> bool:
    """Whether its own file would tell by now that it stopped."""
    return now - session.turn_ended_at >= STATUS_FOLLOWS_WITHIN


def _is_interrupting(session: Session) -> bool:
    return session.attempt is not None and session.attempt.step is Step.INTERRUPTING


def _is_elsewhere(status: AgentStatus, session: Session) -> bool:
    """Whether an adopted agent went on in another context, of which no hook need tell."""
    return session.adopted and status.context not in (None, session.context.id)


def _contradicts(seen: Screen | AgentStatus, session: Session) -> bool:
    """Whether the agent shows something else than the state we claim."""
    match seen.sign:
        case Sign.PROMPT:
            is_told_first = session.state is State.RECOVERING and session.ready
            return session.state is not State.IDLE and not is_told_first
        case Sign.DIALOG:
            return session.state is not State.WAITING
        case Sign.BUSY:
            return session.state is not State.WORKING
        case Sign.UNKNOWN:
            return False

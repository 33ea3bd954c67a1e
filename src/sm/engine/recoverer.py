"""Brings back agents that died: finds out what was going on, and starts them again.

Decides nothing about when; how is decided by what is on record. What an agent is told is composed
elsewhere. Nothing is started beside an agent that lives.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sm.core.crash import Crash, Manner, Recovery, RecoveryState
from sm.core.effects import RecoverAgent
from sm.core.envelope import sanitise
from sm.core.events import AgentRecovered, Event, RecoveryFailed, TerminalLost
from sm.core.ids import ContextId, MessageId, RecoveryId, SessionId
from sm.core.launch import (
    AgentLine,
    LaunchFailedError,
    TerminalUnreachableError,
)
from sm.core.message import Message, Route
from sm.core.recovery import chosen
from sm.core.state import Attempt, Session, Step
from sm.core.terminal import Pane, Record
from sm.engine.ended_calls import LastEvents, ended_calls
from sm.engine.filing import Filing
from sm.engine.launcher import Launcher, in_words
from sm.engine.ports import Clock, Dialect, Dialects, Processes, Terminal
from sm.engine.recollection import Known, Recollected, Recollection
from sm.engine.shown import words_shown
from sm.engine.sources import is_special

READY_WITHIN = 15.0
"""An agent that is not ready by then makes room for the next one all the same."""
LOOK_FOR_ROOM = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How a session would be brought back, and what its agent would be told."""

    manner: Manner
    why: str
    line: AgentLine
    environment: Mapping[str, str]
    recollected: Recollected
    told: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Recalled:
    recollected: Recollected
    is_cut: bool
    """Something was going on that an agent with its own record must still be told of."""

    def words(self, session: Session, manner: Manner) -> str:
        """What the agent is told. Nothing where it reports nothing: it may be a shell. Nothing
        where it was idle and remembers all, or was never asked anything: a word would set it to
        work."""
        if not session.proves:
            return ""
        if manner is Manner.FRESH:
            return self.recollected.prompt if self.is_cut or _had_work(session) else ""
        return self.recollected.note if self.is_cut else ""


class RecoveryImpossibleError(Exception):
    """The session cannot be brought back so; the message says why and what to do."""


class Recoverer:
    def __init__(
        self,
        terminal: Terminal,
        processes: Processes,
        dialects: Dialects,
        launcher: Launcher,
        recollection: Recollection,
        clock: Clock,
        *,
        at_once: int,
        session: Callable[[SessionId], Session],
        sessions: Callable[[], Iterable[Session]],
        next_commit: Callable[[], Awaitable[None]],
        message: Callable[[MessageId], Awaitable[Message | None]],
        events: LastEvents,
        keep_crash: Callable[[Session], Awaitable[None]],
        filing: Filing,
        name: Callable[[SessionId], str],
    ) -> None:
        """``events``: a session's last. ``keep_crash``: what the dead agent's terminal
        shows is gone with its next start. ``name``: what any session is called, wherever it lives.
        """
        self._terminal = terminal
        self._processes = processes
        self._dialects = dialects
        self._launcher = launcher
        self._recollection = recollection
        self._clock = clock
        self._at_once = at_once
        self._session = session
        self._sessions = sessions
        self._next_commit = next_commit
        self._message = message
        self._events = events
        self._keep_crash = keep_crash
        self._filing = filing
        self._name = name
        self._held: dict[SessionId, RecoveryId] = {}
        """Those that are being brought back, until that is noted."""
        self._queue: list[SessionId] = []
        """Those that wait for room, the next one first."""

    async def recover(self, session: Session, effect: RecoverAgent) -> Event:
        """Start the agent again, or find it already started by a daemon that died."""
        recovery = session.recovery
        if recovery is None or recovery.id != effect.recovery or session.alive:
            return RecoveryFailed(recovery=effect.recovery, reason="the recovery is over")
        await self._room(session.id, recovery.id)
        # Asked for anew: it may have been ended while we waited.
        session = self._session(session.id)
        if session.alive or session.recovery is None or session.recovery.id != effect.recovery:
            return RecoveryFailed(recovery=effect.recovery, reason="the recovery is over")
        self._held[session.id] = recovery.id
        try:
            return await self._recover(session, recovery)
        except TerminalUnreachableError as error:
            # It may have run: to be asked again, which finds what was started.
            return TerminalLost(reason=str(error))
        except (LaunchFailedError, RecoveryImpossibleError, OSError) as error:
            # Lent for this one try: whoever asks again lends theirs again.
            self._launcher.forget_unkept(session.id)
            if recovery.crash.handoff is not None:
                await self._filing.let_go(session, recovery.crash.handoff)
            return RecoveryFailed(recovery=recovery.id, reason=_in_words(error))

    async def _room(self, session: SessionId, recovery: RecoveryId) -> None:
        """Wait until few enough agents are being started: a wave of them starves everybody. One
        after another, and no longer than it is wanted: its end would wait behind it."""
        self._queue.append(session)
        try:
            while _is_asked(self._session(session), recovery) and not self._is_next(session):
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(LOOK_FOR_ROOM):
                        await self._next_commit()
        finally:
            self._queue.remove(session)

    def _is_next(self, session: SessionId) -> bool:
        # Only the first one counts: a wave of them would look at everybody at every commit.
        return self._queue[0] == session and self._starting(session) < self._at_once

    def _starting(self, besides: SessionId) -> int:
        since, count = self._clock.now() - READY_WITHIN, 0
        for session in self._sessions():
            begun = self._held.get(session.id)
            if begun is not None and not _is_asked(session, begun):
                del self._held[session.id]
            is_busy = session.id in self._held or _is_starting(session, since)
            count += is_busy and session.id != besides
        return count

    async def _recover(self, session: Session, recovery: Recovery) -> Event:
        begun = await self._begun(session, recovery)
        if begun is not None:
            return begun
        await self._keep_crash(session)
        survivors = await self._laid_to_rest(session)
        handoff = recovery.crash.handoff
        if handoff is not None:
            # Before its document is told: nobody else may be given it from now on.
            await self._filing.hold(session, handoff)
        plan = await self.plan(session, recovery.crash, recovery.wanted, survivors)
        there = await self._terminal.find(session.id)
        note = {
            "id": recovery.id,
            "manner": plan.manner.value,
            "context": plan.line.context or "",
            # Another program, perhaps, that stands where the agent was.
            "before": "" if there is None else str(there.pid),
        }
        pane = await self._launcher.start_again(session, plan.line, plan.environment, note)
        if handoff is not None:
            await self._filing.hold(session, handoff, pane)
        found = "; ".join((*plan.recollected.sources, *plan.recollected.skipped))
        return AgentRecovered(
            recovery=recovery.id,
            pane=pane,
            manner=plan.manner,
            context=plan.line.context,
            told=plan.told,
            evidence=f"process {pane.pid}, {plan.why}" + (f" ({found})" if found else ""),
            survivors=survivors,
        )

    async def _begun(self, session: Session, recovery: Recovery) -> Event | None:
        """The agent that was started before its daemon died, if it was."""
        pane = await self._terminal.find(session.id)
        noted = self._launcher.noted(session)
        is_before = pane is None or str(pane.pid) == noted.get("before")
        if pane is None or is_before or noted.get("id") != recovery.id:
            return None
        if _is_same(pane, session.pane):
            return None
        manner = Manner(noted["manner"])
        survivors = await asyncio.to_thread(self._survivors, session, pane.pid)
        recalled = await self._recall(session, recovery.crash, survivors)
        return AgentRecovered(
            recovery=recovery.id,
            pane=pane,
            manner=manner,
            context=ContextId(noted["context"]) if noted["context"] else None,
            told=recalled.words(session, manner),
            evidence=f"process {pane.pid}, found started",
            survivors=survivors,
        )

    async def _laid_to_rest(self, session: Session) -> tuple[str, ...]:
        """What the dead agent has left running, in words. The agent itself is not left: one that
        outlived its terminal would work beside the one that is started in its place."""
        pane = session.pane
        if pane is not None and await self._launcher.inquest.lives(session):
            has_ended = await self._processes.end(pane.pid, pane.started)
            if not has_ended:
                raise RecoveryImpossibleError(f"process {pane.pid} does not end")
        return await asyncio.to_thread(self._survivors, session)

    async def _foreseen(self, session: Session) -> tuple[str, ...]:
        """What it would leave running: of an agent that lives, nobody can say yet."""
        if session.exit is None:
            return ()
        return await asyncio.to_thread(self._survivors, session)

    def _survivors(self, session: Session, new: int | None = None) -> tuple[str, ...]:
        """Processes that carry the session's id, without the agent that came in its place and
        what that has started."""
        anew = {one.pid for one in self._processes.tree(new)} if new is not None else set()
        found = [one for one in self._processes.marked(session.id) if one.pid not in anew]
        return tuple(in_words(one, self._recollection.drafts.redact) for one in found)

    async def plan(
        self,
        session: Session,
        crash: Crash,
        wanted: Manner | None,
        survivors: tuple[str, ...] | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> Plan:
        """How it would be brought back. Raises where it cannot be; changes nothing.
        ``environment``: in the place of one that is not kept."""
        if survivors is None:
            survivors = await self._foreseen(session)
        recalled = await self._recall(session, crash, survivors)
        hindrance = self._hindrance(session, recalled.recollected)
        usage = session.context.usage
        manner, why = chosen(
            session, wanted, hindrance=hindrance, usage=usage, handoff=crash.handoff
        )
        if wanted is Manner.RESUME and manner is not wanted:
            raise RecoveryImpossibleError(f"it cannot be resumed: {why}. Without --resume it can.")
        line, taken = await asyncio.to_thread(self._line, session, manner, environment)
        return Plan(
            manner=manner,
            why=why,
            line=line,
            environment=taken,
            recollected=recalled.recollected,
            told=recalled.words(session, manner),
        )

    def shown(self, line: AgentLine) -> tuple[str, ...]:
        """Its words without secrets."""
        return words_shown(line.argv, self._recollection.drafts.redact)

    def _hindrance(self, session: Session, recollected: Recollected) -> str | None:
        """Why its agent cannot go on with its own record."""
        if not self._dialects.named(session.agent).resumes:
            return f"{session.agent} keeps no record to go on with"
        return None if recollected.whole else recollected.flaw

    def _line(
        self, session: Session, manner: Manner, environment: Mapping[str, str] | None
    ) -> tuple[AgentLine, Mapping[str, str]]:
        resume = session.context.id if manner is Manner.RESUME else None
        return self._launcher.planned_again(session, resume, environment)

    async def _recall(
        self, session: Session, crash: Crash, survivors: tuple[str, ...]
    ) -> "_Recalled":
        known = Known(
            survivors=survivors,
            unrecorded=await self._unrecorded(session, crash),
            ended=await ended_calls(self._events, session.id),
            taken_by=await self._taken_by(session, crash),
        )
        usage = session.context.usage
        window = usage.window if usage is not None else None
        recollected = await self._recollection.of(session, crash, known=known, window=window)
        was_at_it = crash.busy or crash.dialog is not None or crash.handoff is not None
        is_cut = was_at_it or bool(known.unrecorded or survivors) or recollected.is_open
        return _Recalled(recollected=recollected, is_cut=is_cut)

    async def _taken_by(self, session: Session, crash: Crash) -> str:
        """Who else was given the handoff that was cut: it is carried out once."""
        if crash.handoff is None:
            return ""
        holder = await self._filing.holder(session, crash.handoff)
        return "" if holder is None else self._name(holder)

    async def _unrecorded(self, session: Session, crash: Crash) -> tuple[str, ...]:
        """Messages the agent had reported as taken, and died before it wrote that down."""
        found = [await self._message(message) for message in crash.taken]
        taken: Sequence[Message] = [message for message in found if message is not None]
        lost = await asyncio.to_thread(
            lambda: [m for m in taken if not self._is_recorded(session, m)]
        )
        return tuple(sanitise(message.text) for message in lost)

    def _is_recorded(self, session: Session, message: Message) -> bool:
        """Also in a context before, where the agent died before it was told of that one."""
        transcripts = [session.context.transcript]
        transcripts += [p.transcript for p in session.lineage if p.how.startswith("recovery ")]
        attempt = Attempt(
            message=message.id,
            number=message.attempts,
            route=message.route or Route.PASTE,
            step=Step.ENTERED,
            since=message.queued_at,
        )
        dialect = self._dialects.named(session.agent)
        return any(_holds(dialect, path, attempt) for path in transcripts if path is not None)


def _in_words(error: Exception) -> str:
    """Of what the system said: the file first, and no number."""
    if not isinstance(error, OSError) or error.strerror is None:
        return str(error)
    return f"{error.filename}: {error.strerror}" if error.filename else error.strerror


def _holds(dialect: Dialect, transcript: str, attempt: Attempt) -> bool:
    path = Path(transcript)
    try:
        return not is_special(path) and dialect.search(path, attempt) is Record.HELD
    except OSError:
        return False


def _had_work(session: Session) -> bool:
    """Whether its agent was ever asked anything."""
    left = [past for past in session.lineage if not past.how.startswith("recovery ")]
    return bool(session.ended_prompts or left)


def _is_asked(session: Session, recovery: RecoveryId) -> bool:
    known = session.recovery
    is_it = known is not None and known.id == recovery
    return is_it and known is not None and known.state is RecoveryState.ASKED


def _is_starting(session: Session, since: float) -> bool:
    recovery = session.recovery
    is_started = recovery is not None and recovery.state is RecoveryState.STARTED
    is_young = session.alive and session.launched_at > since
    return is_started and is_young and session.proves and not session.ready


def _is_same(pane: Pane, known: Pane | None) -> bool:
    """Whether it is the process that died, not one that was started since."""
    return known is not None and (pane.pid, pane.started) in (
        (known.pid, known.started),
        (known.pid, 0),
    )

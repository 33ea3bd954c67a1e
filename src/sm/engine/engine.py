"""What can be asked of sm, as calls: the composition of loop, actor and watch.

Each call returns when what it did is on the disk.
"""

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from sm.core.events import DaemonStarted
from sm.core.ids import SessionId
from sm.core.message import Route
from sm.core.state import Session, State, Thresholds, WalkAway
from sm.core.terminal import View
from sm.engine import naming
from sm.engine.actor import Actor, Log
from sm.engine.archivist import Archivist
from sm.engine.degraded import degraded
from sm.engine.drafts import Drafts
from sm.engine.filing import Filing
from sm.engine.handovers import Handovers
from sm.engine.launcher import Launcher
from sm.engine.looking import look_at
from sm.engine.loop import Loop, ignore_outcome
from sm.engine.mail import Mail
from sm.engine.ports import (
    Channels,
    Clock,
    Dialects,
    Handoffs,
    Inbox,
    Notices,
    Processes,
    Snapshots,
    Store,
    Terminal,
)
from sm.engine.reader import Reader
from sm.engine.recollection import Recollection, RecollectionRules
from sm.engine.recoverer import Recoverer
from sm.engine.recoveries import Recoveries, RecoveryTerms
from sm.engine.reports import Reports
from sm.engine.sessions import SessionFolders, Sessions, Terms
from sm.engine.shown import agent_shown, without_secrets
from sm.engine.snapshots import Photographer, SnapshotRules
from sm.engine.telling import Telling
from sm.engine.typist import Typist
from sm.engine.watch import ProcessWatch, Watch

DRAIN_WITHIN = 5.0

Render = Callable[[Path, Path], list[str]]
"""A raw log and the sizes its window had, as lines of text."""

Tail = Callable[[Path, Path, int], list[str]]
"""Their last lines, at most so many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HandoffRules:
    """What the configuration says about handoffs."""

    largest_document: int
    teach_agents: bool
    expiry: float = 7200.0
    """Seconds after which what waits in a channel is too old."""
    walkaway: WalkAway = field(default_factory=WalkAway)
    """For sessions that are handed over when nobody is there."""


class Engine:
    def __init__(
        self,
        *,
        store: Store,
        terminal: Terminal,
        dialects: Dialects,
        processes: Processes,
        exits: ProcessWatch,
        folders: SessionFolders,
        clock: Clock,
        log: Log,
        identity: Callable[[SessionId], Mapping[str, str]],
        render: Render,
        tail: Tail,
        inbox: Inbox,
        routes: Callable[[str], Collection[Route]],
        thresholds: Thresholds,
        handoffs: Handoffs,
        channels: Channels,
        notices: Notices,
        handoff_rules: HandoffRules,
        recovery_terms: RecoveryTerms,
        token: Callable[[str], str | None],
        redact: Callable[[str], str],
        redact_shown: Callable[[str], str],
        hook_url: Callable[[SessionId], str | None],
        run_name: Callable[[str], str | None],
        run_names: Callable[[], Mapping[str, str]],
        snapshots: Snapshots,
        snapshot_rules: SnapshotRules,
    ) -> None:
        """``run_name``: that of a run of ``sm run``, by its id. ``run_names``: of all that are not
        over, by their ids."""
        self.store = store
        self.terminal = terminal
        self.dialects = dialects
        self.clock = clock
        self.notices = notices
        self._folders = folders
        self._render = render
        self.redact, self._redact_shown = redact, redact_shown
        self._terms = Terms(
            thresholds=thresholds,
            walkaway=handoff_rules.walkaway,
            rescue=recovery_terms.rules,
            routes=routes,
        )
        self._run_name = run_name
        self._launcher = Launcher(terminal, processes, folders, dialects, hook_url, clock, redact)
        typist = Typist(terminal, dialects, processes, inbox, self.session, clock)
        reader = Reader(dialects, clock)
        self.drafts = Drafts(
            dialects=dialects,
            handoffs=handoffs,
            clock=clock,
            redact=redact,
            channel=lambda cwd: self.filing.channel_of(cwd) or Path(cwd).name,
        )
        archivist = Archivist(
            terminal,
            handoffs,
            self.drafts,
            raw_log=folders.raw_log,
            events=store.last_events,
            largest_document=handoff_rules.largest_document,
        )
        self.filing = Filing(
            channels=channels,
            handoffs=handoffs,
            processes=processes,
            clock=clock,
            pid=os.getpid(),
            expiry=handoff_rules.expiry,
        )
        self.recoverer = Recoverer(
            terminal,
            processes,
            dialects,
            self._launcher,
            Recollection(
                drafts=self.drafts,
                log=_Shown(tail, folders, redact_shown),
                snapshot=lambda session: last_kept(snapshots, session, redact_shown),
                rules=RecollectionRules(
                    percent=recovery_terms.budget,
                    lines=recovery_terms.max_lines,
                    template=recovery_terms.template,
                ),
            ),
            clock,
            at_once=recovery_terms.at_once,
            session=self.session,
            sessions=lambda: self.loop.sessions,
            next_commit=lambda: self.loop.next_commit(),
            message=store.message,
            events=store.last_events,
            keep_crash=lambda session: self.snapshots.keep_crash(session),
            filing=self.filing,
            name=self._name,
        )
        self._actor = Actor(
            terminal,
            typist,
            self._launcher,
            reader,
            archivist,
            self.filing,
            self.recoverer,
            Telling(notices, clock),
            log,
            redact,
        )
        self.loop = Loop(store, clock, self._actor.submit)
        self._actor.bind(self.loop)
        self.reports = Reports(
            self.loop,
            dialects,
            self._launcher.adopter,
            inbox,
            archivist,
            teaches=handoff_rules.teach_agents,
            redact=redact,
        )
        self.handovers = Handovers(
            self.loop, dialects, archivist, raw_log=folders.raw_log, token=token
        )
        self.mail = Mail(self.loop, store, clock, run_name)
        self.sessions = Sessions(
            self.loop,
            dialects,
            self._launcher.adopter,
            folders,
            clock,
            terms=self._terms,
            identity=identity,
            hook_url=hook_url,
            run_name=run_name,
            run_names=run_names,
            learn=self.filing.learn,
        )
        self.recoveries = Recoveries(
            self.loop,
            self.recoverer,
            folders,
            clock,
            terms=recovery_terms,
            identity=identity,
            clean=dialects.clean,
            raw_log=folders.raw_log,
            ways=self.sessions.ways,
            learn=self.filing.learn,
            names_elsewhere=self.sessions.names_elsewhere,
        )
        self.watch = Watch(self.loop, terminal, dialects, self._launcher, exits, log)
        self.snapshots = Photographer(
            self.loop,
            terminal,
            snapshots,
            snapshot_rules,
            log=log,
            log_size=self._log_size,
            redact=redact_shown,
        )

    @contextlib.asynccontextmanager
    async def running(
        self, version: str, drain: Callable[["Engine"], Awaitable[None]] | None = None
    ) -> AsyncIterator["Engine"]:
        """The engine at work: what the agents said meanwhile first, then what was left undone."""
        for effect in await self.loop.load():
            self._actor.submit(effect)
        self._folders.tidy(session.id for session in self.loop.sessions)
        await self.filing.learn({session.cwd for session in self.loop.sessions})
        for session in self.loop.sessions:
            if session.state is State.ENDED:
                self._folders.forget_environment(session.id)
        self._launcher.adopter.tidy(self.loop.sessions)
        async with asyncio.TaskGroup() as tasks:
            workers = [tasks.create_task(self.loop.run())]
            if drain is not None:
                await drain(self)
            self.loop.start_timers()
            for session in list(self.loop.sessions):
                if session.state is not State.ENDED:
                    started = self._started(session, version)
                    ignore_outcome(self.loop.post(session.id, started))
            workers.append(tasks.create_task(self._actor.run()))
            workers.append(tasks.create_task(self.watch.run()))
            workers.append(tasks.create_task(self.snapshots.run()))
            try:
                yield self
                # Only when leaving in peace: after a failure nobody commits any more.
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(DRAIN_WITHIN):
                        await self.loop.drain()
            finally:
                for worker in workers:
                    worker.cancel()

    def _started(self, session: Session, version: str) -> DaemonStarted:
        """What a session is told by a new daemon: the configuration may have changed."""
        return DaemonStarted(
            version=version,
            ways=self.sessions.ways(session.agent),
            thresholds=self._terms.thresholds,
            walkaway=self._terms.walkaway,
            rescue=self._terms.rescue,
        )

    # --- reading -------------------------------------------------------------------------

    def session(self, session_id: SessionId) -> Session:
        return self.loop.session(session_id)

    def _name(self, session_id: SessionId) -> str:
        """What any session is called, wherever it lives."""
        known = (session.name for session in self.loop.sessions if session.id == session_id)
        return next(known, None) or self._run_name(session_id) or session_id

    def find(self, reference: str) -> Session:
        return naming.find(reference, self.loop.sessions)

    async def look(self, session: Session) -> View | None:
        """The session's screen; None when its terminal is gone. Raises if tmux is unreachable."""
        return await look_at(self.terminal, session)

    def compacts_at(self, session: Session) -> int | None:
        """The tokens at which its agent compacts by itself, where that is known."""
        usage = session.context.usage
        model = usage.model if usage is not None else ""
        return self.dialects.named(session.agent).compacts_at(session.compaction, model)

    def degraded(self, session: Session) -> list[str]:
        """What does not work with this session's agent, and what is done instead."""
        return degraded(session, self.dialects.named(session.agent), self.clock.now())

    def raw_log(self, session_id: SessionId) -> str:
        return self._folders.raw_log(session_id)

    def _log_size(self, session_id: SessionId) -> int | None:
        try:
            return Path(self._folders.raw_log(session_id)).stat().st_size
        except OSError:
            return None

    async def rendered_log(self, session_id: SessionId) -> list[str]:
        """Everything its terminal showed, without secrets."""
        return await asyncio.to_thread(self._rendered, session_id)

    def _rendered(self, session_id: SessionId) -> list[str]:
        raw, sizes = self._folders.raw_log(session_id), self._folders.sizes_log(session_id)
        lines = self._render(Path(raw), Path(sizes))
        # As one text: a key has many lines.
        return self._redact_shown("\n".join(lines)).split("\n") if lines else []

    async def without_secrets(self, session: Session) -> Session:
        """As it may be shown."""
        return await asyncio.to_thread(without_secrets, session, self.redact)

    async def listed(self, sessions: Iterable[Session]) -> list[Session]:
        """As they may be listed, where nothing they quote is told."""
        return await asyncio.to_thread(
            lambda: [replace(s, agent=agent_shown(s.agent, self.redact)) for s in sessions]
        )

    async def prune(self, before: float) -> int:
        """Drop what is older than this: events, closed messages, ended sessions with their logs.
        Says how many rows and sessions that were."""
        rows = await self.store.prune(before)
        over = [s.id for s in self.loop.sessions if _was_over(s, before)]
        # Files first: those of a session that nobody knows of any more would stay for good.
        for session_id in over:
            await self.snapshots.forget(session_id)
            await asyncio.to_thread(self._folders.discard, session_id)
        await self.loop.forget(over)
        return rows + len(over)


@dataclass(frozen=True, slots=True)
class _Shown:
    """The last lines a session's terminal showed, without secrets."""

    tail: Tail
    folders: SessionFolders
    redact: Callable[[str], str]

    def __call__(self, session: SessionId, lines: int) -> list[str]:
        raw, sizes = self.folders.raw_log(session), self.folders.sizes_log(session)
        return self.redact("\n".join(self.tail(Path(raw), Path(sizes), lines))).split("\n")


def last_kept(
    snapshots: Snapshots, session: SessionId, redact: Callable[[str], str]
) -> tuple[str, float] | None:
    """The text of the last snapshot without secrets, and when it was taken."""
    last = snapshots.last(session)
    if last is None:
        return None
    return redact(snapshots.read(session, last.name)), last.at


def _was_over(session: Session, before: float) -> bool:
    return session.state is State.ENDED and session.state_since < before

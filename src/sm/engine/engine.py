"""What can be asked of sm, as calls: the composition of loop, actor and watch.

Each call returns when what it did is on the disk.
"""

import asyncio
import contextlib
import os
import secrets
import shlex
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from sm.core.envelope import sanitise
from sm.core.events import (
    DaemonStarted,
    KillRequested,
    MessageCancelled,
    MessageQueued,
    MonitorSwitched,
    ReminderCancelled,
    ReminderSet,
    Renamed,
    SessionAdopted,
    SessionRequested,
    StatusSeen,
)
from sm.core.ids import MessageId, ReminderId, SessionId
from sm.core.launch import LaunchFailedError, LaunchRequest
from sm.core.message import Message, MessageState, Mode, Route, Way
from sm.core.reminder import first_message_id
from sm.core.state import Reminder, Session, State, Thresholds, WalkAway
from sm.core.terminal import View
from sm.engine import naming
from sm.engine.actor import Actor, Log
from sm.engine.adoption import NotAdoptableError
from sm.engine.archivist import Archivist
from sm.engine.degraded import degraded
from sm.engine.drafts import Drafts
from sm.engine.filing import Filing
from sm.engine.handovers import Handovers
from sm.engine.launcher import Folders, Launcher
from sm.engine.looking import look_at
from sm.engine.loop import Loop, ignore_outcome
from sm.engine.naming import RefusedError
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
from sm.engine.recoveries import Environments, Recoveries, RecoveryTerms
from sm.engine.reports import Reports
from sm.engine.snapshots import Photographer, SnapshotRules
from sm.engine.telling import Telling
from sm.engine.typist import Typist
from sm.engine.watch import ProcessWatch, Watch

LAUNCH_WITHIN = 15.0
JUDGED_WITHIN = 3.0
"""How long an adopted agent's state may take to be read from its screen."""
DRAIN_WITHIN = 5.0
MAX_TEXT = 1_000_000
ENVELOPE = 200
"""Characters around a message's text, at most."""


class SessionFolders(Folders, Environments, Protocol):
    """The folders, as far as new sessions need them."""

    def discard(self, session: SessionId) -> None: ...

    def tidy(self, known: Iterable[SessionId]) -> None: ...

    def make(self, session: SessionId) -> None: ...

    def with_sm(self, environment: Mapping[str, str]) -> dict[str, str]:
        """The environment with the command ``sm`` on its PATH."""


Render = Callable[[Path, Path], list[str]]
"""A raw log and the sizes its window had, as lines of text."""

Tail = Callable[[Path, Path, int], list[str]]
"""Their last lines, at most so many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewSession:
    id: SessionId
    name: str | None
    agent: str
    arguments: tuple[str, ...]
    cwd: str
    parent: str | None
    environment: Mapping[str, str]
    prompt: str | None
    monitored: bool = True
    """Whether the agent is warned when its context fills."""
    auto_handoff: bool = False
    """Whether it is handed over when its agent does not do so itself."""
    wrapped: bool = False
    """Whether it is started again for each new context, and never typed into."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HandoffRules:
    """What the configuration says about handoffs."""

    largest_document: int
    teach_agents: bool
    expiry: float = 7200.0
    """Seconds after which what waits in a channel is too old."""
    walkaway: WalkAway = field(default_factory=WalkAway)
    """For sessions that are handed over when nobody is there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewAdoption:
    id: SessionId
    pane: str
    """Any tmux target."""
    socket: str | None
    """The caller's tmux server; ours is asked too."""
    name: str | None
    agent: str | None
    """None: whichever is found."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewMessage:
    id: MessageId
    to: str
    sender: str | None
    text: str
    mode: Mode
    notify: bool
    expires_in: float | None


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
        snapshots: Snapshots,
        snapshot_rules: SnapshotRules,
    ) -> None:
        self.store = store
        self.terminal = terminal
        self.dialects = dialects
        self.clock = clock
        self.notices = notices
        self._folders = folders
        self._identity = identity
        self._render = render
        self._routes = routes
        self._thresholds = thresholds
        self._hook_url = hook_url
        self._handoff_rules = handoff_rules
        self._launcher = Launcher(terminal, processes, folders, dialects, hook_url, clock, redact)
        typist = Typist(terminal, dialects, processes, inbox, self.session)
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
            sessions=lambda: self.loop.sessions,
            next_commit=lambda: self.loop.next_commit(),
            message=store.message,
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
        self._rescue = recovery_terms.rules
        self.recoveries = Recoveries(
            self.loop,
            self.recoverer,
            folders,
            clock,
            terms=recovery_terms,
            identity=identity,
            clean=dialects.clean,
            raw_log=folders.raw_log,
            ways=self._ways,
            learn=self.filing.learn,
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
        ways = self._ways(session.agent)
        return DaemonStarted(
            version=version,
            ways=ways,
            thresholds=self._thresholds,
            walkaway=self._handoff_rules.walkaway,
            rescue=self._rescue,
        )

    # --- reading -------------------------------------------------------------------------

    def session(self, session_id: SessionId) -> Session:
        return self.loop.session(session_id)

    def _session_or_none(self, session_id: SessionId) -> Session | None:
        return next((s for s in self.loop.sessions if s.id == session_id), None)

    def find(self, reference: str) -> Session:
        return naming.find(reference, self.loop.sessions)

    async def message(self, message_id: MessageId) -> Message:
        for session in self.loop.sessions:
            held = session.message(message_id)
            if held is not None:
                return held
        stored = await self.store.message(message_id)
        if stored is None:
            raise naming.NotFoundError(f"There is no message {message_id!r}. See: sm messages")
        return stored

    async def wait_until(self, done: Callable[[], bool], within: float) -> bool:
        """Whether something became true in time, looked at after every commit."""
        try:
            async with asyncio.timeout(within):
                while not done():
                    await self.loop.next_commit()
        except TimeoutError:
            return False
        return True

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
        raw, sizes = self._folders.raw_log(session_id), self._folders.sizes_log(session_id)
        return await asyncio.to_thread(self._render, Path(raw), Path(sizes))

    # --- sessions ------------------------------------------------------------------------

    async def new_session(self, request: NewSession) -> Session:
        """Start an agent. The same id again is the same request, sent again."""
        known = await self.loop.stored(lambda: self._session_or_none(request.id))
        if known is not None:
            return known
        parent = self.find(request.parent).id if request.parent else None
        dialect = self.dialects.named(request.agent)
        name = self._name_for(request.name, dialect.name)
        environment = self.dialects.clean(request.environment)
        try:
            line = dialect.plan(
                LaunchRequest(
                    session=request.id,
                    agent=request.agent,
                    arguments=request.arguments,
                    cwd=request.cwd,
                    environment=environment,
                    folder=str(self._folders.folder(request.id)),
                    hook_command=str(self._folders.hook_command),
                    hook_url=self._hook_url(request.id),
                )
            )
        except LaunchFailedError as error:
            raise RefusedError(str(error)) from None
        if request.auto_handoff and (dialect.clear_command is None or not dialect.proves):
            remedy = (
                f"Start it with: sm new --agent {shlex.quote(request.agent)}"
                if request.wrapped
                else "Start it without --auto-handoff."
            )
            raise RefusedError(
                f"A {dialect.name} agent reports nothing about its context, so it cannot be handed"
                f" over. {remedy}"
            )
        first = self._message(request.id, request.prompt) if request.prompt else None
        environment = {**self._folders.with_sm(environment), **self._identity(request.id)}
        self._folders.prepare(request.id, line, environment, request.cwd)
        asked = SessionRequested(
            id=request.id,
            name=name,
            agent=request.agent,
            arguments=request.arguments,
            cwd=request.cwd,
            parent=parent,
            proves=dialect.proves,
            context=line.context,
            ways=self._ways(request.agent),
            compaction=line.compaction,
            thresholds=self._thresholds,
            monitored=request.monitored,
            walkaway=self._handoff_rules.walkaway if request.auto_handoff else None,
            wrapped=request.wrapped,
            rescue=self._rescue,
        )
        # Posted in one breath, so that the first prompt is stored with the session.
        await self.filing.learn({request.cwd})
        stored = self.loop.post(request.id, asked)
        if first is not None:
            ignore_outcome(self.loop.post(request.id, MessageQueued(message=first)))
        try:
            await stored
        except Exception:
            self._folders.discard(request.id)
            raise
        await self.wait_until(lambda: _has_begun(self.session(request.id)), LAUNCH_WITHIN)
        return self.session(request.id)

    async def adopt(self, request: NewAdoption) -> Session:
        """Take over an agent that runs. The same id again is the same request, sent again."""
        known = await self.loop.stored(lambda: self._session_or_none(request.id))
        if known is not None:
            return known
        try:
            candidate = await self._launcher.adopter.find(
                request.pane, request.socket, request.agent, self.loop.sessions
            )
        except NotAdoptableError as error:
            raise RefusedError(str(error)) from None
        known = self._session_or_none(request.id)
        if known is not None:
            # The same request, sent again while we looked.
            return known
        found, dialect = candidate.found, self.dialects.named(candidate.agent)
        name = self._name_for(request.name, dialect.name)
        self._folders.make(request.id)
        event = SessionAdopted(
            id=request.id,
            name=name,
            agent=candidate.agent,
            arguments=found.arguments,
            cwd=found.cwd,
            parent=None,
            proves=dialect.proves,
            context=found.context,
            transcript=found.transcript,
            adoption=candidate.adoption,
            ways=self._ways(candidate.agent),
            thresholds=self._thresholds,
        )
        try:
            await self.loop.post(request.id, event)
        except Exception:
            self._folders.discard(request.id)
            raise
        await self.wait_until(lambda: _has_begun(self.session(request.id)), LAUNCH_WITHIN)
        if found.status is not None and self.session(request.id).alive:
            await self.loop.post(request.id, StatusSeen(status=found.status))
        await self.wait_until(
            lambda: self.session(request.id).state is not State.STARTING, JUDGED_WITHIN
        )
        return self.session(request.id)

    def _ways(self, agent: str) -> tuple[Way, ...]:
        """The routes the agent offers, less those the configuration switched off."""
        dialect = self.dialects.named(agent)
        allowed = self._routes(dialect.name)
        return tuple(way for way in dialect.ways if way.route in allowed)

    def _name_for(self, wanted: str | None, stem: str) -> str:
        if wanted is None:
            return naming.free_name(stem, self.loop.sessions)
        return naming.check_name(wanted, self.loop.sessions)

    def _message(self, to: SessionId, text: str) -> Message:
        return Message(
            id=MessageId(secrets.token_hex(6)),
            to=to,
            sender_name="you",
            text=_checked(text),
            queued_at=self.clock.now(),
        )

    async def release(self, reference: str, *, by: str) -> Session:
        """Let go of an adopted session; its agent lives on without us."""
        session = self.find(reference)
        if not session.adopted:
            raise RefusedError(
                f"{session.name} was started by sm and cannot be let go. End it with:"
                f" sm kill {session.name}"
            )
        return await self.kill(session.id, by=by, spare=True)

    async def kill(self, reference: str, *, by: str, spare: bool = False) -> Session:
        """End a session; one that has already ended is what was asked for."""
        session = self.find(reference)
        if session.state is State.ENDED:
            return session
        await self.loop.post(session.id, KillRequested(by=by, spare=spare))
        ended = await self.wait_until(
            lambda: self.session(session.id).state is State.ENDED, LAUNCH_WITHIN
        )
        if not ended:
            raise RefusedError(
                f"{session.name} could not be ended yet. See: sm explain {session.name}"
            )
        return self.session(session.id)

    async def rename(self, reference: str, name: str) -> Session:
        session = self.find(reference)
        others = [s for s in self.loop.sessions if s.id != session.id]
        return await self.loop.post(session.id, Renamed(name=naming.check_name(name, others)))

    async def monitor(self, reference: str, *, on: bool) -> Session:
        """Have a session's agent warned when its context fills, or leave it alone."""
        session = self.find(reference)
        if session.state is State.ENDED:
            raise RefusedError(f"{session.name} has ended: nobody is left to be warned.")
        return await self.loop.post(session.id, MonitorSwitched(on=on))

    async def prune(self, before: float) -> int:
        """Drop what is older than this: events, closed messages, ended sessions with their logs.
        Says how many rows and sessions that were."""
        rows = await self.store.prune(before)
        over = [s.id for s in self.loop.sessions if _was_over(s, before)]
        await self.loop.forget(over)
        for session_id in over:
            await self.snapshots.forget(session_id)
            self._folders.discard(session_id)
        return rows + len(over)

    # --- messages ------------------------------------------------------------------------

    async def send(self, request: NewMessage) -> Message:
        """Queue a message. The same id again is the same message, sent again."""
        known = await self._stored_message(self.find(request.to).id, request.id)
        target = self.find(request.to)
        if known is not None:
            if (known.to, known.text) != (target.id, request.text):
                raise RefusedError(f"Message id {request.id} was used for another message.")
            return known
        if target.state is State.ENDED:
            raise RefusedError(f"{target.name} has ended. Start a new session with: sm new")
        _refuse_unbearable(target, request.text)
        sender = self._sender(request.sender)
        now = self.clock.now()
        message = Message(
            id=request.id,
            to=target.id,
            sender=sender.id if sender else None,
            sender_name=sender.name if sender else "you",
            mode=request.mode,
            text=_checked(request.text),
            queued_at=now,
            notify=request.notify,
            expires_at=now + request.expires_in if request.expires_in is not None else None,
        )
        session = await self.loop.post(target.id, MessageQueued(message=message))
        return session.message(message.id) or message

    async def _stored_message(self, to: SessionId, message_id: MessageId) -> Message | None:
        held = await self.loop.stored(lambda: self.session(to).message(message_id))
        return held or await self.store.message(message_id)

    def _sender(self, reference: str | None) -> Session | None:
        if reference is None:
            return None
        try:
            return self.find(reference)
        except naming.NotFoundError:
            return None

    async def cancel(self, message_id: MessageId) -> Message:
        message = await self.message(message_id)
        if message.state is MessageState.QUEUED:
            session = await self.loop.post(message.to, MessageCancelled(message=message_id))
            message = session.message(message_id) or message
        if message.state is not MessageState.CANCELLED:
            raise RefusedError(
                f"Message {message_id} is {message.state.value}: it can no longer be withdrawn."
            )
        return message

    # --- reminders -----------------------------------------------------------------------

    async def remind(
        self,
        reference: str,
        text: str,
        *,
        due_in: float,
        every: float | None,
        sender: str | None,
        reminder_id: ReminderId | None = None,
    ) -> Reminder:
        """Set a reminder. The same id again is the same reminder, sent again."""
        found = self.find(reference).id
        known = await self.loop.stored(lambda: _reminder(self.session(found), reminder_id))
        if known is not None:
            return known
        session = self.session(found)
        if session.state is State.ENDED:
            raise RefusedError(f"{session.name} has ended and cannot be reminded.")
        by = self._sender(sender)
        event = ReminderSet(
            id=reminder_id or ReminderId(secrets.token_hex(4)),
            text=_checked(text),
            due=self.clock.now() + due_in,
            every=every,
            sender_name=by.name if by else "you",
        )
        # A repeat of a request whose reminder has fired meanwhile must not remind again.
        if await self.store.message(first_message_id(session.id, event.id)) is None:
            await self.loop.post(session.id, event)
        return Reminder(
            id=event.id,
            text=event.text,
            due=event.due,
            every=event.every,
            sender_name=event.sender_name,
        )

    async def cancel_reminder(self, reminder_id: ReminderId) -> None:
        for session in self.loop.sessions:
            if any(r.id == reminder_id for r in session.reminders):
                await self.loop.post(session.id, ReminderCancelled(id=reminder_id))
                return
        raise naming.NotFoundError(f"There is no reminder {reminder_id!r}. See: sm remind --list")


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


def _reminder(session: Session, reminder_id: ReminderId | None) -> Reminder | None:
    return next((r for r in session.reminders if r.id == reminder_id), None)


def _was_over(session: Session, before: float) -> bool:
    return session.state is State.ENDED and session.state_since < before


def _has_begun(session: Session) -> bool:
    return session.pane is not None or session.exit is not None


def _refuse_unbearable(session: Session, text: str) -> None:
    """What no route of a run can carry would wait for ever, and everything behind it too."""
    largest = max((way.limit or 0 for way in session.ways), default=0)
    if session.wrapped and len(text.encode("utf-16-le", "surrogatepass")) // 2 + ENVELOPE > largest:
        raise RefusedError(
            f"{session.name} runs in a terminal of its own, and takes {largest:,} characters"
            " at most. Write it to a file, and send its name."
        )


def _checked(text: str) -> str:
    if not sanitise(text).strip():
        raise RefusedError("The text is empty. Give some words, or '-' to read standard input.")
    if len(text) > MAX_TEXT:
        raise RefusedError(f"The text has {len(text)} characters; the limit is {MAX_TEXT}.")
    return text

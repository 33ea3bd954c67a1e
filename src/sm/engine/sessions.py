"""Starting, adopting and ending sessions, as calls: each returns when it is on the disk."""

import asyncio
import secrets
import shlex
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol
from weakref import WeakValueDictionary

from sm.core.crash import RecoveryRules
from sm.core.events import (
    KillRequested,
    MessageQueued,
    MonitorSwitched,
    Renamed,
    SessionAdopted,
    SessionRequested,
    StatusSeen,
)
from sm.core.ids import MessageId, SessionId
from sm.core.launch import AgentLine, LaunchFailedError, LaunchRequest
from sm.core.message import Message, Route, Way
from sm.core.state import Session, State, Thresholds, WalkAway
from sm.engine import naming
from sm.engine.adoption import Adopter, NotAdoptableError
from sm.engine.launcher import Folders
from sm.engine.loop import Loop, ignore_outcome
from sm.engine.mail import checked
from sm.engine.naming import RefusedError
from sm.engine.ports import Clock, Dialects
from sm.engine.recoveries import Environments

LAUNCH_WITHIN = 15.0
JUDGED_WITHIN = 3.0
"""How long an adopted agent's state may take to be read from its screen."""


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
class Terms:
    """What the configuration lays down for every session."""

    thresholds: Thresholds
    walkaway: WalkAway
    """For sessions that are handed over when nobody is there."""
    rescue: RecoveryRules
    routes: Callable[[str], Collection[Route]]
    """Those an agent may be reached by, by its dialect's name."""


class SessionFolders(Folders, Environments, Protocol):
    """The folders, as far as new sessions need them."""

    def discard(self, session: SessionId) -> None: ...

    def tidy(self, known: Iterable[SessionId]) -> None: ...

    def make(self, session: SessionId) -> None: ...

    def with_sm(self, environment: Mapping[str, str]) -> dict[str, str]:
        """The environment with the command ``sm`` on its PATH."""


class Sessions:
    def __init__(
        self,
        loop: Loop,
        dialects: Dialects,
        adopter: Adopter,
        folders: SessionFolders,
        clock: Clock,
        *,
        terms: Terms,
        identity: Callable[[SessionId], Mapping[str, str]],
        hook_url: Callable[[SessionId], str | None],
        run_name: Callable[[str], str | None],
        run_names: Callable[[], Mapping[str, str]],
        learn: Callable[[set[str]], Awaitable[None]],
    ) -> None:
        self._loop = loop
        self._dialects = dialects
        self._adopter = adopter
        self._folders = folders
        self._clock = clock
        self._terms = terms
        self._identity = identity
        self._hook_url = hook_url
        self._run_name = run_name
        self._run_names = run_names
        self._learn = learn
        self._held: WeakValueDictionary[SessionId, asyncio.Lock] = WeakValueDictionary()
        """For each id that somebody is just beginning a session with."""

    async def new(self, request: NewSession) -> Session:
        """Start an agent. The same id again is the same request, sent again."""
        await self._learn({request.cwd})
        # The same id again waits for the first: it is known only when that is stored.
        lock = self._held.setdefault(request.id, asyncio.Lock())
        async with lock:
            known = await self._loop.stored(lambda: self._known(request.id))
            if known is not None:
                return known
            await self._request(request)
        return await self._begun(request.id)

    async def _request(self, request: NewSession) -> None:
        """Prepare its folder, and store it."""
        # Refused before anything is written; looked up again when it is stored.
        self._parent(request.parent)
        self._name_for(request.id, request.name, self._dialects.named(request.agent).name)
        environment = self._dialects.clean(request.environment)
        try:
            line = await asyncio.to_thread(self._line, request, environment)
        except LaunchFailedError as error:
            raise RefusedError(str(error)) from None
        self._refuse_handover(request)
        first = None if request.prompt is None else self._message(request.id, request.prompt)
        own = {**self._folders.with_sm(environment), **self._identity(request.id)}
        try:
            await asyncio.to_thread(self._folders.prepare, request.id, line, own, request.cwd)
            await self._stored(request, line, first)
        except Exception:
            # Whatever hindered it: nobody would know whose folder it is.
            self._folders.discard(request.id)
            raise

    def _line(self, request: NewSession, environment: Mapping[str, str]) -> AgentLine:
        return self._dialects.named(request.agent).plan(
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

    def _refuse_handover(self, request: NewSession) -> None:
        """Of an agent that could not be handed over."""
        dialect = self._dialects.named(request.agent)
        if not request.auto_handoff or (dialect.clear_command is not None and dialect.proves):
            return
        remedy = (
            f"Start it with: sm new --agent {shlex.quote(request.agent)}"
            if request.wrapped
            else "Start it without --auto-handoff."
        )
        raise RefusedError(
            f"A {dialect.name} agent reports nothing about its context, so it cannot be handed"
            f" over. {remedy}"
        )

    async def _stored(self, request: NewSession, line: AgentLine, first: Message | None) -> None:
        """Wait for nothing between the look for a name and the post: it is nobody else's."""
        dialect = self._dialects.named(request.agent)
        asked = SessionRequested(
            id=request.id,
            name=self._name_for(request.id, request.name, dialect.name),
            agent=request.agent,
            arguments=request.arguments,
            cwd=request.cwd,
            parent=self._parent(request.parent),
            proves=dialect.proves,
            context=line.context,
            ways=self.ways(request.agent),
            compaction=line.compaction,
            thresholds=self._terms.thresholds,
            monitored=request.monitored,
            walkaway=self._terms.walkaway if request.auto_handoff else None,
            wrapped=request.wrapped,
            rescue=self._terms.rescue,
        )
        # Posted in one breath, so that the first prompt is stored with the session.
        stored = self._loop.post(request.id, asked)
        if first is not None:
            ignore_outcome(self._loop.post(request.id, MessageQueued(message=first)))
        await stored

    async def adopt(self, request: NewAdoption) -> Session:
        """Take over an agent that runs. The same id again is the same request, sent again."""
        known = await self._loop.stored(lambda: self._known(request.id))
        if known is not None:
            return known
        try:
            candidate = await self._adopter.find(
                request.pane, request.socket, request.agent, self._loop.sessions
            )
        except NotAdoptableError as error:
            raise RefusedError(str(error)) from None
        known = self._known(request.id)
        if known is not None:
            # The same request, sent again while we looked.
            return known
        found, dialect = candidate.found, self._dialects.named(candidate.agent)
        name = self._name_for(request.id, request.name, dialect.name)
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
            ways=self.ways(candidate.agent),
            thresholds=self._terms.thresholds,
        )
        try:
            await self._loop.post(request.id, event)
        except Exception:
            # Whatever kept it from being stored: nobody would know whose folder it is.
            self._folders.discard(request.id)
            raise
        begun = await self._begun(request.id)
        if found.status is not None and begun.alive:
            await self._loop.post(request.id, StatusSeen(status=found.status))
        await self._loop.wait_until(
            lambda: self._loop.session(request.id).state is not State.STARTING, JUDGED_WITHIN
        )
        return self._loop.session(request.id)

    def ways(self, agent: str) -> tuple[Way, ...]:
        """The routes the agent offers, less those the configuration switched off."""
        dialect = self._dialects.named(agent)
        allowed = self._terms.routes(dialect.name)
        return tuple(way for way in dialect.ways if way.route in allowed)

    async def release(self, reference: str, *, by: str) -> Session:
        """Let go of an adopted session; its agent lives on without us."""
        session = self._find(reference)
        if not session.adopted:
            raise RefusedError(
                f"{session.name} was started by sm and cannot be let go. End it with:"
                f" sm kill {session.name}"
            )
        return await self.kill(session.id, by=by, spare=True)

    async def kill(self, reference: str, *, by: str, spare: bool = False) -> Session:
        """End a session; one that has already ended is what was asked for."""
        session = self._find(reference)
        if session.state is State.ENDED:
            return session
        await self._loop.post(session.id, KillRequested(by=by, spare=spare))
        ended = await self._loop.wait_until(
            lambda: self._loop.session(session.id).state is State.ENDED, LAUNCH_WITHIN
        )
        if not ended:
            raise RefusedError(
                f"{session.name} could not be ended yet. See: sm explain {session.name}"
            )
        return self._loop.session(session.id)

    async def rename(self, reference: str, name: str) -> Session:
        session = self._find(reference)
        others = [s for s in self._loop.sessions if s.id != session.id]
        name = naming.check_name(name, others, self.names_elsewhere(session.id))
        return await self._loop.post(session.id, Renamed(name=name))

    def names_elsewhere(self, session: SessionId) -> set[str]:
        """What runs are called, this one aside. Of those that became ours we know it ourselves."""
        ours = {session, *(one.id for one in self._loop.sessions)}
        return {name for run, name in self._run_names().items() if run not in ours}

    async def monitor(self, reference: str, *, on: bool) -> Session:
        """Have a session's agent warned when its context fills, or leave it alone."""
        session = self._find(reference)
        if session.state is State.ENDED:
            raise RefusedError(f"{session.name} has ended: nobody is left to be warned.")
        return await self._loop.post(session.id, MonitorSwitched(on=on))

    async def _begun(self, session: SessionId) -> Session:
        """The session once its agent runs, or is known not to."""

        def has_begun() -> bool:
            now = self._loop.session(session)
            return now.pane is not None or now.exit is not None

        await self._loop.wait_until(has_begun, LAUNCH_WITHIN)
        return self._loop.session(session)

    def _find(self, reference: str) -> Session:
        return naming.find(reference, self._loop.sessions)

    def _known(self, session_id: SessionId) -> Session | None:
        return next((s for s in self._loop.sessions if s.id == session_id), None)

    def _parent(self, reference: str | None) -> SessionId | None:
        """A run is one by its id: its agent begins sessions here, though its own is not here."""
        if not reference:
            return None
        try:
            return self._find(reference).id
        except naming.NotFoundError:
            if self._run_name(reference) is None:
                raise
            return SessionId(reference)

    def _name_for(self, session: SessionId, wanted: str | None, stem: str) -> str:
        elsewhere = self.names_elsewhere(session)
        if wanted is None:
            return naming.free_name(stem, self._loop.sessions, elsewhere)
        return naming.check_name(wanted, self._loop.sessions, elsewhere)

    def _message(self, to: SessionId, text: str) -> Message:
        return Message(
            id=MessageId(secrets.token_hex(6)),
            to=to,
            sender_name="you",
            text=checked(text),
            queued_at=self._clock.now(),
        )

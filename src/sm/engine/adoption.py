"""Finds the agent that runs in a pane, takes the pane over, and lets it go again.

Whatever cannot be told for certain is refused, with what was found in its place.
"""

import asyncio
import contextlib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from sm.core.adoption import Found, Process, Spot
from sm.core.crash import Cause
from sm.core.events import (
    AgentExited,
    AgentKilled,
    AgentStarted,
    Event,
    LaunchFailed,
    PaneLetGo,
    PaneSeen,
    TerminalLost,
)
from sm.core.ids import ContextId, SessionId
from sm.core.launch import LaunchFailedError, TerminalUnreachableError
from sm.core.state import Adoption, Session
from sm.core.terminal import AgentStatus, Pane
from sm.engine.inquest import Inquest, Seen
from sm.engine.looking import look_at
from sm.engine.ports import Dialects, Processes, Terminal

SHOWN_PROCESSES = 4


class NotAdoptableError(Exception):
    """There is nothing there that could be adopted; the message says what there is."""


class Logs(Protocol):
    """Where an adopted session's files are."""

    def raw_log(self, session: SessionId) -> str: ...

    def sizes_log(self, session: SessionId) -> str: ...

    def note_adopted(self, session: SessionId) -> None:
        """From now on hooks of agents that sm did not start are listened to."""

    def forget_adopted(self, session: SessionId) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """An agent that can be adopted."""

    agent: str
    found: Found
    adoption: Adoption


class Adopter:
    def __init__(
        self,
        terminal: Terminal,
        dialects: Dialects,
        processes: Processes,
        logs: Logs,
        inquest: Inquest,
    ) -> None:
        self._inquest = inquest
        self._terminal = terminal
        self._dialects = dialects
        self._processes = processes
        self._logs = logs

    # --- finding -------------------------------------------------------------------------

    async def find(
        self, target: str, socket: str | None, agent: str | None, sessions: Iterable[Session]
    ) -> Candidate:
        """The one agent in a pane. Raises NotAdoptableError. ``sessions`` are those there are
        whenever they are looked at."""
        known = self._dialects.recognisable
        if agent is not None and agent not in known:
            raise NotAdoptableError(
                f"sm does not recognise a running {agent!r}. It can adopt: {', '.join(known)}."
            )
        spot = await self._examine(target, socket)
        await self._refuse_owned(spot, [s for s in sessions if s.alive])
        wanted = (agent,) if agent is not None else known
        name, found = await asyncio.to_thread(self._agent_in, spot, wanted)
        # Asked for anew: another may have been adopted while we looked through all processes.
        for session in [s for s in sessions if s.alive]:
            if session.pane and (session.pane.pid, session.pane.started) == _process(found):
                raise NotAdoptableError(f"{_in(spot)} is already session {session.name}.")
        pane = Pane(
            socket=spot.socket,
            session=spot.tmux_session,
            id=spot.pane,
            pid=found.pid,
            started=found.started,
        )
        return Candidate(
            agent=name, found=found, adoption=Adoption(pane=pane, logged=not spot.piped)
        )

    async def _examine(self, target: str, socket: str | None) -> Spot:
        """On the caller's server first, then on ours."""
        trouble = ""
        for place in dict.fromkeys((socket, None)):
            try:
                spot = await self._terminal.examine(target, place)
            except TerminalUnreachableError as error:
                trouble = trouble or f" ({error})"
                continue
            if spot is not None and spot.dead:
                raise NotAdoptableError(f"The program in {_in(spot)} has ended.")
            if spot is not None:
                return spot
        where = f"on {socket} or on sm's own tmux server" if socket else "on sm's own tmux server"
        raise NotAdoptableError(
            f"There is no pane {target!r} {where}{trouble}. See: tmux list-panes -a; another"
            " server is named with --tmux-socket PATH"
        )

    async def _refuse_owned(self, spot: Spot, living: list[Session]) -> None:
        if spot.owner is None:
            return
        if not spot.is_ours:
            raise NotAdoptableError(f"{_in(spot)} belongs to a session of another sm home.")
        owner = next((s for s in living if s.id == spot.owner), None)
        if owner is not None:
            raise NotAdoptableError(f"{_in(spot)} is already session {owner.name}.")
        # The tag of a session that is over: tmux could not be reached when it ended.
        await self._terminal.release(spot.pane, spot.owner)

    def _agent_in(self, spot: Spot, agents: Iterable[str]) -> tuple[str, Found]:
        processes = self._processes.tree(spot.pid)
        found = [(a, f) for a in agents for f in self._dialects.named(a).find(processes)]
        if len(found) > 1:
            # One was put into the background: the one with the terminal is meant.
            in_front = {p.pid for p in processes if p.foreground}
            found = [(a, f) for a, f in found if f.pid in in_front] or found
        if len(found) > 1:
            names = ", ".join(f"{agent} (process {f.pid})" for agent, f in found)
            raise NotAdoptableError(f"There are several agents in {_in(spot)}: {names}.")
        if not found:
            raise NotAdoptableError(
                f"No agent that sm knows runs in {_in(spot)}: {_names(processes) or spot.command}."
            )
        return found[0]

    # --- taking and letting go -----------------------------------------------------------

    async def take(self, session: Session) -> Event:
        """Put our tags on the pane the agent was found in. Can be asked for again."""
        adoption = session.adoption
        if adoption is None:
            return LaunchFailed(reason="it was not adopted")
        pane = adoption.pane
        if self._processes.started(pane.pid) != pane.started:
            return LaunchFailed(reason=f"process {pane.pid} has ended meanwhile")
        self._logs.note_adopted(session.id)
        event = await self._tag(session, pane)
        if isinstance(event, LaunchFailed):
            self._logs.forget_adopted(session.id)
        return event

    async def _tag(self, session: Session, pane: Pane) -> Event:
        raw, sizes = self._logs.raw_log(session.id), self._logs.sizes_log(session.id)
        try:
            taken = await self._terminal.take(pane.id, session.id, raw, sizes)
        except LaunchFailedError as error:
            return LaunchFailed(reason=str(error))
        except TerminalUnreachableError as error:
            return TerminalLost(reason=str(error))
        if not taken:
            return LaunchFailed(reason=f"pane {pane.id} is gone or has another session's tag")
        return AgentStarted(pane=pane)

    async def end(self, session: Session) -> Event:
        """End the agent's own process, never the pane's shell; or let it go as it is."""
        pane = session.pane
        evidence = "it was let go; its agent lives on"
        if pane is not None and not session.spared:
            gone = await self._processes.end(pane.pid, pane.started)
            evidence = f"process {pane.pid} was ended"
            if not gone:
                raise LaunchFailedError(f"process {pane.pid} does not end")
        await self.let_go(session)
        return AgentKilled(evidence=evidence)

    async def let_go(self, session: Session) -> Event:
        self._logs.forget_adopted(session.id)
        if session.adoption is None:
            return PaneLetGo(evidence="it was not adopted")
        try:
            await self._terminal.release(session.adoption.pane.id, session.id)
        except TerminalUnreachableError as error:
            return PaneLetGo(evidence=f"tmux was not reached: {error}")
        return PaneLetGo(evidence=f"nothing of ours is left in pane {session.adoption.pane.id}")

    # --- looking -------------------------------------------------------------------------

    async def check(self, session: Session) -> Event:
        """Is the agent still there? Its pane may be a shell's, which lives on without it."""
        pane = session.pane
        if pane is None:
            return await self._inquest.exited(session, None)
        is_there = self._processes.started(pane.pid) == pane.started
        try:
            view = await look_at(self._terminal, session)
        except TerminalUnreachableError as error:
            lives = await self._inquest.lives(session)
            if lives or await asyncio.to_thread(self._is_recognised, session, pane):
                return TerminalLost(reason=str(error))
            return await self._gone(session, error)
        if view is not None and is_there:
            return PaneSeen(evidence=f"pane {pane.id} and process {pane.pid} are there")
        return await self._gone(session, view)

    def _is_recognised(self, session: Session, pane: Pane) -> bool:
        """It carries no mark of ours; but an agent of its kind at its very pid and start is it."""
        found = self._dialects.named(session.agent).find(self._processes.tree(pane.pid))
        return (pane.pid, pane.started) in map(_process, found)

    async def _gone(self, session: Session, seen: Seen) -> AgentExited:
        """Of one in a person's shell nobody can tell the exit code. One that took its leave has
        removed its own file."""
        gone = await self._inquest.exited(session, seen)
        left = session.context.transcript is not None and self.status(session) is None
        # Whatever removed the file of an agent that a reboot took: nobody meant to end it.
        if not left or gone.cause is Cause.REBOOT or await self._inquest.lives(session):
            return gone
        return replace(gone, evidence=f"{gone.evidence}, and it took its leave", left=True)

    def status(self, session: Session) -> AgentStatus | None:
        pane, transcript = session.pane, session.context.transcript
        if pane is None or transcript is None:
            return None
        dialect = self._dialects.named(session.agent)
        return dialect.read_status(pane.pid, pane.started, Path(transcript))

    def owner(
        self, context: ContextId | None, sessions: Iterable[Session]
    ) -> tuple[Session, AgentStatus | None] | None:
        """The living adopted session whose client has this context, and its word for it if the
        context is news to us."""
        if context is None:
            return None
        adopted = [s for s in sessions if s.adopted and s.alive]
        for session in adopted:
            if session.context.id == context:
                return session, None
        for session in adopted:
            status = self.status(session)
            if status is not None and status.context == context:
                return session, status
        return None

    def tidy(self, sessions: Iterable[Session]) -> None:
        """The marks of adopted sessions are those of the living ones."""
        for session in sessions:
            if session.adopted and session.alive:
                with contextlib.suppress(OSError):
                    self._logs.note_adopted(session.id)
            elif session.adopted:
                self._logs.forget_adopted(session.id)


def _process(found: Found) -> tuple[int, int]:
    return found.pid, found.started


def _in(spot: Spot) -> str:
    number = spot.pane.partition("@")[0]
    return f"pane {number} of tmux session {spot.tmux_session}"


def _names(processes: list[Process]) -> str:
    shown = [f"{p.name} (process {p.pid})" for p in processes[:SHOWN_PROCESSES]]
    more = len(processes) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more > 0 else "")

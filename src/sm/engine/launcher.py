"""Starts agents, and finds out whether they are still there."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from sm.core.adoption import Process
from sm.core.effects import RelaunchAgent
from sm.core.envelope import carry
from sm.core.events import (
    AgentRelaunched,
    AgentStarted,
    Event,
    LaunchFailed,
    PaneSeen,
    RelaunchRefused,
    TerminalLost,
)
from sm.core.handoff import first_prompt, is_relaunching, outlived
from sm.core.ids import ContextId, SessionId
from sm.core.launch import (
    AgentLine,
    LaunchFailedError,
    LaunchRequest,
    PaneLaunch,
    TerminalUnreachableError,
)
from sm.core.passage import Handoff
from sm.core.state import Session
from sm.core.terminal import Pane, View
from sm.engine.adoption import Adopter, Logs
from sm.engine.cleaning import in_brief
from sm.engine.inquest import Inquest, is_replaced
from sm.engine.looking import look_at
from sm.engine.ports import Clock, Dialects, Processes, Terminal

COMMAND_LENGTH = 200
DEATH_SHOWN_WITHIN = 2.0
"""tmux notices a death a moment after the process table does."""


class Folders(Logs, Protocol):
    """Where a session's files are."""

    def launch_argv(self, session: SessionId) -> tuple[str, ...]: ...

    @property
    def hook_command(self) -> Path: ...

    def folder(self, session: SessionId) -> Path: ...

    def prepare(
        self,
        session: SessionId,
        line: AgentLine,
        environment: Mapping[str, str],
        cwd: str,
        *,
        recovery: Mapping[str, str] | None = None,
    ) -> None: ...

    def recovery(self, session: SessionId) -> dict[str, str]:
        """What was noted of the recovery it was last started by."""

    def environment(self, session: SessionId) -> dict[str, str]:
        """What the session's agent was started with; raises OSError."""

    def forget_environment(self, session: SessionId) -> None:
        """The session is over; so is the need for its caller's environment."""

    def forget_unkept(self, session: SessionId) -> None:
        """The same, unless environments are kept until their sessions end."""


def in_words(process: Process, redact: Callable[[str], str]) -> str:
    """A process as it is named to an agent."""
    command = " ".join(process.command) or process.name
    return in_brief(f"process {process.pid}: {command}", COMMAND_LENGTH, redact)


def _prompt(session: Session, handoff: Handoff, survivors: tuple[str, ...]) -> str:
    """What the new context is told first, as it will stand in the session too."""
    context = replace(session.context, number=session.context.number + 1)
    told = outlived(handoff, survivors)
    return carry(first_prompt(replace(session, context=context), told, 0.0))


class Launcher:
    def __init__(
        self,
        terminal: Terminal,
        processes: Processes,
        folders: Folders,
        dialects: Dialects,
        hook_url: Callable[[SessionId], str | None],
        clock: Clock,
        redact: Callable[[str], str] = str,
    ) -> None:
        self._redact = redact
        """For what agents are told of others' command lines."""
        self.inquest = Inquest(terminal, processes, clock)
        self.adopter = Adopter(terminal, dialects, processes, folders, self.inquest)
        self._terminal = terminal
        self._processes = processes
        self._folders = folders
        self._dialects = dialects
        self._hook_url = hook_url

    async def launch(self, session: Session) -> Event:
        """Start the agent, or find it already started by a daemon that died."""
        launch = self._pane_launch(session)
        try:
            pane = await self._terminal.find(session.id) or await self._terminal.launch(launch)
        except LaunchFailedError as error:
            return LaunchFailed(reason=str(error))
        except TerminalUnreachableError as error:
            # It may have run: to be asked again, which finds what was started.
            return TerminalLost(reason=str(error))
        return AgentStarted(pane=pane)

    async def relaunch(self, session: Session, effect: RelaunchAgent) -> Event:
        """End the agent and start it again in a new context, with its first prompt.

        It is ended by the very process it is; what it leaves behind in the terminal, with it.
        """
        handoff = session.handoff
        if handoff is None or handoff.id != effect.handoff or not is_relaunching(session):
            return RelaunchRefused(handoff=effect.handoff, reason="the handoff is over")
        try:
            # Planned before: an agent that cannot be started again is not ended.
            await asyncio.to_thread(self._planned, session, "")
        except (LaunchFailedError, OSError, ValueError, LookupError) as error:
            return RelaunchRefused(handoff=effect.handoff, reason=str(error))
        survivors = await self._ended(session)
        try:
            prompt = _prompt(session, handoff, survivors)
            line = await asyncio.to_thread(self._prepared, session, prompt)
            pane = await self._terminal.launch(self._pane_launch(session))
        except (LaunchFailedError, OSError) as error:
            return LaunchFailed(reason=str(error))
        return AgentRelaunched(pane=pane, context=line.context, survivors=survivors)

    def _prepared(self, session: Session, prompt: str) -> AgentLine:
        line, environment = self._planned(session, prompt)
        self._folders.prepare(session.id, line, environment, session.cwd)
        return line

    async def _ended(self, session: Session) -> tuple[str, ...]:
        """End the agent; what it had started and what is still there, in words."""
        pane, tree = session.pane, self._processes.tree
        below = (await asyncio.to_thread(tree, pane.pid))[1:] if pane is not None else []
        await self._terminal.kill(session.id)
        return await asyncio.to_thread(self._left_of, below)

    def _left_of(self, processes: Sequence[Process]) -> tuple[str, ...]:
        """Those of them that are still there, in words."""
        left = [one for one in processes if self._processes.started(one.pid) == one.started]
        return tuple(in_words(one, self._redact) for one in left)

    async def start_again(
        self,
        session: Session,
        line: AgentLine,
        environment: Mapping[str, str],
        note: Mapping[str, str],
    ) -> Pane:
        """Start an agent that died in the place of its remains. Raises as the terminal does."""
        await asyncio.to_thread(
            lambda: self._folders.prepare(session.id, line, environment, session.cwd, recovery=note)
        )
        return await self._terminal.relaunch(self._pane_launch(session))

    def noted(self, session: Session) -> dict[str, str]:
        """What was noted of the recovery its agent was last started by."""
        return self._folders.recovery(session.id)

    def planned_again(
        self,
        session: Session,
        resume: ContextId | None,
        environment: Mapping[str, str] | None = None,
    ) -> tuple[AgentLine, Mapping[str, str]]:
        """How its agent is started once more: with its own record, or afresh. ``environment``: in
        the place of one that is not kept."""
        self._terminal.check_startable(self._pane_launch(session))
        return self._planned(session, None, resume=resume, environment=environment)

    def _planned(
        self,
        session: Session,
        prompt: str | None,
        *,
        resume: ContextId | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> tuple[AgentLine, Mapping[str, str]]:
        if environment is None:
            environment = self._folders.environment(session.id)
        request = LaunchRequest(
            session=session.id,
            agent=session.agent,
            arguments=session.arguments,
            cwd=session.cwd,
            environment=environment,
            folder=str(self._folders.folder(session.id)),
            hook_command=str(self._folders.hook_command),
            hook_url=self._hook_url(session.id),
            prompt=prompt,
            resume=resume,
            afresh=True,
        )
        return self._dialects.named(session.agent).plan(request), environment

    async def check(self, session: Session) -> Event:
        """Is the agent still there? "Unreachable" is not an answer to that."""
        if session.adopted:
            return await self.adopter.check(session)
        pane = session.pane
        if pane is None:
            return await self.inquest.exited(session, None)
        is_there = self._processes.started(pane.pid) == pane.started
        try:
            view = await self._settled_view(session, is_there)
        except TerminalUnreachableError as error:
            if await self.inquest.lives(session):
                return TerminalLost(reason=str(error))
            return await self.inquest.exited(session, error)
        # A pane that still has our tag and our process was not left by anything, a reboot included.
        if view is not None and is_there and not view.dead and not is_replaced(session, view):
            return PaneSeen(evidence=f"pane {pane.id} and process {pane.pid} are there")
        return await self.inquest.exited(session, view)

    async def _settled_view(self, session: Session, lives: bool) -> View | None:
        """A view that agrees with the process table, or the last one if they never agree."""
        deadline = asyncio.get_running_loop().time() + DEATH_SHOWN_WITHIN
        while True:
            view = await look_at(self._terminal, session)
            agrees = view is None or view.dead or lives or is_replaced(session, view)
            if agrees or asyncio.get_running_loop().time() > deadline:
                return view
            await asyncio.sleep(0.02)

    def _pane_launch(self, session: Session) -> PaneLaunch:
        return PaneLaunch(
            session=session.id,
            tmux_session=session.name,
            cwd=session.cwd,
            argv=self._folders.launch_argv(session.id),
            raw_log=self._folders.raw_log(session.id),
            sizes_log=self._folders.sizes_log(session.id),
        )

    def forget(self, session_id: SessionId) -> None:
        self._folders.forget_environment(session_id)

    def forget_unkept(self, session_id: SessionId) -> None:
        self._folders.forget_unkept(session_id)

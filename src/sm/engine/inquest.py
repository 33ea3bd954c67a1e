"""Why an agent is gone: looks at what it left behind, and asks the core what that speaks for.

It only looks: what is found is neither ended nor tidied up. "Unreachable" is no evidence of an end.
"""

import asyncio
from dataclasses import replace

from sm.core.crash import Cause
from sm.core.events import AgentExited
from sm.core.launch import ServerGoneError, TerminalUnreachableError
from sm.core.state import Session
from sm.core.terminal import Pane, Server, View
from sm.core.traces import LIMIT_WITHIN, Left, Serving, Traces, cause_of, names_limit, signal_name
from sm.engine.looking import look_at
from sm.engine.ports import Clock, Processes, Terminal

SERVER_WITHIN = 2.0
"""A server that does not say who it is by then tells us nothing."""
AGAIN = 0.05
LEAVING = 0.1
"""Within this time a server that was told to end stops answering."""
LEAVES_WITHIN = 2.5
"""Claude Code gives the hooks of its own end 1.5 s."""
UNSTARTABLE = "sm could not start the agent: "
NOT_STARTED = 127
SIGKILL, KILLED = 9, 137
CLOCKS_DIFFER = 2.0
"""Seconds by which two readings of the wall clock may be apart without any meaning."""

Seen = View | TerminalUnreachableError | None
"""What came of a look at the agent's pane."""


class Inquest:
    def __init__(self, terminal: Terminal, processes: Processes, clock: Clock) -> None:
        self._terminal = terminal
        self._processes = processes
        self._clock = clock

    async def of(self, session: Session) -> tuple[Cause, str]:
        """The cause of an end as far as it can be told now, in words for people."""
        try:
            seen: Seen = await look_at(self._terminal, session)
        except TerminalUnreachableError as error:
            seen = error
        return _told(await self.exited(session, seen))

    async def exited(self, session: Session, seen: Seen) -> AgentExited:
        """The end of an agent that was found gone, with its cause and the evidence for it."""
        if session.pane is None:
            return AgentExited(status=None, signal=None, evidence="it has no pane")
        traces = await self._traces(session, session.pane, seen)
        cause, evidence = cause_of(traces)
        return AgentExited(
            status=traces.status, signal=traces.signal, evidence=evidence, cause=cause
        )

    async def lives(self, session: Session) -> bool:
        """Whether the agent's own process is there."""
        # After a reboot it may take a look at every process there is.
        return await asyncio.to_thread(self._lives, session)

    def _lives(self, session: Session) -> bool:
        """After a reboot the same pid and start time may be another's: then only the session's id
        in what it was started with is believed."""
        pane = session.pane
        if pane is None or self._processes.started(pane.pid) != pane.started:
            return False
        if self._booted_after(session) is None:
            return True
        return any(process.pid == pane.pid for process in self._processes.marked(session.id))

    async def _traces(self, session: Session, pane: Pane, seen: Seen) -> Traces:
        """Every question costs something: only what the answers so far leave open is asked."""
        left = _left(session, seen)
        traces = Traces(
            pane=pane.id,
            pid=pane.pid,
            left=left,
            adopted=session.adopted,
            lives=await self._outlives(session, left),
            limit=self._limit(session),
        )
        if traces.left is Left.DEAD and isinstance(seen, View):
            traces = replace(
                traces,
                status=seen.exit_status,
                signal=seen.exit_signal,
                unstartable=await self._unstartable(pane, seen),
            )
        if traces.left is Left.TAKEN:
            return replace(traces, taken_by=await self._taken_by(pane, seen))
        if traces.left in (Left.GONE, Left.HIDDEN):
            server, serving = await self._serving(session, pane)
            if (traces.left, serving) == (Left.GONE, Serving.SAME):
                # A server on its way out lets go of its panes before it stops answering.
                await asyncio.sleep(LEAVING)
                server, serving = await self._serving(session, pane)
            rebooted = await asyncio.to_thread(self._rebooted, session, server)
            traces = replace(traces, serving=serving, rebooted=rebooted)
        if (traces.left, traces.serving) == (Left.GONE, Serving.OTHER):
            traces = replace(traces, namesake=await self._namesake(pane))
        return replace(traces, memory=await self._memory(traces, pane))

    async def _outlives(self, session: Session, left: Left) -> bool:
        """Whether its process stays although its pane is not there any more.

        An agent that notices tidies up: it is given the time, once.
        """
        is_leaving = left in (Left.GONE, Left.TAKEN) and session.exit is None
        deadline = asyncio.get_running_loop().time() + (LEAVES_WITHIN if is_leaving else 0.0)
        pane = session.pane
        if pane is None or not await self.lives(session):
            return False
        # It is known to be the agent's: from here on, pid and start time tell.
        while self._processes.started(pane.pid) == pane.started:
            if asyncio.get_running_loop().time() >= deadline:
                return True
            await asyncio.sleep(AGAIN)
        return False

    async def _serving(self, session: Session, pane: Pane) -> tuple[Server | None, Serving]:
        try:
            async with asyncio.timeout(SERVER_WITHIN):
                server = await self._server(pane)
        except ServerGoneError:
            return None, Serving.NONE
        except TimeoutError:
            return None, Serving.UNTOLD
        return server, Serving.OTHER if self._is_later(server, session, pane) else Serving.SAME

    async def _server(self, pane: Pane) -> Server:
        """Asked again where the answer was lost: the server may have ended in the middle of it."""
        while True:
            try:
                return await self._terminal.server_of(pane.id)
            except ServerGoneError:
                raise
            except TerminalUnreachableError:
                await asyncio.sleep(AGAIN)

    def _is_later(self, server: Server, session: Session, pane: Pane) -> bool:
        """Whether the server was started after the agent, which then cannot have been in it."""
        started = self._processes.started(server.pid)
        if started is not None and pane.started:
            # In the kernel's own time: tmux tells whole seconds of a clock that can be set.
            return started > pane.started
        return server.started > _launched_at(session)

    def _booted_after(self, session: Session) -> float | None:
        """How long after the agent's start the host was started, if it was, by the wall clock."""
        booted_at = self._processes.booted_at()
        after = 0.0 if booted_at is None else booted_at - _launched_at(session)
        return after if after > 0 else None

    def _rebooted(self, session: Session, server: Server | None) -> float | None:
        after = self._booted_after(session)
        booted_at = self._processes.booted_at()
        if after is None or booted_at is None or server is None:
            return after
        # A clock that was set moves the time of the boot; a server from before it was not there.
        return None if server.started < booted_at - CLOCKS_DIFFER else after

    async def _memory(self, traces: Traces, pane: Pane) -> str | None:
        by_kill = traces.signal == SIGKILL or traces.status == KILLED
        is_untold = traces.signal is None and traces.status is None
        if traces.lives or traces.rebooted is not None or not (by_kill or is_untold):
            return None
        if traces.serving in (Serving.OTHER, Serving.NONE):
            return None
        # The log may be long, and a read of it per line.
        return await asyncio.to_thread(
            self._processes.memory_killed, pane.pid, pane.started, by_kill=by_kill
        )

    async def _unstartable(self, pane: Pane, view: View) -> str:
        """The launcher's own last words; tmux has moved them off the screen of the dead pane."""
        if view.exit_status != NOT_STARTED:
            return ""
        try:
            text = await self._terminal.dump(pane.id) or b""
        except TerminalUnreachableError:
            return ""
        lines = text.decode(errors="replace").splitlines()
        said = [line.strip() for line in lines if line.startswith(UNSTARTABLE)]
        return said[-1] if said else ""

    async def _taken_by(self, pane: Pane, seen: Seen) -> str:
        number, _, socket = pane.id.partition("@")
        pid = seen.pid if isinstance(seen, View) else None
        try:
            spot = await self._terminal.examine(number, socket or None)
        except TerminalUnreachableError:
            spot = None
        name = spot.command if spot is not None and spot.command else "another program"
        return f"{name} (process {pid})"

    async def _namesake(self, pane: Pane) -> str:
        """What people and plugins put back under a name is a shell, not the agent."""
        _, _, socket = pane.id.partition("@")
        try:
            spot = await self._terminal.examine(f"={pane.session}:", socket or None)
        except TerminalUnreachableError:
            return ""
        if spot is None or spot.owner is not None:
            return ""
        return f"tmux session {spot.tmux_session} was made anew, with {spot.command} in it"

    def _limit(self, session: Session) -> str:
        at = session.state_since if session.exit is not None else self._clock.now()
        refused_at = session.turn_ended_at
        # What an agent before this one was refused is not its own.
        is_its_own = refused_at >= session.launched_at and at - refused_at <= LIMIT_WITHIN
        return session.failure if is_its_own and names_limit(session.failure) else ""


def _launched_at(session: Session) -> float:
    """Rows of older releases do not tell."""
    return session.launched_at or session.created_at


def is_replaced(session: Session, view: View) -> bool:
    """Whether another program is in the pane that sm started the agent in."""
    if session.adopted or session.pane is None:
        return False
    return view.pid not in (None, session.pane.pid)


def _left(session: Session, seen: Seen) -> Left:
    if isinstance(seen, TerminalUnreachableError):
        return Left.HIDDEN
    if seen is None:
        return Left.GONE
    if is_replaced(session, seen):
        return Left.TAKEN
    # How a pane ended that was never the agent's alone says nothing of the agent.
    is_its_own = session.pane is not None and seen.pid == session.pane.pid and seen.dead
    return Left.THERE if session.adopted and not is_its_own else Left.DEAD


def _told(end: AgentExited) -> tuple[Cause, str]:
    if end.signal is not None:
        return end.cause, f"{signal_name(end.signal)} ended it: {end.evidence}"
    if end.status is not None:
        return end.cause, f"it ended with exit code {end.status}: {end.evidence}"
    return end.cause, end.evidence

"""A small world for the engine: one tmux, its panes with scripted agents, and their processes."""

import asyncio
import os
from collections.abc import Callable
from dataclasses import dataclass, field

from sm.core.adoption import Process, Spot
from sm.core.ids import PaneId, SessionId
from sm.core.launch import LaunchFailedError, PaneLaunch, ServerGoneError, TerminalUnreachableError
from sm.core.terminal import Pane, PaneStatus, Server, View
from tests.engine.agent import STARTED, Agent
from tests.engine.timelapse import in_a_thread

SERVER = Server(pid=50, started=0, socket_path="/tmp/tmux")


@dataclass(slots=True)
class World:
    """Every agent there is, and whether tmux answers. Fits the engine's ``Terminal``."""

    now: Callable[[], float]
    agents: dict[SessionId, Agent] = field(default_factory=dict)
    calls: list[str] = field(default_factory=list)
    """What was asked of tmux, looks left out."""
    dumps: int = 0
    """How often what a pane holds was asked for."""
    silent: bool = False
    """tmux does not answer, and does nothing either."""
    babbles: bool = False
    """The list of panes is none that anybody could read."""
    hang: str | None = None
    """The next call raises, ``before`` or ``after`` it was carried out."""
    breaks: Exception | None = None
    """The next paste ends in this error, which nobody foresaw."""
    refuses_launch: bool = False
    hang_at: str = ""
    """The next call of this name is carried out and not answered."""
    forgets: bool = False
    """Agents that are started again begin a new context."""
    server: Server | None = SERVER
    """None: nobody listens on the socket."""
    server_tick: int | None = STARTED - 1
    """When the process of that server was started."""
    restored: dict[str, str] = field(default_factory=dict)
    """tmux sessions that were made since, and the program in each."""
    restored_for: SessionId | None = None
    """Whose tag they have."""

    def agent(self, session: str = "ada") -> Agent:
        return self.agents[SessionId(session)]

    def add(self, session: SessionId) -> Agent:
        agent = Agent(session, len(self.agents) + 1, self.now, tmux_name=session)
        self.agents[session] = agent
        return agent

    def _in(self, pane: PaneId) -> Agent | None:
        return next((a for a in self.agents.values() if a.pane.id == pane and not a.gone), None)

    def _answers(self) -> None:
        if self.silent or self.hang == "before":
            self.hang = None
            raise TerminalUnreachableError("no answer")

    def _answered(self) -> None:
        if self.hang == "after":
            self.hang = None
            raise TerminalUnreachableError("no answer; the command may have run")

    async def launch(self, launch: PaneLaunch) -> Pane:
        self._answers()
        self.calls.append(f"launch {launch.session}")
        if self.refuses_launch:
            raise LaunchFailedError(f"{launch.cwd} is not a folder")
        agent = self.add(launch.session)
        agent.start()
        self._answered()
        return agent.pane

    def check_startable(self, launch: PaneLaunch) -> None:
        if self.refuses_launch:
            raise LaunchFailedError(f"{launch.cwd} is not a folder")

    async def relaunch(self, launch: PaneLaunch) -> Pane:
        """In place: what the agent wrote stays, what it had in its box and its hands does not."""
        self._answers()
        self.calls.append(f"relaunch {launch.session}")
        if self.hang_at == "relaunch":
            self.hang, self.hang_at = "after", ""
        if self.refuses_launch:
            raise LaunchFailedError(f"{launch.cwd} is not a folder")
        dead = self.agents.get(launch.session)
        if dead is None:
            self.add(launch.session).start()
        else:
            dead.revive(fresh=self.forgets)
        self._answered()
        return self.agents[launch.session].pane

    async def find(self, session: SessionId) -> Pane | None:
        self._answers()
        agent = self.agents.get(session)
        return agent.pane if agent is not None and not agent.gone else None

    async def panes(self) -> list[PaneStatus]:
        self._answers()
        if self.babbles:
            raise ValueError("not enough values to unpack")
        return [
            PaneStatus(
                id=agent.pane.id, sm_session=agent.session, tmux_session=agent.tmux_name,
                pid=agent.pane_pid, dead=agent.dead, exit_status=agent.exit_status,
                exit_signal=agent.exit_signal,
            )
            for agent in self.agents.values()
            if not agent.gone
        ]  # fmt: skip

    async def look(self, pane: PaneId) -> View | None:
        self._answers()
        agent = self._in(pane)
        if agent is not None and agent.stuck is not None:
            await agent.stuck.wait()
        return agent.view() if agent is not None else None

    async def server_of(self, pane: PaneId) -> Server:
        self._answers()
        if self.server is None:
            raise ServerGoneError("no server running")
        return self.server

    async def dump(
        self, pane: PaneId, *, of: SessionId | None = None, lines: int | None = None
    ) -> bytes | None:
        self.dumps += 1
        view, agent = await self.look(pane), self._in(pane)
        if agent is not None and agent.slow:
            await asyncio.sleep(agent.slow)
        if view is None or of not in (None, view.session):
            return None
        return "".join(f"{line}\n" for line in view.lines[-(lines or 0) :]).encode()

    async def paste(self, pane: PaneId, mark: str, text: str) -> None:
        self._answers()
        self.calls.append(f"paste {mark}")
        if self.breaks is not None:
            error, self.breaks = self.breaks, None
            raise error
        agent = self._in(pane)
        if agent is not None:
            agent.paste(mark, text)
        self._answered()

    async def press(self, pane: PaneId, key: str, *, option: str, mark: str) -> None:
        self._answers()
        self.calls.append(f"{key} {mark}")
        agent = self._in(pane)
        if agent is not None:
            agent.press(key, option, mark)
        self._answered()

    async def leave_mode(self, pane: PaneId) -> None:
        self._answers()
        agent = self._in(pane)
        if agent is not None and agent.leaves_mode:
            agent.in_mode = False

    async def rename(self, pane: PaneId, name: str) -> str:
        self._answers()
        self.calls.append(f"rename {name}")
        agent = self._in(pane)
        if agent is not None:
            agent.tmux_name = name
        return name

    async def tell(self, words: str) -> int:
        self.calls.append(f"tell {words}")
        return 0 if self.silent else 1

    async def kill(self, session: SessionId) -> None:
        self._answers()
        self.calls.append(f"kill {session}")
        if session in self.agents:
            self.agents[session].dead = self.agents[session].gone = True

    # --- agents that somebody else started -------------------------------------------------

    async def examine(self, target: str, socket: str | None) -> Spot | None:
        self._answers()
        if target.strip("=:") in self.restored:
            return self._restored(target.strip("=:"))
        agent = next((a for a in self.agents.values() if a.pane.id == target and not a.gone), None)
        if agent is None or socket is not None:
            return None
        return Spot(
            pane=agent.pane.id,
            socket=agent.pane.socket,
            tmux_session=agent.tmux_name,
            pid=agent.pane_pid,
            dead=agent.dead,
            command=agent.replaced_by or "scripted",
            owner=agent.owner,
            is_ours=agent.owner is not None,
            piped=agent.piped,
        )

    def _restored(self, name: str) -> Spot:
        return Spot(
            pane=PaneId("%90"), socket="/tmp/tmux", tmux_session=name, pid=90, dead=False,
            command=self.restored[name], owner=self.restored_for, is_ours=False, piped=False,
        )  # fmt: skip

    async def take(self, pane: PaneId, session: SessionId, raw_log: str, sizes_log: str) -> bool:
        self._answers()
        self.calls.append(f"take {session}")
        agent = self._in(pane)
        if agent is None or agent.dead or agent.owner not in (None, session):
            return False
        agent.owner = session
        self._answered()
        return True

    async def release(self, pane: PaneId, session: SessionId) -> None:
        self._answers()
        self.calls.append(f"release {session}")
        agent = self._in(pane)
        if agent is not None and agent.owner == session:
            agent.owner = None


@dataclass(slots=True)
class ProcessTable:
    """Fits the engine's ``Processes`` and the watch's ``ProcessWatch``."""

    world: World
    booted: float | None = None
    watched: dict[int, Callable[[], None]] = field(default_factory=dict)
    trouble: dict[int, OSError] = field(default_factory=dict)
    """What comes of asking for a process, by its pid."""

    def _at(self, pid: int) -> Agent:
        return next(a for a in self.world.agents.values() if a.pane.pid == pid)

    def started(self, pid: int) -> int | None:
        if pid in self.trouble:
            raise self.trouble[pid]
        if pid == os.getpid():
            return STARTED
        server = self.world.server
        if server is not None and pid == server.pid:
            return self.world.server_tick
        found = [a for a in self.world.agents.values() if a.pid == pid and not a.dead]
        return STARTED if found else None

    def is_foreground(self, pid: int) -> bool:
        return self._at(pid).foreground

    def is_stopped(self, pid: int) -> bool:
        return self._at(pid).stopped

    def tree(self, pid: int) -> list[Process]:
        in_a_thread()
        return [
            Process(
                pid=agent.pane.pid,
                parent=1,
                started=STARTED,
                name=agent.session,
                command=("scripted", "--fast"),
                environment={},
                foreground=agent.foreground,
            )
            for agent in self.world.agents.values()
            if agent.pane.pid == pid and not agent.dead
        ]

    def booted_at(self) -> float | None:
        in_a_thread()
        return self.booted

    def memory_killed(self, pid: int, started: int, *, by_kill: bool) -> str | None:
        return self._at(pid).memory

    def marked(self, session: SessionId) -> list[Process]:
        in_a_thread()
        agent = self.world.agents.get(session)
        return self.tree(agent.pane.pid) if agent is not None and agent.owner is None else []

    async def end(self, pid: int, started: int) -> bool:
        agent = self._at(pid)
        if not agent.unkillable:
            agent.die()
        return agent.dead

    def watch(self, pid: int, started: int, ended: Callable[[], None]) -> None:
        if pid in self.trouble:
            raise self.trouble[pid]
        self.watched[pid] = ended

    def unwatch(self, pid: int, started: int) -> None:
        del self.watched[pid]

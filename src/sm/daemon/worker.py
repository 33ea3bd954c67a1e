"""The worker: puts the parts together and serves until told to stop.

Order matters at the start: what agents reported while nobody listened is taken in first, then
effects left undone by a killed predecessor are looked at, then callers are answered.
"""

import asyncio
import contextlib
import gc
import math
import os
import signal
import socket
import sys
import time
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

from sm.adapters.channels.book import ChannelBook
from sm.adapters.files import keep_written
from sm.adapters.folders import SessionFolders
from sm.adapters.spool import Spool
from sm.adapters.store import StoreError, open_store
from sm.adapters.store.schema import HEAD
from sm.adapters.system import ProcessTable
from sm.adapters.tmux.conf import private_conf
from sm.adapters.tmux.router import TmuxRouter
from sm.adapters.tmux.server import TmuxTerminal
from sm.api import scope
from sm.api.runs import name_of_run, sockets_of_runs
from sm.api.service import unit_name
from sm.api.types import Health
from sm.core.ids import SessionId
from sm.core.journal import NotStoredError
from sm.daemon import parent
from sm.daemon.composition import allowed_routes, compose
from sm.daemon.ended_runs import forget_runs
from sm.daemon.intake import Intake
from sm.daemon.killed_runs import inherit_runs, tidy_runs
from sm.daemon.logs import configure
from sm.daemon.serving import serve
from sm.daemon.tokens import Tokens
from sm.engine.engine import Engine
from sm.engine.ports import Store
from sm.log import structlog
from sm.settings.config import ConfigError, Settings, load, registry, seconds
from sm.settings.errors import HOPELESS
from sm.settings.home import Home
from sm.version import VERSION
from sm.web.app import build
from sm.web.guard import Guard

PRUNE_EVERY = 6 * 3600.0
GARBAGE = 10_000
"""Objects made before Python looks for cycles: each event makes many, and hardly a cycle."""
FILES_LOOK_EVERY = 2.0
RUNS_LOOK_EVERY = 2.0
RUNS_WITHIN = 1.0
WINDOWS_LOOK_AFTER = 0.2


def main() -> int:
    home = Home.from_environment()
    # For files that libraries make; ours are closed to others by themselves.
    os.umask(0o077)
    try:
        settings = load(home.config)
        configure(home, settings)
        asyncio.run(Worker(home, settings).run())
    except ConfigError as error:
        return _despair(error)
    except StoreError as error:
        structlog.get_logger().error("The store cannot be used", why=str(error))
        return _despair(error)
    except Exception as error:  # noqa: BLE001 - whatever it was, the log must tell
        structlog.get_logger().critical("The worker crashed", pid=os.getpid(), exc_info=error)
        return 1
    return 0


def _despair(error: Exception) -> int:
    """Tell whoever started us; the parent does not try again."""
    sys.stderr.write(f"{error}\n")
    return HOPELESS


class Worker:
    """The composition root of the daemon."""

    def __init__(self, home: Home, settings: Settings) -> None:
        self.home = home
        self.settings = settings
        self.log = structlog.get_logger()
        self.started_at = time.time()
        self.sockets: list[socket.socket] = []
        self.port: int | None = None
        self.orphaned: set[str] = set()
        """Runs of which it was told that they cannot be taken over."""
        self.parent = os.getppid()
        self.stopping = asyncio.Event()
        self.tmux_found = asyncio.Event()
        self.window_closed = asyncio.Event()

    async def run(self) -> None:
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, self.stopping.set)
        self._mind_parent()
        self.take(_inherited())
        async with self.parts() as (engine, intake, terminal):
            # What is loaded now stays: collections need not look through it again.
            gc.freeze()
            gc.set_threshold(GARBAGE, 20, 50)
            self.log.info("Serving", version=VERSION, pid=os.getpid(), restarts=_restarts())
            await self._serve(engine, intake, terminal)
        self.log.info("Stopped", pid=os.getpid())

    def take(self, sockets: list[socket.socket]) -> None:
        """Listen on these. The port is read now: while we stop, they are closed, and agents may
        still be started."""
        self.sockets = sockets
        self.port = _port(sockets)

    def _mind_parent(self) -> None:
        """Stop when the parent is gone: nobody would restart us, and the next daemon waits."""
        lifeline, loop = int(os.environ[parent.LIFELINE]), asyncio.get_running_loop()

        def end() -> None:
            loop.remove_reader(lifeline)
            self.stopping.set()
            loop.call_later(parent.STOP_WITHIN, os._exit, 1)

        loop.add_reader(lifeline, end)

    @contextlib.asynccontextmanager
    async def parts(self) -> AsyncIterator[tuple[Engine, Intake, TmuxTerminal]]:
        """Everything running, in the right order; taken down in reverse."""
        # First of all: with a store that cannot be opened, agents' hooks still reach the spool.
        SessionFolders(self.home).write_scripts()
        store = await self.open_store()
        processes = ProcessTable()
        tidy_runs(self.home, processes.started)
        terminal = self._terminal(processes)
        router = TmuxRouter(terminal, home=self.home.tag, started=processes.started)
        engine = self._engine(store, router, processes)
        intake = Intake(Spool(self.home.spool), engine, self.log)
        intake.sweep(time.time())
        await terminal.start()
        try:
            async with engine.running(VERSION, intake.drain):
                yield engine, intake, terminal
        finally:
            await router.close()
            await terminal.close()
            await store.close()

    def _terminal(self, processes: ProcessTable) -> TmuxTerminal:
        conf = self.home.state / "tmux.conf"
        limit = self.settings.tmux.history_limit
        keep_written(conf, private_conf(history_limit=limit).encode())
        terminal = TmuxTerminal(
            socket=self.home.tmux_socket(self.settings.tmux.socket),
            home=self.home.tag,
            conf=conf,
            started=processes.started,
            history_limit=limit,
            apart=scope.words(before=unit_name(self.home)),
        )
        terminal.notify(
            connected=self.tmux_found.set, lost=lambda: None, closed=self.window_closed.set
        )
        return terminal

    def _engine(self, store: Store, terminal: TmuxRouter, processes: ProcessTable) -> Engine:
        return compose(
            self.home,
            self.settings,
            store=store,
            terminal=terminal,
            processes=processes,
            routes=allowed_routes(self.settings),
            hook_url=self.hook_url,
            log=self.log,
            channels=ChannelBook(self.home.channels, registry(self.settings)),
            run_name=partial(name_of_run, self.home),
        )

    def hook_url(self, session: SessionId) -> str | None:
        return None if self.port is None else f"http://127.0.0.1:{self.port}/hooks/{session}"

    async def open_store(self) -> Store:
        return await open_store(self.home.store)

    async def _serve(self, engine: Engine, intake: Intake, terminal: TmuxTerminal) -> None:
        port = _port(self.sockets)
        tokens = Tokens(self.home, SessionFolders(self.home))

        def health() -> Health:
            return {
                "version": VERSION,
                "schema": HEAD,
                "pid": os.getppid(),
                "worker": os.getpid(),
                "started_at": self.started_at,
                "sessions": sum(s.alive for s in engine.loop.sessions),
                "tmux": terminal.socket_path,
                "tmux_connected": terminal.connected,
                "port": port,
                "spool": intake.state(),
                "restarts": _restarts(),
            }

        # Whoever asks is told of them, too; and waits no longer for it than for anything else.
        await self._inherit_runs(engine, within=RUNS_WITHIN)
        app = build(engine, health, intake.set_aside, lambda: sockets_of_runs(self.home))
        guarded = Guard(app, tokens.admin(), tokens.of_session)
        async with asyncio.TaskGroup() as tasks:
            chores = [
                tasks.create_task(intake.run()),
                tasks.create_task(self._prune(engine)),
                tasks.create_task(self._recheck(engine)),
                tasks.create_task(self._mind_windows(engine)),
                tasks.create_task(self._mind_files()),
                tasks.create_task(self._mind_runs(engine)),
            ]
            await serve(app, guarded, self.sockets, self.stopping)
            for chore in chores:
                chore.cancel()

    async def _prune(self, engine: Engine) -> None:
        """Let go of the past, now and then."""
        while True:
            await asyncio.sleep(PRUNE_EVERY)
            await self.forget(engine, time.time() - seconds(self.settings.archive.retention))

    async def forget(self, engine: Engine, before: float) -> None:
        try:
            dropped = await engine.prune(before)
        except NotStoredError as error:
            self.log.warning("The past could not be dropped", why=str(error))
        else:
            self.log.info("Dropped what is older than the retention", rows=dropped)
        runs = await asyncio.to_thread(forget_runs, self.home, ProcessTable().started, before)
        if runs:
            self.log.info("Dropped runs that are long over", runs=runs)

    async def _mind_runs(self, engine: Engine) -> None:
        while True:
            await asyncio.sleep(RUNS_LOOK_EVERY)
            await self._inherit_runs(engine)

    async def _inherit_runs(self, engine: Engine, within: float = math.inf) -> None:
        """Whose wrapper or agent was killed, is ours to bring back."""
        started, now = ProcessTable().started, time.time()
        done, failed = await inherit_runs(self.home, engine, started, now, within=within)
        for run in done:
            self.log.warning("A run was killed; its session is ours now", run=run)
        for run in failed.keys() - self.orphaned:
            self.log.error("A killed run cannot be taken over", run=run, why=failed[run])
        self.orphaned |= failed.keys()

    async def _mind_files(self) -> None:
        """Have the parent restore what was deleted under us; of the store it can only be told."""
        store = _inode(self.home.store)
        while True:
            await asyncio.sleep(FILES_LOOK_EVERY)
            kept = (self.home.socket, self.home.lock, self.home.pid)
            gone = [path.name for path in kept if not path.exists()]
            # An orphan's parent is init: it is not to be told.
            if gone and os.getppid() == self.parent:
                self.log.warning("Files were deleted; restoring them", files=gone)
                os.kill(self.parent, signal.SIGHUP)
            if store is not None and _inode(self.home.store) != store:
                store = None
                self.log.error(
                    "The store was deleted or replaced: nothing new will survive a restart",
                    place=str(self.home.store),
                    remedy="Stop the daemon and put a copy of the store back.",
                )

    async def _recheck(self, engine: Engine) -> None:
        """Each time tmux was lost and found again, ask after every agent."""
        while True:
            await self.tmux_found.wait()
            self.tmux_found.clear()
            for session in list(engine.loop.sessions):
                await engine.watch.inspect(session.id)

    async def _mind_windows(self, engine: Engine) -> None:
        """An agent may outlive its window and notice nothing; nor does the kernel."""
        while True:
            await self.window_closed.wait()
            # Of many that are closed at once, the list is asked for once.
            await asyncio.sleep(WINDOWS_LOOK_AFTER)
            self.window_closed.clear()
            await engine.watch.find_closed()


def _inode(path: Path) -> int | None:
    try:
        return path.stat().st_ino
    except FileNotFoundError:
        return None


def _inherited() -> list[socket.socket]:
    return [socket.socket(fileno=int(fd)) for fd in os.environ[parent.FDS].split(",")]


def _port(sockets: list[socket.socket]) -> int | None:
    for listener in sockets:
        if listener.family == socket.AF_INET:
            return int(listener.getsockname()[1])
    return None


def _restarts() -> int:
    return int(os.environ.get(parent.RESTARTS, "0"))


if __name__ == "__main__":
    sys.exit(main())

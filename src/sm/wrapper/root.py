"""The composition root of ``sm run``: engine, journal and hook listener of one wrapped agent.

Everything of a run lies in a home of its own, beside the daemon's sessions: a store, a socket, the
scripts its agent calls. So it needs no daemon, and its agent's own ``sm`` finds it. The agent's
process is our child and ends with us, whatever ends us.
"""

import asyncio
import contextlib
import errno
import math
import os
import shutil
import signal
import socket
import sys
import time
from collections.abc import AsyncIterator, Collection, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import cast

from sm.adapters.archive.render import render
from sm.adapters.channels.book import ChannelBook
from sm.adapters.folders import SessionFolders
from sm.adapters.pty.terminal import PtyTerminal
from sm.adapters.spool import Spool
from sm.adapters.store import StoreError, open_store
from sm.adapters.store.schema import HEAD
from sm.adapters.system import ProcessTable
from sm.api import starting
from sm.api.caller import environment
from sm.api.client import Client, segment
from sm.api.errors import RefusedError as ClientRefusedError
from sm.api.errors import UnreachableError
from sm.api.runs import (
    Run,
    RunRequest,
    home_of_run,
    is_run,
    name_of_run,
    names_of_runs,
    sockets_of_runs,
    write_run,
)
from sm.api.types import Health, SessionDetail
from sm.core.channel import ChannelError
from sm.core.envelope import sanitise
from sm.core.ids import SessionId
from sm.core.message import Route
from sm.core.passage import AUTO
from sm.core.recovery import TIMER, is_over, is_recoverable
from sm.core.state import Exit, Session
from sm.daemon import parent
from sm.daemon.composition import allowed_routes, compose
from sm.daemon.intake import Intake
from sm.daemon.killed_runs import tidy_runs
from sm.daemon.logs import configure
from sm.daemon.serving import serve
from sm.daemon.tokens import Tokens
from sm.engine.engine import Engine
from sm.engine.naming import NameRefusedError, RefusedError
from sm.engine.sessions import NewSession
from sm.log import structlog
from sm.settings.config import ConfigError, Settings, load, registry
from sm.settings.home import Home, HomeError
from sm.version import VERSION
from sm.web.app import build
from sm.web.guard import Guard

ROUTES = frozenset({Route.STOP_REPLY, Route.TOOL_RESULT, Route.DOORBELL})
"""A person sits at the keyboard: nothing is typed."""
FAILED, WRONG = 1, 2
SIGNALLED = 128
_REMEDIES = {
    errno.ENOSPC: "Make room",
    errno.EDQUOT: "Make room",
    errno.EROFS: "Let sm write",
    errno.EACCES: "Let sm write",
}
UNHEARD = 3.0
"""How long a terminal may be without an agent before the run is over, whatever is on record."""


def main(request: RunRequest) -> int:
    """Run the agent to its end; its exit code, or 1 or 2 where it could not be started."""
    asked, around = request, environment()
    if sys.stdin is None:
        sys.stderr.write("sm: Standard input is closed. If nobody types, add: </dev/null\n")
        return WRONG
    # For files that libraries make; ours are closed to others by themselves.
    os.umask(0o077)
    own: Home | None = None
    try:
        home = Home.from_environment()
        own = home_of_run(home, asked["id"])
        home.make()
        settings = load(home.config)
        own.make()
        configure(own, settings)
        return _run(Wrapper(home, own, settings, asked, around))
    except (RefusedError, ChannelError, NameRefusedError) as error:
        # Nothing ran: there is nothing to keep.
        _discard(own)
        return _complain(error, FAILED)
    except (OSError, ConfigError, HomeError, StoreError) as error:
        if own is not None and not is_run(own):
            _discard(own)
        return _complain(_explained(error) if isinstance(error, OSError) else error, WRONG)


def _discard(own: Home | None) -> None:
    if own is not None:
        shutil.rmtree(own.base, ignore_errors=True)


def _explained(error: OSError) -> Exception:
    """What the system said, where, and what to do."""
    place = error.filename or os.environ.get("SM_HOME") or "sm's own folder"
    words = f"{place}: {error.strerror or error}."
    remedy = _REMEDIES.get(error.errno or 0)
    return RefusedError(f"{words} {remedy} there, and try again." if remedy else words)


def _run(wrapper: "Wrapper") -> int:
    try:
        return asyncio.run(wrapper.run())
    except ExceptionGroup as group:
        # Each task group wraps what went wrong in it; a person is told of the error itself.
        error: Exception = group
        while isinstance(error, ExceptionGroup):
            error = error.exceptions[0]
        raise error from group


def _complain(error: Exception, code: int) -> int:
    sys.stderr.write(f"sm: {error}\n")
    return code


class Wrapper:
    def __init__(
        self,
        home: Home,
        own: Home,
        settings: Settings,
        asked: RunRequest,
        environment: Mapping[str, str],
    ) -> None:
        self._environment = environment
        self._home = home
        self._own = own
        self._settings = settings
        self._asked = asked
        self._name = asked["name"]
        """As it is noted for others."""
        self._id = SessionId(asked["id"])
        self._log = structlog.get_logger()
        self._began = time.time()
        self._stopping = asyncio.Event()
        self._folders = SessionFolders(own)
        self._processes = ProcessTable()
        self._news = asyncio.Event()
        """Something was stored, or we were told to end."""
        self._terminal = PtyTerminal(
            started=self._processes.started,
            render=render,
            between=self._told,
            on_dismissed=self._news.set,
        )
        self._running: Engine | None = None
        self._listeners: list[socket.socket] = []
        self._waits_until = 0.0
        """The end of the pause that the person was told of."""
        self._is_left = False
        """Whether the session may be brought back, by the daemon."""
        self._channels = ChannelBook(home.channels, registry(settings), asked["channel"])

    async def run(self) -> int:
        self._folders.write_scripts()
        self._share_channels()
        tidy_runs(self._home, self._processes.started)
        with self._listening():
            async with self._engine() as (engine, intake):
                return await self._agent(engine, intake)

    def _share_channels(self) -> None:
        """What the agent's own ``sm`` says of channels is to be what the daemon's says."""
        self._home.channels.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._own.channels.symlink_to(self._home.channels)

    @contextlib.contextmanager
    def _listening(self) -> Iterator[None]:
        """Where the agent's hooks and its own ``sm`` find us."""
        # What the agent leaves running must not look as if we did.
        parent.lock_file(self._own, inherited=False)
        local = parent.listen_unix(self._own)
        hooks = socket.create_server(("127.0.0.1", 0), backlog=parent.BACKLOG)
        self._listeners = [local, hooks]
        parent.write_pid(self._own)
        try:
            yield
        finally:
            self._own.socket.unlink(missing_ok=True)
            self._own.pid.unlink(missing_ok=True)

    @contextlib.asynccontextmanager
    async def _engine(self) -> AsyncIterator[tuple[Engine, Intake]]:
        store = await open_store(self._own.store)
        engine = compose(
            self._own,
            self._settings,
            store=store,
            terminal=self._terminal,
            processes=self._processes,
            routes=self._routes,
            hook_url=self._hook_url,
            log=self._log,
            channels=self._channels,
            run_name=partial(name_of_run, self._home),
            run_names=partial(names_of_runs, self._home),
            restarts=_restarts(self._asked, self._settings),
        )
        intake = Intake(Spool(self._own.spool), engine, self._log)
        try:
            self._running = engine
            async with engine.running(VERSION, intake.drain):
                yield engine, intake
        finally:
            await store.close()
            self._channels.close()

    def _routes(self, agent: str) -> Collection[Route]:
        return [route for route in allowed_routes(self._settings)(agent) if route in ROUTES]

    def _hook_url(self, session: SessionId) -> str:
        port = self._listeners[1].getsockname()[1]
        return f"http://127.0.0.1:{port}/hooks/{session}"

    async def _agent(self, engine: Engine, intake: Intake) -> int:
        async with asyncio.TaskGroup() as tasks:
            serving = tasks.create_task(self._serve(engine, intake))
            try:
                _end_once()
                async with self._terminal.foreground(sys.stdin.fileno(), sys.stdout.fileno()):
                    session = await self._begin(engine)
                    await self._watch(engine)
                    session = engine.session(self._id)
                    code = await self._code(session)
                    self._is_left = self._may_return(session)
            finally:
                self._stopping.set()
                if not (self._is_left and self._settings.recovery.keep_environment):
                    self._folders.forget_environment(self._id)
            await serving
        return self._ended(session, code)

    def _may_return(self, session: Session) -> bool:
        """Whether anything was asked of it. What its agent reported counts before its record."""
        # An agent that we ended because we were told to did not crash.
        is_unasked = self._terminal.dismissed is None or self._terminal.is_waiting
        is_crash = is_recoverable(session) and is_unasked
        return is_crash and _was_asked(session) and self._settings.recovery.enabled

    async def _code(self, session: Session) -> int:
        """The agent's own, as a shell would tell it; between two agents that of our own end."""
        exit_ = session.exit
        if exit_ is None:
            return (await self._terminal.exited()).code
        is_unsaid = exit_.signal is None and exit_.status is None
        if self._terminal.dismissed is not None and (is_unsaid or self._terminal.is_waiting):
            return SIGNALLED + self._terminal.dismissed
        if session.kill_requested:
            return (await self._terminal.exited()).code
        return _code(exit_)

    async def _begin(self, engine: Engine) -> Session:
        asked = self._asked
        if await asyncio.to_thread(self._is_taken, asked["name"]):
            raise RefusedError(f"The name {asked['name']!r} is taken. Choose another: sm ls")
        # Before anything secret is written: one that is killed now is tidied up after.
        self._note()
        return await engine.sessions.new(
            NewSession(
                id=self._id,
                name=asked["name"],
                agent=asked["agent"],
                arguments=tuple(asked["arguments"]),
                cwd=asked["cwd"],
                parent=None,
                environment=self._environment,
                prompt=None,
                auto_handoff=True,
                wrapped=True,
            )
        )

    def _is_taken(self, name: str) -> bool:
        """Whether a session of the daemon's has this name: of runs the engine knows it. One that
        crashed has it still. Where no daemon runs, nobody can be asked."""
        if not starting.is_running(self._home):
            return False
        try:
            found = Client(self._home, start=False).get(f"/sessions/{segment(name)}")
        except (ClientRefusedError, UnreachableError):
            return False
        told = cast("SessionDetail", found)
        return told["name"] == name and told["state"] != "ended"

    async def _watch(self, engine: Engine) -> None:
        """Until the agent's end, if it is one: an agent that died may be brought back."""
        async with asyncio.TaskGroup() as tasks:
            hearing = tasks.create_task(self._hear(engine))
            await self._until_over(engine)
            hearing.cancel()

    async def _hear(self, engine: Engine) -> None:
        while True:
            await engine.loop.next_commit()
            self._news.set()
            name = engine.session(self._id).name
            if name != self._name:
                self._name = name
                # On a full disk, others know it by its old one.
                with contextlib.suppress(OSError):
                    self._note()

    async def _until_over(self, engine: Engine) -> None:
        missing = None
        while not self._is_over(session := engine.session(self._id)):
            now = time.monotonic()
            is_there = session.exit is not None
            is_there = is_there or await self._terminal.find(self._id) is not None
            missing = None if is_there else missing or now
            if missing is not None and now - missing > UNHEARD:
                # A full disk takes no event. Nobody must sit before a dead terminal for that.
                return
            if session.exit is not None:
                self._wait(session)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(UNHEARD):
                    await self._news.wait()
            self._news.clear()

    def _is_over(self, session: Session) -> bool:
        """Whoever tells us to end wants no other agent to come."""
        is_left = self._terminal.dismissed is not None and session.exit is not None
        return is_left or is_over(session)

    def _wait(self, session: Session) -> None:
        """For the next agent: the person is told so once, and may leave."""
        self._terminal.wait()
        timer = session.timer(TIMER)
        if timer is None or timer.due == self._waits_until or session.crash is None:
            return
        self._waits_until = timer.due
        pause = math.ceil(timer.due - time.time())
        if pause > 0:
            words = self._plain(session.crash.words)
            words = f"{words}: {session.name} is started again in {pause} s"
            self._terminal.say(f"[sm] {words}. To leave: Ctrl-C")

    def _told(self) -> str:
        """What the person is to know, between two agents."""
        if self._running is None:
            return ""
        session = self._running.session(self._id)
        if session.recovery is not None:
            words = self._plain(session.recovery.crash.words)
            return f"[sm] {words}: {session.name} is started again"
        if session.handoff is None:
            return ""
        why = "is full" if session.handoff.kind == AUTO else "was handed over"
        return (
            f"[sm] context {session.context.number} {why}: {session.name} goes on in a fresh one"
            f" (handoff {session.handoff.id})"
        )

    def _plain(self, words: str) -> str:
        """What others said, on the person's terminal: without secrets and without orders to it."""
        redacted = words if self._running is None else self._running.redact(words)
        return sanitise(redacted)

    def _note(self, code: int | None = None) -> None:
        run: Run = {
            "id": self._asked["id"],
            "name": self._name,
            "agent": self._asked["agent"],
            "cwd": self._asked["cwd"],
            "pid": os.getpid(),
            "started": self._processes.started(os.getpid()) or 0,
            "socket": str(self._own.socket),
            "began_at": self._began,
            # One that may be brought back is over when the daemon has it.
            "ended_at": None if code is None or self._is_left else time.time(),
            "code": code,
        }
        write_run(self._own, run)

    def _ended(self, session: Session, code: int) -> int:
        exit_ = session.exit
        is_unsaid = exit_ is not None and exit_.status is None and exit_.signal is None
        is_unsaid = is_unsaid and not self._is_left
        if is_unsaid and self._terminal.dismissed is None and not session.kill_requested:
            # It could not be started, or not again for its next context.
            _tell(f"sm: {self._plain(session.verdict.says)}\n")
        if session.walkaway is not None and session.walkaway.over:
            # Only now: its agent had the screen.
            _tell(f"sm: it was not handed over any more: {session.walkaway.over}.\n")
        if self._is_left and session.crash is not None:
            # Below where it stood, in the place of what it has drawn there.
            below = "\n\x1b[J" if sys.stderr.isatty() else ""
            why = session.crash.words + (f"; {session.hopeless}" if session.hopeless else "")
            again = f"To bring {session.name} back, in tmux: sm recover {session.name}"
            _tell(f"{below}sm: {self._plain(why)}. {again}\n")
        # The exit code is the agent's, also where nothing can be written any more.
        with contextlib.suppress(OSError):
            self._note(code)
        self._log.info("Ended", session=session.id, code=code, contexts=session.context.number)
        return code

    def _others(self) -> dict[str, Run | None]:
        """Where the daemon answers, if it runs (it is never started from here), and other runs."""
        others: dict[str, Run | None] = {}
        if starting.is_running(self._home):
            others[str(self._home.live_socket)] = None
        others |= sockets_of_runs(self._home)
        others.pop(str(self._own.socket), None)
        return others

    async def _serve(self, engine: Engine, intake: Intake) -> None:
        tokens = Tokens(self._own, self._folders)

        def health() -> Health:
            return {
                "version": VERSION,
                "schema": HEAD,
                "pid": os.getpid(),
                "worker": os.getpid(),
                "started_at": self._began,
                "sessions": sum(s.alive for s in engine.loop.sessions),
                "tmux": "",
                "tmux_connected": False,
                "port": self._listeners[1].getsockname()[1],
                "spool": intake.state(),
                "restarts": 0,
            }

        app = build(engine, health, intake.set_aside, self._others, is_run=True)
        guarded = Guard(app, tokens.admin(), tokens.of_session)
        async with asyncio.TaskGroup() as tasks:
            drained = tasks.create_task(intake.run())
            await serve(app, guarded, self._listeners, self._stopping)
            drained.cancel()


def _end_once() -> None:
    """Once the terminal is left, the end is being noted. To be told to end again, as a closed
    window's shell does after the system, must not cut that short."""
    for number in (signal.SIGHUP, signal.SIGTERM):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, lambda *_: None)


def _was_asked(session: Session) -> bool:
    if session.ended_prompts or (session.crash is not None and session.crash.busy):
        return True
    record, number = session.context.transcript, session.context.number
    return number > 1 or (record is not None and Path(record).exists())


def _tell(words: str) -> None:
    """To the person; a window that was closed must not keep the end from being noted."""
    with contextlib.suppress(OSError):
        sys.stderr.write(words)


def _restarts(asked: RunRequest, settings: Settings) -> int:
    given = asked["max_restarts"]
    return settings.handoff.max_restarts if given is None else given


def _code(exit_: Exit) -> int:
    if exit_.signal is not None:
        return SIGNALLED + exit_.signal
    return exit_.status if exit_.status is not None else FAILED

"""A whole engine in a small world, and a store that fails when told to."""

import asyncio
import contextlib
import shutil
import tempfile
import weakref
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Coroutine, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sm.adapters.archive.snapshots import SnapshotFolders
from sm.adapters.channels.book import ChannelBook
from sm.adapters.handoffs.folders import HandoffFolders
from sm.adapters.notify.book import NoticeBook
from sm.adapters.notify.person import Person
from sm.adapters.store.memory import MemoryStore
from sm.core.crash import RecoveryRules
from sm.core.events import DaemonStarted, Event, SessionRequested
from sm.core.ids import ContextId, MessageId, SessionId
from sm.core.journal import Entry, Recorded
from sm.core.message import TYPING, Mode, Route, Way
from sm.core.state import USUAL, Session, Thresholds, WalkAway
from sm.engine.archivist import Archivist
from sm.engine.drafts import Drafts
from sm.engine.ended_calls import LastEvents
from sm.engine.engine import Engine, HandoffRules
from sm.engine.filing import Filing
from sm.engine.mail import NewMessage
from sm.engine.ports import Dialects, Snapshots, Store
from sm.engine.recoveries import RecoveryTerms
from sm.engine.sessions import NewSession
from sm.engine.snapshots import SnapshotRules
from tests.engine.agent import Agent
from tests.engine.dialects import ScriptedDialects
from tests.engine.folders import Inboxes, NoFolders
from tests.engine.timelapse import LoopClock
from tests.engine.world import ProcessTable, World

ADA, BOB = SessionId("ada"), SessionId("bob")


TERMS = RecoveryTerms(
    rules=RecoveryRules(), at_once=4, max_lines=1000, budget=60.0, template="",
)  # fmt: skip


class DiskFullError(Exception):
    """What the store says when it is told to fail."""


class FlakyStore(MemoryStore):
    """Keeps its promises, but can be slow and can refuse."""

    def __init__(self) -> None:
        super().__init__()
        self.failures = 0
        """How many of the next commits will fail, of those that hold such an event:"""
        self.failing: type = object
        self.error: Exception = DiskFullError("no space left on device")
        self.open = asyncio.Event()
        """Commits wait for this."""
        self.open.set()
        self.batches: list[list[Event]] = []
        """What was committed together."""
        self.entries: list[Entry] = []
        self.while_reading: Callable[[], None] = lambda: None

    async def commit(self, entries: Sequence[Entry]) -> None:
        await self.open.wait()
        if self.failures and any(isinstance(entry.event, self.failing) for entry in entries):
            self.failures -= 1
            raise self.error
        await super().commit(entries)
        self.batches.append([entry.event for entry in entries])
        self.entries += entries

    async def sessions(self) -> list[Session]:
        found = await super().sessions()
        await asyncio.sleep(0)
        self.while_reading()
        return found

    @property
    def kinds(self) -> list[list[str]]:
        return [[type(event).__name__ for event in batch] for batch in self.batches]


class Log:
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def warning(self, event: str, **keys: object) -> None:
        self.lines.append(event)


@contextlib.asynccontextmanager
async def at_work(*work: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    """Endless tasks, ended with the block."""
    async with asyncio.TaskGroup() as tasks:
        running = [tasks.create_task(task) for task in work]
        yield
        for task in running:
            task.cancel()


def requested(session: SessionId = ADA, *, proves: bool = True) -> SessionRequested:
    return SessionRequested(
        id=session, name=session, agent="scripted" if proves else "cat", arguments=(), cwd="/shop",
        parent=None, proves=proves, context=ContextId(f"context of {session}"),
    )  # fmt: skip


def tick(number: int = 1) -> DaemonStarted:
    """An event that changes nothing by itself."""
    return DaemonStarted(version=str(number))


async def no_events(_session: SessionId, _limit: int) -> list[Recorded]:
    """Of a session that nothing was reported of."""
    return []


def archivist_of(
    world: World,
    kept: Path,
    *,
    largest: int = 1000,
    dialects: Dialects | None = None,
    events: LastEvents = no_events,
) -> Archivist:
    """One that keeps its handoffs below this folder."""
    handoffs = HandoffFolders(lambda session: kept / session)
    drafts = Drafts(
        dialects=dialects or ScriptedDialects(world),
        handoffs=handoffs,
        clock=LoopClock(),
        redact=lambda text: text,
    )
    return Archivist(
        world, handoffs, drafts,
        raw_log=NoFolders().raw_log, events=events, largest_document=largest,
    )  # fmt: skip


def person_of(world: World, kept: Path, log: Log) -> Person:
    """Told on the world's terminals, and in a list in this folder."""
    return Person(
        NoticeBook(kept / "notices.json"), show=world.tell, command="", redact=str, log=log
    )


def filing_of(world: World, kept: Path) -> Filing:
    """The channels of this folder."""
    return Filing(
        channels=ChannelBook(kept / "channels", {}),
        handoffs=HandoffFolders(lambda session: kept / session),
        processes=ProcessTable(world),
        clock=LoopClock(),
        pid=1,
        expiry=7200.0,
    )


@dataclass
class Rig:
    """An engine, its world and its store; the world and the store outlive the engine."""

    store: Store = field(default_factory=FlakyStore)
    world: World = field(default_factory=lambda: World(LoopClock().now))
    folders: NoFolders = field(default_factory=NoFolders)
    log: Log = field(default_factory=Log)
    inbox: Inboxes = field(default_factory=Inboxes)
    rendered: list[Path] = field(default_factory=list)
    ways: tuple[Way, ...] = TYPING
    routes: Collection[Route] = tuple(Route)
    thresholds: Thresholds = USUAL
    walkaway: WalkAway = field(default_factory=WalkAway)
    recovery_terms: RecoveryTerms = TERMS
    runs: dict[str, str] = field(default_factory=dict)
    """Names of runs by their ids."""
    redact: Callable[[str], str] = str
    teaches: bool = False
    """Agents are told of sm handoff."""
    kept: Path = field(default_factory=lambda: Path(tempfile.mkdtemp()))
    """Where handoffs and snapshots are kept."""
    snapshot_rules: SnapshotRules = field(default_factory=SnapshotRules)

    def __post_init__(self) -> None:
        self.processes = ProcessTable(self.world)
        self.snapshots: Snapshots = SnapshotFolders(lambda s: self.kept / s / "snapshots")
        weakref.finalize(self, shutil.rmtree, self.kept)

    def build(self) -> Engine:
        return Engine(
            store=self.store,
            terminal=self.world,
            dialects=ScriptedDialects(self.world, self.ways),
            processes=self.processes,
            exits=self.processes,
            folders=self.folders,
            clock=LoopClock(),
            log=self.log,
            identity=lambda session: {"SM_SESSION": session},
            render=self._render,
            tail=lambda raw, sizes, _: self._render(raw, sizes),
            inbox=self.inbox,
            routes=lambda _: self.routes,
            thresholds=self.thresholds,
            hook_url=lambda _: None,
            run_name=self.runs.get,
            run_names=lambda: self.runs,
            channels=ChannelBook(self.kept / "channels", {}),
            notices=person_of(self.world, self.kept, self.log),
            handoffs=HandoffFolders(lambda session: self.kept / session),
            handoff_rules=HandoffRules(
                largest_document=10_000, teach_agents=self.teaches, walkaway=self.walkaway
            ),
            recovery_terms=self.recovery_terms,
            token=lambda session: f"token of {session}",
            redact=self.redact,
            redact_shown=self.redact,
            snapshots=self.snapshots,
            snapshot_rules=self.snapshot_rules,
        )

    def _render(self, raw: Path, sizes: Path) -> list[str]:
        self.rendered += [raw, sizes]
        return ["what ada said"]

    @contextlib.asynccontextmanager
    async def running(
        self, drain: Callable[[Engine], Awaitable[None]] | None = None
    ) -> AsyncIterator[Engine]:
        async with self.build().running("1", drain) as engine:
            yield engine

    async def start(self, engine: Engine, session: SessionId = ADA, **changes: Any) -> Agent:
        """A session whose agent is ready for a prompt."""
        await engine.sessions.new(new(session, **changes))
        agent = self.world.agents[session]
        await self.deliver(engine, agent)
        return agent

    async def start_turn(self, engine: Engine) -> Agent:
        """A session whose agent works at a prompt of a person's."""
        agent = await self.start(engine)
        agent.box = "a person's words"
        agent.submit()
        await self.deliver(engine, agent)
        return agent

    async def deliver(self, engine: Engine, agent: Agent) -> None:
        """Take in everything the agent has to report."""
        while agent.hooks:
            hook = agent.hooks[0].hook
            await engine.reports.take(
                agent.session, f"{agent.session} 0".encode(), hook=hook.id, at=hook.at
            )
            agent.hooks.pop(0)

    async def until_given(self, engine: Engine, agent: Agent, count: int = 1) -> None:
        """Wait until the model has got so many prompts, and take in its report of them."""
        assert await engine.loop.wait_until(lambda: len(agent.got) >= count, 60), engine.session(
            agent.session
        )
        await self.deliver(engine, agent)


def new(session: SessionId = ADA, **changes: Any) -> NewSession:
    plain: dict[str, Any] = {
        "id": session, "name": session, "agent": "scripted", "arguments": (), "cwd": "/shop",
        "parent": None, "environment": {}, "prompt": None,
    }  # fmt: skip
    return NewSession(**{**plain, **changes})


def said(nth: int = 1, **changes: Any) -> NewMessage:
    plain: dict[str, Any] = {
        "id": MessageId(f"{nth:012x}"), "to": "ada", "sender": None, "text": f"text {nth}",
        "mode": Mode.SEQUENTIAL, "notify": True, "expires_in": None,
    }  # fmt: skip
    return NewMessage(**{**plain, **changes})

"""What terminals hold is kept while they live: at turns' ends, now and then, and on demand."""

import asyncio
import errno
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from sm.core.crash import RecoveryRules
from sm.core.ids import ContextId, RecoveryId, SessionId
from sm.core.snapshot import Snapshot, Why
from sm.core.state import State
from sm.core.terminal import AgentStatus, Sign
from sm.engine.due import DRAWN, PAUSE, RETRY
from sm.engine.engine import Engine
from sm.engine.naming import NotFoundError, RefusedError
from sm.engine.sessions import NewAdoption
from sm.engine.snapshots import LEISURE, LONGEST_REST, SnapshotRules
from tests.engine.agent import Agent
from tests.engine.folders import NoFolders
from tests.engine.rig import ADA, BOB, TERMS, Rig, new
from tests.engine.timelapse import LoopClock

INTERVAL = SnapshotRules().interval
SOON = DRAWN + 1.0
"""A turn's end that had nothing before it is kept by then."""


@dataclass(slots=True)
class Logs(NoFolders):
    """Raw logs on the real disk."""

    base: Path = field(default_factory=Path)

    def raw_log(self, session: SessionId) -> str:
        return str(self.base / f"{session}.raw")


class Studio:
    """An engine whose sessions show what a test has them show."""

    def __init__(self, folder: Path) -> None:
        self.rig = Rig(folders=Logs(base=folder))
        self.engine: Engine

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        async with self.rig.running() as self.engine:
            yield

    @property
    def dumps(self) -> int:
        return self.rig.world.dumps

    def show(self, agent: Agent, words: str) -> None:
        """What stands on its screen; its log grows by that."""
        agent.box = words
        with Path(self.rig.folders.raw_log(agent.session)).open("a") as log:
            log.write(f"{words}\n")

    async def turn(self, agent: Agent, words: str) -> None:
        agent.box = "do it"
        agent.submit()
        await self.rig.deliver(self.engine, agent)
        self.show(agent, words)
        agent.finish()
        await self.rig.deliver(self.engine, agent)

    def kept(self, session: SessionId = ADA) -> list[tuple[str, Why]]:
        """Oldest first."""
        found = reversed(self.rig.snapshots.all(session))
        return [(self.rig.snapshots.read(session, s.name).rstrip("\n"), s.why) for s in found]

    def said(self) -> list[str]:
        return [line for line in self.rig.log.lines if "snapshot" in line]


@pytest.fixture
def studio(tmp_path: Path) -> Studio:
    return Studio(tmp_path)


async def test_each_turns_end_is_kept(studio: Studio) -> None:
    async with studio.running():
        ada = await studio.rig.start(studio.engine)
        await studio.turn(ada, "first")
        await asyncio.sleep(20)
        await studio.turn(ada, "second")
        await asyncio.sleep(20)

    assert studio.kept() == [("first", Why.TURN_END), ("second", Why.TURN_END)]


async def test_a_turn_is_kept_once_it_is_drawn_to_its_end(studio: Studio) -> None:
    """Agents tell of it first; what they draw then belongs to it."""
    async with studio.running():
        ada = await studio.rig.start(studio.engine)
        await studio.turn(ada, "half of the ans")
        await asyncio.sleep(DRAWN / 2)
        ada.box = "half of the answer"
        await asyncio.sleep(SOON)

    assert studio.kept() == [("half of the answer", Why.TURN_END)]


async def test_a_turn_that_ends_silently_is_kept(studio: Studio) -> None:
    """An interrupt is told by no hook; the screen tells of it."""
    async with studio.running():
        ada = await studio.rig.start_turn(studio.engine)
        await asyncio.sleep(2)
        ada.sign = Sign.PROMPT
        ada.box = "interrupted"
        await asyncio.sleep(10)

    assert studio.kept() == [("interrupted", Why.TURN_END)]


async def test_a_hundred_turns_a_second_are_kept_every_few_seconds_and_the_last_for_sure(
    studio: Studio,
) -> None:
    async with studio.running():
        ada = await studio.rig.start(studio.engine)
        for number in range(1000):
            await studio.turn(ada, f"turn {number}")
            await asyncio.sleep(0.01)
        assert studio.dumps <= 1 + 10 / PAUSE
        await asyncio.sleep(PAUSE + SOON)

    assert studio.dumps <= 2 + 12 / PAUSE
    assert studio.kept()[-1] == ("turn 999", Why.TURN_END)


async def test_a_turn_that_ends_while_another_is_being_kept_is_not_missed(studio: Studio) -> None:
    """tmux takes its time for a dump; no commit may pass unseen meanwhile."""
    async with studio.running():
        ada = await studio.rig.start(studio.engine)
        bob = await studio.rig.start(studio.engine, BOB)
        ada.stuck = asyncio.Event()
        await studio.turn(ada, "ada's")
        await asyncio.sleep(SOON)
        await studio.turn(bob, "bob's")
        await asyncio.sleep(SOON)
        assert studio.kept(BOB) == []
        ada.stuck.set()
        await asyncio.sleep(SOON + LONGEST_REST)

    assert studio.kept(BOB) == [("bob's", Why.TURN_END)]


async def test_one_is_taken_after_the_other(studio: Studio) -> None:
    """A hundred turns that end together do not ask tmux a hundred things at once."""
    async with studio.running():
        agents = [
            await studio.rig.start(studio.engine, SessionId(f"s{n}"), name=f"s{n}")
            for n in range(100)
        ]
        gate = agents[0].stuck = asyncio.Event()
        for agent in agents:
            await studio.turn(agent, f"of {agent.session}")
        await asyncio.sleep(SOON)
        assert studio.dumps == 1
        gate.set()
        await asyncio.sleep(SOON + LONGEST_REST)

    assert studio.dumps == 100
    assert studio.kept(SessionId("s99")) == [("of s99", Why.TURN_END)]


async def test_most_of_the_time_belongs_to_others(studio: Studio) -> None:
    """Sessions that end their turns all the time, on a machine that is slow, take a tenth of it."""
    async with studio.running():
        agents = [
            await studio.rig.start(studio.engine, SessionId(f"s{n}"), name=f"s{n}")
            for n in range(50)
        ]
        for agent in agents:
            agent.slow = 0.1
            await studio.turn(agent, f"of {agent.session}")
        await asyncio.sleep(DRAWN)
        before = studio.dumps
        await asyncio.sleep(20)

    assert 20 / 0.1 / (LEISURE + 1) - 3 <= studio.dumps - before <= 20 / 0.1 / (LEISURE + 1) + 1


async def test_what_changed_is_kept_on_the_heartbeat(studio: Studio) -> None:
    """In a long turn, or by an agent that reports nothing at all."""
    async with studio.running():
        await studio.engine.sessions.new(new(agent="cat"))
        cat = studio.rig.world.agent("ada")
        studio.show(cat, "one")
        await asyncio.sleep(INTERVAL + 1)
        studio.show(cat, "two")
        await asyncio.sleep(INTERVAL)

    assert studio.kept() == [("one", Why.HEARTBEAT), ("two", Why.HEARTBEAT)]


async def test_an_idle_session_costs_nothing(studio: Studio) -> None:
    """Once it is kept, its terminal is left alone, heartbeat after heartbeat."""
    async with studio.running():
        ada = await studio.rig.start(studio.engine)
        await studio.turn(ada, "done")
        await asyncio.sleep(2 * INTERVAL)
        assert studio.dumps == 1
        await asyncio.sleep(20 * INTERVAL)

    assert studio.dumps == 1
    assert studio.kept() == [("done", Why.TURN_END)]


async def test_what_only_blinked_is_not_written_twice(studio: Studio) -> None:
    """A log that grows may show the same; then there is one snapshot of it."""
    async with studio.running():
        ada = await studio.rig.start(studio.engine)
        for _ in range(5):
            studio.show(ada, "▮")
            await asyncio.sleep(INTERVAL)

    assert studio.kept() == [("▮", Why.HEARTBEAT)]


async def test_an_empty_screen_is_not_kept(studio: Studio) -> None:
    """It would stand before one that tells something. Nobody need be told of that."""
    async with studio.running():
        ada = await studio.rig.start(studio.engine)
        await studio.turn(ada, "words")
        await asyncio.sleep(20)
        await studio.turn(ada, " ")
        await asyncio.sleep(20)
        with pytest.raises(RefusedError, match="shows nothing"):
            await studio.engine.snapshots.ask(studio.engine.session(ADA))

    assert studio.kept() == [("words", Why.TURN_END)]
    assert studio.said() == []


async def test_so_many_lines_are_kept_and_no_more(studio: Studio) -> None:
    """The last ones."""
    studio.rig.snapshot_rules = SnapshotRules(lines=2)
    async with studio.running():
        ada = await studio.rig.start(studio.engine)
        await studio.turn(ada, "one\ntwo\nthree")
        await asyncio.sleep(SOON)

    assert studio.kept() == [("two\nthree", Why.TURN_END)]


async def test_nothing_is_kept_where_recovery_is_switched_off(studio: Studio) -> None:
    """Also not when somebody asks: the words name the switch."""
    studio.rig.snapshot_rules = SnapshotRules(enabled=False)
    async with studio.running():
        ada = await studio.rig.start(studio.engine)
        await studio.turn(ada, "words")
        await asyncio.sleep(2 * INTERVAL)
        with pytest.raises(RefusedError, match=r"recovery\.enabled is false"):
            await studio.engine.snapshots.ask(studio.engine.session(ADA))

    assert studio.dumps == 0


# --- ends ------------------------------------------------------------------------------------


async def test_a_crashed_agents_pane_is_kept_at_once(studio: Studio) -> None:
    """Its last words may say why; soon another agent may be there."""
    async with studio.running():
        ada = await studio.rig.start(studio.engine)
        await studio.turn(ada, "words")
        await asyncio.sleep(20)
        ada.box = "Segmentation fault"
        ada.die(139)
        studio.rig.processes.watched[ada.pane.pid]()
        await asyncio.sleep(1)
        assert studio.engine.session(ADA).state is State.CRASHED

    assert studio.kept()[1:] == [("Segmentation fault", Why.CRASH)]


async def test_a_crash_is_kept_also_where_the_agent_is_brought_back_at_once(
    studio: Studio,
) -> None:
    """Sooner than anybody looks: what it showed last, not what the next one shows."""
    studio.rig.recovery_terms = replace(TERMS, rules=RecoveryRules(auto=True))
    async with studio.running():
        ada = await studio.rig.start(studio.engine)
        await studio.turn(ada, "words")
        await asyncio.sleep(20)
        ada.box = "Segmentation fault"
        ada.die(139)
        studio.rig.processes.watched[ada.pane.pid]()
        await asyncio.sleep(20)
        assert studio.engine.session(ADA).alive

    assert studio.kept()[1:] == [("Segmentation fault", Why.CRASH)]


async def test_a_crash_that_is_kept_is_not_looked_at_again(studio: Studio) -> None:
    async with studio.running():
        ada = await studio.rig.start(studio.engine)
        await asyncio.sleep(1)
        ada.box = "Segmentation fault"
        ada.die(139)
        studio.rig.processes.watched[ada.pane.pid]()
        await asyncio.sleep(20)
        await studio.engine.recoveries.request(
            "ada", by="you", recovery_id=RecoveryId("r1"), manner=None, environment=None
        )
        await asyncio.sleep(1)
        assert studio.engine.session(ADA).alive

    assert studio.kept() == [("Segmentation fault", Why.CRASH)]
    assert studio.dumps == 1


async def test_a_crash_with_its_pane_is_told_once_and_left_alone(studio: Studio) -> None:
    """There is nothing to be seen any more, whatever time passes."""
    async with studio.running():
        ada = await studio.rig.start(studio.engine)
        await asyncio.sleep(1)
        ada.die()
        ada.gone = True
        studio.rig.processes.watched[ada.pane.pid]()
        await asyncio.sleep(20 * INTERVAL)

    assert studio.kept() == []
    assert (studio.dumps, len(studio.said())) == (1, 1)


async def test_a_crashed_agent_that_cannot_be_looked_at_is_left_alone(studio: Studio) -> None:
    """tmux died with it: whoever comes back later has another pane."""
    async with studio.running():
        ada = await studio.rig.start(studio.engine)
        await asyncio.sleep(1)
        ada.die()
        studio.rig.processes.watched[ada.pane.pid]()
        assert await studio.engine.loop.wait_until(
            lambda: studio.engine.session(ADA).state is State.CRASHED, 5
        )
        studio.rig.world.silent = True
        await asyncio.sleep(20 * INTERVAL)

    assert (studio.dumps, len(studio.said())) == (1, 1)


async def test_an_ended_session_is_left_alone(studio: Studio) -> None:
    async with studio.running():
        ada = await studio.rig.start(studio.engine)
        await studio.turn(ada, "words")
        await studio.engine.sessions.kill("ada", by="you")
        studio.show(ada, "more")
        await asyncio.sleep(2 * INTERVAL)

    assert studio.dumps == 0
    assert studio.said() == []


async def test_another_sessions_pane_is_never_taken_for_its_own(studio: Studio) -> None:
    """A new tmux server counts its panes from %0 again."""
    async with studio.running():
        ada = await studio.rig.start(studio.engine)
        ada.owner = BOB
        await studio.turn(ada, "bob's secret")
        await asyncio.sleep(SOON)

    assert studio.kept() == []


async def test_what_is_forgotten_leaves_nothing(studio: Studio) -> None:
    """With a session that is past its retention, its snapshots go."""
    async with studio.running():
        ada = await studio.rig.start(studio.engine)
        await studio.turn(ada, "words")
        await asyncio.sleep(SOON)
        await studio.engine.sessions.kill("ada", by="you")
        assert studio.kept() != []
        await studio.engine.prune(studio.engine.clock.now() + 1)
        await asyncio.sleep(INTERVAL)

    assert studio.kept() == []


@pytest.mark.parametrize("piped", [False, True])
async def test_an_adopted_agent_without_a_log_is_kept_at_its_turns_ends_alone(
    studio: Studio, piped: bool
) -> None:
    """Whether something else is new could not be told."""
    async with studio.running():
        stranger = studio.rig.world.add(SessionId("stranger"))
        stranger.piped = piped
        await studio.engine.sessions.adopt(
            NewAdoption(id=ADA, pane=stranger.pane.id, socket=None, name="ada", agent=None)
        )
        Path(studio.rig.folders.raw_log(ADA)).write_text("before")
        stranger.box = "in a long turn"
        await asyncio.sleep(INTERVAL + 1)
        for sign in (Sign.BUSY, Sign.PROMPT):
            stranger.status = AgentStatus(
                sign=sign, at=LoopClock().now(), context=ContextId("context of stranger")
            )
            stranger.box = "done"
            await asyncio.sleep(10)

    by_heartbeat = [] if piped else [("in a long turn", Why.HEARTBEAT)]
    assert studio.kept() == [*by_heartbeat, ("done", Why.TURN_END)]


# --- trouble ---------------------------------------------------------------------------------


async def test_unreachable_tmux_is_told_once_and_asked_again(studio: Studio) -> None:
    """When it answers again, the turn's end that waited is kept."""
    async with studio.running():
        ada = await studio.rig.start(studio.engine)
        await studio.turn(ada, "words")
        studio.rig.world.silent = True
        await asyncio.sleep(4 * RETRY)
        assert studio.kept() == []
        assert len(studio.said()) == 1
        studio.rig.world.silent = False
        await asyncio.sleep(RETRY + 1)

    assert studio.kept() == [("words", Why.TURN_END)]


class FullDisk:
    """Writes nothing until there is room."""

    def __init__(self, studio: Studio) -> None:
        self.inner = studio.rig.snapshots
        self.full = True

    def keep(self, session: SessionId, text: bytes, *, at: float, why: Why) -> Snapshot:
        if self.full:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return self.inner.keep(session, text, at=at, why=why)

    def last(self, session: SessionId) -> Snapshot | None:
        return self.inner.last(session)

    def all(self, session: SessionId) -> list[Snapshot]:
        return self.inner.all(session)

    def read(self, session: SessionId, name: str) -> str:
        return self.inner.read(session, name)

    def forget(self, session: SessionId) -> None:
        self.inner.forget(session)


async def test_a_full_disk_is_told_once_and_tried_again(studio: Studio) -> None:
    disk = studio.rig.snapshots = FullDisk(studio)
    async with studio.running():
        ada = await studio.rig.start(studio.engine)
        await studio.turn(ada, "words")
        await asyncio.sleep(4 * RETRY)
        assert len(studio.said()) == 1
        with pytest.raises(RefusedError, match="No space left on device"):
            await studio.engine.snapshots.ask(studio.engine.session(ADA))
        disk.full = False
        await asyncio.sleep(RETRY + 1)

    assert studio.kept() == [("words", Why.TURN_END)]


async def test_one_sessions_oddity_does_not_cost_the_others_theirs(studio: Studio) -> None:
    """Whatever goes wrong, the next one has its turn."""

    class Odd(FullDisk):
        def keep(self, session: SessionId, text: bytes, *, at: float, why: Why) -> Snapshot:
            if session == ADA:
                raise ZeroDivisionError
            return self.inner.keep(session, text, at=at, why=why)

    studio.rig.snapshots = Odd(studio)
    async with studio.running():
        for session in (ADA, BOB):
            await studio.turn(await studio.rig.start(studio.engine, session), "words")
        await asyncio.sleep(SOON)

    assert studio.kept(BOB) == [("words", Why.TURN_END)]
    assert len(studio.said()) == 1


# --- a new daemon ----------------------------------------------------------------------------


async def test_a_turn_that_ended_before_the_daemon_did_is_kept_by_the_next(studio: Studio) -> None:
    """It was killed before the snapshot was due."""
    async with studio.running():
        ada = await studio.rig.start(studio.engine)
        await studio.turn(ada, "words")
    assert studio.kept() == []
    async with studio.running():
        await asyncio.sleep(SOON)

    assert studio.kept() == [("words", Why.TURN_END)]


async def test_a_new_daemon_does_not_begin_with_looking_at_everybody(studio: Studio) -> None:
    """What was kept need not be kept again."""
    async with studio.running():
        ada = await studio.rig.start(studio.engine)
        await studio.turn(ada, "words")
        await asyncio.sleep(20)
    async with studio.running():
        await asyncio.sleep(INTERVAL / 2)

    assert studio.dumps == 1


# --- asked -----------------------------------------------------------------------------------


async def test_one_is_taken_when_somebody_asks(studio: Studio) -> None:
    async with studio.running():
        ada = await studio.rig.start(studio.engine)
        ada.box = "now"
        taken = await studio.engine.snapshots.ask(studio.engine.session(ADA))
        again = await studio.engine.snapshots.take(ADA, Why.HEARTBEAT)

    assert studio.kept() == [("now", Why.ASKED)]
    assert taken == again


async def test_who_asks_waits_for_the_one_that_is_being_taken(studio: Studio) -> None:
    """Ten people at once ask tmux one thing after the other."""
    async with studio.running():
        ada = await studio.rig.start(studio.engine)
        ada.box, ada.stuck = "words", asyncio.Event()
        session = studio.engine.session(ADA)
        asked = [asyncio.create_task(studio.engine.snapshots.ask(session)) for _ in range(10)]
        await asyncio.sleep(1)
        assert studio.dumps == 1
        ada.stuck.set()
        assert len({(await one).name for one in asked}) == 1

    assert studio.kept() == [("words", Why.ASKED)]


async def test_one_that_cannot_be_had_names_the_last_one(studio: Studio) -> None:
    async with studio.running():
        ada = await studio.rig.start(studio.engine)
        ada.gone = True
        session = studio.engine.session(ADA)
        with pytest.raises(RefusedError, match=r"is gone\. There is none .*: sm log ada"):
            await studio.engine.snapshots.ask(session)
        ada.gone, ada.box = False, "words"
        assert await studio.engine.snapshots.take(ADA, Why.ASKED) is not None
        ada.gone = True
        with pytest.raises(RefusedError, match=r"is gone\. The last .*: sm snapshot ada --show"):
            await studio.engine.snapshots.ask(session)
        assert await studio.engine.snapshots.take(ADA, Why.ASKED) is None
        assert await studio.engine.snapshots.take(SessionId("nobody"), Why.ASKED) is None


async def test_what_is_shown_holds_no_secrets(studio: Studio) -> None:
    """The file does, as the terminal did."""
    studio.rig.redact = lambda text: text.replace("hunter2", "[redacted]")
    async with studio.running():
        ada = await studio.rig.start(studio.engine)
        ada.box = "password: hunter2"
        taken = await studio.engine.snapshots.ask(studio.engine.session(ADA))
        shown = await studio.engine.snapshots.show(studio.engine.session(ADA), "newest")

    assert shown == (taken, "password: [redacted]\n")
    assert studio.kept() == [("password: hunter2", Why.ASKED)]


async def test_one_is_chosen_by_the_beginning_of_its_name(studio: Studio) -> None:
    async with studio.running():
        ada = await studio.rig.start(studio.engine)
        session = studio.engine.session(ADA)
        with pytest.raises(NotFoundError, match="No snapshot of ada was kept"):
            await studio.engine.snapshots.show(session, "newest")
        names = []
        for words in ("one", "two"):
            ada.box = words
            names.append((await studio.engine.snapshots.ask(session)).name)
            await asyncio.sleep(1)

        shown = await studio.engine.snapshots.show(session, names[0][:-12])
        assert shown[1] == "one\n"
        with pytest.raises(NotFoundError, match="Several snapshots begin with '20'"):
            await studio.engine.snapshots.show(session, "20")
        with pytest.raises(NotFoundError, match="No snapshot of ada begins with '19'"):
            await studio.engine.snapshots.show(session, "19")


async def test_one_that_cannot_be_read_is_told_of(studio: Studio) -> None:
    class Locked(FullDisk):
        def read(self, session: SessionId, name: str) -> str:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    disk = studio.rig.snapshots = Locked(studio)
    disk.full = False
    async with studio.running():
        ada = await studio.rig.start(studio.engine)
        ada.box = "words"
        session = studio.engine.session(ADA)
        await studio.engine.snapshots.ask(session)
        with pytest.raises(RefusedError, match=r"-lines\.txt cannot be read: Permission denied"):
            await studio.engine.snapshots.show(session, "newest")

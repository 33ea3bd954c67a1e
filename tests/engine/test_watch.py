"""What no hook tells is seen: silent ends, dialogs, deaths. What is known is not looked at."""

import asyncio
import errno
from collections.abc import AsyncIterator

import pytest

from sm.core.ids import RecoveryId
from sm.core.state import State
from sm.core.terminal import Sign
from sm.core.turn import STATUS_FOLLOWS_WITHIN
from sm.engine.engine import Engine
from sm.engine.watch import EVERY, OUTWEIGHED, SETTLED, STALE
from tests.engine.agent import Agent
from tests.engine.rig import ADA, BOB, FlakyStore, Rig, new


class Seen:
    """ada in a running engine, and what was committed about her."""

    def __init__(self, rig: Rig, engine: Engine, agent: Agent, store: FlakyStore) -> None:
        self.rig, self.engine, self.agent, self.store = rig, engine, agent, store

    def state(self) -> State:
        return self.engine.session(ADA).state

    async def working(self) -> None:
        """A person's prompt; its hook is some time ago."""
        self.agent.box = "hello"
        self.agent.submit()
        await self.rig.deliver(self.engine, self.agent)
        await asyncio.sleep(2)
        assert self.state() is State.WORKING

    def count(self, kind: str) -> int:
        return sum(batch.count(kind) for batch in self.store.kinds)


@pytest.fixture
async def ada(rig: Rig, flaky: FlakyStore) -> AsyncIterator[Seen]:
    async with rig.running() as engine:
        agent = await rig.start(engine)
        await asyncio.sleep(1)
        yield Seen(rig, engine, agent, flaky)


async def test_a_turn_that_ends_silently_is_seen(ada: Seen) -> None:
    """An interrupt sends no hook; the prompt on the screen is the evidence."""
    await ada.working()
    ada.agent.sign = Sign.PROMPT
    await asyncio.sleep(3 * EVERY)

    assert ada.state() is State.IDLE


async def test_what_the_agent_reports_during_a_look_outdates_it(ada: Seen) -> None:
    """tmux was slow: the prompt it saw was there before the tool call that was told meanwhile."""
    await ada.working()
    await asyncio.sleep(EVERY)
    ada.agent.sign = Sign.PROMPT
    await asyncio.sleep(EVERY)
    ada.agent.stuck = asyncio.Event()
    await asyncio.sleep(EVERY)
    ada.agent.use_tool()
    await ada.rig.deliver(ada.engine, ada.agent)
    ada.agent.stuck.set()
    await asyncio.sleep(0)
    ada.agent.sign, ada.agent.stuck = Sign.BUSY, None
    await asyncio.sleep(10)

    assert ada.count("ScreenSeen") == 0


async def test_what_was_seen_of_an_ended_session_is_forgotten(ada: Seen) -> None:
    """A daemon that runs for months holds no more than what lives."""
    await ada.working()
    ada.agent.finish()
    await ada.rig.deliver(ada.engine, ada.agent)
    assert ada.engine.watch.remembered == 1
    await ada.engine.sessions.kill("ada", by="you")
    await asyncio.sleep(5)

    assert ada.engine.watch.remembered == 0


async def test_an_answer_about_an_agent_that_ended_meanwhile_is_no_news(ada: Seen) -> None:
    """A kill came while tmux was asked."""
    ada.agent.stuck = asyncio.Event()
    check = asyncio.create_task(ada.engine.watch.inspect(ADA))
    await asyncio.sleep(0)
    await ada.engine.sessions.kill("ada", by="you")
    ada.agent.stuck.set()

    assert await check
    assert ada.count("AgentExited") == 0
    assert ada.state() is State.ENDED


async def test_one_look_is_not_enough(ada: Seen) -> None:
    """A flash of the prompt between two tool calls is gone at the next look."""
    await ada.working()
    for _ in range(6):
        ada.agent.sign = Sign.PROMPT if ada.agent.sign is Sign.BUSY else Sign.BUSY
        await asyncio.sleep(EVERY)

    assert ada.count("ScreenSeen") == 0


async def test_a_dialog_is_seen_and_its_answer_too(ada: Seen) -> None:
    """Without a hook, by the screen alone."""
    await ada.working()
    ada.agent.sign = Sign.DIALOG
    await asyncio.sleep(3 * EVERY)
    assert ada.state() is State.WAITING

    ada.agent.sign = Sign.BUSY
    await asyncio.sleep(3 * EVERY)
    assert ada.state() is State.WORKING


async def test_a_look_that_shows_what_we_know_is_no_news(ada: Seen) -> None:
    """A working agent that works costs no commit."""
    await ada.working()
    await asyncio.sleep(100)

    assert ada.count("ScreenSeen") == 0


async def test_an_idle_agent_is_not_looked_at(ada: Seen) -> None:
    """Nothing is asked of tmux while nothing can happen."""
    assert ada.state() is State.IDLE
    ada.agent.sign = Sign.DIALOG
    await asyncio.sleep(100)

    assert ada.state() is State.IDLE


async def test_an_agent_that_was_kept_from_stopping_is_seen_to_work(ada: Seen) -> None:
    """Somebody else's hook told it to go on, after ours had told of its end."""
    await ada.working()
    ada.agent.finish()
    await ada.rig.deliver(ada.engine, ada.agent)
    ada.agent.sign = Sign.BUSY
    await asyncio.sleep(STATUS_FOLLOWS_WITHIN - EVERY)
    assert ada.state() is State.IDLE, "it may not have said yet that it stopped"

    await asyncio.sleep(4 * EVERY)
    assert ada.state() is State.WORKING

    ada.agent.sign = Sign.PROMPT
    await asyncio.sleep(4 * EVERY)
    assert ada.state() is State.IDLE


async def test_an_agent_that_sends_no_hook_is_seen_to_be_ready(rig: Rig) -> None:
    """Its hooks are broken; the prompt on the screen is enough to begin."""
    async with rig.running() as engine:
        await engine.sessions.new(new())
        await asyncio.sleep(3 * EVERY)

        assert engine.session(ADA).state is State.IDLE


async def test_a_screen_under_copy_mode_tells_nothing(ada: Seen) -> None:
    """A person scrolls in the history."""
    await ada.working()
    ada.agent.sign, ada.agent.in_mode = Sign.PROMPT, True
    await asyncio.sleep(10)

    assert ada.state() is State.WORKING


async def test_a_death_is_told_when_the_process_ends(ada: Seen) -> None:
    """Also of an idle agent: the process table says it."""
    ada.agent.die(status=2)
    ada.rig.processes.watched[ada.agent.pane.pid]()
    await asyncio.sleep(1)

    assert ada.state() is State.CRASHED
    await asyncio.sleep(1)
    assert ada.rig.processes.watched == {}, "nobody waits for it any more"


async def test_an_agent_that_is_back_at_once_is_watched_alone(ada: Seen) -> None:
    """Nothing is kept of the one before, though nobody looked while it was gone."""
    before = ada.agent.pane.pid
    ada.agent.die(status=2)
    await ada.engine.watch.inspect(ADA)
    await ada.engine.recoveries.request(
        "ada", by="you", recovery_id=RecoveryId("r1"), manner=None, environment=None
    )
    assert await ada.engine.loop.wait_until(lambda: ada.engine.session(ADA).alive, 1)
    assert ada.agent.pane.pid != before
    await asyncio.sleep(1)

    assert list(ada.rig.processes.watched) == [ada.agent.pane.pid]


async def test_an_ended_session_needs_its_environment_no_more(ada: Seen) -> None:
    """It ended by itself; the caller's environment is forgotten as after a kill."""
    ada.agent.die(status=0)
    ada.rig.processes.watched[ada.agent.pane.pid]()
    await asyncio.sleep(2)

    assert ada.state() is State.ENDED
    assert ada.rig.folders.forgotten == [ADA]


async def test_a_death_that_could_not_be_stored_is_told_again(ada: Seen) -> None:
    """A process dies once; a full disk must not hide it, nor end the watching."""
    ada.agent.die()
    ada.store.failures = 3
    ada.rig.processes.watched[ada.agent.pane.pid]()
    await asyncio.sleep(10)

    assert ada.state() is State.CRASHED


async def test_a_death_that_could_not_be_looked_into_is_asked_for_again(ada: Seen) -> None:
    """Too many files were open at that moment. An idle agent is looked at by nobody else."""
    ada.agent.die()
    ada.rig.processes.trouble[ada.agent.pane.pid] = OSError(errno.EMFILE, "Too many open files")
    ada.rig.processes.watched[ada.agent.pane.pid]()
    await asyncio.sleep(3 * EVERY)
    assert ada.state() is State.IDLE

    ada.rig.processes.trouble.clear()
    await asyncio.sleep(2 * EVERY)

    assert ada.state() is State.CRASHED


async def test_a_death_that_cannot_be_looked_into_hides_no_other(ada: Seen) -> None:
    """Each is asked for by itself."""
    bob = await ada.rig.start(ada.engine, BOB)
    await asyncio.sleep(1)
    ada.rig.processes.trouble[ada.agent.pane.pid] = OSError(errno.EIO, "Input/output error")
    ada.agent.die()
    bob.die()
    for agent in (ada.agent, bob):
        ada.rig.processes.watched[agent.pane.pid]()
    await asyncio.sleep(3 * EVERY)

    assert ada.engine.session(BOB).state is State.CRASHED


async def test_a_process_that_cannot_be_watched_yet_is_later(ada: Seen) -> None:
    """Without an end to the watching of all others, and without waiting for news of any session."""
    bob = ada.agent.pane.pid + 1
    ada.rig.processes.trouble[bob] = OSError(errno.EMFILE, "Too many open files")
    agent = await ada.rig.start(ada.engine, BOB)
    assert agent.pane.pid == bob
    await asyncio.sleep(10 * EVERY)
    assert bob not in ada.rig.processes.watched

    ada.rig.processes.trouble.clear()
    await asyncio.sleep(2 * EVERY)

    assert bob in ada.rig.processes.watched


async def test_a_screen_that_could_not_be_stored_is_seen_again(ada: Seen) -> None:
    """The disk is full at the first news; the next look tells it."""
    await ada.working()
    ada.agent.sign = Sign.PROMPT
    ada.store.failures = 2
    await asyncio.sleep(10)

    assert ada.state() is State.IDLE


async def test_a_working_agents_pane_that_disappears_is_a_death(ada: Seen) -> None:
    """Somebody closed it."""
    await ada.working()
    ada.agent.gone = ada.agent.dead = True
    await asyncio.sleep(3 * EVERY)

    assert ada.state() is State.CRASHED


async def test_a_silent_tmux_changes_nothing_by_itself(ada: Seen) -> None:
    """A look that fails is no evidence; asked directly, the terminal is lost, then found."""
    await ada.working()
    ada.rig.world.silent = True
    await asyncio.sleep(10)
    assert ada.state() is State.WORKING

    await ada.engine.watch.inspect(ADA)
    assert ada.state() is State.UNKNOWN
    ada.rig.world.silent = False
    await ada.engine.watch.inspect(ADA)
    assert ada.state() is State.WORKING


async def test_inspecting_a_healthy_agent_is_no_news(ada: Seen) -> None:
    """Nothing is committed; of the dead and the unknown nothing is asked."""
    before = len(ada.store.batches)
    assert await ada.engine.watch.inspect(ADA)
    assert len(ada.store.batches) == before

    await ada.engine.sessions.kill("ada", by="you")
    before = len(ada.store.batches)
    assert await ada.engine.watch.inspect(ADA)
    assert len(ada.store.batches) == before


# --- what the agent says of itself ---------------------------------------------------------


@pytest.fixture
async def telling(ada: Seen) -> Seen:
    """ada keeps a status file, and works."""
    ada.agent.waits = True
    await ada.working()
    return ada


async def test_the_agents_own_word_spares_a_look_at_its_screen(telling: Seen) -> None:
    """Whatever the screen shows: a turn that ended silently is told of in the file."""
    telling.agent.drawn = Sign.BUSY
    telling.agent.rest()
    await asyncio.sleep(3 * EVERY)

    assert telling.state() is State.IDLE
    assert (telling.count("StatusSeen"), telling.count("ScreenSeen")) == (1, 0)


async def test_a_dialog_that_only_the_file_tells_of_is_seen(telling: Seen) -> None:
    telling.agent.sign, telling.agent.drawn = Sign.DIALOG, Sign.PROMPT
    await asyncio.sleep(3 * EVERY)

    assert telling.state() is State.WAITING


async def test_a_word_that_is_only_just_said_may_be_a_flash(telling: Seen) -> None:
    """Idle for a blink between two steps of one turn."""
    for _ in range(20):
        telling.agent.sign = Sign.PROMPT
        await asyncio.sleep(SETTLED / 4)
        telling.agent.sign = Sign.BUSY
        await asyncio.sleep(EVERY)

    assert telling.count("StatusSeen") == 0
    assert telling.state() is State.WORKING


async def test_what_is_known_is_not_told_again(telling: Seen) -> None:
    await asyncio.sleep(20 * EVERY)

    assert telling.count("StatusSeen") == 0


async def test_a_word_nobody_knows_sends_us_to_the_screen(telling: Seen) -> None:
    """A later version's: unknown is never idle."""
    telling.agent.sign, telling.agent.drawn = Sign.UNKNOWN, Sign.PROMPT
    await asyncio.sleep(5 * EVERY)

    assert (telling.count("StatusSeen"), telling.state()) == (0, State.IDLE)


async def test_a_word_that_could_not_be_taken_back_is_outweighed_by_the_screen(
    telling: Seen,
) -> None:
    """The disk was full when the turn ended: no hook, and the file says busy for ever."""
    telling.agent.drawn = Sign.PROMPT
    await asyncio.sleep(STALE - 5)
    assert telling.state() is State.WORKING

    await asyncio.sleep(5 + OUTWEIGHED + 4 * EVERY)

    assert (telling.state(), telling.count("ScreenSeen")) == (State.IDLE, 1)


async def test_a_screen_that_shows_work_now_and_then_outweighs_nothing(telling: Seen) -> None:
    await asyncio.sleep(STALE)
    for _ in range(10):
        telling.agent.drawn = Sign.PROMPT
        await asyncio.sleep(OUTWEIGHED / 2)
        telling.agent.drawn = Sign.BUSY
        await asyncio.sleep(2 * EVERY)

    assert (telling.state(), telling.count("ScreenSeen")) == (State.WORKING, 0)


# --- panes that were closed ------------------------------------------------------------------


async def test_an_idle_agent_that_outlives_its_pane_is_found(ada: Seen) -> None:
    """It notices nothing, and nobody looks at one that is idle: its pane is missed in the list."""
    ada.agent.gone = True

    await ada.engine.watch.find_closed()

    assert ada.state() is State.CRASHED
    assert ada.engine.session(ADA).verdict.says.endswith("pane %1 is gone, its process lives on")


async def test_panes_that_are_there_are_not_asked_for(ada: Seen) -> None:
    """Nor is anybody, where tmux does not say which there are."""
    await ada.engine.watch.find_closed()
    ada.agent.gone = ada.rig.world.silent = True
    await ada.engine.watch.find_closed()

    assert ada.state() is State.IDLE
    assert ada.count("AgentExited") == ada.count("TerminalLost") == 0


async def test_a_list_of_panes_that_cannot_be_read_ends_no_watching(ada: Seen) -> None:
    """The next one is."""
    ada.agent.gone = ada.rig.world.babbles = True
    await ada.engine.watch.find_closed()
    assert ada.state() is State.IDLE

    ada.rig.world.babbles = False
    await ada.engine.watch.find_closed()

    assert ada.state() is State.CRASHED

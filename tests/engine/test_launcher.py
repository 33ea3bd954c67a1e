"""Starting agents once, and telling a death from a silence."""

import asyncio
from dataclasses import replace

import pytest

from sm.core.adoption import Process
from sm.core.crash import Cause
from sm.core.effects import RelaunchAgent
from sm.core.envelope import carry
from sm.core.events import (
    AgentExited,
    AgentRelaunched,
    AgentStarted,
    LaunchFailed,
    PaneSeen,
    RelaunchRefused,
    TerminalLost,
)
from sm.core.handoff import first_prompt
from sm.core.ids import HandoffId
from sm.core.passage import HandoffState
from sm.core.state import Session
from sm.engine.launcher import DEATH_SHOWN_WITHIN, Launcher, in_words
from tests.core.samples import ADA, HANDOFF, IDLE, handoff
from tests.engine.dialects import ScriptedDialects
from tests.engine.folders import NoFolders
from tests.engine.timelapse import LoopClock
from tests.engine.world import ProcessTable, World

NEW = replace(IDLE, pane=None)
AGAIN = RelaunchAgent(handoff=HandoffId(HANDOFF))


@pytest.fixture
async def world() -> World:
    return World(LoopClock().now)


@pytest.fixture
def folders() -> NoFolders:
    return NoFolders()


@pytest.fixture
async def launcher(world: World, folders: NoFolders) -> Launcher:
    return Launcher(
        world, ProcessTable(world), folders, ScriptedDialects(world), lambda _: None, LoopClock()
    )


async def test_an_agent_is_launched_once(world: World, launcher: Launcher) -> None:
    """The daemon died after the launch: the next one finds the agent and starts no second."""
    started = await launcher.launch(NEW)
    assert started == AgentStarted(pane=world.agent().pane)

    assert await launcher.launch(NEW) == started
    assert world.calls == ["launch ada"]


async def test_a_launch_that_fails_says_why(world: World, launcher: Launcher) -> None:
    """In the words of whoever refused."""
    world.refuses_launch = True
    assert await launcher.launch(NEW) == LaunchFailed(reason="/shop is not a folder")


async def test_a_launch_tmux_did_not_answer_to_may_have_happened(
    world: World, launcher: Launcher
) -> None:
    """It is asked for again instead of being called a failure."""
    world.silent = True

    assert await launcher.launch(NEW) == TerminalLost(reason="no answer")


async def test_a_living_agent_is_seen(world: World, launcher: Launcher) -> None:
    """Both tmux and the process table know it."""
    session = replace(IDLE, pane=world.add(ADA).pane)

    assert await launcher.check(session) == PaneSeen(evidence="pane %1 and process 101 are there")


async def test_a_silent_tmux_with_a_living_agent_is_no_death(
    world: World, launcher: Launcher
) -> None:
    """The terminal is lost; the agent is well."""
    session = replace(IDLE, pane=world.add(ADA).pane)
    world.silent = True

    assert await launcher.check(session) == TerminalLost(reason="no answer")


async def test_a_dead_process_is_dead_even_if_tmux_is_silent(
    world: World, launcher: Launcher
) -> None:
    """The process table is enough."""
    agent = world.add(ADA)
    agent.dead, world.silent = True, True

    exited = await launcher.check(replace(IDLE, pane=agent.pane))

    assert exited == AgentExited(status=None, signal=None, evidence="process 101 is gone")


async def test_a_dead_pane_tells_its_exit_code(world: World, launcher: Launcher) -> None:
    """What tmux kept is part of the report."""
    agent = world.add(ADA)
    agent.die(status=3)

    exited = await launcher.check(replace(IDLE, pane=agent.pane))

    assert exited == AgentExited(
        status=3, signal=None, evidence="pane %1 is dead", cause=Cause.EXIT
    )


@pytest.mark.parametrize(("dead", "more"), [(True, ""), (False, ", its process lives on")])
async def test_a_pane_that_is_gone_is_an_end(
    world: World, launcher: Launcher, dead: bool, more: str
) -> None:
    """Somebody closed it; the process may not have noticed."""
    agent = world.add(ADA)
    agent.gone, agent.dead = True, dead

    exited = await launcher.check(replace(IDLE, pane=agent.pane))

    evidence = f"pane %1 is gone{more}"
    assert exited == AgentExited(status=None, signal=None, evidence=evidence, cause=Cause.PANE)


async def test_an_end_without_a_pane_is_said_at_once(launcher: Launcher) -> None:
    """Nothing was ever launched."""
    exited = await launcher.check(NEW)

    assert exited == AgentExited(status=None, signal=None, evidence="it has no pane")


async def test_tmux_is_given_time_to_notice_a_death(world: World, launcher: Launcher) -> None:
    """The process table knows first; the exit code comes a moment later from tmux."""
    agent = world.add(ADA)
    session = replace(IDLE, pane=replace(agent.pane, started=6))
    checking = asyncio.create_task(launcher.check(session))
    await asyncio.sleep(DEATH_SHOWN_WITHIN / 2)
    agent.die(status=4)

    dead = AgentExited(status=4, signal=None, evidence="pane %1 is dead", cause=Cause.EXIT)
    assert await checking == dead


async def test_a_pane_that_never_notices_is_dead_all_the_same(
    world: World, launcher: Launcher
) -> None:
    """Its process is not the one we started."""
    agent = world.add(ADA)

    exited = await launcher.check(replace(IDLE, pane=replace(agent.pane, started=6)))

    assert exited == AgentExited(status=None, signal=None, evidence="pane %1 is dead")


# --- started again ---------------------------------------------------------------------------


@pytest.fixture
async def wrapped(world: World, folders: NoFolders) -> Session:
    """ada in somebody's own terminal, on her way to her next context."""
    folders.prepared[ADA] = {"PATH": "/bin"}
    passing = handoff(state=HandoffState.CLEARING, context=1)
    return replace(IDLE, pane=world.add(ADA).pane, wrapped=True, handoffs=(passing,))


async def test_an_agent_is_ended_and_started_again_with_its_first_prompt(
    world: World, launcher: Launcher, folders: NoFolders, wrapped: Session
) -> None:
    outcome = await launcher.relaunch(wrapped, AGAIN)

    assert isinstance(outcome, AgentRelaunched)
    assert outcome.pane == world.agent().pane != wrapped.pane
    assert outcome.context == "context of ada.2"
    assert world.calls == ["kill ada", "launch ada"]
    ahead = replace(wrapped, context=replace(wrapped.context, number=2))
    prompt = carry(first_prompt(ahead, wrapped.handoffs[0], 0.0))
    assert folders.lines[ADA].argv == ("claude", prompt)
    assert folders.prepared[ADA] == {"PATH": "/bin"}


async def test_one_that_cannot_be_started_again_is_not_ended(
    world: World, launcher: Launcher, wrapped: Session
) -> None:
    missing = replace(wrapped, agent="missing")

    outcome = await launcher.relaunch(missing, AGAIN)

    reason = "missing is not a program on your PATH."
    assert outcome == RelaunchRefused(handoff=AGAIN.handoff, reason=reason)
    assert world.calls == []


async def test_one_whose_handoff_is_over_stays_as_it_is(
    world: World, launcher: Launcher, wrapped: Session
) -> None:
    outcome = await launcher.relaunch(replace(wrapped, handoffs=()), AGAIN)

    assert outcome == RelaunchRefused(handoff=AGAIN.handoff, reason="the handoff is over")
    assert world.calls == []


@pytest.mark.parametrize("before", range(150, 200))
def test_no_part_of_a_secret_is_told_of_a_long_command_line(before: int) -> None:
    """Wherever it is cut: half a token is not recognised any more."""
    process = Process(
        pid=7, parent=1, started=1, name="curl", environment={}, foreground=False,
        command=("curl", "x" * before, "hunter2", "y" * 90),
    )  # fmt: skip

    words = in_words(process, lambda text: text.replace("hunter2", "[redacted]"))

    assert words.startswith("process 7: curl xxx")
    assert "hunt" not in words
    assert len(words) == 200

"""Agents that died are started again: once, told what they must know, and nothing beside one."""

import asyncio
import errno
from dataclasses import replace
from pathlib import Path

import pytest

from sm.core.channel import Kind, NewHandoff, Status, handoff_name
from sm.core.crash import Manner, RecoveryRules, RecoveryState
from sm.core.effects import RecoverAgent
from sm.core.events import AgentRecovered, RecoveryFailed
from sm.core.ids import RecoveryId, SessionId
from sm.core.launch import AgentLine, PaneLaunch
from sm.core.message import MessageState
from sm.core.state import Session, State
from sm.core.terminal import Pane
from sm.engine.engine import Engine
from sm.engine.handovers import Document
from sm.engine.recoverer import LOOK_FOR_ROOM, READY_WITHIN, _in_words
from sm.redaction.redactor import Redactor
from tests.engine.agent import Agent
from tests.engine.rig import ADA, BOB, TERMS, FlakyStore, Rig, said
from tests.engine.timelapse import NOON
from tests.engine.world import World

ID = RecoveryId("r1")
CUT = handoff_name(NOON, "0a1b2c3d")
AUTO = replace(TERMS, rules=RecoveryRules(auto=True, crashes=3, within=600.0))


async def died(rig: Rig, engine: Engine, agent: Agent) -> Session:
    """The agent is gone, and that was noticed."""
    agent.die(status=9)
    await engine.watch.inspect(agent.session)
    return engine.session(agent.session)


async def asked(engine: Engine, manner: Manner | None = None) -> Session:
    return await engine.recoveries.request(
        "ada", by="you", recovery_id=ID, manner=manner, environment=None
    )


async def until(engine: Engine, state: RecoveryState) -> Session:
    """Wait for the last recovery to come so far."""

    def has_come() -> bool:
        return engine.session(ADA).recoveries[-1].state is state

    assert await engine.loop.wait_until(has_come, 60), engine.session(ADA).recoveries
    return engine.session(ADA)


async def test_an_agent_that_was_working_is_told_what_happened(rig: Rig) -> None:
    """In its own context, before what waited for it."""
    async with rig.running() as engine:
        rig.world.forgets = True
        agent = await rig.start_turn(engine)
        await engine.mail.send(said())
        assert (await died(rig, engine, agent)).state is State.CRASHED

        await asked(engine)
        await until(engine, RecoveryState.STARTED)
        await rig.deliver(engine, agent)
        await rig.until_given(engine, agent, 2)
        session = await until(engine, RecoveryState.DONE)

        assert session.recoveries[-1].manner is Manner.FRESH, "nothing of it is on record"
        assert "You were working on a task when your session crashed" in agent.got[1]
        assert session.message(said().id) is not None
    assert rig.world.calls.count("relaunch ada") == 1
    assert agent.wrongs == []


async def test_nothing_is_started_beside_an_agent_that_was_started_before(
    rig: Rig, flaky: FlakyStore
) -> None:
    """It was started, and that could not be written down: the same is asked for again."""
    rig.world.forgets = True
    async with rig.running() as engine:
        agent = await rig.start_turn(engine)
        await died(rig, engine, agent)
        await asked(engine)
        flaky.failures, flaky.failing = 1, AgentRecovered
        session = await until(engine, RecoveryState.STARTED)

        assert flaky.failures == 0
        started = session.recoveries[-1].steps[-1]
        assert started.evidence.endswith("found started")
        assert (session.pane, session.context.id) == (agent.pane, agent.context)
    assert rig.world.calls.count("relaunch ada") == 1


async def test_an_agent_that_outlived_its_pane_is_ended_first(rig: Rig) -> None:
    """It would work beside the one that is started in its place."""
    async with rig.running() as engine:
        agent = await rig.start(engine)
        session = await died(rig, engine, agent)
        agent.dead, agent.gone = False, True
        session = await asked(engine)

        await until(engine, RecoveryState.STARTED)

        assert agent.revivals == 1
    assert session.recovery is not None


async def test_nothing_is_started_beside_an_agent_that_does_not_end(rig: Rig) -> None:
    """Both would write the same conversation."""
    async with rig.running() as engine:
        agent = await rig.start(engine)
        await died(rig, engine, agent)
        agent.dead, agent.gone, agent.unkillable = False, True, True
        await asked(engine)
        session = await until(engine, RecoveryState.FAILED)

        pid = agent.pane.pid
        assert session.recoveries[-1].steps[-1].evidence == f"process {pid} does not end"
    assert "relaunch ada" not in rig.world.calls


async def test_a_handoff_that_was_cut_and_taken_over_is_left_to_whoever_has_it(
    rig: Rig, tmp_path: Path
) -> None:
    """The ledger knows; its taker is named, and the document is not told again."""
    written = tmp_path / "handoff.md"
    written.write_text(f"<!-- HANDOFF-ID: {CUT} -->\n\nSweep the shop.\n")
    async with rig.running() as engine:
        session = await died(rig, engine, await rig.start_turn(engine))
        bob = (await rig.start(engine, BOB), engine.session(BOB))[1]
        engine.filing.channels.create(
            NewHandoff(
                id=CUT, channel="shop", root="/shop", kind=Kind.SELF, session=ADA, context=None,
                created_at=NOON, created_by_pid=1, working_dir="/shop", document=str(written),
            )
        )  # fmt: skip
        assert session.crash is not None
        crash = replace(session.crash, handoff=CUT)

        waiting = await engine.recoverer.plan(session, crash, None)
        await engine.filing.take(bob, "shop")
        taken = await engine.recoverer.plan(session, crash, None)

        assert f"Handoff {CUT} was under way and came to nothing" in waiting.told
        assert f"Handoff {CUT} was under way. bob has taken it over" in taken.told


async def cut(rig: Rig, engine: Engine, document: Path) -> Agent:
    """It died while its context was being handed over."""
    agent = await rig.start_turn(engine)
    document.write_text("Sweep the shop.\n")
    await engine.handovers.request(
        "ada", requester="ada", document=Document(source=str(document)), token="token of ada",
        handoff_id=CUT,
    )  # fmt: skip
    agent.finish()
    await rig.deliver(engine, agent)
    while engine.filing.channels.get(CUT) is None:
        await engine.loop.next_commit()
    session = await died(rig, engine, agent)
    assert session.crash is not None
    assert session.crash.handoff == CUT
    return agent


def holder(engine: Engine) -> int | None:
    """The process that has it, if any has."""
    kept = engine.filing.channels.get(CUT)
    assert kept is not None
    return kept.claimed_pid if kept.status is Status.CLAIMED else None


async def test_a_handoff_that_was_cut_is_held_for_whoever_is_told_of_it(
    rig: Rig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By us until its agent runs, then by that agent: nobody else may have it in between."""
    held: list[int | None] = []
    start = World.relaunch
    async with rig.running() as engine:
        agent = await cut(rig, engine, tmp_path / "handoff.md")

        async def relaunch(world: World, launch: PaneLaunch) -> Pane:
            held.append(holder(engine))
            return await start(world, launch)

        monkeypatch.setattr(World, "relaunch", relaunch)
        await asked(engine)
        await until(engine, RecoveryState.STARTED)

        assert [*held, holder(engine)] == [engine.filing.pid, agent.pane.pid]


async def test_a_handoff_that_nobody_could_be_told_of_waits_again(rig: Rig, tmp_path: Path) -> None:
    async with rig.running() as engine:
        await cut(rig, engine, tmp_path / "handoff.md")
        rig.world.refuses_launch = True

        await asked(engine)
        await until(engine, RecoveryState.FAILED)

        assert holder(engine) is None


def test_what_the_system_refused_is_told_with_its_place() -> None:
    refused = OSError(errno.EROFS, "Read-only file system", "/sessions/ada/launch.json")

    assert _in_words(refused) == "/sessions/ada/launch.json: Read-only file system"
    assert _in_words(ValueError("no")) == "no"


async def test_a_recovery_that_is_over_starts_nothing(rig: Rig) -> None:
    async with rig.running() as engine:
        await rig.start(engine)
        outcome = await engine.recoverer.recover(engine.session(ADA), _effect())
        assert outcome == RecoveryFailed(recovery=ID, reason="the recovery is over")
    assert "relaunch ada" not in rig.world.calls


async def test_a_folder_that_is_gone_is_a_clear_refusal(rig: Rig) -> None:
    """The session stays as it was; it can be tried again."""
    async with rig.running() as engine:
        agent = await rig.start(engine)
        await died(rig, engine, agent)
        rig.world.refuses_launch = True
        await asked(engine)
        session = await until(engine, RecoveryState.FAILED)

        assert session.state is State.CRASHED
        assert session.recoveries[-1].steps[-1].evidence == "/shop is not a folder"


async def test_tmux_that_does_not_answer_is_asked_again(rig: Rig) -> None:
    """The agent was started all the same: it is found, not started twice."""
    rig.world.forgets = True
    async with rig.running() as engine:
        agent = await rig.start_turn(engine)
        await died(rig, engine, agent)
        rig.world.hang_at = "relaunch"
        await asked(engine)
        session = await until(engine, RecoveryState.STARTED)

        steps = [step.step for step in session.recoveries[-1].steps]
        assert steps == ["asked", "held", "started"]
    assert rig.world.calls.count("relaunch ada") == 1


async def test_another_program_in_its_pane_is_not_taken_for_it(rig: Rig) -> None:
    """Noted before it is replaced: if that is all that was done, it is done again."""
    async with rig.running() as engine:
        agent = await rig.start(engine)
        await died(rig, engine, agent)
        agent.revivals += 1
        rig.folders.recovered[ADA] = {
            "id": ID, "manner": "resume", "context": "", "before": str(agent.pane.pid)
        }  # fmt: skip
        await asked(engine)
        await until(engine, RecoveryState.STARTED)
    assert rig.world.calls.count("relaunch ada") == 1


async def test_an_agent_that_cannot_be_resumed_says_why(rig: Rig) -> None:
    """Somebody insists; the other way is named."""
    async with rig.running() as engine:
        agent = await rig.start(engine)
        await died(rig, engine, agent)
        await asked(engine, Manner.RESUME)
        session = await until(engine, RecoveryState.FAILED)

        assert "cannot be resumed" in session.recoveries[-1].steps[-1].evidence


async def test_only_so_many_agents_start_at_the_same_time(rig: Rig) -> None:
    """A wave of forty would starve them all; each that is ready makes room for the next."""
    rig.recovery_terms = replace(AUTO, at_once=2)
    rig.world.forgets = True
    names = [SessionId(f"ada{n}") for n in range(5)]
    async with rig.running() as engine:
        agents = [await rig.start(engine, name) for name in names]
        for agent in agents:
            agent.die(status=9)
            await engine.watch.inspect(agent.session)
        most = 0
        while sum(agent.revivals for agent in agents) < len(agents):
            await engine.loop.next_commit()
            starting = [a for a in agents if a.revivals and not engine.session(a.session).ready]
            most = max(most, len(starting))
            for agent in starting:
                await rig.deliver(engine, agent)

        assert most == 2


async def test_an_agent_that_never_gets_ready_does_not_hold_up_the_others(rig: Rig) -> None:
    rig.recovery_terms = replace(AUTO, at_once=1)
    async with rig.running() as engine:
        agents = [await rig.start(engine, SessionId(name)) for name in ("ada", "bob")]
        for agent in agents:
            agent.die(status=9)
            agent.drawn = None
            await engine.watch.inspect(agent.session)
        for agent in agents:
            agent.hooks.clear()
        await asyncio.sleep(READY_WITHIN + 3)

        assert [agent.revivals for agent in agents] == [1, 1]


async def test_one_that_is_ended_while_it_waits_for_room_is_gone_at_once(rig: Rig) -> None:
    """Its pane too: the end waits behind the recovery, and that for agents that start."""
    rig.recovery_terms = replace(AUTO, at_once=1)
    async with rig.running() as engine:
        names = [SessionId(name) for name in ("ada", "bob", "eve")]
        agents = [await rig.start(engine, name) for name in names]
        for agent in agents:
            agent.die(status=9)
            agent.hooks.clear()
            await engine.watch.inspect(agent.session)
        assert await engine.loop.wait_until(lambda: agents[0].revivals == 1, READY_WITHIN)

        await engine.sessions.kill("bob", by="you")
        await asyncio.sleep(2 * LOOK_FOR_ROOM)
        assert [call for call in rig.world.calls if call.startswith("kill")] == ["kill bob"]

        await rig.deliver(engine, agents[0])
        await asyncio.sleep(2 * LOOK_FOR_ROOM)
        assert [agent.revivals for agent in agents] == [1, 0, 1], "the one behind it is next"


async def test_those_that_wait_for_room_come_in_their_order(rig: Rig) -> None:
    rig.recovery_terms = replace(AUTO, at_once=1)
    async with rig.running() as engine:
        names = [SessionId(f"ada{n}") for n in range(5)]
        agents = [await rig.start(engine, name) for name in names]
        for agent in agents:
            agent.die(status=9)
            await engine.watch.inspect(agent.session)
        while not all(agent.revivals for agent in agents):
            await engine.loop.next_commit()
            for agent in agents:
                await rig.deliver(engine, agent)

        again = [call for call in rig.world.calls if call.startswith("relaunch")]
        assert again == [f"relaunch {name}" for name in names]


async def test_a_taken_message_that_is_not_on_record_is_told_again(rig: Rig) -> None:
    """The agent reported it, and died before it wrote it down: nobody else would remember."""
    async with rig.running() as engine:
        agent = await rig.start(engine)
        agent.waits = False
        await engine.mail.send(said(text="port the lexer"))
        await rig.until_given(engine, agent)
        assert await engine.loop.wait_until(
            lambda: engine.session(ADA).message(said().id) is not None, 5
        )
        agent.transcripts.clear()
        session = await died(rig, engine, agent)
        assert session.crash is not None
        assert session.crash.taken == (said().id,)

        plan = await engine.recoverer.plan(session, session.crash, None)

        assert "port the lexer" in plan.told


async def test_an_agent_that_was_never_asked_anything_is_told_nothing(rig: Rig) -> None:
    """It begins as it had begun; a word would set it to work."""
    async with rig.running() as engine:
        session = await died(rig, engine, await rig.start(engine))
        assert session.crash is not None

        assert (await engine.recoverer.plan(session, session.crash, None)).told == ""


async def test_an_agent_that_reports_nothing_is_told_nothing(rig: Rig) -> None:
    """It may be a shell: what is typed there is executed."""
    async with rig.running() as engine:
        agent = await rig.start(engine, agent="cat")
        session = await died(rig, engine, agent)
        assert session.crash is not None

        assert (await engine.recoverer.plan(session, session.crash, None)).told == ""


@pytest.mark.parametrize("restarts", [1, 2])
async def test_a_crash_is_answered_by_itself_where_that_is_wanted(rig: Rig, restarts: int) -> None:
    rig.recovery_terms = AUTO
    rig.world.forgets = True
    async with rig.running() as engine:
        agent = await rig.start_turn(engine)
        for nth in range(1, restarts + 1):
            await died(rig, engine, agent)
            await until(engine, RecoveryState.STARTED)
            await rig.deliver(engine, agent)
            await rig.until_given(engine, agent, nth + 1)
            await until(engine, RecoveryState.DONE)
            agent.finish()
            await rig.deliver(engine, agent)

        assert agent.revivals == restarts
        assert engine.loop.tally.recoveries.total() == restarts
        assert all(m.state is not MessageState.QUEUED for m in engine.session(ADA).messages)


def _effect() -> RecoverAgent:
    return RecoverAgent(recovery=ID)


async def test_the_line_of_a_plan_is_shown_without_secrets(rig: Rig) -> None:
    rig.redact = Redactor().redact
    line = AgentLine(argv=("run", "--password", "hG7-kQ2.xV9w"), environment={}, files={})
    async with rig.running() as engine:
        shown = engine.recoverer.shown(line)

    assert shown == ("run", "--password", "[redacted:command-password]")

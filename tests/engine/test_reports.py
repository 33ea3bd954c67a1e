"""What an agent that waits for answers is told, and what becomes of it."""

import asyncio
from pathlib import Path

import pytest

from sm.core.envelope import wrap
from sm.core.handoff import LESSON
from sm.core.ids import HandoffId
from sm.core.message import TYPING, MessageState, Mode, Route, Way
from sm.core.reports import CompactionBegun
from sm.core.state import State
from sm.engine.engine import Engine
from sm.engine.handovers import Document
from sm.engine.naming import RefusedError
from sm.engine.reports import ENDED, HELD
from tests.engine.agent import Agent
from tests.engine.rig import ADA, DiskFullError, FlakyStore, Rig, new, said

FIRST = said().id
ALL = tuple(Way(route=route) for route in Route)


@pytest.fixture
async def gentle(flaky: FlakyStore) -> Rig:
    """Its agents offer every route."""
    return Rig(store=flaky, ways=ALL)


async def report(engine: Engine, agent: Agent, *, answerable: bool = True) -> str:
    """Deliver the agent's first report; what it is answered."""
    hook = agent.hooks[0].hook
    payload, asked = f"{agent.session} 0".encode(), {"hook": hook.id, "at": hook.at}
    answer = await engine.reports.take(agent.session, payload, **asked, answerable=answerable)  # type: ignore[arg-type]
    agent.hooks.pop(0)
    return answer.decode()


async def begins_anew(engine: Engine, agent: Agent) -> str:
    """Take in reports until one of them begins the next context; what that one is answered."""
    told = ""
    async with asyncio.timeout(60):
        while engine.session(ADA).context.number == 1:
            told = await report(engine, agent) if agent.hooks else ""
            await asyncio.sleep(0.1)
    return told


async def at_work(rig: Rig, engine: Engine) -> Agent:
    """ada with all routes, in a turn of a person's."""
    agent = await rig.start(engine)
    agent.waits = True
    agent.box = "a person's words"
    agent.submit()
    await rig.deliver(engine, agent)
    await asyncio.sleep(1)
    return agent


async def test_a_turns_end_is_answered_with_the_next_message(gentle: Rig) -> None:
    async with gentle.running() as engine:
        agent = await at_work(gentle, engine)
        await engine.mail.send(said())
        agent.finish()

        assert await report(engine, agent) == wrap(FIRST, "you", "text 1")
        assert engine.session(ADA).state is State.WORKING
        assert (await engine.mail.message(FIRST)).route is Route.STOP_REPLY


async def test_an_answer_is_on_the_disk_before_it_is_given(gentle: Rig, flaky: FlakyStore) -> None:
    """A crash in between loses the answer, never the knowledge that it may have been given."""
    async with gentle.running() as engine:
        agent = await at_work(gentle, engine)
        await engine.mail.send(said())
        agent.finish()
        flaky.open.clear()
        answer = asyncio.ensure_future(report(engine, agent))
        await asyncio.sleep(1)
        assert not answer.done()

        flaky.open.set()
        assert await answer


async def test_an_answer_that_could_not_be_stored_is_not_given(
    gentle: Rig, flaky: FlakyStore
) -> None:
    async with gentle.running() as engine:
        agent = await at_work(gentle, engine)
        await engine.mail.send(said())
        agent.finish()
        flaky.failures = 1
        with pytest.raises(DiskFullError):
            await report(engine, agent)

        assert (await engine.mail.message(FIRST)).state is MessageState.QUEUED
        assert await report(engine, agent) == wrap(FIRST, "you", "text 1")


async def test_the_same_report_again_is_not_answered_again(gentle: Rig) -> None:
    async with gentle.running() as engine:
        agent = await at_work(gentle, engine)
        await engine.mail.send(said())
        agent.finish()
        agent.hooks *= 2

        assert await report(engine, agent)
        assert await report(engine, agent) == ""


async def test_a_spooled_report_is_answered_nothing(gentle: Rig) -> None:
    async with gentle.running() as engine:
        agent = await at_work(gentle, engine)
        await engine.mail.send(said())
        agent.finish()

        assert await report(engine, agent, answerable=False) == ""


async def test_urgent_news_rides_on_one_of_two_tool_results(gentle: Rig) -> None:
    """Both reports come at once; the message is in one answer only."""
    async with gentle.running() as engine:
        agent = await at_work(gentle, engine)
        agent.use_tool()
        agent.use_tool()
        await gentle.deliver(engine, agent)
        await engine.mail.send(said(mode=Mode.URGENT))
        agent.end_tool()
        await asyncio.sleep(0.01)
        agent.end_tool()

        answers = [await report(engine, agent), await report(engine, agent)]

        assert answers == [wrap(FIRST, "you", "text 1"), ""]
        assert (await engine.mail.message(FIRST)).route is Route.TOOL_RESULT


async def test_an_answer_is_proved_by_the_record_and_done_with_its_turn(gentle: Rig) -> None:
    async with gentle.running() as engine:
        agent = await at_work(gentle, engine)
        await engine.mail.send(said())
        agent.finish()
        ended = agent.hooks[0]
        agent.answered(ended, await report(engine, agent))
        await asyncio.sleep(5)
        assert (await engine.mail.message(FIRST)).state is MessageState.ACCEPTED

        agent.finish()
        await report(engine, agent)
        assert (await engine.mail.message(FIRST)).state is MessageState.DONE


async def test_a_lost_answer_is_made_good_by_typing(gentle: Rig) -> None:
    """The agent never got it and stopped; it says so in its status file."""
    async with gentle.running() as engine:
        agent = await at_work(gentle, engine)
        await engine.mail.send(said())
        agent.finish()
        await report(engine, agent)
        agent.lose_patience()

        await gentle.until_given(engine, agent, count=2)

        assert agent.received == [FIRST]
        assert agent.wrongs == []


async def test_an_agent_is_told_to_watch_its_inbox_where_that_route_is_on(gentle: Rig) -> None:
    async with gentle.running() as engine:
        await engine.sessions.new(new())
        agent = gentle.world.agent()

        assert await report(engine, agent) == "/inbox/ada"
        assert engine.session(ADA).bell


async def test_every_context_is_taught_that_it_can_hand_over(gentle: Rig) -> None:
    """The first one and each after it, unless the configuration says otherwise."""
    gentle.ways, gentle.teaches = TYPING, True
    async with gentle.running() as engine:
        await engine.sessions.new(new())
        agent = gentle.world.agent()
        assert await report(engine, agent) == LESSON
        await asyncio.sleep(1)
        agent.hooks.append(agent.clear())

        assert [await report(engine, agent) for _ in range(2)] == ["", LESSON]


@pytest.mark.parametrize(("ways", "answerable"), [(TYPING, True), (ALL, False)])
async def test_an_agent_that_cannot_hear_of_its_inbox_is_not_rung(
    gentle: Rig, ways: tuple[Way, ...], answerable: bool
) -> None:
    gentle.ways = ways
    async with gentle.running() as engine:
        await engine.sessions.new(new())

        assert await report(engine, gentle.world.agent(), answerable=answerable) == ""
        assert not engine.session(ADA).bell


async def test_a_draft_is_rung_at_and_the_note_is_taken(gentle: Rig) -> None:
    async with gentle.running() as engine:
        await engine.sessions.new(new())
        agent = gentle.world.agent()
        await report(engine, agent)
        agent.box = "a person's words"
        await engine.mail.send(said())
        await asyncio.sleep(1)
        (note,) = gentle.inbox.waiting()
        agent.take_note(gentle.inbox.take(*note))
        agent.read_note()
        await gentle.until_given(engine, agent)

        assert (agent.received, agent.box) == ([FIRST], "a person's words")
        assert (await engine.mail.message(FIRST)).state is MessageState.ACCEPTED


async def test_routes_the_configuration_switched_off_are_not_offered(gentle: Rig) -> None:
    gentle.routes = [Route.PASTE, Route.STOP_REPLY]
    async with gentle.running() as engine:
        await engine.sessions.new(new())

        routes = [way.route for way in engine.session(ADA).ways]
        assert routes == [Route.STOP_REPLY, Route.PASTE]


async def test_a_new_daemon_brings_its_own_configuration(gentle: Rig) -> None:
    async with gentle.running() as engine:
        await gentle.start(engine)
    gentle.routes = [Route.PASTE]
    async with gentle.running() as engine:
        await asyncio.sleep(1)

        assert [way.route for way in engine.session(ADA).ways] == [Route.PASTE]


# --- walk-away mode --------------------------------------------------------------------------


async def alone(rig: Rig, engine: Engine) -> Agent:
    """ada in walk-away mode, in a turn, about to compact."""
    agent = await rig.start(engine, auto_handoff=True)
    agent.waits = True
    agent.box = "a person's words"
    agent.submit()
    await rig.deliver(engine, agent)
    agent.use_tool()
    await rig.deliver(engine, agent)
    agent.hooks.append(CompactionBegun(hook=agent.hook("PreCompact"), trigger="auto"))
    return agent


async def test_a_compaction_is_refused_and_the_turn_then_ended(gentle: Rig) -> None:
    async with gentle.running() as engine:
        agent = await alone(gentle, engine)

        assert await report(engine, agent) == f"refuse: {HELD}"
        agent.end_tool()
        assert await report(engine, agent) == f"halt: {ENDED}"


async def test_a_turn_is_ended_only_when_that_is_on_the_disk(
    gentle: Rig, flaky: FlakyStore
) -> None:
    """A crash in between leaves the turn as it was."""
    async with gentle.running() as engine:
        agent = await alone(gentle, engine)
        flaky.failures = 1

        with pytest.raises(DiskFullError):
            await report(engine, agent)
        assert await report(engine, agent) == f"refuse: {HELD}"
        agent.end_tool()
        flaky.open.clear()
        answer = asyncio.create_task(report(engine, agent))
        await asyncio.sleep(1)
        assert not answer.done()
        flaky.open.set()
        assert await answer == f"halt: {ENDED}"


async def test_the_same_report_again_ends_nothing(gentle: Rig) -> None:
    async with gentle.running() as engine:
        agent = await alone(gentle, engine)
        again = agent.hooks[0]
        assert await report(engine, agent) == f"refuse: {HELD}"

        agent.hooks.append(again)
        assert await report(engine, agent) == ""


async def test_the_next_context_is_given_the_document_as_it_begins(gentle: Rig) -> None:
    async with gentle.running() as engine:
        agent = await alone(gentle, engine)
        await report(engine, agent)
        agent.end_tool()
        await report(engine, agent)
        agent.rest()

        told = await begins_anew(engine, agent)

        (handoff,) = await engine.handovers.all()
        assert f"=== HANDOFF LOADED (ID: {handoff.id}) ===" in told
        assert "# Automatic handoff: ada" in told


async def test_a_document_of_its_own_is_for_the_agent_to_read(gentle: Rig, tmp_path: Path) -> None:
    """It is named in the first prompt, and not put before it."""
    document = tmp_path / "handoff.md"
    document.write_text("# Goal")
    async with gentle.running() as engine:
        agent = await at_work(gentle, engine)
        await engine.handovers.request(
            "ada",
            requester="ada",
            document=Document(source=str(document)),
            token="token of ada",
            handoff_id=HandoffId("a" * 12),
        )
        agent.waits = False
        agent.finish()

        assert await begins_anew(engine, agent) == "/inbox/ada"


async def test_an_agent_that_reports_nothing_is_not_taken(gentle: Rig) -> None:
    async with gentle.running() as engine:
        with pytest.raises(RefusedError, match="without --auto-handoff"):
            await engine.sessions.new(new(agent="cat", auto_handoff=True))


async def test_what_runs_in_the_background_is_remembered_without_secrets(gentle: Rig) -> None:
    gentle.redact = lambda text: text.replace("hunter2", "[redacted:password]")
    async with gentle.running() as engine:
        agent = await at_work(gentle, engine)
        agent.tasks = ("login hunter2", f"login {'x' * 190} hunter2")
        agent.finish()
        await report(engine, agent)

        short, long = engine.session(ADA).tasks
        assert short == "login [redacted:password]"
        assert long.endswith("xxx [redacted:password]")
        assert len(long) == 200

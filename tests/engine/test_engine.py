"""What can be asked of sm, answered when it is on the disk."""

import asyncio
from collections.abc import Coroutine
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sm.core.events import TurnEnded
from sm.core.ids import HookId, MessageId, ReminderId, SessionId
from sm.core.launch import MalformedHookError
from sm.core.message import MessageState, Mode
from sm.core.monitor import is_watching
from sm.core.state import USUAL, State
from sm.engine.engine import LAUNCH_WITHIN, MAX_TEXT, Engine
from sm.engine.loop import UnknownSessionError
from sm.engine.naming import NameRefusedError, NotFoundError, RefusedError
from sm.engine.ports import Store
from tests.engine.rig import ADA, BOB, DiskFullError, FlakyStore, Rig, new, said, tick

FIRST = said().id


# --- sessions ------------------------------------------------------------------------------


async def test_a_new_session_is_there_when_the_call_returns(rig: Rig, flaky: FlakyStore) -> None:
    """Stored, launched, and given its first prompt as a message."""
    async with rig.running() as engine:
        session = await engine.new_session(new(prompt="hello"))

        assert session.pane == rig.world.agent().pane
        assert [m.text for m in session.messages] == ["hello"]
    assert flaky.kinds[0] == ["SessionRequested", "MessageQueued"]


async def test_the_same_request_again_is_the_same_session(rig: Rig) -> None:
    """A caller who was not answered asks once more."""
    async with rig.running() as engine:
        first = await engine.new_session(new())

        assert (await engine.new_session(new())).created_at == first.created_at
    assert rig.world.calls == ["launch ada"]


async def test_a_repeated_request_is_not_answered_before_the_first_is_on_the_disk(
    rig: Rig, flaky: FlakyStore
) -> None:
    """A session, a message, a reminder, a hook: what a crash could still take is not confirmed."""
    async with rig.running() as engine:
        agent = await rig.start(engine)
        agent.use_tool()

        def everything() -> list[Coroutine[Any, Any, object]]:
            return [
                engine.new_session(new(BOB)),
                engine.send(said()),
                engine.remind("ada", "tea", due_in=9, every=None, sender=None,
                              reminder_id=ReminderId("r")),
                engine.reports.take(ADA, b"ada 0", hook=HookId("h"), at=0),
            ]  # fmt: skip

        flaky.open.clear()
        async with asyncio.TaskGroup() as tasks:
            for request in everything():
                tasks.create_task(request)
            await asyncio.sleep(1)
            repeats = [tasks.create_task(request) for request in everything()]
            await asyncio.sleep(1)
            answered = [task.done() for task in repeats]
            flaky.open.set()

        assert answered == [False] * 4
        assert sum(batch.count("MessageQueued") for batch in flaky.kinds) == 1
        assert sum(batch.count("ToolStarted") for batch in flaky.kinds) == 1


async def test_a_repeat_of_what_could_not_be_stored_stores_it(rig: Rig, flaky: FlakyStore) -> None:
    """The first caller is told of the full disk; the second, who came meanwhile, gets through."""
    async with rig.running() as engine:
        await rig.start(engine)
        flaky.open.clear()
        flaky.failures = 1
        first = asyncio.create_task(engine.send(said()))
        await asyncio.sleep(1)
        second = asyncio.create_task(engine.send(said()))
        await asyncio.sleep(1)
        flaky.open.set()

        with pytest.raises(DiskFullError):
            await first
        assert (await second).id == FIRST
        assert await flaky.message(FIRST) is not None


async def test_a_session_gets_the_callers_environment_without_the_callers_identity(
    rig: Rig,
) -> None:
    """What marks the caller's own agent stays out; who the new one is goes in."""
    environment = {"PATH": "/bin", "CLAUDECODE": "1", "SM_SESSION": "the caller"}
    async with rig.running() as engine:
        await engine.new_session(new(environment=environment))

    assert rig.folders.prepared[ADA] == {"PATH": "/bin", "SM_SESSION": "ada"}


async def test_a_session_without_a_name_is_given_one(rig: Rig) -> None:
    """After its agent, with a number; a taken name is refused."""
    async with rig.running() as engine:
        assert (await engine.new_session(new(name=None))).name == "scripted-1"
        with pytest.raises(NameRefusedError):
            await engine.new_session(new(BOB, name="scripted-1"))


async def test_an_agent_that_is_not_there_is_refused_before_anything_is_stored(rig: Rig) -> None:
    """The person hears what is missing."""
    async with rig.running() as engine:
        with pytest.raises(RefusedError, match="missing is not a program"):
            await engine.new_session(new(agent="missing"))

        assert list(engine.loop.sessions) == []


async def test_a_parent_is_found_by_its_name(rig: Rig) -> None:
    """A child knows who started it."""
    async with rig.running() as engine:
        await engine.new_session(new())
        child = await engine.new_session(new(BOB, parent="ada"))

        assert child.parent == ADA


async def test_a_launch_that_fails_is_told_in_the_session(rig: Rig) -> None:
    """The call returns with a session that says what happened."""
    rig.world.refuses_launch = True
    async with rig.running() as engine:
        session = await engine.new_session(new())

        assert session.state is State.CRASHED
        assert session.verdict.says == "could not start: /shop is not a folder"


async def test_a_killed_session_has_ended_when_the_call_returns(rig: Rig) -> None:
    """Asked for again, it is what was asked for: nothing more is done."""
    async with rig.running() as engine:
        await rig.start(engine)

        assert (await engine.kill("ada", by="you")).state is State.ENDED
        assert (await engine.kill("ada", by="you")).state is State.ENDED
    assert rig.world.calls == ["launch ada", "kill ada"]


async def test_a_kill_that_tmux_does_not_answer_says_so(rig: Rig) -> None:
    """And can be asked for again."""
    async with rig.running() as engine:
        await rig.start(engine)
        rig.world.silent = True
        before = engine.clock.now()
        with pytest.raises(RefusedError, match="ada could not be ended yet"):
            await engine.kill("ada", by="you")
        assert engine.clock.now() - before == pytest.approx(LAUNCH_WITHIN)

        rig.world.silent = False
        assert (await engine.kill("ada", by="you")).state is State.ENDED


async def test_a_session_is_renamed_here_and_in_tmux(rig: Rig) -> None:
    """Its own name is not taken by itself."""
    async with rig.running() as engine:
        await rig.start(engine)
        assert (await engine.rename("ada", "ada")).name == "ada"
        assert (await engine.rename("ada", "grace")).name == "grace"
        await asyncio.sleep(1)

        assert rig.world.agent().tmux_name == "grace"
        assert engine.find("grace").id == ADA


async def test_an_opt_out_outlives_the_daemon_and_its_configuration(rig: Rig) -> None:
    """Thresholds are the configuration's, whether to be warned is the session's."""
    rig.thresholds = replace(USUAL, enabled=False)
    async with rig.running() as engine:
        await rig.start(engine, monitored=False)
        await rig.start(engine, BOB)

    rig.thresholds = replace(USUAL, tool_count=7)
    async with rig.running() as engine:
        ada, bob = engine.session(ADA), engine.session(BOB)
        assert ada.thresholds == bob.thresholds == rig.thresholds
        assert (is_watching(ada), is_watching(bob)) == (False, True)

        assert is_watching(await engine.monitor("ada", on=True))
        await engine.kill("ada", by="a test")
        with pytest.raises(RefusedError, match="ada has ended"):
            await engine.monitor(ADA, on=False)


# --- messages ------------------------------------------------------------------------------


async def test_a_message_goes_all_the_way(rig: Rig, store: Store) -> None:
    """Queued, pasted, entered, reported, done; on every store."""
    rig.store = store
    async with rig.running() as engine:
        agent = await rig.start(engine)
        queued = await engine.send(said())
        assert queued.receipts[0].step == "queued"

        await rig.until_given(engine, agent)
        assert (await engine.message(FIRST)).state is MessageState.ACCEPTED
        agent.finish("All good.")
        await rig.deliver(engine, agent)

        message = await engine.message(FIRST)
        assert [receipt.step for receipt in message.receipts] == [
            "queued", "offered", "entered", "accepted", "done",
        ]  # fmt: skip
        assert agent.received == [FIRST]
        assert engine.session(ADA).last_words == "All good."


async def test_the_same_message_again_is_not_sent_twice(rig: Rig) -> None:
    """While it waits, and after it is long done."""
    async with rig.running() as engine:
        agent = await rig.start(engine)
        await engine.send(said())
        await engine.send(said())
        await rig.until_given(engine, agent)
        agent.finish()
        await rig.deliver(engine, agent)
        await engine.loop.post(ADA, TurnEnded(hook=agent.hook("Stop"), last_words=""))

        assert (await engine.send(said())).state is MessageState.DONE
        await asyncio.sleep(30)
        assert agent.received == [FIRST]


async def test_a_sender_is_told_when_the_turn_ends(rig: Rig) -> None:
    """bob asked ada; the notice arrives with bob as a message of its own."""
    async with rig.running() as engine:
        ada, bob = await rig.start(engine), await rig.start(engine, BOB)
        message = await engine.send(said(sender="bob"))
        assert (message.sender, message.sender_name) == (BOB, "bob")
        await rig.until_given(engine, ada)
        ada.finish("All tests pass.")
        await rig.deliver(engine, ada)

        await rig.until_given(engine, bob)
        assert "[sm] ada stopped: All tests pass." in bob.got[0]


async def test_an_urgent_message_interrupts(rig: Rig) -> None:
    """Escape, the prompt seen on the screen, then the message."""
    async with rig.running() as engine:
        agent = await rig.start(engine)
        await engine.send(said())
        await rig.until_given(engine, agent)
        agent.use_tool()
        await rig.deliver(engine, agent)
        await engine.send(said(2, mode=Mode.URGENT))

        await rig.until_given(engine, agent, 2)
        assert agent.received == [FIRST, said(2).id]
        assert agent.wrongs == []


async def test_a_swallowed_enter_is_repaired(rig: Rig) -> None:
    """The message does not sit in the box for hours."""
    async with rig.running() as engine:
        agent = await rig.start(engine)
        agent.swallows = 2
        await engine.send(said())

        await rig.until_given(engine, agent)
        assert agent.received == [FIRST]


async def test_a_step_that_breaks_does_not_hold_up_the_queue(rig: Rig) -> None:
    """An error nobody foresaw in the paste: it is asked for again."""
    async with rig.running() as engine:
        agent = await rig.start(engine)
        rig.world.breaks = ValueError("not a plain word")
        await engine.send(said())

        await rig.until_given(engine, agent)
        assert agent.received == [FIRST]


async def test_a_full_disk_is_told_to_the_sender(rig: Rig, flaky: FlakyStore) -> None:
    """What could not be stored was not accepted, and can be sent again."""
    async with rig.running() as engine:
        agent = await rig.start(engine)
        flaky.failures = 1
        with pytest.raises(DiskFullError):
            await engine.send(said())
        with pytest.raises(NotFoundError, match="There is no message"):
            await engine.message(FIRST)

        await engine.send(said())
        await rig.until_given(engine, agent)


async def test_what_cannot_be_sent_is_refused_with_the_reason(rig: Rig) -> None:
    """Empty or endless text, an ended or unknown session."""
    async with rig.running() as engine:
        await rig.start(engine)
        for text in ("", " \n\t", "\x1b\x07"):
            with pytest.raises(RefusedError, match="The text is empty"):
                await engine.send(said(text=text))
        with pytest.raises(RefusedError, match=f"the limit is {MAX_TEXT}"):
            await engine.send(said(text="x" * (MAX_TEXT + 1)))
        with pytest.raises(NotFoundError):
            await engine.send(said(to="nobody"))

        await engine.kill("ada", by="you")
        with pytest.raises(RefusedError, match=r"ada has ended\. Start a new session"):
            await engine.send(said())


async def test_a_sender_nobody_knows_is_a_person(rig: Rig) -> None:
    """Its session may have been forgotten; the message counts all the same."""
    async with rig.running() as engine:
        await rig.start(engine)

        assert (await engine.send(said(sender="nobody"))).sender_name == "you"


async def working(engine: Engine, rig: Rig) -> None:
    """ada is busy with a person's prompt."""
    agent = await rig.start(engine)
    agent.box = "hello"
    agent.submit()
    await rig.deliver(engine, agent)


async def test_a_waiting_message_can_be_withdrawn_or_expires(rig: Rig) -> None:
    """A given one cannot; an unknown one is not found."""
    async with rig.running() as engine:
        await working(engine, rig)
        await engine.send(said())
        assert (await engine.cancel(FIRST)).state is MessageState.CANCELLED

        await engine.send(said(2, expires_in=60))
        await asyncio.sleep(61)
        assert (await engine.message(said(2).id)).state is MessageState.EXPIRED
        with pytest.raises(RefusedError, match="is expired: it can no longer be withdrawn"):
            await engine.cancel(said(2).id)
        with pytest.raises(NotFoundError):
            await engine.cancel(MessageId("ffffffffffff"))


# --- reminders -----------------------------------------------------------------------------


async def test_a_reminder_comes_as_a_message_in_time(rig: Rig) -> None:
    """Under the name of whoever set it; set again it is the same one."""
    async with rig.running() as engine:
        agent = await rig.start(engine)
        tea = ReminderId("tea")
        kwargs = {"due_in": 60.0, "every": None, "sender": "ada", "reminder_id": tea}
        reminder = await engine.remind("ada", "look", **kwargs)  # type: ignore[arg-type]
        again = await engine.remind("ada", "look", **kwargs)  # type: ignore[arg-type]
        assert (again, reminder.sender_name) == (reminder, "ada")

        await asyncio.sleep(61)
        await rig.until_given(engine, agent)
        assert "[sm reminder] look" in agent.got[0]


async def test_a_withdrawn_reminder_does_not_come(rig: Rig) -> None:
    """And cannot be withdrawn twice."""
    async with rig.running() as engine:
        agent = await rig.start(engine)
        reminder = await engine.remind("ada", "look", due_in=60, every=60, sender=None)
        await engine.cancel_reminder(reminder.id)
        await asyncio.sleep(300)
        assert agent.got == []

        with pytest.raises(NotFoundError, match="There is no reminder"):
            await engine.cancel_reminder(reminder.id)
        await engine.kill("ada", by="you")
        with pytest.raises(RefusedError, match="has ended and cannot be reminded"):
            await engine.remind("ada", "look", due_in=60, every=None, sender=None)


# --- hooks and restarts --------------------------------------------------------------------


async def test_a_hook_is_taken_in_once(rig: Rig, flaky: FlakyStore) -> None:
    """The same id again, by socket or from the spool, changes nothing."""
    async with rig.running() as engine:
        await engine.new_session(new())
        for _ in range(3):
            await engine.reports.take(ADA, b"ada 0", hook=HookId("h1"), at=engine.clock.now())

    assert sum(batch.count("ContextStarted") for batch in flaky.kinds) == 1


async def test_a_hook_nobody_understands_is_refused(rig: Rig) -> None:
    """So that whoever carried it can set it aside."""
    async with rig.running() as engine:
        await engine.new_session(new())
        with pytest.raises(MalformedHookError):
            await engine.reports.take(ADA, b"?", hook=HookId("h1"), at=0)
        with pytest.raises(UnknownSessionError):
            await engine.reports.take(SessionId("nobody"), b"?", hook=HookId("h1"), at=0)


async def test_a_new_daemon_hears_the_agents_before_it_acts(rig: Rig) -> None:
    """ada took the message while nobody listened: it is not pressed in again."""
    async with rig.running() as engine:
        agent = await rig.start(engine)
        await engine.send(said())
        await engine.wait_until(lambda: bool(agent.box), 10)
    if not agent.got:
        agent.submit()

    async def drain(engine: Engine) -> None:
        await rig.deliver(engine, agent)

    calls = len(rig.world.calls)
    async with rig.running(drain) as engine:
        assert (await engine.message(FIRST)).state is MessageState.ACCEPTED
        await asyncio.sleep(30)
    assert agent.received == [FIRST]
    assert rig.world.calls[calls:] == []


async def test_what_the_last_daemon_left_undone_is_done_first(rig: Rig) -> None:
    """Older effects come before those the spooled hooks ask for."""
    async with rig.running() as engine:
        agent = await rig.start(engine)
        agent.stuck = asyncio.Event()
        await engine.loop.post(ADA, tick())
        await engine.rename("ada", "grace")
        await engine.rename("ada", "hopper")
    rig.world.calls.clear()
    agent.stuck = None

    async def drain(engine: Engine) -> None:
        await engine.rename("hopper", "last")

    async with rig.running(drain):
        await asyncio.sleep(1)
    assert rig.world.calls == ["rename grace", "rename hopper", "rename last"]


async def test_a_new_daemon_asks_after_its_agents(rig: Rig) -> None:
    """ada died while nobody watched."""
    async with rig.running() as engine:
        agent = await rig.start(engine)
    agent.die()

    async with rig.running() as engine:
        assert await engine.wait_until(lambda: engine.session(ADA).state is State.CRASHED, 10)


# --- reading -------------------------------------------------------------------------------


async def test_waiting_ends_when_it_is_true_or_the_time_is_over(rig: Rig) -> None:
    """Looked at after every commit, never in between."""
    async with rig.running() as engine:
        await rig.start(engine)

        assert await engine.wait_until(lambda: True, 0)
        before = engine.clock.now()
        assert not await engine.wait_until(lambda: False, 20)
        assert engine.clock.now() - before == pytest.approx(20)


async def test_a_log_is_rendered_from_its_two_files(rig: Rig) -> None:
    """What was written and how wide the window was."""
    async with rig.running() as engine:
        assert engine.raw_log(ADA) == "/home/sessions/ada/raw.log"
        assert await engine.rendered_log(ADA) == ["what ada said"]

    folder = Path("/home/sessions/ada")
    assert rig.rendered == [folder / "raw.log", folder / "sizes.jsonl"]


# --- the past ------------------------------------------------------------------------------


async def test_a_session_that_ended_before_the_retention_is_let_go(rig: Rig, store: Store) -> None:
    """With its rows and its folder; one that ended later, or lives, stays."""
    rig.store = store
    async with rig.running() as engine:
        for name in ("old", "new", "living"):
            await rig.start(engine, SessionId(name))
        await engine.kill("old", by="you")
        await asyncio.sleep(100)
        between = engine.clock.now()
        await asyncio.sleep(100)
        await engine.kill("new", by="you")

        assert await engine.prune(between) > 0

        kept = [SessionId("living"), SessionId("new")]
        assert sorted(session.id for session in engine.loop.sessions) == kept
        assert [session.id for session in await store.sessions()] == kept
        assert sorted(rig.folders.prepared) == kept
        with pytest.raises(UnknownSessionError):
            engine.session(SessionId("old"))

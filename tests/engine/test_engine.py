"""What can be asked of sm, answered when it is on the disk."""

import asyncio
import errno
from collections.abc import Coroutine
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from sm.core.ids import HookId, ReminderId, SessionId
from sm.core.launch import MalformedHookError
from sm.core.message import MessageState
from sm.core.state import State
from sm.engine.engine import Engine
from sm.engine.loop import UnknownSessionError
from sm.engine.ports import Store
from tests.engine.folders import NoFolders
from tests.engine.rig import ADA, BOB, DiskFullError, FlakyStore, Rig, new, said, tick
from tests.engine.timelapse import TimelapseLoop

FIRST = said().id


async def test_a_repeated_request_is_not_answered_before_the_first_is_on_the_disk(
    rig: Rig, flaky: FlakyStore
) -> None:
    """A session, a message, a reminder, a hook: what a crash could still take is not confirmed."""
    async with rig.running() as engine:
        agent = await rig.start(engine)
        agent.use_tool()

        def everything() -> list[Coroutine[Any, Any, object]]:
            return [
                engine.sessions.new(new(BOB)),
                engine.mail.send(said()),
                engine.mail.remind("ada", "tea", due_in=9, every=None, sender=None,
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
        first = asyncio.create_task(engine.mail.send(said()))
        await asyncio.sleep(1)
        second = asyncio.create_task(engine.mail.send(said()))
        await asyncio.sleep(1)
        flaky.open.set()

        with pytest.raises(DiskFullError):
            await first
        assert (await second).id == FIRST
        assert await flaky.message(FIRST) is not None


# --- hooks and restarts --------------------------------------------------------------------


async def test_a_hook_is_taken_in_once(rig: Rig, flaky: FlakyStore) -> None:
    """The same id again, by socket or from the spool, changes nothing."""
    async with rig.running() as engine:
        await engine.sessions.new(new())
        for _ in range(3):
            await engine.reports.take(ADA, b"ada 0", hook=HookId("h1"), at=engine.clock.now())

    assert sum(batch.count("ContextStarted") for batch in flaky.kinds) == 1


async def test_a_hook_nobody_understands_is_refused(rig: Rig) -> None:
    """So that whoever carried it can set it aside."""
    async with rig.running() as engine:
        await engine.sessions.new(new())
        with pytest.raises(MalformedHookError):
            await engine.reports.take(ADA, b"?", hook=HookId("h1"), at=0)
        with pytest.raises(UnknownSessionError):
            await engine.reports.take(SessionId("nobody"), b"?", hook=HookId("h1"), at=0)


async def test_a_new_daemon_hears_the_agents_before_it_acts(rig: Rig) -> None:
    """ada took the message while nobody listened: it is not pressed in again."""
    async with rig.running() as engine:
        agent = await rig.start(engine)
        await engine.mail.send(said())
        await engine.loop.wait_until(lambda: bool(agent.box), 10)
    if not agent.got:
        agent.submit()

    async def drain(engine: Engine) -> None:
        await rig.deliver(engine, agent)

    calls = len(rig.world.calls)
    async with rig.running(drain) as engine:
        assert (await engine.mail.message(FIRST)).state is MessageState.ACCEPTED
        await asyncio.sleep(30)
    assert agent.received == [FIRST]
    assert rig.world.calls[calls:] == []


async def test_what_the_last_daemon_left_undone_is_done_first(rig: Rig) -> None:
    """Older effects come before those the spooled hooks ask for."""
    async with rig.running() as engine:
        agent = await rig.start(engine)
        agent.stuck = asyncio.Event()
        await engine.loop.post(ADA, tick())
        await engine.sessions.rename("ada", "grace")
        await engine.sessions.rename("ada", "hopper")
    rig.world.calls.clear()
    agent.stuck = None

    async def drain(engine: Engine) -> None:
        await engine.sessions.rename("hopper", "last")

    async with rig.running(drain):
        await asyncio.sleep(1)
    assert rig.world.calls == ["rename grace", "rename hopper", "rename last"]


async def test_a_new_daemon_asks_after_its_agents(rig: Rig) -> None:
    """ada died while nobody watched."""
    async with rig.running() as engine:
        agent = await rig.start(engine)
    agent.die()

    async with rig.running() as engine:
        assert await engine.loop.wait_until(lambda: engine.session(ADA).state is State.CRASHED, 10)


# --- reading -------------------------------------------------------------------------------


# --- reading -------------------------------------------------------------------------------


async def test_a_log_is_rendered_from_its_two_files(rig: Rig) -> None:
    """What was written and how wide the window was."""
    async with rig.running() as engine:
        assert engine.raw_log(ADA) == "/home/sessions/ada/raw.log"
        assert await engine.rendered_log(ADA) == ["what ada said"]

    folder = Path("/home/sessions/ada")
    assert rig.rendered == [folder / "raw.log", folder / "sizes.jsonl"]


async def test_a_log_is_shown_without_secrets(rig: Rig) -> None:
    rig.redact = lambda text: text.replace("said", "[redacted]")
    async with rig.running() as engine:
        assert await engine.rendered_log(ADA) == ["what ada [redacted]"]


async def test_what_an_agent_said_last_is_shown_without_secrets(rig: Rig) -> None:
    """The session itself keeps its words: only what is shown is another."""
    rig.redact = lambda text: text.replace("hunter2", "[redacted]")
    async with rig.running() as engine:
        await rig.start(engine)
        session = replace(engine.session(ADA), last_words="it is hunter2")
        shown = await engine.without_secrets(session)

    assert (session.last_words, shown.last_words) == ("it is hunter2", "it is [redacted]")


# --- the past ------------------------------------------------------------------------------


async def test_a_session_that_ended_before_the_retention_is_let_go(rig: Rig, store: Store) -> None:
    """With its rows and its folder; one that ended later, or lives, stays."""
    rig.store = store
    async with rig.running() as engine:
        for name in ("old", "new", "living"):
            await rig.start(engine, SessionId(name))
        await engine.sessions.kill("old", by="you")
        await asyncio.sleep(100)
        between = engine.clock.now()
        await asyncio.sleep(100)
        await engine.sessions.kill("new", by="you")

        assert await engine.prune(between) > 0

        kept = [SessionId("living"), SessionId("new")]
        assert sorted(session.id for session in engine.loop.sessions) == kept
        assert [session.id for session in await store.sessions()] == kept
        assert sorted(rig.folders.prepared) == kept
        with pytest.raises(UnknownSessionError):
            engine.session(SessionId("old"))


@dataclass(slots=True)
class LargeFolders(NoFolders):
    """It takes long to remove them, and may fail."""

    hindrance: OSError | None = None

    def discard(self, session: SessionId) -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, TimelapseLoop)
        assert loop.in_thread, "everything else waits for it"
        if self.hindrance is not None:
            raise self.hindrance
        NoFolders.discard(self, session)


async def test_a_session_whose_files_could_not_be_removed_is_let_go_later(
    rig: Rig, flaky: FlakyStore
) -> None:
    """As long as they are there it is known: by the next time, or the next daemon."""
    folders = rig.folders = LargeFolders()
    async with rig.running() as engine:
        await rig.start(engine)
        await engine.sessions.kill("ada", by="you")
        await asyncio.sleep(100)
        folders.hindrance = OSError(errno.EIO, "Input/output error")
        with pytest.raises(OSError, match="Input/output"):
            await engine.prune(engine.clock.now())
        folders.hindrance = None
    assert [session.id for session in await flaky.sessions()] == [ADA]

    async with rig.running() as engine:
        await engine.prune(engine.clock.now())

        assert list(engine.loop.sessions) == await flaky.sessions() == []
        assert rig.folders.prepared == {}

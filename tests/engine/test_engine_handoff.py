"""A handoff all the way through the engine, and through its death at every commit."""

import asyncio
import contextlib
from collections.abc import Sequence
from pathlib import Path

import pytest

from sm.core.ids import HandoffId
from sm.core.journal import Entry
from sm.core.message import Mode, Route, Way
from sm.core.passage import HandoffState
from sm.core.state import State
from sm.core.terminal import Sign
from sm.engine.engine import Engine
from sm.engine.handovers import Document
from tests.engine.agent import Agent
from tests.engine.rig import ADA, BOB, FlakyStore, Rig, new, said

FIRST = HandoffId("a" * 12)
ALL = tuple(Way(route=route) for route in Route)


@pytest.fixture
def document(tmp_path: Path) -> Path:
    path = tmp_path / "handoff.md"
    path.write_text("# Goal\nthe shop\n")
    return path


async def ask(engine: Engine, document: Path) -> None:
    await engine.handovers.request(
        "ada",
        requester="ada",
        document=Document(source=str(document)),
        token="token of ada",
        handoff_id=FIRST,
    )


async def until(rig: Rig, engine: Engine, agent: Agent, state: HandoffState) -> None:
    """Take in what the agent reports, until its handoff has come so far."""
    for _ in range(2000):
        if (await engine.handovers.find(FIRST)).state is state:
            return
        await rig.deliver(engine, agent)
        await asyncio.sleep(0.05)
    raise AssertionError(await engine.handovers.find(FIRST))


async def test_a_handoff_goes_all_the_way(rig: Rig, document: Path) -> None:
    """The same session, name and pane; the next context, its prompt, and then the messages."""
    async with rig.running() as engine:
        agent = await rig.start_turn(engine)
        before = engine.session(ADA)
        await ask(engine, document)
        await engine.mail.send(said(1))
        await engine.mail.send(said(2, mode=Mode.URGENT))
        agent.finish()
        await until(rig, engine, agent, HandoffState.DONE)

        after = engine.session(ADA)
        assert (after.id, after.name, after.pane) == (before.id, before.name, before.pane)
        assert (after.context.number, after.context.id) == (2, agent.context)
        assert (after.state, after.last_handoff) == (State.WORKING, FIRST)
        handoff = await engine.handovers.find(FIRST)
        assert agent.received == [handoff.message]
        assert agent.got[-1].startswith(f"Read {handoff.document} and continue")
        assert (agent.contexts, agent.wrongs) == (2, [])
        assert [step.step for step in handoff.steps] == [
            "requested", "ended", "captured", "entered", "cleared", "prompted", "accepted", "done",
        ]  # fmt: skip

        for count in (3, 4):
            agent.finish()
            await rig.deliver(engine, agent)
            await rig.until_given(engine, agent, count)
        assert agent.received[1:] == [said(2).id, said(1).id]


async def test_a_document_that_is_deleted_is_read_from_its_copy(rig: Rig, document: Path) -> None:
    async with rig.running() as engine:
        agent = await rig.start_turn(engine)
        await ask(engine, document)
        document.unlink()
        agent.finish()
        await until(rig, engine, agent, HandoffState.DONE)

        kept = (await engine.handovers.find(FIRST)).document
        assert await asyncio.to_thread(Path(kept).read_text) == "# Goal\nthe shop\n"


async def test_a_persons_draft_survives_the_handoff(rig: Rig, document: Path) -> None:
    async with rig.running() as engine:
        agent = await rig.start_turn(engine)
        await ask(engine, document)
        agent.box = "buy milk"
        agent.finish()
        await until(rig, engine, agent, HandoffState.DONE)

        assert (agent.box, agent.contexts, agent.wrongs) == ("buy milk", 2, [])


async def test_a_dialog_at_the_turns_end_is_never_typed_into(rig: Rig, document: Path) -> None:
    async with rig.running() as engine:
        agent = await rig.start_turn(engine)
        await ask(engine, document)
        agent.finish()
        agent.ask()
        await rig.deliver(engine, agent)
        await asyncio.sleep(60)
        assert (agent.contexts, agent.wrongs) == (1, [])
        assert engine.session(ADA).state is State.WAITING

        agent.answer()
        await until(rig, engine, agent, HandoffState.DONE)
        assert (agent.contexts, agent.wrongs) == (2, [])


async def test_enters_that_are_swallowed_are_pressed_again(rig: Rig, document: Path) -> None:
    """Of the command, and of the prompt."""
    async with rig.running() as engine:
        agent = await rig.start_turn(engine)
        await ask(engine, document)
        agent.swallows = 2
        agent.finish()
        await until(rig, engine, agent, HandoffState.CLEARING)
        await until(rig, engine, agent, HandoffState.PROMPTING)
        agent.swallows = 1
        await until(rig, engine, agent, HandoffState.DONE)

        assert (agent.contexts, len(agent.received), agent.wrongs) == (2, 1, [])


async def test_a_task_in_the_background_is_waited_for_and_named(rig: Rig, document: Path) -> None:
    async with rig.running() as engine:
        agent = await rig.start_turn(engine)
        await ask(engine, document)
        agent.tasks = ("npm test",)
        agent.finish()
        await rig.deliver(engine, agent)
        await asyncio.sleep(29)
        assert agent.contexts == 1
        await until(rig, engine, agent, HandoffState.DONE)

        assert "Still running in the background then: npm test" in agent.got[-1]


async def test_senders_are_told_when_the_work_stops_not_when_it_rotates(
    rig: Rig, document: Path
) -> None:
    async with rig.running() as engine:
        agent = await rig.start(engine)
        await rig.start(engine, BOB)
        await engine.mail.send(said(1, sender=BOB))
        await rig.until_given(engine, agent)
        await ask(engine, document)
        agent.finish()
        await until(rig, engine, agent, HandoffState.DONE)
        assert await rig.store.messages(to=BOB) == []

        agent.finish("the shop is open")
        await rig.deliver(engine, agent)
        await asyncio.sleep(5)
        (told,) = await rig.store.messages(to=BOB)
        assert told.text == "[sm] ada stopped: the shop is open"


async def test_a_clear_that_never_comes_leaves_all_as_it_was(rig: Rig, document: Path) -> None:
    """ada is told, and her messages flow."""
    async with rig.running() as engine:
        agent = await rig.start_turn(engine)
        await ask(engine, document)
        await engine.mail.send(said(1))
        agent.swallows = 1000
        agent.finish()
        await until(rig, engine, agent, HandoffState.FAILED)
        agent.swallows = 0
        await rig.until_given(engine, agent, 2)
        agent.finish()
        await rig.deliver(engine, agent)
        await rig.until_given(engine, agent, 3)

        assert (agent.contexts, agent.wrongs, agent.box) == (1, [], "")
        assert "was not carried out" in agent.got[-1]


# --- kill -9 -------------------------------------------------------------------------------


class MortalStore(FlakyStore):
    """Its daemon dies at one of its commits, before it or after it."""

    def __init__(self, *, dies_at: int, is_kept: bool) -> None:
        super().__init__()
        self.count = 0
        self.dies_at: int | None = dies_at
        self.is_kept = is_kept
        self.died = asyncio.Event()

    async def commit(self, entries: Sequence[Entry]) -> None:
        self.count += 1
        if self.died.is_set():
            await asyncio.Event().wait()
        if self.count == self.dies_at:
            if self.is_kept:
                await super().commit(entries)
            self.died.set()
            # Nobody hears of it, and nobody acts on it.
            await asyncio.Event().wait()
        await super().commit(entries)

    def revive(self) -> None:
        self.dies_at = None
        self.died.clear()


async def hand_over(rig: Rig, engine: Engine, document: Path) -> None:
    """A turn that took a message, a handoff in it, a message meanwhile, and what follows.

    Done again from its beginning by who does not know how far it came, as all our callers may.
    """
    await engine.sessions.new(new())
    assert await engine.loop.wait_until(lambda: ADA in rig.world.agents, 60)
    agent = rig.world.agents[ADA]
    await rig.deliver(engine, agent)
    await engine.mail.send(said(1))
    await rig.until_given(engine, agent, 1)
    await ask(engine, document)
    await engine.mail.send(said(2, mode=Mode.URGENT))
    finish(agent, turn=1)
    await until(rig, engine, agent, HandoffState.DONE)
    finish(agent, turn=2)
    await rig.deliver(engine, agent)
    await rig.until_given(engine, agent, 3)


def finish(agent: Agent, *, turn: int) -> None:
    if agent.turns == turn and agent.sign is Sign.BUSY:
        agent.finish()


async def live(rig: Rig, store: MortalStore, document: Path) -> None:
    """One daemon, until its work is done or it is killed."""

    async def work() -> None:
        async with rig.running(lambda engine: spooled(rig, engine)) as engine:
            await hand_over(rig, engine, document)

    async def spooled(rig: Rig, engine: Engine) -> None:
        if ADA in rig.world.agents:
            await rig.deliver(engine, rig.world.agents[ADA])

    working = asyncio.ensure_future(work())
    dying = asyncio.ensure_future(store.died.wait())
    await asyncio.wait({working, dying}, return_when=asyncio.FIRST_COMPLETED)
    dying.cancel()
    if store.died.is_set():
        working.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await working
    else:
        await working


@pytest.mark.parametrize("is_kept", [True, False], ids=["after it", "before it"])
async def test_a_daemon_killed_at_any_commit_hands_over_once(document: Path, is_kept: bool) -> None:
    """The next one goes on: one clear, one first prompt, every message once and in its place."""
    for commit in range(1, 1000):
        store = MortalStore(dies_at=commit, is_kept=is_kept)
        rig = Rig(store=store)
        await live(rig, store, document)
        was_killed = store.died.is_set()
        store.revive()
        await live(rig, store, document)

        agent, handoff = rig.world.agents[ADA], await store.handoff(FIRST)
        assert handoff is not None
        assert handoff.state is HandoffState.DONE, commit
        assert agent.received == [said(1).id, handoff.message, said(2).id], commit
        assert (agent.contexts, agent.wrongs) == (2, []), commit
        if not was_killed:
            break
    assert commit > 20

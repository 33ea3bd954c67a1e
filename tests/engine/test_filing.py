"""A handoff in its channel: left and claimed for its own successor, consumed by its report."""

from dataclasses import replace
from pathlib import Path

import pytest

from sm.adapters.channels.book import ChannelBook
from sm.adapters.handoffs.folders import HandoffFolders
from sm.core.channel import ChannelHandoff, Status, handoff_name
from sm.core.effects import FileHandoff
from sm.core.events import HandoffFiled
from sm.core.ids import SessionId
from sm.core.passage import AUTO, Filed, Handoff
from sm.core.state import Session
from sm.engine.filing import CHANNEL_FILE, Filing
from sm.engine.naming import NotFoundError, RefusedError
from tests.core.samples import ADA, IDLE, handoff
from tests.engine.timelapse import NOON, LoopClock
from tests.engine.world import ProcessTable, World

ID = handoff_name(NOON, "0a1b2c3d")
BOB = SessionId("bob")


class Desk:
    """A folder to work in, and what is filed there."""

    def __init__(self, folder: Path) -> None:
        self.cwd = folder / "shop"
        self.cwd.mkdir()
        self.world = World(LoopClock().now)
        self.agent = self.world.add(ADA)
        self.us = self.world.add(SessionId("wrapper")).pane.pid
        self.transcript = folder / "ada.jsonl"
        self.handoffs = HandoffFolders(lambda session: folder / "sessions" / session)
        self.channels = ChannelBook(folder / "channels", {})
        self.filing = Filing(
            channels=self.channels,
            handoffs=self.handoffs,
            processes=ProcessTable(self.world),
            clock=LoopClock(),
            pid=self.us,
            expiry=7200.0,
        )
        context = replace(IDLE.context, transcript=str(self.transcript))
        self.ada = replace(IDLE, cwd=str(self.cwd), pane=self.agent.pane, context=context)

    def written(self, text: str = "# Goal\nthe shop\n", **changes: str) -> Handoff:
        kept = self.handoffs.keep_text(ADA, ID, text, 10_000)
        return handoff(ID, document=kept.path, requested_at=NOON, **changes)

    async def file(self, written: Handoff, status: Filed, session: Session | None = None) -> str:
        effect = FileHandoff(handoff=ID, status=status, was=written)
        outcome = await self.filing.file(session or self.ada, effect)
        assert isinstance(outcome, HandoffFiled)
        return outcome.evidence

    @property
    def filed(self) -> ChannelHandoff:
        found = self.channels.get(ID)
        assert found is not None
        return found


@pytest.fixture
async def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


async def test_a_handoff_is_claimed_for_its_own_session_from_its_first_moment(desk: Desk) -> None:
    """Another one of the same channel does not take its place."""
    assert await desk.file(desk.written(), Filed.CLAIMED) == "claimed in shop"

    assert (desk.filed.status, desk.filed.claimed_by) == (Status.CLAIMED, ADA)
    assert desk.filed.claimed_pid == desk.agent.pane.pid
    document = Path(desk.filed.document)
    assert document.name == CHANNEL_FILE
    assert document.read_text().startswith(f"<!-- HANDOFF-ID: {ID} -->\n")
    assert document.read_text().endswith("\n\n# Goal\nthe shop\n")


async def test_a_document_of_ours_says_itself_which_it_is(desk: Desk) -> None:
    written = desk.written(f"<!-- HANDOFF-ID: {ID} -->\n\n# Automatic\n", kind=AUTO)

    await desk.file(written, Filed.CLAIMED)

    assert desk.filed.document == written.document


async def test_the_same_again_is_the_same(desk: Desk) -> None:
    """And brings the record by which its fate can be told later."""
    await desk.file(desk.written(), Filed.CLAIMED, replace(desk.ada, context=IDLE.context))
    await desk.file(desk.written(), Filed.CLAIMED)

    assert desk.filed.transcript == str(desk.transcript)


async def test_its_successors_report_consumes_it(desk: Desk) -> None:
    await desk.file(desk.written(), Filed.CLAIMED)

    assert await desk.file(desk.written(), Filed.CONSUMED) == "consumed in shop"

    assert (desk.filed.consumed_by, desk.filed.consumed_at) == (ADA, LoopClock().now())


async def test_one_that_came_to_nothing_is_put_away(desk: Desk) -> None:
    await desk.file(desk.written(), Filed.CLAIMED)

    assert await desk.file(desk.written(), Filed.CLEARED) == "1 put away"

    assert desk.filed.status is Status.CLEARED


async def test_what_a_recovery_tells_is_nobody_elses(desk: Desk) -> None:
    """From before its agent is started until it has died, or was not started after all."""
    await desk.file(desk.written(), Filed.CLAIMED)
    desk.agent.dead = desk.agent.gone = True
    bob = replace(desk.ada, id=BOB, pane=None)

    await desk.filing.hold(desk.ada, ID)
    with pytest.raises(RefusedError):
        await desk.filing.take(bob, "shop")
    assert await desk.filing.holder(bob, ID) == ADA
    assert await desk.filing.holder(desk.ada, ID) is None

    await desk.filing.let_go(desk.ada, ID)
    assert (await desk.filing.take(bob, "shop")).handoff.claimed_by == BOB
    await desk.filing.hold(desk.ada, ID)
    assert await desk.filing.holder(desk.ada, ID) == BOB
    assert await desk.file(desk.written(), Filed.CLEARED) == "bob has it"


async def test_in_a_terminal_of_ours_we_stand_for_the_next_agent(desk: Desk) -> None:
    """The one that runs is ended on the way."""
    await desk.file(desk.written(), Filed.CLAIMED, replace(desk.ada, wrapped=True))

    assert desk.filed.claimed_pid == desk.us


async def test_a_ledger_that_cannot_be_written_holds_up_nothing(desk: Desk) -> None:
    written = desk.written()
    desk.cwd.rmdir()
    broken = replace(desk.filing, channels=ChannelBook(Path("/dev/null/channels"), {}))
    effect = FileHandoff(handoff=ID, status=Filed.CLAIMED, was=written)

    outcome = await broken.file(desk.ada, effect)

    assert isinstance(outcome, HandoffFiled)
    assert outcome.evidence.startswith("not written: ")
    assert broken.channel_of("/") is None
    assert await broken.all(10) == {}


# --- what became of it -----------------------------------------------------------------------


async def test_an_agent_that_died_before_it_read_it_leaves_it_waiting(desk: Desk) -> None:
    await desk.file(desk.written(), Filed.CLAIMED)
    desk.transcript.write_text('{"type":"user"}\n')
    desk.agent.die()

    assert (await desk.filing.all(10))[ID].status is Status.ACTIVE


@pytest.mark.parametrize("words", [f"=== HANDOFF LOADED (ID: {ID}) ===", f"1 (handoff {ID})."])
async def test_its_own_record_proves_that_it_was_read(desk: Desk, words: str) -> None:
    """Alive or dead: what the model was given is what counts."""
    await desk.file(desk.written(), Filed.CLAIMED)
    assert (await desk.filing.all(10))[ID].status is Status.CLAIMED

    desk.transcript.write_text(f'{{"type":"user","message":"{words}"}}\n')

    assert (await desk.filing.all(10))[ID].status is Status.CONSUMED


# --- asked for ---------------------------------------------------------------------------------


async def test_what_waits_is_given_to_one_that_asks(desk: Desk) -> None:
    await desk.file(desk.written(), Filed.CLAIMED)
    desk.agent.die()
    bob = replace(desk.ada, id=BOB, name="bob", pane=desk.world.add(BOB).pane)

    given = await desk.filing.take(bob, None)

    assert given.text.startswith(f"=== HANDOFF LOADED (ID: {ID}) ===\nChannel: shop\n")
    assert "# Goal\nthe shop" in given.text
    assert (given.handoff.status, given.handoff.claimed_by) == (Status.CLAIMED, BOB)


async def test_where_nothing_waits_that_is_said(desk: Desk) -> None:
    with pytest.raises(RefusedError, match="Nothing waits in the channel shop"):
        await desk.filing.take(desk.ada, None)
    with pytest.raises(NotFoundError, match="Nothing waits in the channel night"):
        await desk.filing.clear("night")


async def test_what_waits_can_be_put_away(desk: Desk) -> None:
    await desk.file(desk.written(), Filed.CLAIMED)
    desk.agent.die()
    await desk.filing.all(10)

    assert [found.id for found in await desk.filing.clear("shop")] == [ID]

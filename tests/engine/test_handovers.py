"""A handoff is asked for by a session itself; anybody may look at it and withdraw it."""

from pathlib import Path
from typing import Any

import pytest

from sm.core.ids import HandoffId
from sm.core.passage import Handoff, HandoffState
from sm.engine.engine import Engine
from sm.engine.handovers import Document, NotYourselfError
from sm.engine.naming import NotFoundError, RefusedError
from tests.engine.rig import ADA, BOB, DiskFullError, FlakyStore, Rig

FIRST, SECOND = HandoffId("a" * 12), HandoffId("b" * 12)


@pytest.fixture
def document(tmp_path: Path) -> Path:
    path = tmp_path / "handoff.md"
    path.write_text("# Goal\nthe shop\n")
    return path


async def ask(engine: Engine, document: Path, **changes: Any) -> Handoff:
    plain: dict[str, Any] = {
        "requester": "ada", "document": Document(source=str(document)), "token": "token of ada",
        "handoff_id": FIRST,
    }  # fmt: skip
    asked = {**plain, **changes}
    return await engine.handovers.request(asked.pop("reference", "ada"), **asked)


# --- asked for -----------------------------------------------------------------------------


async def test_a_request_is_kept_with_a_copy_of_the_document(
    rig: Rig, flaky: FlakyStore, document: Path
) -> None:
    """On the disk when the call returns: also if the document is deleted right after."""
    async with rig.running() as engine:
        await rig.start_turn(engine)
        handoff = await ask(engine, document)
        document.unlink()

        assert (handoff.id, handoff.session, handoff.state) == (FIRST, ADA, HandoffState.REQUESTED)
        assert (handoff.context, handoff.source) == (1, str(document))
        assert handoff.log == "/home/sessions/ada/raw.log"
        assert Path(handoff.document).read_text() == "# Goal\nthe shop\n"
        assert await flaky.handoff(FIRST) == handoff == engine.session(ADA).handoff


async def test_the_same_request_again_is_the_same_handoff(rig: Rig, document: Path) -> None:
    """Also when it is over, and its document gone."""
    async with rig.running() as engine:
        await rig.start_turn(engine)
        handoff = await ask(engine, document)
        assert await ask(engine, document) == handoff
        await engine.handovers.cancel(FIRST, by="you")
        document.unlink()
        await engine.sessions.rename("ada", "eva")

        again = await ask(engine, document, reference="eva")
        assert (again.id, again.state) == (FIRST, HandoffState.CANCELLED)


async def test_what_could_not_be_stored_is_not_confirmed(
    rig: Rig, flaky: FlakyStore, document: Path
) -> None:
    async with rig.running() as engine:
        await rig.start_turn(engine)
        flaky.failures = 1
        with pytest.raises(DiskFullError):
            await ask(engine, document)

        assert engine.session(ADA).handoff is None
        assert (await ask(engine, document)).state is HandoffState.REQUESTED


@pytest.mark.parametrize(
    "changes",
    [
        {"requester": "bob"},
        {"requester": ""},
        {"token": "token of bob"},
        {"token": ""},
        {"token": "tökén"},
        {"requester": "bob", "token": "token of bob"},
    ],
    ids=str,
)
async def test_nobody_else_may_ask_for_it(
    rig: Rig, document: Path, changes: dict[str, str]
) -> None:
    async with rig.running() as engine:
        await rig.start(engine)
        await rig.start(engine, BOB)

        with pytest.raises(NotYourselfError, match="self-directed only"):
            await ask(engine, document, **changes)
        assert engine.session(ADA).handoff is None
        assert not (rig.kept / ADA).exists()


async def test_a_session_may_call_itself_by_its_name(rig: Rig, document: Path) -> None:
    async with rig.running() as engine:
        await rig.start_turn(engine)
        await engine.sessions.rename("ada", "eva")

        asked = await ask(engine, document, reference="eva", requester="eva")
        assert asked.state is HandoffState.REQUESTED


async def test_a_session_nobody_knows_is_not_found(rig: Rig, document: Path) -> None:
    async with rig.running() as engine:
        with pytest.raises(NotFoundError):
            await ask(engine, document)


async def test_an_agent_that_reports_nothing_is_refused(rig: Rig, document: Path) -> None:
    async with rig.running() as engine:
        await rig.start(engine, agent="cat")

        with pytest.raises(RefusedError, match=r"A cat agent reports nothing .* sm new --prompt"):
            await ask(engine, document)


async def test_a_session_without_an_agent_is_refused(rig: Rig, document: Path) -> None:
    async with rig.running() as engine:
        await rig.start(engine)
        await engine.sessions.kill("ada", by="you")

        with pytest.raises(RefusedError, match="ada has no running agent"):
            await ask(engine, document)


async def test_a_document_that_cannot_be_taken_is_refused(rig: Rig, document: Path) -> None:
    """With words for the agent, and nothing is scheduled."""
    async with rig.running() as engine:
        await rig.start_turn(engine)
        with pytest.raises(RefusedError, match="is not an absolute path"):
            await ask(engine, Path("handoff.md"))
        with pytest.raises(RefusedError, match="nowhere"):
            await ask(engine, Path("/nowhere/handoff.md"))
        document.write_text("x" * 10_001)
        with pytest.raises(RefusedError, match=r"handoff\.md"):
            await ask(engine, document)

        assert engine.session(ADA).handoff is None


async def test_one_that_is_on_its_way_is_not_replaced(rig: Rig, document: Path) -> None:
    async with rig.running() as engine:
        agent = await rig.start_turn(engine)
        await ask(engine, document)
        assert (await ask(engine, document, handoff_id=SECOND)).id == SECOND
        superseded = await engine.handovers.find(FIRST)
        assert superseded.state is HandoffState.SUPERSEDED
        agent.finish()
        rig.world.hang = None
        agent.drawn = agent.sign.BUSY
        await rig.deliver(engine, agent)

        with pytest.raises(RefusedError, match=f"Handoff {SECOND} is already under way"):
            await ask(engine, document, handoff_id=HandoffId("c" * 12))


# --- looked at -----------------------------------------------------------------------------


async def test_a_handoff_is_found_by_its_id_or_the_beginning_of_it(
    rig: Rig, document: Path
) -> None:
    async with rig.running() as engine:
        await rig.start_turn(engine)
        await ask(engine, document)
        await ask(engine, document, handoff_id=SECOND)
        near = HandoffId("ab" + "c" * 10)
        await ask(engine, document, handoff_id=near)
        timely = HandoffId("HO-20260202-064530-d1e2f3a4")
        await ask(engine, document, handoff_id=timely)

        assert (await engine.handovers.find(SECOND)).id == SECOND
        assert (await engine.handovers.find("ab")).id == near
        assert (await engine.handovers.find("HO-2026")).id == timely
        assert (await engine.handovers.find("d1e2")).id == timely
        for reference, words in (
            ("a", "2 handoffs begin with 'a'"),
            ("c", "no handoff"),
            ("", "no"),
        ):
            with pytest.raises(NotFoundError, match=words):
                await engine.handovers.find(reference)


async def test_an_id_means_one_handoff(rig: Rig, document: Path) -> None:
    async with rig.running() as engine:
        await rig.start_turn(engine)
        asked = await ask(engine, document)

        assert await ask(engine, document) == asked
        with pytest.raises(RefusedError, match="was used for another handoff"):
            await ask(engine, document.with_name("other.md"))


async def test_a_document_may_be_told_in_place_of_a_file(rig: Rig, document: Path) -> None:
    async with rig.running() as engine:
        await rig.start_turn(engine)
        told = Document(source="-", text="# Goal\nthe shop\n")
        asked = await engine.handovers.request(
            "ada", requester="ada", document=told, token="token of ada", handoff_id=FIRST
        )

        assert (asked.source, Path(asked.document).read_text()) == ("-", told.text)


async def test_handoffs_are_listed_as_they_are_now(rig: Rig, document: Path) -> None:
    async with rig.running() as engine:
        await rig.start_turn(engine)
        await rig.start(engine, BOB)
        await ask(engine, document)
        await ask(engine, document, handoff_id=SECOND)

        found = await engine.handovers.all()
        assert [(h.id, h.state.value) for h in found] == [
            (FIRST, "superseded"),
            (SECOND, "requested"),
        ]
        assert await engine.handovers.all(limit=1) == found[1:]
        assert await engine.handovers.all(session=BOB) == []


# --- withdrawn -----------------------------------------------------------------------------


async def test_a_handoff_is_withdrawn_once(rig: Rig, document: Path) -> None:
    async with rig.running() as engine:
        await rig.start_turn(engine)
        await ask(engine, document)

        withdrawn = await engine.handovers.cancel("aaaa", by="you")
        assert (withdrawn.state, withdrawn.steps[-1].evidence) == (
            HandoffState.CANCELLED,
            "by you",
        )
        assert await engine.handovers.cancel(FIRST, by="you") == withdrawn
        assert engine.session(ADA).handoff is None


async def test_what_can_no_longer_be_withdrawn_says_why(rig: Rig, document: Path) -> None:
    async with rig.running() as engine:
        agent = await rig.start_turn(engine)
        await ask(engine, document)
        await ask(engine, document, handoff_id=SECOND)
        with pytest.raises(RefusedError, match="it is superseded"):
            await engine.handovers.cancel(FIRST, by="you")

        agent.drawn = agent.sign.BUSY
        agent.finish()
        await rig.deliver(engine, agent)
        assert await engine.loop.wait_until(lambda: _is(engine, HandoffState.CLEARING), 60)
        with pytest.raises(RefusedError, match="its context is being cleared"):
            await engine.handovers.cancel(SECOND, by="you")
        with pytest.raises(NotFoundError):
            await engine.handovers.cancel("nobody", by="you")


def _is(engine: Engine, state: HandoffState) -> bool:
    handoff = engine.session(ADA).handoff
    return handoff is not None and handoff.state is state

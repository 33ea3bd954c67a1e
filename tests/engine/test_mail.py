"""Messages and reminders, from the call to the agent."""

import asyncio

import pytest

from sm.core.ids import MessageId, ReminderId
from sm.core.message import MessageState, Mode
from sm.core.reports import TurnEnded
from sm.engine.engine import Engine
from sm.engine.mail import MAX_TEXT
from sm.engine.naming import NotFoundError, RefusedError
from sm.engine.ports import Store
from tests.engine.rig import ADA, BOB, DiskFullError, FlakyStore, Rig, said

FIRST = said().id


async def test_a_message_goes_all_the_way(rig: Rig, store: Store) -> None:
    """Queued, pasted, entered, reported, done; on every store."""
    rig.store = store
    async with rig.running() as engine:
        agent = await rig.start(engine)
        queued = await engine.mail.send(said())
        assert queued.receipts[0].step == "queued"

        await rig.until_given(engine, agent)
        assert (await engine.mail.message(FIRST)).state is MessageState.ACCEPTED
        agent.finish("All good.")
        await rig.deliver(engine, agent)

        message = await engine.mail.message(FIRST)
        assert [receipt.step for receipt in message.receipts] == [
            "queued", "offered", "entered", "accepted", "done",
        ]  # fmt: skip
        assert agent.received == [FIRST]
        assert engine.session(ADA).last_words == "All good."


async def test_the_same_message_again_is_not_sent_twice(rig: Rig) -> None:
    """While it waits, and after it is long done."""
    async with rig.running() as engine:
        agent = await rig.start(engine)
        await engine.mail.send(said())
        await engine.mail.send(said())
        await rig.until_given(engine, agent)
        agent.finish()
        await rig.deliver(engine, agent)
        await engine.loop.post(ADA, TurnEnded(hook=agent.hook("Stop"), last_words=""))

        assert (await engine.mail.send(said())).state is MessageState.DONE
        await asyncio.sleep(30)
        assert agent.received == [FIRST]


async def test_a_sender_is_told_when_the_turn_ends(rig: Rig) -> None:
    """bob asked ada; the notice arrives with bob as a message of its own."""
    async with rig.running() as engine:
        ada, bob = await rig.start(engine), await rig.start(engine, BOB)
        message = await engine.mail.send(said(sender="bob"))
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
        await engine.mail.send(said())
        await rig.until_given(engine, agent)
        agent.use_tool()
        await rig.deliver(engine, agent)
        await engine.mail.send(said(2, mode=Mode.URGENT))

        await rig.until_given(engine, agent, 2)
        assert agent.received == [FIRST, said(2).id]
        assert agent.wrongs == []


async def test_a_swallowed_enter_is_repaired(rig: Rig) -> None:
    """The message does not sit in the box for hours."""
    async with rig.running() as engine:
        agent = await rig.start(engine)
        agent.swallows = 2
        await engine.mail.send(said())

        await rig.until_given(engine, agent)
        assert agent.received == [FIRST]


async def test_a_step_that_breaks_does_not_hold_up_the_queue(rig: Rig) -> None:
    """An error nobody foresaw in the paste: it is asked for again."""
    async with rig.running() as engine:
        agent = await rig.start(engine)
        rig.world.breaks = ValueError("not a plain word")
        await engine.mail.send(said())

        await rig.until_given(engine, agent)
        assert agent.received == [FIRST]


async def test_a_full_disk_is_told_to_the_sender(rig: Rig, flaky: FlakyStore) -> None:
    """What could not be stored was not accepted, and can be sent again."""
    async with rig.running() as engine:
        agent = await rig.start(engine)
        flaky.failures = 1
        with pytest.raises(DiskFullError):
            await engine.mail.send(said())
        with pytest.raises(NotFoundError, match="There is no message"):
            await engine.mail.message(FIRST)

        await engine.mail.send(said())
        await rig.until_given(engine, agent)


async def test_what_cannot_be_sent_is_refused_with_the_reason(rig: Rig) -> None:
    """Empty or endless text, an ended or unknown session."""
    async with rig.running() as engine:
        await rig.start(engine)
        for text in ("", " \n\t", "\x1b\x07"):
            with pytest.raises(RefusedError, match="The text is empty"):
                await engine.mail.send(said(text=text))
        with pytest.raises(RefusedError, match=f"the limit is {MAX_TEXT}"):
            await engine.mail.send(said(text="x" * (MAX_TEXT + 1)))
        with pytest.raises(NotFoundError):
            await engine.mail.send(said(to="nobody"))

        await engine.sessions.kill("ada", by="you")
        with pytest.raises(RefusedError, match=r"ada has ended\. Start a new session"):
            await engine.mail.send(said())


@pytest.mark.parametrize(
    ("sender", "name"),
    [("0a1b2c3d", "run"), ("ffffffff", "ffffffff"), ("you", "unknown"), (None, "you")],
)
async def test_a_sender_that_is_none_of_ours_is_not_taken_for_a_person(
    rig: Rig, sender: str | None, name: str
) -> None:
    """A run, another home's session, or one that was forgotten; the message counts all the same."""
    rig.runs["0a1b2c3d"] = "run"
    async with rig.running() as engine:
        await rig.start(engine)

        message = await engine.mail.send(said(sender=sender))
        reminder = await engine.mail.remind("ada", "tea", due_in=60, every=None, sender=sender)
        assert (message.sender, message.sender_name) == (None, name)
        assert reminder.sender_name == name


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
        await engine.mail.send(said())
        assert (await engine.mail.cancel(FIRST)).state is MessageState.CANCELLED

        await engine.mail.send(said(2, expires_in=60))
        await asyncio.sleep(61)
        assert (await engine.mail.message(said(2).id)).state is MessageState.EXPIRED
        with pytest.raises(RefusedError, match="is expired: it can no longer be withdrawn"):
            await engine.mail.cancel(said(2).id)
        with pytest.raises(NotFoundError):
            await engine.mail.cancel(MessageId("ffffffffffff"))


# --- reminders -----------------------------------------------------------------------------


async def test_a_reminder_comes_as_a_message_in_time(rig: Rig) -> None:
    """Under the name of whoever set it; set again it is the same one."""
    async with rig.running() as engine:
        agent = await rig.start(engine)
        tea = ReminderId("tea")
        kwargs = {"due_in": 60.0, "every": None, "sender": "ada", "reminder_id": tea}
        reminder = await engine.mail.remind("ada", "look", **kwargs)  # type: ignore[arg-type]
        again = await engine.mail.remind("ada", "look", **kwargs)  # type: ignore[arg-type]
        assert (again, reminder.sender_name) == (reminder, "ada")

        await asyncio.sleep(61)
        await rig.until_given(engine, agent)
        assert "[sm reminder] look" in agent.got[0]


async def test_a_withdrawn_reminder_does_not_come(rig: Rig) -> None:
    """And cannot be withdrawn twice."""
    async with rig.running() as engine:
        agent = await rig.start(engine)
        reminder = await engine.mail.remind("ada", "look", due_in=60, every=60, sender=None)
        await engine.mail.cancel_reminder(reminder.id)
        await asyncio.sleep(300)
        assert agent.got == []

        with pytest.raises(NotFoundError, match="There is no reminder"):
            await engine.mail.cancel_reminder(reminder.id)
        await engine.sessions.kill("ada", by="you")
        with pytest.raises(RefusedError, match="has ended and cannot be reminded"):
            await engine.mail.remind("ada", "look", due_in=60, every=None, sender=None)

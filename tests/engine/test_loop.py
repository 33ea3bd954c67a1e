"""Events in, commits out: together or not at all, and nothing acted on before."""

import asyncio
from dataclasses import replace

import pytest

from sm.core.effects import LaunchAgent
from sm.core.events import ReminderSet, Renamed
from sm.core.ids import HookId, ReminderId
from sm.core.journal import PendingEffect
from sm.core.state import Session
from sm.engine.loop import Loop, UnknownSessionError
from sm.engine.ports import Store
from tests.engine.rig import ADA, BOB, DiskFullError, FlakyStore, Rig, at_work, requested, tick
from tests.engine.timelapse import NOON, LoopClock

TEA = ReminderSet(id=ReminderId("tea"), text="look", due=NOON + 60, every=None, sender_name="you")


class Hands:
    """Keeps what the loop asked for."""

    def __init__(self) -> None:
        self.asked: list[PendingEffect] = []

    def __call__(self, pending: PendingEffect) -> None:
        self.asked.append(pending)


def build(store: Store) -> tuple[Loop, Hands]:
    hands = Hands()
    loop = Loop(store, LoopClock(), hands)
    loop.start_timers()
    return loop, hands


async def test_events_that_wait_during_a_commit_share_the_next(flaky: FlakyStore) -> None:
    """A slow disk makes larger commits, not a longer queue."""
    loop, _ = build(flaky)
    async with at_work(loop.run()):
        await loop.post(ADA, requested())
        flaky.open.clear()
        first = loop.post(ADA, tick(1))
        await asyncio.sleep(1)
        others = [loop.post(ADA, tick(number)) for number in (2, 3, 4)]
        flaky.open.set()
        await asyncio.gather(first, *others)

    assert flaky.batches[1:] == [[tick(1)], [tick(2), tick(3), tick(4)]]


async def test_nobody_is_answered_and_nothing_acted_on_before_the_commit(
    flaky: FlakyStore,
) -> None:
    """The agent is launched only when the disk has the request."""
    loop, hands = build(flaky)
    flaky.open.clear()
    async with at_work(loop.run()):
        stored = loop.post(ADA, requested())
        await asyncio.sleep(5)
        assert (stored.done(), hands.asked) == (False, [])

        flaky.open.set()
        await stored

    assert [pending.effect for pending in hands.asked] == [LaunchAgent()]


async def test_events_of_two_sessions_posted_in_one_breath_share_one_commit(
    flaky: FlakyStore,
) -> None:
    """Both or neither: so a notice can be neither lost nor doubled."""
    loop, _ = build(flaky)
    async with at_work(loop.run()):
        await asyncio.gather(loop.post(ADA, requested(ADA)), loop.post(BOB, requested(BOB)))

        flaky.failures = 1
        both = [loop.post(ADA, Renamed(name="x")), loop.post(BOB, Renamed(name="y"))]
        assert [type(e) for e in await asyncio.gather(*both, return_exceptions=True)] == [
            DiskFullError,
            DiskFullError,
        ]

    assert flaky.batches == [[requested(ADA), requested(BOB)]]
    assert [loop.session(s).name for s in (ADA, BOB)] == ["ada", "bob"]


async def test_a_commit_that_failed_never_happened(flaky: FlakyStore) -> None:
    """Memory goes back to what the disk has, the waiter is told, nothing is acted on."""
    loop, hands = build(flaky)
    async with at_work(loop.run()):
        await loop.post(ADA, requested())
        flaky.failures = 1
        with pytest.raises(DiskFullError):
            await loop.post(ADA, Renamed(name="grace"))
        flaky.failures = 1
        with pytest.raises(DiskFullError):
            await loop.post(BOB, requested(BOB))

        assert [s.name for s in loop.sessions] == ["ada"]
        assert (await loop.post(ADA, tick())).name == "ada"

    assert [pending.effect for pending in hands.asked] == [LaunchAgent()]
    assert (loop.tally.commits, loop.tally.failed_commits) == (2, 2)


async def test_what_was_built_on_a_failed_commit_falls_with_it(flaky: FlakyStore) -> None:
    """Posted while the commit failed, or while it was undone: it stands on nothing."""
    loop, _ = build(flaky)
    late: list[asyncio.Future[Session]] = []
    async with at_work(loop.run()):
        await loop.post(ADA, requested())
        flaky.failures = 1
        flaky.while_reading = lambda: late.append(loop.post(ADA, tick()))
        flaky.open.clear()
        first = loop.post(ADA, Renamed(name="grace"))
        await asyncio.sleep(1)
        second = loop.post(ADA, tick())
        flaky.open.set()
        failed = [*await asyncio.gather(first, second, return_exceptions=True)]
        flaky.while_reading = lambda: None
        failed += await asyncio.gather(*late, return_exceptions=True)

        assert [type(error) for error in failed] == [DiskFullError] * 3
        assert (await loop.post(ADA, tick())).name == "ada"


async def test_a_hook_is_known_once_it_is_on_the_disk(store: Store) -> None:
    """Also to the next daemon."""
    loop, _ = build(store)
    async with at_work(loop.run()):
        await loop.post(ADA, requested())
        await loop.post(ADA, tick(), hook=HookId("h1"))
        assert loop.knows_hook(HookId("h1"))

    again, _ = build(store)
    await again.load()
    assert again.knows_hook(HookId("h1"))
    assert not again.knows_hook(HookId("h2"))


async def test_the_hook_of_a_failed_commit_may_come_again(flaky: FlakyStore) -> None:
    """It was not stored, so its repetition is news."""
    loop, _ = build(flaky)
    async with at_work(loop.run()):
        await loop.post(ADA, requested())
        flaky.failures = 1
        with pytest.raises(DiskFullError):
            await loop.post(ADA, tick(), hook=HookId("h1"))

        assert not loop.knows_hook(HookId("h1"))


async def test_a_timer_rings_when_it_is_due(flaky: FlakyStore) -> None:
    """The reminder becomes a message at its time and not before."""
    loop, _ = build(flaky)
    async with at_work(loop.run()):
        await loop.post(ADA, requested())
        await loop.post(ADA, TEA)
        await asyncio.sleep(59)
        assert loop.session(ADA).messages == ()

        await asyncio.sleep(2)
        assert [m.text for m in loop.session(ADA).messages] == ["[sm reminder] look"]


@pytest.mark.parametrize("asleep", [30, 300])
async def test_a_timer_survives_its_daemon(store: Store, asleep: float) -> None:
    """The next daemon rings it: in time, or at once if its time has passed."""
    loop, _ = build(store)
    async with at_work(loop.run()):
        await loop.post(ADA, requested())
        await loop.post(ADA, TEA)
    await asyncio.sleep(asleep)

    again, _ = build(store)
    await again.load()
    async with at_work(again.run()):
        await asyncio.sleep(max(0.0, 60 - asleep) + 1)
        assert len(again.session(ADA).messages) == 1


async def test_an_alarm_for_a_timer_that_was_moved_posts_nothing(flaky: FlakyStore) -> None:
    """Only the stored time counts."""
    loop, _ = build(flaky)
    async with at_work(loop.run()):
        await loop.post(ADA, requested())
        await loop.post(ADA, TEA)
        await loop.post(ADA, replace(TEA, due=NOON + 120))
        await asyncio.sleep(100)
        assert flaky.kinds == [["SessionRequested"], ["ReminderSet"], ["ReminderSet"]]

        await asyncio.sleep(21)
        assert flaky.kinds[3:] == [["TimerFired"]]


async def test_a_timer_whose_commit_failed_rings_again(flaky: FlakyStore) -> None:
    """The undone wait stands again."""
    loop, _ = build(flaky)
    async with at_work(loop.run()):
        await loop.post(ADA, requested())
        await loop.post(ADA, TEA)
        flaky.failures = 3
        await asyncio.sleep(62)
        assert len(loop.session(ADA).messages) == 1

    assert loop.tally.failed_commits == 3


async def test_a_new_daemon_finds_what_is_left_to_do(store: Store) -> None:
    """The same sessions, the effects without an outcome, and ids that are not given out twice."""
    loop, hands = build(store)
    async with at_work(loop.run()):
        await asyncio.gather(loop.post(ADA, requested(ADA)), loop.post(BOB, requested(BOB)))
        launch = hands.asked[0]
        await loop.post(ADA, tick(), finished=launch.id)

    again, others = build(store)
    assert await again.load() == hands.asked[1:]
    assert sorted(s.name for s in again.sessions) == ["ada", "bob"]
    async with at_work(again.run()):
        await again.post(BOB, requested(BOB))
    assert others.asked[0].id > hands.asked[1].id


async def test_nobody_is_told_of_an_unknown_session(flaky: FlakyStore) -> None:
    """Asking for it or posting to it is an error at once."""
    loop, _ = build(flaky)

    with pytest.raises(UnknownSessionError):
        loop.session(ADA)
    with pytest.raises(UnknownSessionError):
        loop.post(ADA, tick())


async def test_draining_waits_for_what_was_posted(flaky: FlakyStore) -> None:
    """Nothing that was posted is left behind at the end."""
    loop, _ = build(flaky)
    async with at_work(loop.run()):
        loop.post(ADA, requested())
        await loop.drain()
        assert flaky.kinds == [["SessionRequested"]]

        woken = asyncio.create_task(loop.next_commit())
        await asyncio.sleep(1)
        assert not woken.done()
        await loop.post(ADA, tick())
        await woken


async def test_a_commit_holds_only_the_messages_that_changed(flaky: FlakyStore) -> None:
    """An event that touches no message writes none."""
    loop, _ = build(flaky)
    async with at_work(loop.run()):
        await loop.post(ADA, requested())
        await loop.post(ADA, replace(TEA, due=NOON))
        await asyncio.sleep(1)
        await loop.post(ADA, Renamed(name="grace"))

    assert [len(entry.messages) for entry in flaky.entries] == [0, 0, 1, 0]


async def test_waiting_ends_when_it_is_true_or_the_time_is_over(rig: Rig) -> None:
    """Looked at after every commit, never in between."""
    async with rig.running() as engine:
        await rig.start(engine)

        assert await engine.loop.wait_until(lambda: True, 0)
        before = engine.clock.now()
        assert not await engine.loop.wait_until(lambda: False, 20)
        assert engine.clock.now() - before == pytest.approx(20)

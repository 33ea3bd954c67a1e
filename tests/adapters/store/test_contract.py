"""What every store promises, whatever keeps it."""

from dataclasses import replace

import pytest

from sm.adapters.store import StoreWriteError
from sm.core.effects import KillAgent, RenameTmux
from sm.core.events import Event, KillRequested, PaneSeen, Renamed, TimerFired
from sm.core.ids import HandoffId, HookId, MessageId, ReminderId, SessionId
from sm.core.journal import Entry
from sm.core.message import MessageState, Receipt
from sm.core.passage import HandoffState
from sm.core.state import Reminder, State
from sm.engine.ports import Store

from .conftest import Place
from .samples import NOON, asked, entry, handoff, message, session

ADA, BOB = session("ada"), session("bob")


async def everything(store: Store) -> tuple[object, ...]:
    return (
        await store.sessions(),
        await store.pending(),
        await store.messages(),
        await store.handoffs(),
        await store.events(),
        await store.recent_hooks(100),
        await store.last_effect(),
    )


async def test_a_new_store_is_empty(store: Store) -> None:
    """A store nobody wrote to has nothing, and says so without complaint."""
    assert await everything(store) == ([], [], [], [], [], [], 0)
    assert await store.last_seq() == 0
    assert await store.message(MessageId("none")) is None
    assert await store.handoff(HandoffId("none")) is None


async def test_a_commit_of_nothing_is_no_commit(store: Store) -> None:
    await store.commit([])

    assert await store.events() == []


async def test_a_closed_store_opened_again_holds_the_same(place: Place) -> None:
    """Stopping and starting sm changes nothing of what it knows."""
    store = await place()
    await store.commit(
        [
            entry(
                ADA, hook="h1", messages=(message(1),), handoffs=(handoff(1),), asked=(asked(1),)
            ),
            entry(BOB, asked=(asked(2, KillAgent(), by="bob"),)),
        ]
    )
    before = await everything(store)
    await store.close()

    assert await everything(await place()) == before


async def test_the_last_state_of_a_session_is_the_one_that_comes_back(store: Store) -> None:
    """Many events in one transaction leave the session as the last one left it."""
    reminder = Reminder(id=ReminderId("r"), text="tea", due=NOON, every=None, sender_name="you")
    working = replace(ADA, state=State.WORKING, reminders=(reminder,))
    await store.commit([entry(ADA), entry(BOB), entry(working)])
    await store.commit([entry(replace(BOB, name="eve")), entry(replace(BOB, name="rob"))])

    assert await store.sessions() == [working, replace(BOB, name="rob")]


async def test_sessions_come_oldest_first(store: Store) -> None:
    late, early = session("a"), replace(session("z"), created_at=NOON - 1)
    await store.commit([entry(late), entry(early)])

    assert await store.sessions() == [early, late]


async def test_open_messages_come_back_with_their_session(store: Store) -> None:
    """A restarted sm goes on with what was still queued, in the order it was sent."""
    closed = message(2, state=MessageState.DONE)
    offered = message(11, state=MessageState.OFFERED)
    taken = message(3, state=MessageState.ACCEPTED)
    queue = (message(1), taken, offered)
    await store.commit(
        [
            entry(replace(ADA, messages=(*queue, closed)), messages=(offered, closed, message(1))),
            entry(replace(BOB, messages=(message(1, to="bob"),)), messages=(message(1, to="bob"),)),
            entry(replace(ADA, messages=queue), messages=(taken,)),
        ]
    )

    ada, bob = await store.sessions()
    assert ada == replace(ADA, messages=queue)
    assert bob == replace(BOB, messages=(message(1, to="bob"),))


async def test_a_message_that_closed_is_kept_but_no_longer_with_its_session(store: Store) -> None:
    queued = message(1)
    done = queued.moved(MessageState.DONE, NOON, "turn ended")
    await store.commit([entry(replace(ADA, messages=(queued,)), messages=(queued,))])
    await store.commit([entry(replace(ADA, messages=(done,)), messages=(done,))])

    assert await store.sessions() == [ADA]
    assert await store.message(queued.id) == done
    assert done.receipts == (Receipt(step="done", at=NOON, evidence="turn ended"),)


async def test_a_session_nothing_changed_in_stays_as_it_was(store: Store) -> None:
    """The event is kept; the row is written only if some entry of the batch changed it."""
    working = replace(ADA, state=State.WORKING)
    later = replace(working, name="eve")
    await store.commit([entry(ADA)])

    await store.commit([replace(entry(working), changed=False)])
    assert await store.sessions() == [ADA]
    await store.commit([entry(working), replace(entry(later), changed=False)])

    assert await store.sessions() == [later]
    assert len(await store.events()) == 4


async def test_an_event_of_a_session_that_was_never_kept_is_refused(store: Store) -> None:
    with pytest.raises(StoreWriteError):
        await store.commit([replace(entry(ADA), changed=False)])

    assert await store.events() == []


async def test_an_unproved_message_is_over_for_sm_and_offered_for_people(store: Store) -> None:
    """It does not come back at the next start, is found by its state, and is pruned one day."""
    unproved = replace(message(1, state=MessageState.OFFERED), unproved=True)
    offered = message(2, state=MessageState.OFFERED)
    await store.commit([entry(ADA, messages=(unproved, offered))])

    assert await store.sessions() == [replace(ADA, messages=(offered,))]
    assert await store.messages(state=MessageState.OFFERED) == [unproved, offered]
    await store.prune(NOON + 9)
    assert await store.messages() == [offered]


async def test_the_last_state_of_a_message_in_a_batch_is_kept(store: Store) -> None:
    offered = message(1).moved(MessageState.OFFERED, NOON, "pasted")
    await store.commit([entry(ADA, messages=(message(1),)), entry(ADA, messages=(offered,))])

    assert await store.message(offered.id) == offered


async def test_messages_are_listed_newest_kept_oldest_first(store: Store) -> None:
    """A list that is cut short shows the latest, in reading order."""
    ada = [message(n, queued_at=NOON - n) for n in range(1, 5)]
    bob = message(1, to="bob", queued_at=NOON + 9, state=MessageState.DONE)
    await store.commit([entry(BOB, messages=(bob,)), entry(ADA, messages=tuple(ada))])

    assert await store.messages() == [*reversed(ada), bob]
    assert await store.messages(limit=2) == [ada[0], bob]
    assert await store.messages(to=ADA.id) == ada
    assert await store.messages(to=ADA.id, limit=2) == ada[2:]
    assert await store.messages(state=MessageState.DONE) == [bob]
    assert await store.messages(to=ADA.id, state=MessageState.DONE) == []
    assert await store.messages(limit=0) == []


async def test_the_last_state_of_a_handoff_is_kept(store: Store) -> None:
    """The open one comes back with its session; each is found by its id for ever after."""
    asked_for = handoff(1)
    clearing = asked_for.moved(HandoffState.CLEARING, NOON, "captured", "all of it")
    await store.commit(
        [
            entry(replace(ADA, handoffs=(asked_for,)), handoffs=(asked_for,)),
            entry(replace(ADA, handoffs=(clearing,)), handoffs=(clearing,)),
        ]
    )
    (ada,) = await store.sessions()
    assert (ada.handoff, await store.handoff(clearing.id)) == (clearing, clearing)

    done = clearing.moved(HandoffState.DONE, NOON + 1, "done", "context 2")
    await store.commit([entry(replace(ADA, handoffs=(done,)), handoffs=(done,))])
    await store.commit([entry(ADA)])
    assert await store.sessions() == [ADA]
    assert await store.handoff(done.id) == done


async def test_handoffs_are_listed_newest_kept_oldest_first(store: Store) -> None:
    ada = [handoff(n, requested_at=NOON - n) for n in range(1, 4)]
    bob = handoff(1, of="bob", requested_at=NOON + 9, state=HandoffState.DONE)
    await store.commit([entry(BOB, handoffs=(bob,)), entry(ADA, handoffs=tuple(ada))])

    assert await store.handoffs() == [*reversed(ada), bob]
    assert await store.handoffs(limit=2) == [ada[0], bob]
    assert await store.handoffs(session=ADA.id) == ada[::-1]
    assert await store.handoffs(session=ADA.id, limit=1) == [ada[0]]
    assert await store.handoffs(session=SessionId("nobody")) == []


async def test_events_are_read_in_the_order_they_were_committed(store: Store) -> None:
    """The timeline is what happened, in that order, whatever the clock said."""
    happened: list[Event] = [
        TimerFired(key="a"),
        Renamed(name="b"),
        KillRequested(by="c"),
        PaneSeen(evidence=""),
    ]
    await store.commit([entry(ADA, event=happened[0], at=NOON + 5), entry(BOB, event=happened[1])])
    await store.commit([entry(ADA, event=happened[2], at=NOON), entry(ADA, event=happened[3])])

    log = await store.events()
    assert [r.event for r in log] == happened
    assert [r.session for r in log] == ["ada", "bob", "ada", "ada"]
    assert [r.at for r in log] == [NOON + 5, NOON, NOON, NOON]
    assert sorted({r.seq for r in log}) == [r.seq for r in log]
    assert min(r.seq for r in log) > 0
    assert await store.last_seq() == log[-1].seq
    assert await store.events(after=log[1].seq) == log[2:]
    assert await store.events(after=log[0].seq, limit=2) == log[1:3]
    assert await store.events(session=ADA.id) == [log[0], *log[2:]]
    assert await store.events(session=ADA.id, after=log[0].seq, limit=1) == [log[2]]
    assert await store.last_events(ADA.id, 2) == log[2:]
    assert await store.last_events(SessionId("nobody"), 2) == []


async def test_a_batch_is_kept_whole_or_not_at_all(store: Store) -> None:
    """When the last entry cannot be kept, nothing of those before it is."""
    await store.commit([entry(ADA, hook="h1", asked=(asked(1),))])
    before = await everything(store)

    with pytest.raises(StoreWriteError):
        await store.commit(
            [
                entry(replace(ADA, state=State.WORKING), finished=1, messages=(message(1),)),
                entry(BOB, hook="h2", asked=(asked(2, by="bob"),)),
                entry(BOB, asked=(asked(9, by="nobody"),)),
            ]
        )

    assert await everything(store) == before
    await store.commit([entry(BOB, hook="h2")])
    assert await store.recent_hooks(9) == ["h1", "h2"]


@pytest.mark.parametrize(
    "refused",
    [
        [entry(ADA, messages=(message(1, to="nobody"),))],
        [entry(ADA, handoffs=(handoff(1, of="nobody"),))],
        [entry(ADA, asked=(asked(1, by="nobody"),))],
    ],
    ids=["message to nobody", "handoff of nobody", "effect of nobody"],
)
async def test_what_cannot_be_true_is_refused(store: Store, refused: list[Entry]) -> None:
    with pytest.raises(StoreWriteError, match=r"Nothing of this was kept\."):
        await store.commit(refused)

    assert await everything(store) == ([], [], [], [], [], [], 0)


async def test_an_effect_id_is_never_given_out_twice(store: Store) -> None:
    await store.commit([entry(ADA, asked=(asked(1),))])

    with pytest.raises(StoreWriteError):
        await store.commit([entry(ADA, asked=(asked(1, KillAgent()),))])

    assert await store.pending() == [asked(1)]


async def test_an_effect_is_pending_until_its_outcome_is_known(store: Store) -> None:
    """After a crash exactly the unfinished effects run again, in the order they were asked."""
    rename = asked(2, RenameTmux(name="eve"))
    await store.commit([entry(ADA, asked=(rename, asked(1))), entry(BOB, asked=(asked(3),))])
    assert await store.pending() == [asked(1), rename, asked(3)]

    await store.commit([entry(ADA, finished=1), entry(ADA, finished=3)])
    assert await store.pending() == [rename]


async def test_an_effect_asked_and_finished_in_one_batch_is_not_pending(store: Store) -> None:
    await store.commit(
        [
            entry(ADA, asked=(asked(1), asked(2))),
            entry(ADA, finished=1, asked=(asked(3),)),
            entry(ADA, finished=3),
        ]
    )

    assert await store.pending() == [asked(2)]
    assert await store.last_effect() == 3


async def test_effect_ids_are_remembered_after_the_effects_are_gone(place: Place) -> None:
    """An old effect's late outcome can never be taken for a new effect's."""
    store = await place()
    await store.commit([entry(ADA, asked=(asked(7), asked(5)))])
    await store.commit([entry(ADA, finished=7), entry(ADA, finished=5)])
    await store.commit([entry(ADA, asked=(asked(6),))])
    await store.close()

    assert await (await place()).last_effect() == 7


async def test_a_hook_is_recognised_when_it_comes_again(place: Place) -> None:
    """A hook call delivered twice is one event, across restarts."""
    store = await place()
    await store.commit([entry(ADA, hook="h2"), entry(ADA), entry(BOB, hook="h1")])
    await store.commit([entry(ADA), entry(ADA, hook="h3")])
    await store.close()
    store = await place()

    assert await store.has_hook(HookId("h1"))
    assert not await store.has_hook(HookId("h4"))
    assert await store.recent_hooks(2) == ["h1", "h3"]
    assert await store.recent_hooks(9) == ["h2", "h1", "h3"]


async def test_pruning_drops_what_is_old_and_over(store: Store) -> None:
    """Old history goes; sessions, open messages and pending effects never do."""
    old, new = NOON - 60, NOON
    messages = (
        message(1, queued_at=old),
        message(2, queued_at=old, state=MessageState.DONE),
        message(3, queued_at=new, state=MessageState.REFUSED),
        message(4, queued_at=old, state=MessageState.EXPIRED),
    )
    await store.commit([entry(ADA, at=old, hook="h1", messages=messages, asked=(asked(1),))])
    await store.commit([entry(ADA, at=new, hook="h2"), entry(ADA, at=old)])

    assert await store.prune(NOON) == 4

    assert [r.at for r in await store.events()] == [new]
    assert await store.messages() == [messages[0], messages[2]]
    assert await store.sessions() == [replace(ADA, messages=(messages[0],))]
    assert await store.pending() == [asked(1)]
    assert await store.recent_hooks(9) == ["h2"]
    assert not await store.has_hook(HookId("h1"))
    assert await store.prune(NOON) == 0


async def test_pruning_drops_handoffs_that_are_old_and_over(store: Store) -> None:
    """One that is under way is kept, however long ago it was asked for."""
    old = NOON - 60
    by_state = {state: handoff(n, state=state, requested_at=old)
                for n, state in enumerate(HandoffState)}  # fmt: skip
    late = handoff(99, state=HandoffState.DONE, requested_at=NOON)
    await store.commit([entry(ADA, handoffs=(*by_state.values(), late))])

    assert await store.prune(NOON) == sum(not h.is_open for h in by_state.values())

    assert await store.handoffs() == [*(h for h in by_state.values() if h.is_open), late]
    assert await store.handoff(by_state[HandoffState.FAILED].id) is None


async def test_pruning_a_long_history_drops_all_of_it(store: Store) -> None:
    await store.commit([entry(ADA, at=NOON - n % 2) for n in range(4500)])

    assert await store.prune(NOON) == 2250
    assert {r.at for r in await store.events(limit=5000)} == {NOON}


async def test_a_forgotten_session_leaves_nothing_behind(store: Store) -> None:
    """Its events, messages, handoffs and effects go with it; other sessions keep theirs."""
    theirs = entry(
        BOB, hook="b", messages=(message(1, to="bob"),), handoffs=(handoff(1, of="bob"),)
    )
    await store.commit([theirs])
    before = await everything(store)
    mine = entry(ADA, hook="a", messages=(message(1),), handoffs=(handoff(1),), asked=(asked(1),))
    await store.commit([mine])

    await store.forget([ADA.id])
    await store.forget([ADA.id])

    *left, last = await everything(store)
    assert (*left, 0) == before
    assert last == 1, "its number is not given out again"


async def test_numbers_of_pruned_events_are_not_used_again(place: Place) -> None:
    """A reader that follows the log by number never misses an event."""
    store = await place()
    await store.commit([entry(ADA), entry(ADA)])
    last = await store.last_seq()
    await store.prune(NOON + 1)
    await store.close()
    store = await place()
    await store.commit([entry(ADA)])

    assert len(await store.events(after=last)) == 1

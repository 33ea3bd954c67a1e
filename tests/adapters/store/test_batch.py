"""What many entries that share one transaction leave to be written."""

from dataclasses import replace

from sm.adapters.store.batch import batch_of
from sm.adapters.store.codec import decode_handoff, decode_message, decode_session
from sm.core.message import MessageState
from sm.core.passage import HandoffState
from sm.core.state import State

from .samples import NOON, asked, entry, handoff, message, session

IDLE, WORKING = session("ada"), session("ada", state=State.WORKING)
BOB = session("bob")


def test_of_a_session_only_its_last_state_is_written() -> None:
    """However often ada changed in the meantime, the disk gets one row: how she is now."""
    batch = batch_of([entry(WORKING), entry(BOB), entry(IDLE, at=NOON + 1)])

    assert [(row["id"], row["state"], row["updated_at"]) for row in batch.sessions] == [
        ("ada", "idle", NOON + 1),
        ("bob", "idle", NOON),
    ]
    assert decode_session(batch.sessions[0]["body"]) == IDLE


def test_a_session_nothing_changed_in_is_not_written() -> None:
    """A tool call that only proves an agent is alive costs an event, not a session's row."""
    batch = batch_of([replace(entry(WORKING), changed=False), entry(BOB)])

    assert [row["id"] for row in batch.sessions] == ["bob"]
    assert [row["session_id"] for row in batch.events] == ["ada", "bob"]


def test_a_change_followed_by_a_mere_sign_of_life_is_written_as_it_ended() -> None:
    """The sign of life comes last, but the change before it must not be lost."""
    batch = batch_of([entry(IDLE), replace(entry(WORKING, at=NOON + 1), changed=False)])

    (row,) = batch.sessions
    assert (row["state"], row["updated_at"]) == ("working", NOON + 1)


def test_the_sessions_row_is_without_its_messages() -> None:
    """A long queue is not written again at every step of its session."""
    batch = batch_of([entry(replace(IDLE, messages=(message(1),)))])

    assert decode_session(batch.sessions[0]["body"]) == IDLE


def test_of_a_message_only_its_last_state_is_written() -> None:
    done = message(1, state=MessageState.DONE)

    batch = batch_of([entry(IDLE, messages=(message(1),)), entry(IDLE, messages=(done,))])

    (row,) = batch.messages
    assert (row["id"], row["session_id"], row["number"]) == ("ada-1", "ada", 1)
    assert (row["state"], decode_message(row["body"])) == ("done", done)


def test_of_a_handoff_only_its_last_state_is_written() -> None:
    done = handoff(1, state=HandoffState.DONE)

    batch = batch_of([entry(IDLE, handoffs=(handoff(1),)), entry(IDLE, handoffs=(done,))])

    (row,) = batch.handoffs
    assert (row["id"], row["session_id"], row["requested_at"]) == ("ada-1", "ada", NOON + 1)
    assert (row["state"], decode_handoff(row["body"])) == ("done", done)


def test_every_event_is_written_in_its_order() -> None:
    """The log is complete, also where the states in between are not kept."""
    batch = batch_of([entry(IDLE, at=NOON, hook="h1"), entry(IDLE, at=NOON + 1)])

    assert [(row["at"], row["kind"], row["hook_id"]) for row in batch.events] == [
        (NOON, "HookNoticed", "h1"),
        (NOON + 1, "Renamed", None),
    ]


def test_an_effect_asked_for_and_finished_at_once_leaves_no_row() -> None:
    """It is neither written nor deleted, yet its number stays used."""
    batch = batch_of([entry(IDLE, asked=(asked(4), asked(9))), entry(IDLE, finished=9)])

    assert [row["id"] for row in batch.effects] == [4]
    assert batch.finished == []
    assert batch.last_effect == 9


def test_an_effect_asked_for_earlier_is_deleted_when_it_is_finished() -> None:
    batch = batch_of([entry(IDLE, finished=3)])

    assert (batch.effects, batch.finished, batch.last_effect) == ([], [{"key": 3}], 0)

"""Entries as rows: what is left to write when many entries share one transaction.

Every event is a row. Of a session and of a message only the last state counts, and an effect
that was asked for and finished inside the batch never becomes a row.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sm.adapters.store.codec import encode, encode_session, kind_of
from sm.core.journal import Entry, PendingEffect
from sm.core.message import Message, MessageState
from sm.core.passage import Handoff

Row = dict[str, Any]

UNPROVED = "unproved"


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    sessions: list[Row]
    messages: list[Row]
    handoffs: list[Row]
    events: list[Row]
    effects: list[Row]
    finished: list[Row]
    last_effect: int
    """The highest id asked for here, or 0."""


def batch_of(entries: Sequence[Entry]) -> Batch:
    last = {entry.session.id: entry for entry in entries}
    changed = {entry.session.id for entry in entries if entry.changed}
    messages = {message.id: message for entry in entries for message in entry.messages}
    handoffs = {handoff.id: handoff for entry in entries for handoff in entry.handoffs}
    asked = {pending.id: pending for entry in entries for pending in entry.asked}
    finished = {entry.finished for entry in entries if entry.finished is not None}
    return Batch(
        sessions=[_session_row(last[session]) for session in last if session in changed],
        messages=[_message_row(message) for message in messages.values()],
        handoffs=[_handoff_row(handoff) for handoff in handoffs.values()],
        events=[_event_row(entry) for entry in entries],
        effects=[_effect_row(asked[key]) for key in asked if key not in finished],
        finished=[{"key": key} for key in finished if key not in asked],
        last_effect=max(asked, default=0),
    )


def _session_row(entry: Entry) -> Row:
    session = entry.session
    return {
        "id": session.id,
        "name": session.name,
        "state": session.state.value,
        "updated_at": entry.at,
        "body": encode_session(session),
    }


def _message_row(message: Message) -> Row:
    return {
        "id": message.id,
        "session_id": message.to,
        "number": message.number,
        "state": searched_state(message),
        "queued_at": message.queued_at,
        "body": encode(message),
    }


def _handoff_row(handoff: Handoff) -> Row:
    return {
        "id": handoff.id,
        "session_id": handoff.session,
        "state": handoff.state.value,
        "requested_at": handoff.requested_at,
        "body": encode(handoff),
    }


def searched_state(message: Message) -> str:
    """What an agent without reports was offered is over for sm, though a person reads "offered":
    told apart, so that no start reads it again and it is pruned one day."""
    is_over = message.unproved and message.state is MessageState.OFFERED
    return UNPROVED if is_over else message.state.value


def _event_row(entry: Entry) -> Row:
    return {
        "session_id": entry.session.id,
        "at": entry.at,
        "kind": kind_of(entry.event),
        "hook_id": entry.hook,
        "body": encode(entry.event),
    }


def _effect_row(pending: PendingEffect) -> Row:
    return {
        "id": pending.id,
        "session_id": pending.session,
        "kind": kind_of(pending.effect),
        "body": encode(pending.effect),
    }

"""Every core value survives the disk, and rows of an earlier sm still load."""

import json
from dataclasses import fields, is_dataclass, replace
from types import NoneType, UnionType
from typing import Any, NewType, Union, get_args, get_origin, get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sm.adapters.store import StoreDamagedError, codec
from sm.core.effects import CheckPane, Effect
from sm.core.events import Event, KillRequested
from sm.core.message import Message, Mode
from sm.core.passage import Handoff, HandoffState
from sm.core.reports import ToolEnded, TurnEnded
from sm.core.state import Context, Session

from .samples import NOON, handoff, message, noticed, session

PLAIN: dict[object, st.SearchStrategy[Any]] = {
    bool: st.booleans(),
    # JSON knows no NaN, and no integer of ours comes near 64 bits.
    float: st.floats(allow_nan=False, allow_infinity=False),
    int: st.integers(-(2**53), 2**53),
    # With lone surrogates: Python's way to carry a folder's name that is not UTF-8.
    str: st.text(st.characters(codec=None, exclude_categories=[]), max_size=20),
    NoneType: st.none(),
}


def values(kind: Any) -> st.SearchStrategy[Any]:
    """Any value of a core type."""
    if isinstance(kind, NewType):
        return values(kind.__supertype__)
    if isinstance(kind, type) and is_dataclass(kind):
        hints = get_type_hints(kind)
        return st.builds(kind, **{f.name: values(hints[f.name]) for f in fields(kind)})
    if get_origin(kind) is tuple:
        return st.lists(values(get_args(kind)[0]), max_size=3).map(tuple)
    if get_origin(kind) in (Union, UnionType):
        return st.one_of([values(member) for member in get_args(kind)])
    return PLAIN[kind] if kind in PLAIN else st.sampled_from(kind)


@pytest.mark.parametrize("kind", codec.EVENTS)
def test_every_event_comes_back_as_it_was(kind: str) -> None:
    """The log never changes what happened."""

    @given(values(codec.EVENTS[kind]))
    def check(event: Event) -> None:
        assert codec.kind_of(event) == kind
        assert codec.decode_event(kind, codec.encode(event)) == event

    check()


@pytest.mark.parametrize("kind", codec.EFFECTS)
def test_every_effect_comes_back_as_it_was(kind: str) -> None:
    """After a crash exactly what was asked for is run."""

    @given(values(codec.EFFECTS[kind]))
    def check(effect: Effect) -> None:
        assert codec.kind_of(effect) == kind
        assert codec.decode_effect(kind, codec.encode(effect)) == effect

    check()


@given(values(Session))
def test_a_session_comes_back_without_its_messages(session: Session) -> None:
    """Messages have rows of their own; the session's row does not hold them twice."""
    body = codec.encode_session(session)

    assert codec.decode_session(body) == replace(session, messages=())
    assert json.loads(body)["messages"] == []


@given(values(Message))
def test_a_message_comes_back_as_it_was(message: Message) -> None:
    assert codec.decode_message(codec.encode(message)) == message


@given(values(Handoff))
def test_a_handoff_comes_back_as_it_was(handoff: Handoff) -> None:
    assert codec.decode_handoff(codec.encode(handoff)) == handoff


def test_a_folder_with_a_name_in_no_encoding_is_kept() -> None:
    """An old folder with a Latin-1 name can hold a session like any other."""
    ada = replace(session(), cwd=b"/home/ada/M\xfcll".decode(errors="surrogateescape"))

    assert codec.decode_session(codec.encode_session(ada)) == ada


def test_fields_that_were_dropped_since_are_ignored() -> None:
    body = b'{"by": "you", "reason": "a field of an earlier sm", "more": {"deep": [1]}}'

    assert codec.decode_event("KillRequested", body) == KillRequested(by="you")


def test_fields_that_were_added_since_take_their_defaults() -> None:
    """An update of sm reads the rows its predecessor wrote."""
    hook = noticed("h").hook
    event = {"hook": {"id": "h", "name": "Notification", "at": NOON, "context": None}}
    body = json.dumps({**event, "last_words": "Done."}).encode()
    assert codec.decode_event("TurnEnded", body) == TurnEnded(hook=hook, last_words="Done.")

    row = json.loads(codec.encode(message(1)))
    del row["mode"], row["receipts"]
    decoded = codec.decode_message(json.dumps(row).encode())
    assert (decoded, decoded.mode) == (message(1), Mode.SEQUENTIAL)

    row = json.loads(codec.encode_session(session()))
    del row["context"], row["timers"], row["messages"]
    assert codec.decode_session(json.dumps(row).encode()) == replace(session(), context=Context())


def test_a_session_of_before_there_were_handoffs_has_none() -> None:
    row = json.loads(codec.encode_session(session()))
    del row["handoffs"], row["last_handoff"], row["lineage"], row["tasks"]
    assert codec.decode_session(json.dumps(row).encode()) == session()

    passed = json.loads(codec.encode(handoff(1)))
    del passed["state"], passed["steps"], passed["tasks"]
    decoded = codec.decode_handoff(json.dumps(passed).encode())
    assert (decoded, decoded.state) == (handoff(1), HandoffState.REQUESTED)


def test_effects_say_nothing_of_their_class() -> None:
    assert codec.encode(CheckPane()) == b"{}"


@pytest.mark.parametrize(
    ("kind", "body", "says"),
    [
        ("Sneezed", b"{}", "holds a Sneezed, which this sm does not know"),
        ("ToolEnded", b"{}", "A stored ToolEnded cannot be read"),
        ("ToolEnded", b'{"hook', "A stored ToolEnded cannot be read"),
        ("ToolEnded", b"\xff\xff", "A stored ToolEnded cannot be read"),
    ],
)
def test_a_row_that_cannot_be_read_is_damage(kind: str, body: bytes, says: str) -> None:
    assert ToolEnded.__name__ in codec.EVENTS
    with pytest.raises(StoreDamagedError, match=says):
        codec.decode_event(kind, body)

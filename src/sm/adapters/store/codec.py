"""Core values as JSON bytes and back.

A member of a closed union is kept as its kind (the class's name) and its body. Rows outlive
releases: fields a reader does not know are ignored, and fields a row does not have take their
defaults. So a field added to a core value needs a default, and a kind keeps its name.
"""

import json
from dataclasses import replace
from typing import Any, TypeVar, cast, get_args

import msgspec

from sm.adapters.store.errors import StoreDamagedError
from sm.core.effects import Effect
from sm.core.events import Event
from sm.core.message import Message
from sm.core.passage import Handoff
from sm.core.state import Session

T = TypeVar("T")

EVENTS: dict[str, type[Any]] = {cls.__name__: cls for cls in get_args(Event)}
EFFECTS: dict[str, type[Any]] = {cls.__name__: cls for cls in get_args(Effect)}

_encoder = msgspec.json.Encoder()
_decoders: dict[type[Any], msgspec.json.Decoder[Any]] = {
    cls: msgspec.json.Decoder(cls)
    for cls in (Session, Message, Handoff, *EVENTS.values(), *EFFECTS.values())
}


def kind_of(value: Event | Effect) -> str:
    return type(value).__name__


def encode(value: Event | Effect | Message | Handoff | Session) -> bytes:
    try:
        return _encoder.encode(value)
    except UnicodeEncodeError:
        # A folder's name need not be UTF-8: Python carries its bytes as lone surrogates, which
        # only the standard library's escapes can hold.
        return json.dumps(msgspec.to_builtins(value)).encode()


def encode_session(session: Session) -> bytes:
    """The session without its messages: they have rows of their own."""
    return encode(replace(session, messages=()) if session.messages else session)


def decode_session(body: bytes) -> Session:
    return _decode(Session, body)


def decode_message(body: bytes) -> Message:
    return _decode(Message, body)


def decode_handoff(body: bytes) -> Handoff:
    return _decode(Handoff, body)


def decode_event(kind: str, body: bytes) -> Event:
    return cast("Event", _decode(_known(EVENTS, kind), body))


def decode_effect(kind: str, body: bytes) -> Effect:
    return cast("Effect", _decode(_known(EFFECTS, kind), body))


def _known(kinds: dict[str, type[Any]], kind: str) -> type[Any]:
    try:
        return kinds[kind]
    except KeyError:
        raise StoreDamagedError(
            f"The store holds a {kind}, which this sm does not know. "
            "Use the sm that wrote it, or report this as a bug."
        ) from None


def _decode(cls: type[T], body: bytes) -> T:
    decoder: msgspec.json.Decoder[T] = _decoders[cls]
    try:
        try:
            return decoder.decode(body)
        except msgspec.ValidationError:
            raise
        except msgspec.DecodeError:
            return msgspec.convert(json.loads(body), cls)
    except ValueError as error:
        raise StoreDamagedError(
            f"A stored {cls.__name__} cannot be read ({error}). "
            "Restore the store from a copy, or report this as a bug."
        ) from error

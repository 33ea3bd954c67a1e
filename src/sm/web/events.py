"""What happened: a session's past, and everything as it happens. Without secrets.

Events hold what was said. They are kept as they were, and shown with every secret replaced.
"""

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import suppress
from typing import Any

import msgspec
from starlette.responses import Response, StreamingResponse

from sm.api.types import StoredEvent
from sm.core.journal import Recorded
from sm.engine.engine import Engine
from sm.engine.shown import words_shown
from sm.web.endpoint import Call, Endpoint, Query, Whole
from sm.web.views import event_view

Redact = Callable[[str], str]

EVENTS_AT_ONCE = 500
_encode = msgspec.json.Encoder().encode
_events = msgspec.json.Decoder(list[StoredEvent])


async def shown(engine: Engine, recorded: Sequence[Recorded]) -> list[StoredEvent]:
    """As they may be shown."""
    return await asyncio.to_thread(_clean, recorded, engine.redact) if recorded else []


def _clean(recorded: Sequence[Recorded], redact: Redact) -> list[StoredEvent]:
    """String by string; then all at once, as JSON, where a name may tell what its value is. That
    is left out where a pattern of the user's knows nothing of JSON."""
    views = [event_view(one) for one in recorded]
    views = [{**view, "body": _each(view["body"], redact)} for view in views]
    with suppress(msgspec.DecodeError):
        clean = _events.decode(redact(_encode(views).decode()))
        if [view["seq"] for view in clean] == [view["seq"] for view in views]:
            return clean
    return views


def _each(value: Any, redact: Redact) -> Any:
    match value:
        case str():
            return redact(value)
        case list() | tuple() if value and all(isinstance(one, str) for one in value):
            return list(words_shown(value, redact))
        case list() | tuple():
            return [_each(one, redact) for one in value]
        case dict():
            return {key: _each(one, redact) for key, one in value.items()}
        case _:
            return value


async def timeline(call: Call) -> list[StoredEvent]:
    session = call.engine.find(call.path("session"))
    limit = min(max(call.query["limit"], 1), 1000)
    after = max(call.query["after"], 0)
    recorded = await call.engine.store.events(session=session.id, after=after, limit=limit)
    return await shown(call.engine, recorded)


async def stream(call: Call) -> Response:
    after = call.query["after"]
    resumed = call.request.headers.get("last-event-id", "")
    if re.fullmatch(r"[0-9]{1,18}", resumed):
        after = int(resumed)
    if after < 0:
        after = await call.engine.store.last_seq()
    return StreamingResponse(streamed(call.engine, after), media_type="text/event-stream")


async def streamed(engine: Engine, after: int) -> AsyncIterator[bytes]:
    """Every event behind a seq, as it is committed."""
    yield b": sm\n\n"
    while True:
        seen = engine.loop.tally.commits
        found = await shown(engine, await engine.store.events(after=after, limit=EVENTS_AT_ONCE))
        for event in found:
            after = event["seq"]
            yield b"id: %d\nevent: %s\ndata: %s\n\n" % (
                after,
                event["kind"].encode(),
                _encode(event),
            )
        # A commit while we were reading or sending has already rung: look again.
        if len(found) < EVENTS_AT_ONCE and engine.loop.tally.commits == seen:
            await engine.loop.next_commit()


ENDPOINTS = (
    Endpoint(
        method="GET", path="/events", handler=stream, gives=str, media="text/event-stream",
        about="Every event as it is committed (server-sent events); resumes after a seq",
        query=(
            Query(name="after", type=Whole, default=-1,
                  about="Begin after this seq; -1 for from now on"),
        ),
    ),
    Endpoint(
        method="GET", path="/sessions/{session}/timeline", about="Its events, oldest first",
        handler=timeline, gives=list[StoredEvent], refusals=(404, 409),
        query=(
            Query(name="after", type=Whole, default=0, about="Only events after this seq"),
            Query(name="limit", type=Whole, default=200, about="At most this many"),
        ),
    ),
)  # fmt: skip

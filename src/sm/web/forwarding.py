"""Several engines behind one address: what this one does not know, another may.

Each run of ``sm run`` has an engine of its own. The daemon lists their sessions with its own, and
hands a request on to them when it would have to say that there is no such thing; a run does the
same with the daemon. A request is handed on once.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, quote

import msgspec
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sm.web.endpoint import BadRequestError, refusal, whole_body

LISTS = frozenset({"/sessions", "/contexts", "/handoffs", "/messages", "/reminders"})
MARK_NAME = "x-sm-forwarded"
MARK = MARK_NAME.encode()
ANSWER_WITHIN, ENDED_WITHIN = 5.0, 60.0
NOT_FOUND, FINE = 404, 200
_WAITS = "/wait"
_LARGEST = 64_000_000

Others = Callable[[], Sequence[str]]
"""The sockets of the other engines."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    status: int
    headers: tuple[tuple[bytes, bytes], ...]
    body: bytes


class Forwarding:
    """Wraps the application."""

    def __init__(self, app: ASGIApp, others: Others, *, is_run: bool = False) -> None:
        """``is_run``: it has its one session, and begins no other."""
        self._app = app
        self._others = others
        self._is_run = is_run

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not _may_be_elsewhere(scope):
            await self._app(scope, receive, send)
            return
        is_list = scope["method"] == "GET" and scope["path"] in LISTS
        sockets = await asyncio.to_thread(self._others)
        if not sockets and not (self._is_run and _is_new(scope)):
            await self._app(scope, receive, send)
            return
        try:
            body = await whole_body(receive)
        except (ClientDisconnect, BadRequestError) as error:
            await refusal(error)(scope, receive, send)
            return
        await _give(send, await self._answer(scope, body, sockets, is_list=is_list))

    async def _answer(
        self, scope: Scope, body: bytes, sockets: Sequence[str], *, is_list: bool
    ) -> Answer:
        if _is_new(scope):
            return await self._begun(scope, body, sockets)
        elsewhere = await self._living(scope, sockets)
        if elsewhere is not None:
            return await _ask(elsewhere, scope, body) or _UNANSWERED
        own = await _asked(self._app, scope, body)
        if is_list and own.status == FINE:
            found = await asyncio.gather(*(_ask(path, scope, body) for path in sockets))
            return _merged(own, [answer for answer in found if answer is not None], scope)
        if own.status != NOT_FOUND:
            return own
        for path in sockets:
            answer = await _ask(path, scope, body)
            if answer is not None and answer.status != NOT_FOUND:
                return answer
        return own

    async def _begun(self, scope: Scope, body: bytes, sockets: Sequence[str]) -> Answer:
        """A new session: here, if its name is free everywhere; a run has the daemon begin it."""
        if self._is_run:
            for path in sockets:
                answer = await _ask(path, scope, body)
                if answer is not None:
                    return answer
            return _ALONE
        name = _named(body)
        if name is not None and await self._living(_about(scope, name), sockets) is not None:
            return _refused(f"The name {name!r} is taken by a run. Choose another: sm ls")
        return await _asked(self._app, scope, body)

    async def _living(self, scope: Scope, sockets: Sequence[str]) -> str | None:
        """The other engine in which the session that is asked for lives, if here it does not."""
        parts = str(scope["path"]).split("/")
        if len(parts) < 3 or parts[1] != "sessions":
            return None
        about = _about(scope, parts[2])
        if _lives(await _asked(self._app, about, b"")):
            return None
        for path in sockets:
            if _lives(await _ask(path, about, b"")):
                return path
        return None


def _is_new(scope: Scope) -> bool:
    return scope["method"] == "POST" and scope["path"] in ("/sessions", "/sessions/adopt")


def _named(body: bytes) -> str | None:
    try:
        name = msgspec.json.decode(body).get("name")
    except (msgspec.DecodeError, AttributeError):
        return None
    return name if isinstance(name, str) and name else None


def _about(scope: Scope, session: str) -> Scope:
    """The question what a session is."""
    path = f"/sessions/{session}"
    asked = {"method": "GET", "path": path, "raw_path": quote(path).encode(), "query_string": b""}
    return {**scope, **asked}


def _lives(answer: Answer | None) -> bool:
    if answer is None or answer.status != FINE:
        return False
    return msgspec.json.decode(answer.body).get("state") not in ("ended", "crashed")


def _refused(words: str, status: int = 409) -> Answer:
    body = msgspec.json.encode({"error": words})
    headers = ((b"content-type", b"application/json"), (b"content-length", b"%d" % len(body)))
    return Answer(status=status, headers=headers, body=body)


_ALONE = _refused("A run has its own session alone, and no daemon is there to begin another.")
_UNANSWERED = _refused("The run did not answer in time; it may have done it. See: sm ls", 504)


def _may_be_elsewhere(scope: Scope) -> bool:
    if scope["type"] != "http" or any(name == MARK for name, _ in scope["headers"]):
        return False
    path = str(scope["path"])
    return path.startswith("/") and f"/{path.split('/')[1]}" in LISTS


async def _asked(app: ASGIApp, scope: Scope, body: bytes) -> Answer:
    """Our own answer, whole."""
    status, headers, parts = 0, (), []
    is_told = False

    async def receive() -> Message:
        nonlocal is_told
        if is_told:
            await asyncio.Event().wait()
        is_told = True
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Message) -> None:
        nonlocal status, headers
        if message["type"] == "http.response.start":
            status, headers = message["status"], tuple(message["headers"])
        else:
            parts.append(message.get("body", b""))

    await app(scope, receive, send)
    return Answer(status=status, headers=headers, body=b"".join(parts))


async def _ask(path: str, scope: Scope, body: bytes) -> Answer | None:
    """What another engine answers; None where nobody does."""
    # A wait is answered when it is over, and an end takes its time.
    is_wait = scope["path"].endswith(_WAITS) or b"wait=" in scope["query_string"]
    patience = None if is_wait else ENDED_WITHIN if scope["method"] == "DELETE" else ANSWER_WITHIN
    try:
        async with asyncio.timeout(patience):
            reader, writer = await asyncio.open_unix_connection(path, limit=_LARGEST)
            try:
                writer.write(_request(scope, body))
                return await _read(reader)
            finally:
                writer.close()
    except (OSError, TimeoutError, ValueError, asyncio.IncompleteReadError):
        return None


def _request(scope: Scope, body: bytes) -> bytes:
    target = scope["raw_path"] + (b"?" + scope["query_string"] if scope["query_string"] else b"")
    kept = [(n, v) for n, v in scope["headers"] if n in (b"content-type", b"authorization")]
    head = [
        b"%s %s HTTP/1.1" % (scope["method"].encode(), target),
        b"host: localhost",
        b"connection: close",
        b"content-length: %d" % len(body),
        MARK + b": 1",
        *(b"%s: %s" % pair for pair in kept),
    ]
    return b"\r\n".join([*head, b"", body])


async def _read(reader: asyncio.StreamReader) -> Answer:
    first, *fields = (await reader.readuntil(b"\r\n\r\n")).rstrip().split(b"\r\n")
    headers = [tuple(part.strip() for part in field.split(b":", 1)) for field in fields]
    pairs = tuple((name.lower(), value) for name, value in headers)
    length = next((int(value) for name, value in pairs if name == b"content-length"), 0)
    return Answer(
        status=int(first.split()[1]), headers=pairs, body=await reader.readexactly(length)
    )


def _merged(own: Answer, others: Sequence[Answer], scope: Scope) -> Answer:
    """Every list behind our own, what has a time in its order. What several tell of is told once:
    by whose it is, rather than by the ledger alone."""
    together = [msgspec.json.decode(answer.body, type=list[Any]) for answer in (own, *others)
                if answer.status == FINE]  # fmt: skip
    items = [item for found in together for item in found]
    told: dict[Any, Any] = {}
    for number, item in enumerate(items):
        key = item.get("id") or number
        if key not in told or told[key].get("context") == 0:
            told[key] = item
    in_order = sorted(told.values(), key=lambda item: item.get("requested_at", 0.0))
    limit = parse_qs(scope["query_string"].decode()).get("limit", [""])[0]
    body = msgspec.json.encode(in_order[-int(limit) :] if limit.isdecimal() else in_order)
    headers = tuple((n, v) for n, v in own.headers if n != b"content-length")
    length = (b"content-length", b"%d" % len(body))
    return Answer(status=own.status, headers=(*headers, length), body=body)


async def _give(send: Send, answer: Answer) -> None:
    kept = [(n, v) for n, v in answer.headers if n not in (b"connection", b"transfer-encoding")]
    await send({"type": "http.response.start", "status": answer.status, "headers": kept})
    await send({"type": "http.response.body", "body": answer.body})

"""One way to declare an endpoint: what it takes, what it gives, and what it says when refused.

The same declaration decodes and encodes values, and is what ``/openapi.json`` is made of.
"""

import errno
import re
import secrets
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import Annotated, Any

import msgspec
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive

from sm.api.types import Problem
from sm.core.channel import ChannelError, LedgerFailedError
from sm.core.journal import NotStoredError
from sm.engine.engine import Engine
from sm.engine.handovers import NotYourselfError
from sm.engine.loop import UnknownSessionError
from sm.engine.naming import NameRefusedError, NotFoundError, RefusedError

MAX_BODY = 64 * 1024 * 1024
Whole = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
"""A number the store can hold."""
Seconds = Annotated[float, msgspec.Meta(ge=0)]
"""A time to wait; what is no number (NaN) is refused too."""
_TOO_LARGE = f"The body must be at most {MAX_BODY} bytes."
NO_JSON = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""What decoding may raise; the last one for a thousand brackets in one another."""
_encode = msgspec.json.Encoder().encode


class BadRequestError(ValueError):
    """The request itself is wrong; the message names what."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One decoded request."""

    engine: Engine
    request: Request
    body: Any = None
    query: dict[str, Any] = field(default_factory=dict)

    def path(self, name: str) -> str:
        return str(self.request.path_params[name])


Handler = Callable[[Call], Awaitable[Any]]
Serve = Callable[[Request], Awaitable[Response]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """One query parameter."""

    name: str
    type: Any
    default: Any
    about: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    method: str
    path: str
    about: str
    handler: Handler
    body: Any = None
    gives: Any = None
    status: int = 200
    media: str = "application/json"
    query: tuple[Query, ...] = ()
    refusals: tuple[int, ...] = ()

    def server(self, engine: Engine) -> Serve:
        """What answers one request."""
        decoder = None if self.body is None else msgspec.json.Decoder(self.body)

        async def serve(request: Request) -> Response:
            try:
                call = Call(
                    engine=engine,
                    request=request,
                    body=None if decoder is None else await _body(request, decoder),
                    query={q.name: _query(request, q) for q in self.query},
                )
                return self._respond(await self.handler(call))
            except Exception as error:  # noqa: BLE001 - the request boundary
                return refusal(error)

        return serve

    def _respond(self, value: Any) -> Response:
        if isinstance(value, Response):
            return value
        if self.gives is None:
            return Response(status_code=204)
        return Response(_encode(value), status_code=self.status, media_type=self.media)


def routes(endpoints: Iterable[Endpoint], engine: Engine) -> list[Route]:
    """One route for each path, so that a wrong method is told which ones there are."""
    by_path: dict[str, dict[str, Serve]] = {}
    for endpoint in endpoints:
        by_path.setdefault(endpoint.path, {})[endpoint.method] = endpoint.server(engine)
    return [
        Route(path, _dispatch(servers), methods=list(servers)) for path, servers in by_path.items()
    ]


def _dispatch(servers: dict[str, Serve]) -> Serve:
    async def serve(request: Request) -> Response:
        # HEAD is GET to starlette; the answer's body is dropped behind us.
        method = "GET" if request.method == "HEAD" else request.method
        return await servers[method](request)

    return serve


def chosen_id(given: str | None, kind: str, digits: int) -> str:
    """The id the caller chose, by which a repeated call is recognised, or a new one."""
    if given is None:
        return secrets.token_hex(digits // 2)
    if re.fullmatch(rf"[0-9a-f]{{{digits}}}", given) is None:
        raise BadRequestError(f"A {kind} id is {digits} hex digits.")
    return given


async def _body(request: Request, decoder: msgspec.json.Decoder[Any]) -> Any:
    length = request.headers.get("content-length", "0")
    if not length.isdigit() or int(length) > MAX_BODY:
        raise BadRequestError(_TOO_LARGE)
    raw = await whole_body(request.receive)
    try:
        return decoder.decode(raw)
    except msgspec.ValidationError as error:
        raise BadRequestError(f"The body does not fit: {error}.") from None
    except NO_JSON as error:
        raise BadRequestError(f"The body is not valid JSON: {error}.") from None


async def whole_body(receive: Receive) -> bytes:
    """All of it; nearly always it comes in one piece. In many it may not say how long it is."""
    pieces: list[bytes] = []
    size = 0
    more = True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        pieces.append(message.get("body", b""))
        size += len(pieces[-1])
        if size > MAX_BODY:
            raise BadRequestError(_TOO_LARGE)
        more = message.get("more_body", False)
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def _query(request: Request, query: Query) -> Any:
    given = request.query_params.getlist(query.name)
    if not given:
        return query.default
    try:
        return msgspec.convert(given[-1], query.type, strict=False)
    except msgspec.ValidationError as error:
        raise BadRequestError(f"The parameter {query.name} does not fit: {error}.") from None


def refusal(error: Exception) -> Response:
    """What the caller is told. Nothing of the inside leaks; the log has it."""
    match error:
        case NotFoundError():
            return problem(404, str(error))
        case UnknownSessionError():
            return problem(404, f"There is no session {error}. See: sm ls --all")
        case RefusedError():
            return problem(409, str(error))
        case NotYourselfError():
            return problem(403, str(error))
        case BadRequestError() | NameRefusedError() | ChannelError():
            return problem(400, str(error))
        case LedgerFailedError():
            return problem(503, str(error))
        case ClientDisconnect():
            return Response(status_code=400)
        case NotStoredError():
            return problem(507, f"It could not be stored: {error}")
        case OSError(errno=errno.ENOSPC | errno.EDQUOT | errno.EROFS):
            return problem(507, f"The daemon could not write: {error.strerror}.")
        case OSError(errno=errno.ENAMETOOLONG):
            return problem(400, f"The name {error.filename} is too long for a file.")
        case _:
            raise error


def problem(status: int, words: str) -> Response:
    body: Problem = {"error": words}
    return Response(_encode(body), status_code=status, media_type="application/json")

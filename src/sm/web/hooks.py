"""Hook intake: what agents report, committed before it is answered.

The hot path: one decode, one advance, one shared commit. It stands before the general routing,
which costs as much again as all of this. A hook that cannot be understood is set aside and
reported, never dropped.
"""

import math
import secrets
from collections.abc import Callable, Iterable

import msgspec
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from sm.core.ids import HookId, SessionId
from sm.core.launch import MalformedHookError
from sm.engine.engine import Engine
from sm.engine.loop import UnknownSessionError
from sm.web.endpoint import NO_JSON, Endpoint, problem, refusal, whole_body

SetAside = Callable[[SessionId, HookId, float, bytes, str], None]
"""Keeps a hook nobody could understand, with the reason."""

_PATH = "/hooks/"
STRAY = "/hooks"
"""For agents that sm did not start: their hooks know no session."""
_TAKEN = Response(status_code=204)
_objects = msgspec.json.Decoder(dict[str, msgspec.Raw])


class HookIntake:
    """Answers ``POST /hooks/SESSION`` and ``POST /hooks`` itself, hands everything else on."""

    def __init__(self, engine: Engine, set_aside: SetAside, otherwise: ASGIApp) -> None:
        self._engine = engine
        self._set_aside = set_aside
        self._otherwise = otherwise

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "POST" or not is_hook(scope["path"]):
            await self._otherwise(scope, receive, send)
            return
        try:
            payload = await whole_body(receive)
            answer = await self._take(scope, payload)
        except Exception as error:  # noqa: BLE001 - the request boundary
            answer = refusal(error)
        await answer(scope, receive, send)

    async def _take(self, scope: Scope, payload: bytes) -> Response:
        session_id = SessionId(scope["path"][len(_PATH) :])
        given_id, given_at = _stamps(scope["headers"])
        hook = HookId(given_id or secrets.token_hex(8))
        at = self._engine.clock.now()
        try:
            at = _producer_time(given_at, at)
            if not session_id:
                return await self._take_stray(payload, hook, at)
            answer = await self._engine.reports.take(
                session_id, payload, hook=hook, at=at, answerable=True
            )
        except MalformedHookError as error:
            self._set_aside(session_id, hook, at, payload, str(error))
            return problem(400, f"Not a hook: {error}. It was set aside; see: sm doctor")
        except UnknownSessionError:
            self._set_aside(session_id, hook, at, payload, f"there is no session {session_id}")
            return problem(404, f"There is no session {session_id}.")
        return Response(answer, media_type="application/json") if answer else _TAKEN

    async def _take_stray(self, payload: bytes, hook: HookId, at: float) -> Response:
        """Nearly all of these are none of our business: nothing of them is kept."""
        try:
            _objects.decode(payload)
        except NO_JSON as error:
            return problem(400, f"Not a hook: {error}.")
        answer = await self._engine.reports.take_stray(payload, hook=hook, at=at, answerable=True)
        return Response(answer, media_type="application/json") if answer else _TAKEN


def is_hook(path: str) -> bool:
    if path == STRAY:
        return True
    return path.startswith(_PATH) and "/" not in path[len(_PATH) :] and path != _PATH


def _stamps(headers: Iterable[tuple[bytes, bytes]]) -> tuple[str | None, str | None]:
    """The id and the time the stub gave the hook."""
    hook = at = None
    for name, value in headers:
        if name == b"x-sm-hook":
            hook = value.decode("latin-1")
        elif name == b"x-sm-at":
            at = value.decode("latin-1")
    return hook, at


def _producer_time(given: str | None, now: float) -> float:
    """The stub's stamp; a missing or impossible one is replaced by the time of arrival."""
    if given is None:
        return now
    try:
        at = float(given)
    except ValueError:
        raise MalformedHookError(f"X-Sm-At {given!r} is no time") from None
    return at if math.isfinite(at) and 0 < at < now + 60 else now


async def _unused(call: object) -> None:
    raise NotImplementedError


DOCUMENTED = Endpoint(
    method="POST",
    path="/hooks/{session}",
    about="Take in one hook of an agent, in the agent's own JSON",
    handler=_unused,
    body=dict[str, object],
    status=204,
    refusals=(404,),
)
"""For the API description and for refusing other methods; the intake takes every POST."""
DOCUMENTED_STRAY = Endpoint(
    method="POST",
    path=STRAY,
    about="Take in one hook of an agent that sm did not start; only an adopted one's counts",
    handler=_unused,
    body=dict[str, object],
    status=204,
)

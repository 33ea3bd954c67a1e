"""Hook intake: what agents report, committed before it is answered.

The hot path: one decode, one advance, one shared commit. A hook that cannot be understood is set
aside and reported, never dropped.
"""

import math
import secrets
from collections.abc import Callable

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from sm.core.ids import HookId, SessionId
from sm.core.launch import MalformedHookError
from sm.engine.engine import Engine
from sm.engine.loop import UnknownSessionError
from sm.web.endpoint import MAX_BODY, Endpoint, problem, refusal

SetAside = Callable[[SessionId, HookId, float, bytes, str], None]
"""Keeps a hook nobody could understand, with the reason."""

_TAKEN = Response(status_code=204)


def hook_route(engine: Engine, set_aside: SetAside) -> Route:
    async def serve(request: Request) -> Response:
        session_id = SessionId(request.path_params["session"])
        hook = HookId(request.headers.get("x-sm-hook") or secrets.token_hex(8))
        payload = await request.body()
        if len(payload) > MAX_BODY:
            return problem(400, f"A hook may have at most {MAX_BODY} bytes.")
        at = engine.clock.now()
        try:
            at = _producer_time(request.headers.get("x-sm-at"), at)
            await engine.hook(session_id, payload, hook=hook, at=at)
        except MalformedHookError as error:
            set_aside(session_id, hook, at, payload, str(error))
            return problem(400, f"Not a hook: {error}. It was set aside; see: sm doctor")
        except UnknownSessionError:
            set_aside(session_id, hook, at, payload, f"there is no session {session_id}")
            return problem(404, f"There is no session {session_id}.")
        except Exception as error:  # noqa: BLE001 - the request boundary
            return refusal(error)
        return _TAKEN

    return Route("/hooks/{session}", serve, methods=["POST"])


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
"""For the API description; the route itself skips the general decoding."""
